//! `jacobi`: cyclic two-sided Jacobi, resident in one tile of a warp, n <= 32; one launch, no workspace.
//!
//! Small eigenvalues of graded positive definite matrices keep their relative accuracy.

use kernels_small_syev::syev_jacobi::{shared_bytes, syev_jacobi};

use super::arrays::{Arrays, Operands};
use super::small::{self, KernelScalar, Shape, config, for_lanes, for_scalar, submit};
use super::{Jobz, Plan, Problem};
use crate::error::Result;
use crate::ops::Target;
use crate::ops::family::Family;
use crate::queue::Queue;
use crate::routes::Params;

pub(crate) struct Jacobi;

/// Largest order.
const MAX_N: usize = 32;

/// Sweeps that Jacobi may take: twice what the slowest inputs of the tests take.
const MAX_SWEEPS: u32 = 40;

impl Family<Problem> for Jacobi {
    fn name(&self) -> &'static str {
        "jacobi"
    }

    fn can_run(&self, problem: &Problem, _: &Params, target: &Target) -> std::result::Result<(), String> {
        small::can_run(problem, target, MAX_N)
    }

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        Ok(small::plan(self.name(), problem, params, 1))
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        let lanes = plan.problem.n.next_power_of_two().max(4);
        let warps = plan.params.get("warps").unwrap_or(1);
        for_scalar!(operands, arrays => for_lanes!(lanes, P => match plan.problem.jobz {
            Jobz::V => run::<_, P, true>(queue, &plan.problem, warps, arrays),
            Jobz::N => run::<_, P, false>(queue, &plan.problem, warps, arrays),
        }))
    }
}

fn run<T: KernelScalar, const P: usize, const VECTORS: bool>(
    queue: &Queue,
    problem: &Problem,
    warps: u32,
    arrays: Arrays<'_, T>,
) -> Result<()> {
    let Shape { n, ld, stride, batch, upper } = Shape::new(problem, &arrays)?;
    let block = 32 * warps;
    let a = arrays.a.buffer_mut().view_mut();
    let (w, status) = (arrays.w.view_mut(), arrays.status.view_mut());
    let call = syev_jacobi::call::<T, P, VECTORS>(a, w, status, n, ld, stride, batch, upper, MAX_SWEEPS);
    let shared = shared_bytes(P, block as usize, size_of::<T>(), T::DTYPE.is_complex());
    submit(queue, config(batch, block / P as u32, block, shared)?, call)
}
