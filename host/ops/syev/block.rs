//! `block`: the whole problem in one launch, a block of threads a matrix, n <= 128.
//!
//! Without workspace, but for Complex f64 with vectors and n > 64: there the reflectors take as much as the matrices.

use kernels_block_syev::shape::{Offsets, in_parts, padded, threads};
use kernels_block_syev::syev_block::syev_block;

use super::arrays::{Arrays, Operands};
use super::small::{self, KernelScalar, SWEEPS_PER_VALUE, Shape, config, submit};
use super::{Jobz, Plan, Problem};
use crate::error::Result;
use crate::ops::family::Family;
use crate::ops::{Target, tiles};
use crate::queue::{Queue, workspace_bytes};
use crate::routes::Params;
use crate::scalar::Dtype;

pub(crate) struct Block;

/// Largest order.
const MAX_N: usize = 128;

/// Rows that a lane holds.
fn rows(n: usize) -> usize {
    if n <= 64 { 2 } else { 4 }
}

/// Warps of a block that have a kernel, the default first: as few as registers allow, for each warp repeats the scalar
/// work of a column, and blocks that fit a multiprocessor together hide each other's chase.
fn warps(dtype: Dtype, rows: usize) -> &'static [usize] {
    match (dtype, rows) {
        (Dtype::C64, 2) => &[4, 8],
        (_, 2) => &[2, 4],
        _ => &[8],
    }
}

/// Rows of a lane and columns of a warp for an order, where nothing says otherwise.
fn usual_tile(dtype: Dtype, n: usize) -> (usize, usize) {
    let rows = rows(n);
    (rows, padded(rows) / warps(dtype, rows)[0])
}

/// Columns that a warp holds.
fn columns(problem: &Problem, params: &Params) -> usize {
    let (rows, usual) = usual_tile(problem.dtype, problem.n);
    params.get("warps").map_or(usual, |warps| padded(rows) / warps as usize)
}

fn offsets(problem: &Problem, params: &Params) -> Offsets {
    let (dtype, vectors) = (problem.dtype, problem.jobz == Jobz::V);
    let columns = columns(problem, params);
    Offsets::new(rows(problem.n), columns, dtype.bytes(), dtype.real().bytes(), problem.n, vectors)
}

/// Elements that the reflectors take where they have no room in the matrices.
fn kept_elements(problem: &Problem) -> Result<usize> {
    if problem.jobz == Jobz::V && in_parts(problem.dtype.bytes(), rows(problem.n)) {
        return Ok(problem.values()?.saturating_mul(problem.n));
    }
    Ok(0)
}

impl Family<Problem> for Block {
    fn name(&self) -> &'static str {
        "block"
    }

    fn can_run(
        &self,
        problem: &Problem,
        params: &Params,
        target: &Target,
    ) -> std::result::Result<(), String> {
        small::can_run(problem, target, MAX_N)?;
        let known = warps(problem.dtype, rows(problem.n));
        if params.get("warps").is_some_and(|warps| !known.contains(&(warps as usize))) {
            let known: Vec<String> = known.iter().map(usize::to_string).collect();
            return Err(format!("warps is {} for this type and order", known.join(" or ")));
        }
        tiles::has_shared(offsets(problem, params).end, target)
    }

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        let kept = kept_elements(problem)?.saturating_mul(problem.dtype.bytes());
        let workspace_bytes = if kept == 0 { 0 } else { workspace_bytes::<u8>(kept) };
        let mut params = params.clone();
        params.set("warps", (padded(rows(problem.n)) / columns(problem, &params)) as u32);
        Ok(Plan { problem: *problem, family: self.name(), params, workspace_bytes })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        let columns = columns(&plan.problem, &plan.params);
        macro_rules! by_shape {
            ($arrays:ident, $($columns2:literal)*) => {
                match (rows(plan.problem.n), columns) {
                    $((2, $columns2) => by_jobz::<_, 2, $columns2>(queue, plan, $arrays),)*
                    _ => by_jobz::<_, 4, 16>(queue, plan, $arrays),
                }
            };
        }
        match operands {
            Operands::F32(arrays) => by_shape!(arrays, 16 32),
            Operands::F64(arrays) => by_shape!(arrays, 16 32),
            Operands::C32(arrays) => by_shape!(arrays, 16 32),
            Operands::C64(arrays) => by_shape!(arrays, 8 16),
        }
    }
}

fn by_jobz<T: KernelScalar, const ROWS: usize, const COLUMNS: usize>(
    queue: &Queue,
    plan: &Plan,
    arrays: Arrays<'_, T>,
) -> Result<()> {
    match plan.problem.jobz {
        Jobz::V => run::<T, ROWS, COLUMNS, true>(queue, plan, arrays),
        Jobz::N => run::<T, ROWS, COLUMNS, false>(queue, plan, arrays),
    }
}

fn run<T: KernelScalar, const ROWS: usize, const COLUMNS: usize, const VECTORS: bool>(
    queue: &Queue,
    plan: &Plan,
    arrays: Arrays<'_, T>,
) -> Result<()> {
    let problem = &plan.problem;
    let Shape { n, ld, stride, batch, upper } = Shape::new(problem, &arrays)?;
    let mut workspace = queue.workspace(plan.workspace_bytes)?;
    let a = arrays.a.buffer_mut().view_mut();
    let (w, status) = (arrays.w.view_mut(), arrays.status.view_mut());
    let kept = kept_elements(problem)?;
    let (reflectors, reflector_ld, reflector_stride) =
        if kept == 0 { (a, ld, stride) } else { (workspace.take::<T>(kept)?, n, n as u64 * n as u64) };
    let call = syev_block::call::<T, ROWS, COLUMNS, VECTORS>(
        a,
        w,
        status,
        reflectors,
        n,
        ld,
        stride,
        reflector_ld,
        reflector_stride,
        upper,
        SWEEPS_PER_VALUE,
    );
    submit(queue, config(batch, 1, threads(ROWS, COLUMNS) as u32, offsets(problem, &plan.params).end)?, call)
}
