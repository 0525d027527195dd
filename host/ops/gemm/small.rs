//! `small`: a block computes one or several whole products of up to 64 rows and columns, operands in shared memory.

use kernels_gemm::gemm_small::gemm_small;
use kernels_gemm::shape::{SMALL_THREADS, small_items, small_shared_bytes};

use super::arrays::Operands;
use super::launch::{self, KernelScalar, Views, in_parts, pack};
use super::{Plan, Problem};
use crate::error::Result;
use crate::ops::Target;
use crate::ops::family::Family;
use crate::ops::tiles::has_shared;
use crate::ops::typed::for_scalar;
use crate::queue::Queue;
use crate::routes::Params;

pub(crate) struct Small;

/// Most rows and columns.
const MAX: usize = 64;

/// Rows and columns of the tile of an item.
fn order(problem: &Problem) -> u32 {
    (problem.m.max(problem.n) as u32).next_power_of_two().max(8)
}

impl Family<Problem> for Small {
    fn name(&self) -> &'static str {
        "small"
    }

    fn can_run(&self, problem: &Problem, _: &Params, target: &Target) -> std::result::Result<(), String> {
        launch::can_run(problem, target, 1)?;
        if problem.m.max(problem.n) > MAX {
            return Err(format!("m and n are at most {MAX}"));
        }
        has_shared(small_shared_bytes(order(problem), problem.dtype.bytes()), target)
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        for_scalar!(operands, arrays => run(queue, plan, &Views::new(&plan.problem, &arrays)))
    }
}

fn run<T: KernelScalar>(queue: &Queue, plan: &Plan, views: &Views<T>) -> Result<()> {
    let order = order(&plan.problem);
    let shape = (SMALL_THREADS, small_shared_bytes(order, size_of::<T>()));
    in_parts(queue, views, (1, small_items(order) as usize), shape, |v| match order {
        8 => pack!(gemm_small::<T, 8>(v, v.items())),
        16 => pack!(gemm_small::<T, 16>(v, v.items())),
        32 => pack!(gemm_small::<T, 32>(v, v.items())),
        _ => pack!(gemm_small::<T, 64>(v, v.items())),
    })
}
