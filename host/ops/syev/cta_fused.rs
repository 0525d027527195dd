//! `cta_fused`: the whole problem in one launch, n <= 32, without workspace.

use kernels_small_syev::syev_cta_fused::syev_cta_fused;

use super::arrays::{Arrays, Operands};
use super::small::{self, KernelScalar, SWEEPS_PER_VALUE, Shape, block_shape, config, submit};
use super::{Jobz, Plan, Problem};
use crate::error::Result;
use crate::ops::Target;
use crate::ops::family::Family;
use crate::queue::Queue;
use crate::routes::Params;

pub(crate) struct CtaFused;

/// Largest order.
const MAX_N: usize = 32;

/// Rows of the tile: 8, 16 or 32.
fn padded(n: usize) -> usize {
    n.next_power_of_two().clamp(8, 32)
}

impl Family<Problem> for CtaFused {
    fn name(&self) -> &'static str {
        "cta_fused"
    }

    fn can_run(&self, problem: &Problem, _: &Params, target: &Target) -> std::result::Result<(), String> {
        small::can_run(problem, target, MAX_N)
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        let problem = &plan.problem;
        // Rows a lane: what won at batch 16384 among those that fit, benches/results/cta_fused_rows_h200_2026-11-30.jsonl.
        macro_rules! by_order {
            ($arrays:ident, $rows8:literal, $rows16:literal, $rows32:literal) => {
                match padded(problem.n) {
                    8 => by_jobz::<_, 8, $rows8>(queue, problem, $arrays),
                    16 => by_jobz::<_, 16, $rows16>(queue, problem, $arrays),
                    _ => by_jobz::<_, 32, $rows32>(queue, problem, $arrays),
                }
            };
        }
        match operands {
            Operands::F32(arrays) => by_order!(arrays, 2, 2, 2),
            Operands::F64(arrays) => by_order!(arrays, 4, 2, 1),
            Operands::C32(arrays) => by_order!(arrays, 2, 2, 1),
            Operands::C64(arrays) => by_order!(arrays, 2, 1, 1),
        }
    }
}

fn by_jobz<T: KernelScalar, const P: usize, const ROWS: usize>(
    queue: &Queue,
    problem: &Problem,
    arrays: Arrays<'_, T>,
) -> Result<()> {
    match problem.jobz {
        Jobz::V => run::<T, P, ROWS, true>(queue, problem, arrays),
        Jobz::N => run::<T, P, ROWS, false>(queue, problem, arrays),
    }
}

fn run<T: KernelScalar, const P: usize, const ROWS: usize, const VECTORS: bool>(
    queue: &Queue,
    problem: &Problem,
    arrays: Arrays<'_, T>,
) -> Result<()> {
    let Shape { n, ld, stride, batch, upper } = Shape::new(problem, &arrays)?;
    let a = arrays.a.buffer_mut().view_mut();
    let (w, status) = (arrays.w.view_mut(), arrays.status.view_mut());
    let call = syev_cta_fused::call::<T, P, ROWS, VECTORS>(
        a,
        w,
        status,
        n,
        ld,
        stride,
        batch,
        upper,
        SWEEPS_PER_VALUE,
    );
    let shape = block_shape::<T>(P, ROWS, 0);
    let (items, threads) = (shape.matrices() as u32, shape.threads() as u32);
    submit(queue, config(batch, items, threads, shape.shared_bytes())?, call)
}
