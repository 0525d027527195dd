//! `block`: the whole problem in one launch, a block of threads a matrix, n <= 128.
//!
//! Without workspace, but for Complex f64 with vectors and n > 64: there the reflectors take as much as the matrices.

use kernels_block_syev::shape::{Offsets, in_parts, threads};
use kernels_block_syev::syev_block::syev_block;

use super::family::{Arrays, Family, Operands, Plan};
use super::small::{self, KernelScalar, SWEEPS_PER_VALUE, Shape, config, submit};
use super::{Jobz, Problem};
use crate::error::Result;
use crate::ops::Target;
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

/// Columns that a warp holds: as many as registers allow, since each warp repeats the scalar work of a step.
fn columns(dtype: Dtype, rows: usize) -> usize {
    if dtype == Dtype::C64 && rows == 2 { 8 } else { 16 }
}

fn offsets(problem: &Problem) -> Offsets {
    let (dtype, rows) = (problem.dtype, rows(problem.n));
    let vectors = problem.jobz == Jobz::V;
    Offsets::new(rows, columns(dtype, rows), dtype.bytes(), dtype.real().bytes(), problem.n, vectors)
}

/// Elements that the reflectors take where they have no room in the matrices.
fn kept_elements(problem: &Problem) -> Result<usize> {
    if problem.jobz == Jobz::V && in_parts(problem.dtype.bytes(), rows(problem.n)) {
        return Ok(problem.values()?.saturating_mul(problem.n));
    }
    Ok(0)
}

impl Family for Block {
    fn name(&self) -> &'static str {
        "block"
    }

    fn can_run(&self, problem: &Problem, _: &Params, target: &Target) -> std::result::Result<(), String> {
        small::can_run(problem, target, MAX_N)?;
        let (needed, limits) = (offsets(problem).end, target.limits());
        let most = limits.map_or(0, |limits| limits.shared_bytes_per_block);
        if needed > most {
            return Err(format!("needs {needed} bytes of shared memory a block, the device gives {most}"));
        }
        Ok(())
    }

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        let kept = kept_elements(problem)?.saturating_mul(problem.dtype.bytes());
        let workspace_bytes = if kept == 0 { 0 } else { workspace_bytes::<u8>(kept) };
        Ok(Plan { problem: *problem, family: self.name(), params: params.clone(), workspace_bytes })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        macro_rules! by_order {
            ($arrays:ident, $columns2:literal, $columns4:literal) => {
                match rows(plan.problem.n) {
                    2 => by_jobz::<_, 2, $columns2>(queue, plan, $arrays),
                    _ => by_jobz::<_, 4, $columns4>(queue, plan, $arrays),
                }
            };
        }
        match operands {
            Operands::F32(arrays) => by_order!(arrays, 16, 16),
            Operands::F64(arrays) => by_order!(arrays, 16, 16),
            Operands::C32(arrays) => by_order!(arrays, 16, 16),
            Operands::C64(arrays) => by_order!(arrays, 8, 16),
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
    submit(queue, config(batch, 1, threads(ROWS, COLUMNS) as u32, offsets(problem).end)?, call)
}
