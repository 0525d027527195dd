//! `cpu`: the solvers of the crate `batchlas-cpu` on the host's cores.
//!
//! Accuracy is norm-wise: errors are some n eps ||A|| for values, some n eps
//! for components of vectors, over the gap to the next value. No more is
//! promised, and above n = 128, where divide and conquer computes the vectors,
//! no more is to be had. QL, up to there, often keeps components far below eps:
//! of the tridiagonal Hermite matrix (d = 0, e_i = sqrt(i / 2)) the smallest,
//! 1e-51 at n = 128, is right to 1e-13; at n = 129 it is noise of 1e-30.

use batchlas_cpu::{Items, syev_c32, syev_c64, syev_f32, syev_f64};

use super::arrays::{Arrays, Operands};
use super::{Jobz, Plan, Problem, Uplo};
use crate::error::Result;
use crate::ops::cpu::{OnCpu, elsewhere};
use crate::scalar::Scalar;

impl OnCpu for Problem {
    fn solve(plan: &Plan, operands: Operands<'_>) -> Result<()> {
        match operands {
            Operands::F32(arrays) => run(plan, arrays, syev_f32),
            Operands::F64(arrays) => run(plan, arrays, syev_f64),
            Operands::C32(arrays) => run(plan, arrays, syev_c32),
            Operands::C64(arrays) => run(plan, arrays, syev_c64),
        }
    }
}

fn run<T: Scalar>(
    plan: &Plan,
    arrays: Arrays<'_, T>,
    solve: impl FnOnce(&Items, &mut [T], &mut [T::Real], &mut [i32]),
) -> Result<()> {
    let layout = arrays.a.layout();
    let Problem { n, batch, jobz, uplo, .. } = plan.problem;
    let items = Items {
        n,
        ld: layout.ld(),
        stride: layout.stride(),
        batch,
        upper: uplo == Uplo::Upper,
        vectors: jobz == Jobz::V,
    };
    let a = arrays.a.buffer_mut().as_host_mut_slice();
    let (w, status) = (arrays.w.as_host_mut_slice(), arrays.status.as_host_mut_slice());
    match (a, w, status) {
        (Some(a), Some(w), Some(status)) => {
            solve(&items, a, w, status);
            Ok(())
        }
        _ => Err(elsewhere()),
    }
}
