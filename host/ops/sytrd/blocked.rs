//! `blocked`: panels of reflectors and rank-2k updates, two launches a panel.

use cuda_std::{Global, GlobalMut};
use kernels_pack::lascl::{lascl, lascl_tridiagonal};
use kernels_panel::latrd::latrd;
use kernels_panel::shape::{LATRD_THREADS, Latrd, TILE_THREADS, syr2k_bytes, syr2k_tile};
use kernels_panel::syr2k::syr2k;

use super::{Plan, Problem, Tridiagonal};
use crate::error::{Error, Result};
use crate::memory::DeviceBatch;
use crate::ops::tiles::{KernelScalar, Matrices, config, submit};
use crate::ops::{Target, Uplo};
use crate::queue::{Queue, workspace_bytes};
use crate::routes::Params;
use crate::scalar::{Dtype, Scalar};

/// A reduction with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panels {
    n: usize,
    /// Columns of a panel.
    nb: usize,
    /// Warps of a block that reduces a panel.
    warps: usize,
}

/// Where a reduction leaves its results: `n` elements of `d` and `tau` an item, `e` with a stride of its own.
pub(crate) struct Reduced<T: Scalar> {
    pub(crate) d: GlobalMut<T::Real>,
    pub(crate) e: GlobalMut<T::Real>,
    pub(crate) e_stride: usize,
    pub(crate) tau: GlobalMut<T>,
}

impl Panels {
    /// The parameters for a shape, or why it cannot be done.
    pub(crate) fn new(
        dtype: Dtype,
        n: usize,
        params: &Params,
        target: &Target,
    ) -> std::result::Result<Self, String> {
        let limits = target.limits().ok_or("needs a GPU or the executor")?;
        let most = limits.shared_bytes_per_block;
        let bytes = |warps: usize| Latrd::bytes(dtype.bytes(), n, warps);
        if n > u32::MAX as usize / 32 || bytes(1) > most {
            return Err(format!(
                "a column takes {} bytes of shared memory, the device gives {most} a block",
                bytes(1)
            ));
        }
        let warps = match params.get("warps").map(|warps| warps as usize) {
            Some(warps) if !warps.is_power_of_two() => {
                return Err("warps is 1, 2, 4, 8 or 16".to_owned());
            }
            Some(warps) if bytes(warps) > most => {
                return Err(format!(
                    "{warps} warps need {} bytes of shared memory a block, the device gives {most}",
                    bytes(warps)
                ));
            }
            Some(warps) => warps,
            None => {
                let mut warps = usual_warps(n);
                while bytes(warps) > most {
                    warps /= 2;
                }
                warps
            }
        };
        let nb = params.get("nb").map_or(USUAL_PANEL, |nb| nb as usize);
        Ok(Panels { n, nb, warps })
    }

    /// The parameters, all of them.
    pub(crate) fn write_to(&self, params: &mut Params) {
        params.set("nb", self.nb as u32);
        params.set("warps", self.warps as u32);
    }

    /// Elements of `w` for a batch: `n` by `nb` an item.
    pub(crate) fn w_elements(&self, batch: usize) -> usize {
        (self.n * self.nb).saturating_mul(batch)
    }

    /// Reduces the lower triangles of `a`, scaled to elements of about 1. `w` holds `w_elements`.
    pub(crate) fn enqueue<T: KernelScalar>(
        &self,
        queue: &Queue,
        batch: usize,
        a: Matrices<T>,
        w: GlobalMut<T>,
        out: &Reduced<T>,
    ) -> Result<()> {
        let Panels { n, nb, warps } = *self;
        let bytes = size_of::<T>();
        if a.ld > MAX_LD {
            return Err(Error::argument(format!("leading dimension {} is past {MAX_LD}", a.ld)));
        }
        let (ld, stride) = (a.ld()?, a.stride as u64);
        let w_stride = (n * nb) as u64;
        for first in (0..n).step_by(nb) {
            let width = nb.min(n - first);
            let call = latrd::call::<T>(
                a.view,
                w,
                out.d,
                out.e,
                out.tau,
                n as u32,
                ld,
                stride,
                w_stride,
                out.e_stride as u64,
                first as u32,
                width as u32,
            );
            let shared = Latrd::bytes(bytes, n - first / 32 * 32, warps);
            submit(queue, config(batch as u64, 1, 32 * warps as u32, shared)?, call)?;
            let rest = first + width;
            if rest < n {
                let side = (n - rest).div_ceil(syr2k_tile(bytes));
                let tiles = side * (side + 1) / 2;
                let call = syr2k::call::<T>(
                    a.view,
                    w.as_global(),
                    n as u32,
                    ld,
                    stride,
                    w_stride,
                    rest as u32,
                    width as u32,
                    tiles as u32,
                );
                let blocks = (batch as u64)
                    .checked_mul(tiles as u64)
                    .ok_or_else(|| Error::argument(format!("{batch} times {tiles} tiles overflow")))?;
                submit(queue, config(blocks, 1, TILE_THREADS, syr2k_bytes(bytes))?, call)?;
            }
        }
        Ok(())
    }
}

