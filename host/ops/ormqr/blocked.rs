//! `blocked`: compact WY in panels of 32 reflectors, two launches in all.

use cuda_std::{Global, GlobalMut};
use kernels_panel::larft::larft;
use kernels_panel::ormqr::ormqr;
use kernels_panel::shape::{Ormqr, REFLECTORS, TILE_THREADS, larft_bytes, strip};

use super::Problem;
use crate::error::{Error, Result};
use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::Target;
use crate::ops::tiles::{KernelScalar, Matrices, config, leading_dimension, submit};
use crate::queue::{Queue, workspace_bytes};

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

pub(crate) fn can_run(problem: &Problem, target: &Target) -> std::result::Result<(), String> {
    let limits = target.limits().ok_or("needs a GPU or the executor")?;
    let needed = Ormqr::new(problem.dtype.bytes()).end;
    if needed > limits.shared_bytes_per_block {
        return Err(format!(
            "needs {needed} bytes of shared memory a block, the device gives {}",
            limits.shared_bytes_per_block
        ));
    }
    if problem.n.max(problem.columns) > u32::MAX as usize / 64 {
        return Err("rows and columns are at most 2^26".to_owned());
    }
    Ok(())
}

/// Elements of the triangular factors of a batch: 32 a reflector.
pub(crate) fn factor_elements(problem: &Problem) -> usize {
    let panels = problem.reflectors.div_ceil(REFLECTORS);
    (panels * REFLECTORS * REFLECTORS).saturating_mul(problem.batch)
}

/// Bytes of the factors in a workspace.
pub(crate) fn factor_bytes(problem: &Problem) -> usize {
    workspace_bytes::<u8>(factor_elements(problem).saturating_mul(problem.dtype.bytes()))
}

/// `c := Q c`, or `Q^H c`. `t` holds `factor_elements`.
pub(crate) fn enqueue<T: KernelScalar>(
    queue: &Queue,
    problem: &Problem,
    reflectors: &Reflectors<T>,
    t: GlobalMut<T>,
    c: Matrices<T>,
    adjoint: bool,
) -> Result<()> {
    let Problem { n, columns, reflectors: count, batch, .. } = *problem;
    let Reflectors { v, ld, stride, tau, tau_stride, shift } = *reflectors;
    let ld = leading_dimension(ld)?;
    let (panels, strips) = (count.div_ceil(REFLECTORS), columns.div_ceil(strip(size_of::<T>())));
    let blocks = |each: usize| {
        let all = (batch as u64).checked_mul(each as u64);
        all.ok_or_else(|| Error::argument(format!("{batch} times {each} blocks overflow")))
    };
    let call = larft::call::<T>(
        v,
        tau,
        t,
        n as u32,
        ld,
        stride as u64,
        tau_stride as u64,
        count as u32,
        shift as u32,
        panels as u32,
    );
    submit(queue, config(blocks(panels)?, 1, TILE_THREADS, larft_bytes(size_of::<T>()))?, call)?;
    let call = ormqr::call::<T>(
        v,
        t.as_global(),
        c.view,
        n as u32,
        columns as u32,
        ld,
        stride as u64,
        c.ld()?,
        c.stride as u64,
        count as u32,
        shift as u32,
        panels as u32,
        strips as u32,
        u32::from(adjoint),
    );
    submit(queue, config(blocks(strips)?, 1, TILE_THREADS, Ormqr::new(size_of::<T>()).end)?, call)
}

pub(super) fn launch<T: KernelScalar>(
    queue: &Queue,
    problem: &Problem,
    (v, tau): (&DeviceBatch<T>, &DeviceBuffer<T>),
    c: &mut DeviceBatch<T>,
    (shift, adjoint): (usize, bool),
) -> Result<()> {
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
    enqueue(queue, problem, &reflectors, t, Matrices::of(c), adjoint)
}
