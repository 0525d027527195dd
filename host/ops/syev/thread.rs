//! `thread`: one matrix a thread, Jacobi in registers; n <= 8 in f32, 6 in f64 and c32, 4 in c64.

use kernels_small_syev::syev_thread::{staging_elements, syev_thread};

use super::arrays::{Arrays, Operands};
use super::small::{self, KernelScalar, Shape, config, submit};
use super::{Jobz, Plan, Problem};
use crate::error::Result;
use crate::ops::Target;
use crate::ops::family::Family;
use crate::queue::Queue;
use crate::routes::Params;
use crate::scalar::Dtype;

pub(crate) struct Thread;

/// Sweeps that Jacobi may take: three times what the slowest inputs of the tests take.
const MAX_SWEEPS: u32 = 24;

/// Largest order whose matrix and vectors fit the registers of a thread.
fn max_n(dtype: Dtype) -> usize {
    match dtype {
        Dtype::F32 => 8,
        Dtype::F64 | Dtype::C32 => 6,
        Dtype::C64 => 4,
    }
}

impl Family<Problem> for Thread {
    fn name(&self) -> &'static str {
        "thread"
    }

    fn can_run(&self, problem: &Problem, _: &Params, target: &Target) -> std::result::Result<(), String> {
        small::can_run(problem, target, max_n(problem.dtype))
    }

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        Ok(small::plan(self.name(), problem, params, 2))
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        macro_rules! by_order {
            ($arrays:ident, $($n:literal)*) => {
                match plan.problem.n {
                    $($n => by_jobz::<_, $n>(queue, plan, $arrays),)*
                    n => unreachable!("can_run refuses n = {n}"),
                }
            };
        }
        match operands {
            Operands::F32(arrays) => by_order!(arrays, 1 2 3 4 5 6 7 8),
            Operands::F64(arrays) => by_order!(arrays, 1 2 3 4 5 6),
            Operands::C32(arrays) => by_order!(arrays, 1 2 3 4 5 6),
            Operands::C64(arrays) => by_order!(arrays, 1 2 3 4),
        }
    }
}

fn by_jobz<T: KernelScalar, const N: usize>(queue: &Queue, plan: &Plan, arrays: Arrays<'_, T>) -> Result<()> {
    match plan.problem.jobz {
        Jobz::V => run::<T, N, true>(queue, plan, arrays),
        Jobz::N => run::<T, N, false>(queue, plan, arrays),
    }
}

fn run<T: KernelScalar, const N: usize, const VECTORS: bool>(
    queue: &Queue,
    plan: &Plan,
    arrays: Arrays<'_, T>,
) -> Result<()> {
    let Shape { n, ld, stride, batch, upper } = Shape::new(&plan.problem, &arrays)?;
    let block = 32 * plan.params.get("warps").unwrap_or(2);
    let packed = ld == n && stride == n as u64 * n as u64;
    let a = arrays.a.buffer_mut().view_mut();
    let (w, status) = (arrays.w.view_mut(), arrays.status.view_mut());
    let call =
        syev_thread::call::<T, N, VECTORS>(a, w, status, ld, stride, batch, upper, packed as u32, MAX_SWEEPS);
    let bytes = block as usize * staging_elements(N) * size_of::<T>();
    submit(queue, config(batch, block, block, bytes)?, call)
}
