//! `cta_fused`: the whole problem in one launch, n <= 32, without workspace.

use kernels_small_syev::syev_cta_fused::{shared_bytes, syev_cta_fused};

use super::family::{Arrays, Family, Operands, Plan};
use super::small::{self, KernelScalar, SWEEPS_PER_VALUE, Shape, config, submit};
use super::{Jobz, Problem};
use crate::error::Result;
use crate::ops::Target;
use crate::queue::Queue;
use crate::routes::Params;

pub(crate) struct CtaFused;

/// Largest order.
const MAX_N: usize = 32;

impl Family for CtaFused {
    fn name(&self) -> &'static str {
        "cta_fused"
    }

    fn can_run(&self, problem: &Problem, _: &Params, target: &Target) -> std::result::Result<(), String> {
        small::can_run(problem, target, MAX_N)
    }

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        Ok(Plan { problem: *problem, family: self.name(), params: params.clone(), workspace_bytes: 0 })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        let problem = &plan.problem;
        // Items a block: what the registers of a multiprocessor hold (see the kernel's export groups).
        macro_rules! by_order {
            ($arrays:ident, $p8:literal, $p16:literal, $p32:literal) => {
                match problem.n {
                    0..=8 => by_jobz::<_, 8, $p8>(queue, problem, $arrays),
                    9..=16 => by_jobz::<_, 16, $p16>(queue, problem, $arrays),
                    _ => by_jobz::<_, 32, $p32>(queue, problem, $arrays),
                }
            };
        }
        match operands {
            Operands::F32(arrays) => by_order!(arrays, 32, 16, 16),
            Operands::F64(arrays) => by_order!(arrays, 32, 16, 12),
            Operands::C32(arrays) => by_order!(arrays, 32, 16, 12),
            Operands::C64(arrays) => by_order!(arrays, 16, 16, 8),
        }
    }
}

fn by_jobz<T: KernelScalar, const P: usize, const MATRICES: usize>(
    queue: &Queue,
    problem: &Problem,
    arrays: Arrays<'_, T>,
) -> Result<()> {
    match problem.jobz {
        Jobz::V => run::<T, P, MATRICES, true>(queue, problem, arrays),
        Jobz::N => run::<T, P, MATRICES, false>(queue, problem, arrays),
    }
}

fn run<T: KernelScalar, const P: usize, const MATRICES: usize, const VECTORS: bool>(
    queue: &Queue,
    problem: &Problem,
    arrays: Arrays<'_, T>,
) -> Result<()> {
    let Shape { n, ld, stride, batch, upper } = Shape::new(problem, &arrays)?;
    let a = arrays.a.buffer_mut().view_mut();
    let (w, status) = (arrays.w.view_mut(), arrays.status.view_mut());
    let call = syev_cta_fused::call::<T, P, MATRICES, VECTORS>(
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
    let bytes = shared_bytes(size_of::<T>(), size_of::<<T as crate::Scalar>::Real>(), P, MATRICES);
    submit(queue, config(batch, MATRICES as u32, (P * MATRICES) as u32, bytes)?, call)
}