/// Brings items to elements of about 1, in the lower triangle; `scale` and `status` as the kernel `lascl` has them.
pub(crate) fn scale<T: KernelScalar>(
    queue: &Queue,
    (n, batch, uplo): (usize, usize, Uplo),
    a: Matrices<T>,
    scale: GlobalMut<<T as Scalar>::Real>,
    status: GlobalMut<i32>,
) -> Result<()> {
    let upper = u32::from(uplo == Uplo::Upper);
    let call = lascl::call::<T>(a.view, scale, status, n as u32, a.ld()?, a.stride as u64, upper);
    let shared = kernels_pack::lascl_shared_bytes(size_of::<T>());
    submit(queue, config(batch as u64, 1, kernels_pack::threads(n as u32), shared)?, call)
}

pub(super) fn plan(problem: &Problem, target: &Target, params: &Params) -> Result<Plan> {
    let panels = Panels::new(problem.dtype, problem.n, params, target).map_err(Error::argument)?;
    let mut params = params.clone();
    panels.write_to(&mut params);
    let w = panels.w_elements(problem.batch).saturating_mul(problem.dtype.bytes());
    let scales = problem.batch.saturating_mul(problem.dtype.real().bytes());
    let workspace_bytes = workspace_bytes::<u8>(w).saturating_add(workspace_bytes::<u8>(scales));
    Ok(Plan { problem: *problem, family: "blocked", params, workspace_bytes })
}

pub(super) fn launch<T: KernelScalar>(
    queue: &Queue,
    plan: &Plan,
    a: &mut DeviceBatch<T>,
    out: Tridiagonal<'_, T>,
) -> Result<()> {
    let Problem { dtype, n, batch, uplo } = plan.problem;
    let panels = Panels::new(dtype, n, &plan.params, &Target::of(queue)).map_err(Error::argument)?;
    let mut workspace = queue.workspace(plan.workspace_bytes)?;
    let w = workspace.take::<T>(panels.w_elements(batch))?;
    let scales = workspace.take::<<T as Scalar>::Real>(batch)?;
    let (d, e, status) = (out.d.view_mut(), out.e.view_mut(), out.status.view_mut());
    let a = Matrices::of(a);
    scale(queue, (n, batch, uplo), a, scales, status)?;
    let reduced = Reduced::<T> { d, e, e_stride: n - 1, tau: out.tau.view_mut() };
    panels.enqueue(queue, batch, a, w, &reduced)?;
    unscale(queue, (n, batch), &reduced, scales.as_global(), status.as_global())
}

/// Brings diagonals and off-diagonals back to the items' scales; NaN for a bad item.
fn unscale<T: KernelScalar>(
    queue: &Queue,
    (n, batch): (usize, usize),
    reduced: &Reduced<T>,
    scale: Global<<T as Scalar>::Real>,
    status: Global<i32>,
) -> Result<()> {
    let call = lascl_tridiagonal::call::<<T as Scalar>::Real>(reduced.d, reduced.e, scale, status, n as u32);
    submit(queue, config(batch as u64, 1, kernels_pack::threads(n as u32), 0)?, call)
}

/// Sixteen columns are counted in 32 bits.
const MAX_LD: usize = 1 << 28;

/// Columns of a panel where nothing says otherwise. Not measured yet.
const USUAL_PANEL: usize = 32;

/// Warps where nothing says otherwise: the longer the columns, the fewer items fill a GPU. Not measured yet.
fn usual_warps(n: usize) -> usize {
    let warps = match n {
        0..=256 => 4,
        257..=512 => 8,
        _ => 16,
    };
    warps.min(LATRD_THREADS as usize / 32)
}
