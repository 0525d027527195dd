//! `reg:MxNxK`: micro-tiles in registers, two buffers in shared memory.

use cuda_std::launch::{Call, NoEntry};
use kernels_gemm::gemm_reg::gemm_reg;
use kernels_gemm::shape::{reg_shared_bytes, reg_threads};

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
use crate::scalar::Dtype;

pub(crate) struct Reg;

/// The tiles that have kernels.
const TILES: [[u32; 3]; 4] = [[128, 128, 8], [64, 64, 16], [128, 64, 32], [128, 32, 32]];

/// Depths between two loads that have a kernel for a type and tile, the default first. None: the sums of that tile do
/// not fit the registers of a multiprocessor.
fn unrolls(dtype: Dtype, tile: [u32; 3]) -> &'static [u32] {
    match (dtype, tile) {
        (Dtype::C64, [128, 128, _]) => &[],
        (_, [128, 128, _]) | (Dtype::C32 | Dtype::C64, _) => &[8],
        _ => &[8, 16],
    }
}

/// The tile of a shape where nobody names one: little past the edges of C.
fn default_tile(problem: &Problem) -> [u32; 3] {
    let Problem { dtype, m, n, .. } = *problem;
    match (m, n) {
        (_, ..=32) if m > 64 => [128, 32, 32],
        (..=64, _) | (_, ..=32) => [64, 64, 16],
        (_, ..=64) => [128, 64, 32],
        _ if dtype == Dtype::C64 => [128, 64, 32],
        _ => [128, 128, 8],
    }
}

fn tile(problem: &Problem, params: &Params) -> [u32; 3] {
    params.tile().unwrap_or_else(|| default_tile(problem))
}

/// Words for a list of tiles.
pub(super) fn names(tiles: &[[u32; 3]]) -> String {
    let names: Vec<String> = tiles.iter().map(|[m, n, k]| format!("{m}x{n}x{k}")).collect();
    names.join(", ")
}

impl Family<Problem> for Reg {
    fn name(&self) -> &'static str {
        "reg"
    }

    fn can_run(
        &self,
        problem: &Problem,
        params: &Params,
        target: &Target,
    ) -> std::result::Result<(), String> {
        let tile = tile(problem, params);
        let [m, n, k] = tile;
        if !TILES.contains(&tile) {
            return Err(format!("has no kernel for the tile {m}x{n}x{k}: one of {}", names(&TILES)));
        }
        let known = unrolls(problem.dtype, tile);
        if known.is_empty() {
            return Err(format!("the sums of {m}x{n} numbers of {} do not fit the registers", problem.dtype));
        }
        if params.get("unroll").is_some_and(|unroll| !known.contains(&unroll)) {
            let known: Vec<String> = known.iter().map(u32::to_string).collect();
            return Err(format!("unroll is {} for this type and tile", known.join(" or ")));
        }
        let (tiles_m, tiles_n) = tiles(problem, m, n);
        launch::can_run(problem, target, tiles_m.saturating_mul(tiles_n))?;
        has_shared(reg_shared_bytes(m, n, k, problem.dtype.bytes()), target)
    }

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        let (tile, mut params) = (tile(problem, params), params.clone());
        params.set_tile(tile);
        if params.get("unroll").is_none() {
            params.set("unroll", unrolls(problem.dtype, tile).first().copied().unwrap_or(8));
        }
        Ok(Plan { problem: *problem, family: self.name(), params, workspace_bytes: 0 })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        let (tile, unroll) = (tile(&plan.problem, &plan.params), plan.params.get("unroll").unwrap_or(8));
        for_scalar!(operands, arrays => {
            run(queue, &plan.problem, tile, unroll, &Views::new(&plan.problem, &arrays))
        })
    }
}

/// Also for a product of `wide` whose matrices are not aligned: the bits are the same.
pub(super) fn run<T: KernelScalar>(
    queue: &Queue,
    problem: &Problem,
    [m, n, k]: [u32; 3],
    unroll: u32,
    views: &Views<T>,
) -> Result<()> {
    let (tiles_m, tiles_n) = tiles(problem, m, n);
    let shape = (reg_threads(m, n, size_of::<T>()), reg_shared_bytes(m, n, k, size_of::<T>()));
    in_parts(queue, views, ((tiles_m * tiles_n) as usize, 1), shape, |v| {
        call(v, [m, n, k], unroll, (tiles_m as u32, tiles_n as u32))
    })
}

fn call<T: KernelScalar>(
    v: &Views<T>,
    tile: [u32; 3],
    unroll: u32,
    (tiles_m, tiles_n): (u32, u32),
) -> std::result::Result<Call, NoEntry> {
    match (tile, unroll) {
        ([128, 128, _], _) => pack!(gemm_reg::<T, 128, 128, 8, 8>(v, tiles_m, tiles_n)),
        ([64, ..], 8) => pack!(gemm_reg::<T, 64, 64, 16, 8>(v, tiles_m, tiles_n)),
        ([64, ..], _) => pack!(gemm_reg::<T, 64, 64, 16, 16>(v, tiles_m, tiles_n)),
        ([_, 64, _], 8) => pack!(gemm_reg::<T, 128, 64, 32, 8>(v, tiles_m, tiles_n)),
        ([_, 64, _], _) => pack!(gemm_reg::<T, 128, 64, 32, 16>(v, tiles_m, tiles_n)),
        (_, 8) => pack!(gemm_reg::<T, 128, 32, 32, 8>(v, tiles_m, tiles_n)),
        _ => pack!(gemm_reg::<T, 128, 32, 32, 16>(v, tiles_m, tiles_n)),
    }
}
