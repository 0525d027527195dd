//! `cta`: one tile of a warp an item, n <= 32, in two launches and without workspace.
//!
//! `sytrd_cta` reduces in place, `syev_cta` chases and transforms back in place.

use device_linalg::layout::sytrd_elements;
use kernels_small_syev::{syev_cta::syev_cta, sytrd_cta::sytrd_cta};

use super::arrays::{Arrays, Operands};
use super::small::{
    self, KernelScalar, SWEEPS_PER_VALUE, Shape, block_shape, config, for_lanes, for_scalar, submit,
};
use super::{Jobz, Plan, Problem};
use crate::error::Result;
use crate::ops::Target;
use crate::ops::family::Family;
use crate::queue::Queue;
use crate::routes::Params;

pub(crate) struct Cta;

/// Largest order.
const MAX_N: usize = 32;

impl Family<Problem> for Cta {
    fn name(&self) -> &'static str {
        "cta"
    }

    fn can_run(&self, problem: &Problem, _: &Params, target: &Target) -> std::result::Result<(), String> {
        small::can_run(problem, target, MAX_N)
    }

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        Ok(small::plan(self.name(), problem, params, 1))
    }

    fn launch(&self, queue: &Queue, plan: &Plan, mut operands: Operands<'_>) -> Result<()> {
        let problem = &plan.problem;
        let warps = plan.params.get("warps").unwrap_or(1);
        for_scalar!(&mut operands, arrays => for_lanes!(padded(problem.n, 4), P => match problem.jobz {
            Jobz::V => reduce::<_, P, true>(queue, problem, warps, arrays),
            Jobz::N => reduce::<_, P, false>(queue, problem, warps, arrays),
        }))?;
        // Rows a lane, and those of them in shared memory.
        macro_rules! by_order {
            ($arrays:ident, $at8:literal, $at16:literal + $shared16:literal, $at32:literal + $shared32:literal) => {
                match padded(problem.n, 8) {
                    8 => solve::<_, 8, $at8, 0>(queue, problem, $arrays),
                    16 => solve::<_, 16, $at16, $shared16>(queue, problem, $arrays),
                    _ => solve::<_, 32, $at32, $shared32>(queue, problem, $arrays),
                }
            };
        }
        match &mut operands {
            Operands::F32(arrays) => by_order!(arrays, 2, 4 + 2, 4 + 2),
            Operands::F64(arrays) => by_order!(arrays, 4, 4 + 2, 2 + 1),
            Operands::C32(arrays) => by_order!(arrays, 2, 4 + 2, 2 + 1),
            Operands::C64(arrays) => by_order!(arrays, 2, 1 + 0, 2 + 1),
        }
    }
}

/// Lanes of `sytrd_cta`, or rows of the tiles of `syev_cta`, for an order.
fn padded(n: usize, least: usize) -> usize {
    n.next_power_of_two().max(least)
}

fn reduce<T: KernelScalar, const P: usize, const VECTORS: bool>(
    queue: &Queue,
    problem: &Problem,
    warps: u32,
    arrays: &mut Arrays<'_, T>,
) -> Result<()> {
    let Shape { n, ld, stride, batch, upper } = Shape::new(problem, arrays)?;
    let block = 32 * warps;
    let items = block / P as u32;
    let a = arrays.a.buffer_mut().view_mut();
    let (w, status) = (arrays.w.view_mut(), arrays.status.view_mut());
    let call = sytrd_cta::call::<T, P, VECTORS>(a, w, status, n, ld, stride, batch, upper);
    let bytes = items as usize * sytrd_elements(P) * size_of::<T>();
    submit(queue, config(batch, items, block, bytes)?, call)
}

fn solve<T: KernelScalar, const P: usize, const ROWS: usize, const SHARED: usize>(
    queue: &Queue,
    problem: &Problem,
    arrays: &mut Arrays<'_, T>,
) -> Result<()> {
    match problem.jobz {
        Jobz::V => solve_by::<T, P, ROWS, SHARED, true>(queue, problem, arrays),
        Jobz::N => solve_by::<T, P, ROWS, SHARED, false>(queue, problem, arrays),
    }
}

fn solve_by<T: KernelScalar, const P: usize, const ROWS: usize, const SHARED: usize, const VECTORS: bool>(
    queue: &Queue,
    problem: &Problem,
    arrays: &mut Arrays<'_, T>,
) -> Result<()> {
    let Shape { n, ld, stride, batch, .. } = Shape::new(problem, arrays)?;
    let a = arrays.a.buffer_mut().view_mut();
    let (w, status) = (arrays.w.view_mut(), arrays.status.view_mut());
    let call =
        syev_cta::call::<T, P, ROWS, SHARED, VECTORS>(a, w, status, n, ld, stride, batch, SWEEPS_PER_VALUE);
    let shape = block_shape::<T>(P, ROWS, SHARED);
    let (items, threads) = (shape.matrices() as u32, shape.threads() as u32);
    submit(queue, config(batch, items, threads, shape.shared_bytes())?, call)
}
