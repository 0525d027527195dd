//! `blocked`: compact WY in panels of 64 or 32 reflectors, two launches in all.

use cuda_std::{Global, GlobalMut};
use kernels_panel::larft::larft;
use kernels_panel::ormqr::ormqr;
use kernels_panel::shape::{LARFT_THREADS, Larft, Ormqr, STRIP, ormqr_threads};

use super::arrays::{Arrays, Operands};
use super::{Plan, Problem};
use crate::error::{Error, Result};
use crate::ops::Target;
use crate::ops::family::Family;
use crate::ops::tiles::{KernelScalar, Matrices, config, has_shared, leading_dimension, limits, submit};
use crate::ops::typed::for_scalar;
use crate::queue::{Queue, workspace_bytes};
use crate::routes::Params;
use crate::scalar::Dtype;

pub(crate) struct Blocked;

impl Family<Problem> for Blocked {
    fn name(&self) -> &'static str {
        "blocked"
    }

    fn can_run(
        &self,
        problem: &Problem,
        params: &Params,
        target: &Target,
    ) -> std::result::Result<(), String> {
        Panels::new(problem, params, target).map(drop)
    }

    fn plan(&self, problem: &Problem, params: &Params, target: &Target) -> Result<Plan> {
        let panels = Panels::new(problem, params, target).map_err(Error::argument)?;
        let mut params = params.clone();
        params.set("nb", panels.nb as u32);
        let workspace_bytes = factor_bytes(problem);
        Ok(Plan { problem: *problem, family: self.name(), params, workspace_bytes })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        let problem = &plan.problem;
        let panels = Panels::new(problem, &plan.params, &Target::of(queue)).map_err(Error::argument)?;
        for_scalar!(operands, arrays => run(queue, problem, panels, arrays))
    }
}

/// What is applied: reflector `k` of an item lies in column `k` below row `k + shift`, where it is 1.
#[derive(Clone, Copy)]
pub(crate) struct Reflectors<T> {
    pub(crate) v: Global<T>,
    pub(crate) ld: usize,
    pub(crate) stride: usize,
    pub(crate) tau: Global<T>,
    pub(crate) tau_stride: usize,
    pub(crate) shift: usize,
}

/// How the reflectors are dealt into panels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panels {
    /// Reflectors of a panel.
    pub(crate) nb: usize,
}

impl Panels {
    /// The parameters for a shape, or why it cannot be done.
    pub(crate) fn new(
        problem: &Problem,
        params: &Params,
        target: &Target,
    ) -> std::result::Result<Self, String> {
        let Problem { dtype, n, columns, .. } = *problem;
        let most = limits(target)?.shared_bytes_per_block;
        if n.max(columns) > u32::MAX as usize / 64 {
            return Err("rows and columns are at most 2^26".to_owned());
        }
        let kernels: &[usize] = match dtype {
            Dtype::F32 => &[64],
            Dtype::F64 | Dtype::C32 => &[64, 32],
            Dtype::C64 => &[32],
        };
        let bytes = |nb| Ormqr::bytes(nb, dtype.bytes(), dtype.is_complex());
        let wanted = match params.get("nb").map(|nb| nb as usize) {
            None => kernels.iter().copied().find(|&nb| bytes(nb) <= most),
            Some(nb) if !kernels.contains(&nb) => {
                let known: Vec<String> = kernels.iter().map(usize::to_string).collect();
                return Err(format!("nb is {} for {dtype}", known.join(" or ")));
            }
            nb => nb,
        };
        let nb = wanted.unwrap_or(kernels[kernels.len() - 1]);
        has_shared(bytes(nb), target)?;
        Ok(Panels { nb })
    }
}

/// Elements of the triangular factors of a batch: 64 a reflector, or less.
pub(crate) fn factor_elements(problem: &Problem) -> usize {
    let panels = problem.reflectors.div_ceil(MOST_REFLECTORS);
    [MOST_REFLECTORS, MOST_REFLECTORS, problem.batch].into_iter().fold(panels, usize::saturating_mul)
}

