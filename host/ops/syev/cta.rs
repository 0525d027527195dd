//! `cta`: one tile of a warp an item, n <= 32, in two launches and without workspace.
//!
//! `sytrd_cta` reduces in place, `syev_cta` solves and transforms back in place.

use device_linalg::layout::{syev_elements, sytrd_elements};
use kernels_small_syev::{syev_cta::syev_cta, sytrd_cta::sytrd_cta};

use super::family::{Arrays, Family, Operands, Plan};
use super::small::{self, KernelScalar, SWEEPS_PER_VALUE, Shape, config, for_lanes, submit, with_arrays};
use super::{Jobz, Problem};
use crate::error::Result;
use crate::ops::Target;
use crate::queue::Queue;
use crate::routes::Params;

pub(crate) struct Cta;

/// Largest order.
const MAX_N: usize = 32;

impl Family for Cta {
    fn name(&self) -> &'static str {
        "cta"
    }

    fn can_run(&self, problem: &Problem, _: &Params, target: &Target) -> std::result::Result<(), String> {
        small::can_run(problem, target, MAX_N)
    }

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        let warps = params.get("warps").unwrap_or(1);
        let mut params = params.clone();
        params.set("warps", warps);
        Ok(Plan { problem: *problem, family: self.name(), params, workspace_bytes: 0 })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        let lanes = plan.problem.n.next_power_of_two().max(4);
        let warps = plan.params.get("warps").unwrap_or(1);
        with_arrays!(operands, arrays => for_lanes!(lanes, P => match plan.problem.jobz {
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
    let items = block / P as u32;
    let bytes = |elements: usize| items as usize * elements * size_of::<T>();
    let a = arrays.a.buffer_mut().view_mut();
    let (w, status) = (arrays.w.view_mut(), arrays.status.view_mut());

    let reduce = sytrd_cta::call::<T, P, VECTORS>(a, status, n, ld, stride, batch, upper);
    submit(queue, config(batch, items, block, bytes(sytrd_elements(P)))?, reduce)?;

    let wilkinson = 0;
    let solve =
        syev_cta::call::<T, P, VECTORS>(a, w, status, n, ld, stride, batch, SWEEPS_PER_VALUE, wilkinson);
    let basis = if VECTORS { bytes(syev_elements(P)) } else { 0 };
    submit(queue, config(batch, items, block, basis)?, solve)
}
