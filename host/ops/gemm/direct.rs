//! `direct`: no staging, a thread a row and four columns of C; for few rows and columns, and any k.

use kernels_gemm::gemm_direct::gemm_direct;
use kernels_gemm::shape::{DIRECT_COLUMNS, DIRECT_THREADS};

use super::arrays::Operands;
use super::launch::{self, KernelScalar, Views, in_parts, pack};
use super::{Plan, Problem};
use crate::error::Result;
use crate::ops::Target;
use crate::ops::family::Family;
use crate::ops::typed::for_scalar;
use crate::queue::Queue;
use crate::routes::Params;

pub(crate) struct Direct;

/// Threads that an item takes.
fn tasks(problem: &Problem) -> u64 {
    (problem.m as u64).saturating_mul(problem.n.div_ceil(DIRECT_COLUMNS) as u64)
}

impl Family<Problem> for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn can_run(&self, problem: &Problem, _: &Params, target: &Target) -> std::result::Result<(), String> {
        let tasks = tasks(problem);
        launch::can_run(problem, target, tasks.div_ceil(u64::from(DIRECT_THREADS)))?;
        if tasks > u64::from(u32::MAX) {
            return Err(format!("takes {tasks} threads an item, more than 32 bits count"));
        }
        Ok(())
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        for_scalar!(operands, arrays => run(queue, plan, &Views::new(&plan.problem, &arrays)))
    }
}

fn run<T: KernelScalar>(queue: &Queue, plan: &Plan, views: &Views<T>) -> Result<()> {
    let (tasks, threads) = (tasks(&plan.problem) as u32, DIRECT_THREADS);
    let (per_item, per_block) =
        if tasks > threads { (tasks.div_ceil(threads), 1) } else { (1, threads / tasks) };
    in_parts(queue, views, (per_item as usize, per_block as usize), (threads, 0), |v| {
        pack!(gemm_direct::<T>(v, v.items(), per_item, per_block))
    })
}
