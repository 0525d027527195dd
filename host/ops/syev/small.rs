//! What the families for n <= 32 share.

use kernels_small_syev::resident::Shape as BlockShape;

use super::arrays::Arrays;
use super::{Plan, Problem};
use crate::error::Result;
use crate::ops::{Target, Uplo, tiles};
use crate::routes::Params;
use crate::scalar::Scalar;

pub(super) use crate::ops::SWEEPS_PER_VALUE;
pub(super) use crate::ops::tiles::{KernelScalar, config, for_lanes, submit};
pub(super) use crate::ops::typed::for_scalar;

/// The kernels' arguments that describe the batch.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) n: u32,
    pub(super) ld: u32,
    pub(super) stride: u64,
    pub(super) batch: u64,
    pub(super) upper: u32,
}

impl Shape {
    pub(super) fn new<T: Scalar>(problem: &Problem, arrays: &Arrays<'_, T>) -> Result<Self> {
        let layout = arrays.a.layout();
        Ok(Shape {
            n: problem.n as u32,
            ld: tiles::leading_dimension(layout.ld())?,
            stride: layout.stride() as u64,
            batch: problem.batch as u64,
            upper: (problem.uplo == Uplo::Upper) as u32,
        })
    }
}

/// Whether a family of one warp at most an item can run.
pub(super) fn can_run(problem: &Problem, target: &Target, max_n: usize) -> std::result::Result<(), String> {
    tiles::can_run(problem.n, target, max_n)
}

/// The plan of a family without workspace, with so many warps a block where the route does not say.
pub(super) fn plan(family: &'static str, problem: &Problem, params: &Params, warps: u32) -> Plan {
    let mut params = params.clone();
    params.set("warps", params.get("warps").unwrap_or(warps));
    Plan { problem: *problem, family, params, workspace_bytes: 0 }
}

/// The shape of a block of `syev_cta` and `syev_cta_fused`.
pub(super) fn block_shape<T: Scalar>(p: usize, rows: usize, shared: usize) -> BlockShape {
    BlockShape { p, rows, shared, scalar_bytes: size_of::<T>(), real_bytes: size_of::<T::Real>() }
}
