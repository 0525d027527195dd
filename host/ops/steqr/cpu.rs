//! `cpu`: implicit QL of the crate `batchlas-cpu` on the host's cores, any n; values alone by its square-root-free form.

use batchlas_cpu::{Tridiagonals, steqr_f32, steqr_f64};

use super::arrays::{Arrays, Iteration, Operands};
use super::{Plan, Problem, Shift};
use crate::error::Result;
use crate::memory::{DeviceBatch, DeviceBuffer, DeviceElement};
use crate::ops::cpu::{OnCpu, elsewhere};

impl OnCpu for Problem {
    fn solve(plan: &Plan, operands: Operands<'_>) -> Result<()> {
        let Problem { n, batch, .. } = plan.problem;
        match operands {
            Operands::F32(arrays) => run((n, batch), arrays, steqr_f32),
            Operands::F64(arrays) => run((n, batch), arrays, steqr_f64),
        }
    }
}

/// The iteration of a type.
type Solver<T> = fn(&Tridiagonals, &mut [T], &[T], Option<&mut [T]>, &mut [i32]);

/// For the families `cpu` of operations whose diagonals `d` stay as they are: the values go to `w`.
pub(crate) fn run_beside<T: DeviceElement>(
    (n, batch): (usize, usize),
    (d, e): (&DeviceBuffer<T>, &DeviceBuffer<T>),
    w: &mut DeviceBuffer<T>,
    q: Option<&mut DeviceBatch<T>>,
    status: &mut DeviceBuffer<i32>,
    solve: Solver<T>,
) -> Result<()> {
    let diagonals = d.as_host_slice().ok_or_else(elsewhere)?;
    w.as_host_mut_slice().ok_or_else(elsewhere)?.copy_from_slice(diagonals);
    run((n, batch), Arrays { d: w, e, q, status, iteration: Iteration::default() }, solve)
}

fn run<T: DeviceElement>((n, batch): (usize, usize), arrays: Arrays<'_, T>, solve: Solver<T>) -> Result<()> {
    let Arrays { d, e, q, status, iteration } = arrays;
    let (ld, stride) = q.as_ref().map_or((n, 0), |q| (q.ld(), q.stride()));
    let Iteration { back_transform, sort, sweeps_per_value, shift } = iteration;
    let shift = match shift {
        Shift::Lapack => batchlas_cpu::Shift::Lapack,
        Shift::Wilkinson => batchlas_cpu::Shift::Wilkinson,
    };
    let items = Tridiagonals { n, batch, ld, stride, back_transform, sort, sweeps_per_value, shift };
    let q = match q {
        Some(q) => Some(q.buffer_mut().as_host_mut_slice().ok_or_else(elsewhere)?),
        None => None,
    };
    match (d.as_host_mut_slice(), e.as_host_slice(), status.as_host_mut_slice()) {
        (Some(d), Some(e), Some(status)) => {
            solve(&items, d, e, q, status);
            Ok(())
        }
        _ => Err(elsewhere()),
    }
}
