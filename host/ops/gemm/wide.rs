//! `wide:MxNxK`: 16 bytes at a time from global memory where the matrices' alignment allows it; f64 and c64 on the
//! tensor cores.

use kernels_gemm::gemm_wide::gemm_wide;
use kernels_gemm::gemm_wide_mma::gemm_wide_mma;
use kernels_gemm::shape::{mma_shared_bytes, mma_warps, reg_shared_bytes, reg_threads, wide_shared_bytes};

use super::arrays::Operands;
use super::launch::{self, KernelScalar, Views, in_parts, pack, tiles};
use super::reg::{self, names};
use super::{Plan, Problem};
use crate::error::Result;
use crate::ops::Target;
use crate::ops::family::Family;
use crate::ops::tiles::has_shared;
use crate::queue::Queue;
use crate::routes::Params;
use crate::scalar::{Dtype, Scalar};

pub(crate) struct Wide;

/// The tiles that have kernels.
fn known(dtype: Dtype) -> &'static [[u32; 3]] {
    match dtype {
        Dtype::F32 => &[[64, 64, 16], [128, 128, 8]],
        Dtype::F64 => &[[64, 64, 16], [128, 64, 16], [128, 128, 16]],
        Dtype::C32 | Dtype::C64 => &[[64, 64, 16]],
    }
}

/// The tile of a shape where nobody names one.
fn tile(problem: &Problem, params: &Params) -> [u32; 3] {
    let known = known(problem.dtype);
    let fits = if problem.m > 64 && problem.n > 64 { known.last() } else { known.first() };
    params.tile().or(fits.copied()).unwrap_or([64, 64, 16])
}

fn shared_bytes(dtype: Dtype, [m, n, k]: [u32; 3]) -> usize {
    match dtype.real() {
        Dtype::F64 => mma_shared_bytes(m, n, k, dtype.bytes()),
        // The largest of what runs: `gemm_reg` takes what is not aligned.
        _ => wide_shared_bytes(m, n, k, dtype.bytes()).max(reg_shared_bytes(m, n, k, dtype.bytes())),
    }
}

impl Family<Problem> for Wide {
    fn name(&self) -> &'static str {
        "wide"
    }

    fn can_run(
        &self,
        problem: &Problem,
        params: &Params,
        target: &Target,
    ) -> std::result::Result<(), String> {
        let (tile, known) = (tile(problem, params), known(problem.dtype));
        let [m, n, k] = tile;
        if !known.contains(&tile) {
            let text = format!("has no kernel of {} for the tile {m}x{n}x{k}", problem.dtype);
            return Err(format!("{text}: one of {}", names(known)));
        }
        let (tiles_m, tiles_n) = tiles(problem, m, n);
        launch::can_run(problem, target, tiles_m.saturating_mul(tiles_n))?;
        has_shared(shared_bytes(problem.dtype, tile), target)
    }

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        let (tile, mut params) = (tile(problem, params), params.clone());
        params.set_tile(tile);
        Ok(Plan { problem: *problem, family: self.name(), params, workspace_bytes: 0 })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        let tile = tile(&plan.problem, &plan.params);
        match operands {
            Operands::F32(arrays) => run(queue, &plan.problem, tile, &Views::new(&plan.problem, &arrays)),
            Operands::C32(arrays) => run(queue, &plan.problem, tile, &Views::new(&plan.problem, &arrays)),
            Operands::F64(arrays) => run_mma(queue, &plan.problem, tile, &Views::new(&plan.problem, &arrays)),
            Operands::C64(arrays) => run_mma(queue, &plan.problem, tile, &Views::new(&plan.problem, &arrays)),
        }
    }
}

fn run<T: KernelScalar>(queue: &Queue, problem: &Problem, tile: [u32; 3], views: &Views<T>) -> Result<()> {
    if !views.are_factors_wide() || !views.is_target_wide() {
        return reg::run(queue, problem, tile, 8, views);
    }
    let [m, n, k] = tile;
    let (tiles_m, tiles_n) = tiles(problem, m, n);
    let shape = (reg_threads(m, n, size_of::<T>()), wide_shared_bytes(m, n, k, size_of::<T>()));
    let (x, y) = (tiles_m as u32, tiles_n as u32);
    in_parts(queue, views, ((tiles_m * tiles_n) as usize, 1), shape, |v| match m {
        64 => pack!(gemm_wide::<T, 64, 64, 16>(v, x, y)),
        _ => pack!(gemm_wide::<T, 128, 128, 8>(v, x, y)),
    })
}

fn run_mma<T: KernelScalar + Scalar<Real = f64> + cuda_std::scalar::Scalar<Real = f64>>(
    queue: &Queue,
    problem: &Problem,
    [m, n, k]: [u32; 3],
    views: &Views<T>,
) -> Result<()> {
    let (tiles_m, tiles_n) = tiles(problem, m, n);
    let (warps_m, warps_n) = mma_warps(n, problem.dtype.is_complex());
    let shape = (warps_m * warps_n * 32, mma_shared_bytes(m, n, k, size_of::<T>()));
    let (x, y, wide) = (tiles_m as u32, tiles_n as u32, views.are_factors_wide());
    // Copies of one element can turn a side, larger ones cannot.
    let along = if wide && !problem.dtype.is_complex() { views.are_along_k() } else { [false; 2] };
    // The kernel of a tile.
    macro_rules! kernel {
        ($v:ident, $m:literal, $n:literal) => {
            match (wide, along) {
                (true, [false, false]) => pack!(gemm_wide_mma::<T, $m, $n, 16, true, false, false>($v, x, y)),
                (true, [false, true]) => pack!(gemm_wide_mma::<T, $m, $n, 16, true, false, true>($v, x, y)),
                (true, [true, false]) => pack!(gemm_wide_mma::<T, $m, $n, 16, true, true, false>($v, x, y)),
                (true, [true, true]) => pack!(gemm_wide_mma::<T, $m, $n, 16, true, true, true>($v, x, y)),
                (false, _) => pack!(gemm_wide_mma::<T, $m, $n, 16, false, false, false>($v, x, y)),
            }
        };
    }
    in_parts(queue, views, ((tiles_m * tiles_n) as usize, 1), shape, |v| match (m, n) {
        (64, _) => kernel!(v, 64, 64),
        (_, 64) => kernel!(v, 128, 64),
        _ => kernel!(v, 128, 128),
    })
}