/// Most reflectors of a panel.
const MOST_REFLECTORS: usize = 64;

/// The columns of a strip are counted in 32 bits.
const MAX_LD: usize = 1 << 25;

/// Bytes of the factors in a workspace.
pub(crate) fn factor_bytes(problem: &Problem) -> usize {
    workspace_bytes::<u8>(factor_elements(problem).saturating_mul(problem.dtype.bytes()))
}

/// `c := Q c`, or `Q^H c`. `t` holds `factor_elements`.
pub(crate) fn enqueue<T: KernelScalar>(
    queue: &Queue,
    (problem, panels): (&Problem, Panels),
    reflectors: &Reflectors<T>,
    t: GlobalMut<T>,
    c: Matrices<T>,
    adjoint: bool,
) -> Result<()> {
    if panels.nb == MOST_REFLECTORS {
        enqueue_panels::<T, 64>(queue, problem, reflectors, t, c, adjoint)
    } else {
        enqueue_panels::<T, 32>(queue, problem, reflectors, t, c, adjoint)
    }
}

fn enqueue_panels<T: KernelScalar, const R: usize>(
    queue: &Queue,
    problem: &Problem,
    reflectors: &Reflectors<T>,
    t: GlobalMut<T>,
    c: Matrices<T>,
    adjoint: bool,
) -> Result<()> {
    let Problem { n, columns, reflectors: count, batch, .. } = *problem;
    let Reflectors { v, ld, stride, tau, tau_stride, shift } = *reflectors;
    if ld.max(c.ld) > MAX_LD {
        return Err(Error::argument(format!("leading dimension {} is past {MAX_LD}", ld.max(c.ld))));
    }
    let ld = leading_dimension(ld)?;
    let (panels, strips) = (count.div_ceil(R), columns.div_ceil(STRIP));
    let blocks = |each: usize| {
        let all = (batch as u64).checked_mul(each as u64);
        all.ok_or_else(|| Error::argument(format!("{batch} times {each} blocks overflow")))
    };
    let (order, count, shift) = (n as u32, count as u32, shift as u32);
    let (stride, tau_stride) = (stride as u64, tau_stride as u64);
    let call = larft::call::<T, R>(v, tau, t, order, ld, stride, tau_stride, count, shift, panels as u32);
    let complex = <T as cuda_std::scalar::Scalar>::COMPLEX;
    let shared = Larft::new(R, size_of::<T>(), complex).end * size_of::<T>();
    submit(queue, config(blocks(panels)?, 1, LARFT_THREADS, shared)?, call)?;
    let call = ormqr::call::<T, R>(
        v,
        t.as_global(),
        c.view,
        order,
        columns as u32,
        ld,
        stride,
        c.ld()?,
        c.stride as u64,
        count,
        shift,
        panels as u32,
        strips as u32,
        u32::from(adjoint),
    );
    let shared = Ormqr::bytes(R, size_of::<T>(), complex);
    submit(queue, config(blocks(strips)?, 1, ormqr_threads(size_of::<T>()), shared)?, call)
}

fn run<T: KernelScalar>(
    queue: &Queue,
    problem: &Problem,
    panels: Panels,
    arrays: Arrays<'_, T>,
) -> Result<()> {
    let Arrays { v, tau, c, shift, adjoint } = arrays;
    let mut workspace = queue.workspace(factor_bytes(problem))?;
    let t = workspace.take::<T>(factor_elements(problem))?;
    let reflectors = Reflectors {
        v: v.buffer().view(),
        ld: v.ld(),
        stride: v.stride(),
        tau: tau.view(),
        tau_stride: tau.len() / problem.batch,
        shift,
    };
    enqueue(queue, (problem, panels), &reflectors, t, Matrices::of(c), adjoint)
}
