//! `cta_fused`: the whole problem in one launch, n <= 32, without workspace.

use kernels_small_syev::syev_cta_fused::{matrices, shared_bytes, syev_cta_fused, threads};

use super::family::{Arrays, Family, Operands, Plan};
use super::small::{self, KernelScalar, SWEEPS_PER_VALUE, Shape, config, submit};
use super::{Jobz, Problem};
use crate::error::Result;
use crate::ops::Target;
use crate::queue::Queue;
use crate::routes::Params;
use crate::scalar::Dtype;

pub(crate) struct CtaFused;

/// Largest order.
const MAX_N: usize = 32;

/// Rows a lane that have a kernel, the default first.
fn rows_choices(dtype: Dtype, lanes: usize) -> &'static [u32] {
    match (lanes, dtype) {
        (8, Dtype::F32) => &[2, 4],
        (8, Dtype::C64) => &[1, 2],
        (8, _) => &[2, 4],
        (16, Dtype::F32) => &[2, 1, 4],
        (16, Dtype::C64) => &[1],
        (16, _) => &[2, 1],
        (_, Dtype::F32) => &[2, 1],
        _ => &[1],
    }
}

/// Rows of the tile: 8, 16 or 32.
fn padded(n: usize) -> usize {
    n.next_power_of_two().clamp(8, 32)
}

impl Family for CtaFused {
    fn name(&self) -> &'static str {
        "cta_fused"
    }

    fn can_run(
        &self,
        problem: &Problem,
        params: &Params,
        target: &Target,
    ) -> std::result::Result<(), String> {
        small::can_run(problem, target, MAX_N)?;
        let choices = rows_choices(problem.dtype, padded(problem.n));
        match params.get("rows") {
            Some(rows) if !choices.contains(&rows) => {
                let choices: Vec<String> = choices.iter().map(u32::to_string).collect();
                Err(format!("rows is {} for {} at n = {}", choices.join(" or "), problem.dtype, problem.n))
            }
            _ => Ok(()),
        }
    }

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        let rows = params.get("rows").unwrap_or(rows_choices(problem.dtype, padded(problem.n))[0]);
        let mut params = params.clone();
        params.set("rows", rows);
        Ok(Plan { problem: *problem, family: self.name(), params, workspace_bytes: 0 })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        let shape = (padded(plan.problem.n), plan.params.get("rows").unwrap_or(0));
        macro_rules! dispatch {
            ($arrays:ident, $($p:literal $rows:literal)*) => {
                match shape {
                    $(($p, $rows) => by_jobz::<_, $p, $rows>(queue, &plan.problem, $arrays),)*
                    _ => unreachable!("can_run has seen to the rows"),
                }
            };
        }
        match operands {
            Operands::F32(arrays) => dispatch!(arrays, 8 2 8 4 16 1 16 2 16 4 32 1 32 2),
            Operands::F64(arrays) => dispatch!(arrays, 8 2 8 4 16 1 16 2 32 1),
            Operands::C32(arrays) => dispatch!(arrays, 8 2 8 4 16 1 16 2 32 1),
            Operands::C64(arrays) => dispatch!(arrays, 8 1 8 2 16 1 32 1),
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
    let (scalar, real) = (size_of::<T>(), size_of::<<T as crate::Scalar>::Real>());
    let (items, block) = (matrices(P, ROWS, scalar) as u32, threads(P, ROWS, scalar) as u32);
    submit(queue, config(batch, items, block, shared_bytes(P, ROWS, scalar, real))?, call)
}
