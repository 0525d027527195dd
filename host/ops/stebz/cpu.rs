//! `cpu`: bisection of the crate `batchlas-cpu` on the host's cores, any n.

use batchlas_cpu::{Bisections, stebz_f32, stebz_f64};

use super::arrays::{Arrays, Operands};
use super::{Plan, Problem};
use crate::error::Result;
use crate::memory::DeviceElement;
use crate::ops::cpu::{OnCpu, elsewhere};

impl OnCpu for Problem {
    fn solve(plan: &Plan, operands: Operands<'_>) -> Result<()> {
        match operands {
            Operands::F32(arrays) => run(&plan.problem, arrays, stebz_f32),
            Operands::F64(arrays) => run(&plan.problem, arrays, stebz_f64),
        }
    }
}

/// The solver of a type: `d`, `e`, values, statuses.
type Solver<T> = fn(&Bisections, &[T], &[T], &mut [T], &mut [i32]);

fn run<T: DeviceElement>(problem: &Problem, arrays: Arrays<'_, T>, solve: Solver<T>) -> Result<()> {
    let Arrays { d, e, w, status, passes } = arrays;
    let Problem { n, batch, .. } = *problem;
    solve(
        &Bisections { n, batch, passes },
        d.as_host_slice().ok_or_else(elsewhere)?,
        e.as_host_slice().ok_or_else(elsewhere)?,
        w.as_host_mut_slice().ok_or_else(elsewhere)?,
        status.as_host_mut_slice().ok_or_else(elsewhere)?,
    );
    Ok(())
}
