//! `tiled`: a plain tile in shared memory. Any shape: the family that can always run.

use kernels_gemm::gemm_tiled::gemm_tiled;
use kernels_gemm::shape::{TILED, TILED_THREADS, tiled_shared_bytes};

use super::arrays::Operands;
use super::launch::{self, KernelScalar, Views, in_parts, pack, tiles};
use super::{Plan, Problem};
use crate::error::Result;
use crate::ops::Target;
use crate::ops::family::Family;
use crate::ops::tiles::has_shared;
use crate::ops::typed::for_scalar;
use crate::queue::Queue;
use crate::routes::Params;

pub(crate) struct Tiled;

impl Family<Problem> for Tiled {
    fn name(&self) -> &'static str {
        "tiled"
    }

    fn can_run(&self, problem: &Problem, _: &Params, target: &Target) -> std::result::Result<(), String> {
        let (tiles_m, tiles_n) = tiles(problem, TILED, TILED);
        launch::can_run(problem, target, tiles_m.saturating_mul(tiles_n))?;
        has_shared(tiled_shared_bytes(problem.dtype.bytes()), target)
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        for_scalar!(operands, arrays => run(queue, &plan.problem, &Views::new(&plan.problem, &arrays)))
    }
}

/// Also for what another family does not do: C = beta C.
pub(super) fn run<T: KernelScalar>(queue: &Queue, problem: &Problem, views: &Views<T>) -> Result<()> {
    let (tiles_m, tiles_n) = tiles(problem, TILED, TILED);
    let shape = (TILED_THREADS, tiled_shared_bytes(size_of::<T>()));
    in_parts(queue, views, ((tiles_m * tiles_n) as usize, 1), shape, |v| {
        pack!(gemm_tiled::<T>(v, tiles_m as u32, tiles_n as u32))
    })
}
