//! `blocked`: panels of reflectors and rank-2k updates, two launches a panel, and one for the last columns.

use cuda_std::GlobalMut;
use cuda_std::launch::LaunchConfig;
use kernels_pack::lascl::{lascl, lascl_tridiagonal};
use kernels_panel::latrd::latrd;
use kernels_panel::latrd_grid::{latrd_clear, latrd_grid};
use kernels_panel::shape::{LATRD_GRID_THREADS, LATRD_STAGED, LATRD_THREADS, Latrd, MAX_PANEL, Syr2k};
use kernels_panel::syr2k::syr2k;

use super::arrays::{Arrays, Operands};
use super::{Plan, Problem, tail};
use crate::error::{Error, Result};
use crate::ops::family::Family;
use crate::ops::tiles::{KernelScalar, Matrices, config, limits, submit};
use crate::ops::typed::for_scalar;
use crate::ops::{Target, Uplo};
use crate::queue::{Queue, Workspace, workspace_bytes};
use crate::routes::Params;
use crate::scalar::{Dtype, Scalar};

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
        Panels::new(problem.dtype, (problem.n, problem.batch), params, target).map(drop)
    }

    fn plan(&self, problem: &Problem, params: &Params, target: &Target) -> Result<Plan> {
        let Problem { dtype, n, batch, .. } = *problem;
        let panels = Panels::new(dtype, (n, batch), params, target).map_err(Error::argument)?;
        let mut params = params.clone();
        panels.write_to(&mut params);
        let scales = workspace_bytes::<u8>(batch.saturating_mul(dtype.real().bytes()));
        let workspace_bytes = panels.bytes(dtype, batch).saturating_add(scales);
        Ok(Plan { problem: *problem, family: self.name(), params, workspace_bytes })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        let Problem { dtype, n, batch, .. } = plan.problem;
        let panels =
            Panels::new(dtype, (n, batch), &plan.params, &Target::of(queue)).map_err(Error::argument)?;
        for_scalar!(operands, arrays => run(queue, plan, &panels, arrays))
    }
}

/// A reduction with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panels {
    n: usize,
    /// Columns of a panel.
    nb: usize,
    /// Warps of a block that reduces a panel.
    warps: usize,
    /// Blocks that reduce a panel of one item together.
    grid: usize,
    /// Most columns of V and W that a block keeps in shared memory.
    staged: usize,
    /// Bytes of shared memory that a block may take for them.
    shared: usize,
    /// Most columns that are reduced at the end by one launch.
    tail: usize,
}

/// Where a reduction leaves its results: `n` elements of `d` and `tau` an item, `e` with a stride of its own; by what an item
/// was multiplied, and its status.
pub(crate) struct Reduced<T: Scalar> {
    pub(crate) d: GlobalMut<T::Real>,
    pub(crate) e: GlobalMut<T::Real>,
    pub(crate) e_stride: usize,
    pub(crate) tau: GlobalMut<T>,
    pub(crate) scale: GlobalMut<T::Real>,
    pub(crate) status: GlobalMut<i32>,
}

impl Panels {
    /// The parameters for a shape, or why it cannot be done.
    pub(crate) fn new(
        dtype: Dtype,
        (n, batch): (usize, usize),
        params: &Params,
        target: &Target,
    ) -> std::result::Result<Self, String> {
        let limits = limits(target)?;
        let grid = grid(params, batch, limits.multiprocessors)?;
        let warps = warps(dtype, n, grid, params, limits.shared_bytes_per_block)?;
        let nb = params.get("nb").map_or(USUAL_PANEL, |nb| nb as usize);
        let asked = params.get("staged").map(|staged| staged as usize);
        if grid > 1 && asked.is_some_and(|staged| staged > 0) {
            return Err("a grid stages no columns".to_owned());
        }
        let usual = if n > LARGE_STAGED { 0 } else { MAX_PANEL };
        let staged = if grid > 1 { 0 } else { asked.unwrap_or(usual) };
        // A block may take what the others of its multiprocessor leave, of which each has 1 KB for the system.
        let most = limits.shared_bytes_per_block;
        let resident = usable_blocks(warps).min(batch.div_ceil(limits.multiprocessors.max(1) as usize));
        let share = ((most + SYSTEM_BYTES) / resident.max(1)).saturating_sub(SYSTEM_BYTES);
        let shared = if asked.is_some() { most } else { share };
        let tail = tail::columns(dtype, params.get("tail").map(|tail| tail as usize), target)?;
        Ok(Panels { n, nb, warps, grid, staged, shared, tail })
    }

    /// Halves a grid that a larger batch, or smaller device, than it was chosen for has no room for.
    pub(crate) fn fit_grid(params: &mut Params, batch: usize, target: &Target) {
        let Some((mut grid, limits)) = params.get("grid").zip(target.limits()) else { return };
        while grid > 1 && !are_resident(batch, grid as usize, limits.multiprocessors) {
            grid /= 2;
        }
        params.set("grid", grid);
    }

    /// The parameters, all of them but the staged columns, which follow from the shape where they are not named.
    pub(crate) fn write_to(&self, params: &mut Params) {
        params.set("nb", self.nb as u32);
        params.set("warps", self.warps as u32);
        params.set("grid", self.grid as u32);
        params.set("tail", self.tail as u32);
    }

    /// Columns of V and W that a block keeps in shared memory, of a panel of `width` columns and `rows` rows.
    fn staged(&self, scalar_bytes: usize, rows: usize, width: usize) -> usize {
        let mut staged = self.staged.min(width).next_multiple_of(LATRD_STAGED);
        while staged > 0 && Latrd::bytes(scalar_bytes, rows, self.warps, staged) > self.shared {
            staged -= LATRD_STAGED;
        }
        staged
    }

    /// Elements of W, and for a grid those of x, the parts, the dots and the norms, and words of the counter; none where
    /// one launch reduces all columns.
    fn elements(&self, batch: usize) -> [usize; 6] {
        let Panels { n, nb, grid, tail, .. } = *self;
        if n <= tail {
            return [0; 6];
        }
        let of = |each: usize| each.saturating_mul(batch);
        if grid == 1 {
            return [of(n * nb), 0, 0, 0, 0, 0];
        }
        [of(n * nb), of(n), of(n * grid), of(2 * MAX_PANEL), of(2 * grid), 1]
    }

    /// Bytes that [`enqueue`](Self::enqueue) takes of a workspace.
    pub(crate) fn bytes(&self, dtype: Dtype, batch: usize) -> usize {
        let [w, x, parts, dots, norms, counter] = self.elements(batch);
        let part = |elements: usize, bytes: usize| workspace_bytes::<u8>(elements.saturating_mul(bytes));
        let scalars = [w, x, parts, dots].map(|elements| part(elements, dtype.bytes()));
        let others = [part(norms, dtype.real().bytes()), part(counter, 4)];
        scalars.into_iter().chain(others).fold(0, usize::saturating_add)
    }

    /// Scales the triangle `uplo` of each item to elements of about 1, as the kernel `lascl` does, and reduces it to the lower
    /// triangle.
    pub(crate) fn enqueue<T: KernelScalar>(
        &self,
        queue: &Queue,
        (batch, uplo): (usize, Uplo),
        a: Matrices<T>,
        out: &Reduced<T>,
        workspace: &mut Workspace<'_>,
    ) -> Result<()> {
        if a.ld > MAX_LD {
            return Err(Error::argument(format!("leading dimension {} is past {MAX_LD}", a.ld)));
        }
        let Panels { n, nb, grid, tail, .. } = *self;
        let shape = (n, batch, uplo);
        if n <= tail {
            return tail::enqueue(queue, shape, a, out, 0);
        }
        scale(queue, shape, a, out)?;
        let [w, x, parts, dots, norms, counter] = self.elements(batch);
        let scratch = Scratch {
            w: workspace.take(w)?,
            x: workspace.take(x)?,
            parts: workspace.take(parts)?,
            dots: workspace.take(dots)?,
            norms: workspace.take(norms)?,
            counter: workspace.take(counter)?,
        };
        if grid > 1 {
            submit(queue, config(1, 1, 32, 0)?, latrd_clear::call(scratch.counter))?;
        }
        for first in (0..n).step_by(nb) {
            if n - first <= tail {
                return tail::enqueue(queue, shape, a, out, first);
            }
            let width = nb.min(n - first);
            self.panel(queue, batch, a, out, &scratch, (first, width))?;
            if first + width < n {
                self.update(queue, batch, a, scratch.w, (first + width, width))?;
            }
        }
        Ok(())
    }

    /// Reduces `width` columns from `first` on.
    fn panel<T: KernelScalar>(
        &self,
        queue: &Queue,
        batch: usize,
        a: Matrices<T>,
        out: &Reduced<T>,
        scratch: &Scratch<T>,
        (first, width): (usize, usize),
    ) -> Result<()> {
        let Panels { n, nb, warps, grid, .. } = *self;
        let rows = n - first / 32 * 32;
        let staged = self.staged(size_of::<T>(), rows, width);
        let (order, ld, stride) = (n as u32, a.ld()?, a.stride as u64);
        let (w_stride, e_stride) = ((n * nb) as u64, out.e_stride as u64);
        let Scratch { w, x, parts, dots, norms, counter } = *scratch;
        let (first32, width32) = (first as u32, width as u32);
        let call = if grid > 1 {
            latrd_grid::call::<T>(
                a.view,
                w,
                out.d,
                out.e,
                out.tau,
                x,
                parts,
                dots,
                norms,
                counter,
                order,
                ld,
                stride,
                w_stride,
                e_stride,
                first32,
                width32,
                grid as u32,
            )
        } else {
            latrd::call::<T>(
                a.view,
                w,
                out.d,
                out.e,
                out.tau,
                order,
                ld,
                stride,
                w_stride,
                e_stride,
                first32,
                width32,
                staged as u32,
            )
        };
        let shared = Latrd::bytes(size_of::<T>(), rows, warps, staged);
        let blocks = config((batch * grid) as u64, 1, 32 * warps as u32, shared)?;
        submit(queue, LaunchConfig { cooperative: grid > 1, ..blocks }, call)
    }

    /// Updates what lies right of a panel of `width` columns, from `rest` on.
    fn update<T: KernelScalar>(
        &self,
        queue: &Queue,
        batch: usize,
        a: Matrices<T>,
        w: GlobalMut<T>,
        (rest, width): (usize, usize),
    ) -> Result<()> {
        let Panels { n, nb, .. } = *self;
        // Larger tiles read less of V and W.
        let large = size_of::<T>() == 4 && n - rest >= LARGE_TILES;
        let tile = if large { 128 } else { 64 };
        let side = (n - rest).div_ceil(tile);
        let tiles = side * (side + 1) / 2;
        let kernel = if large { syr2k::call::<T, 128> } else { syr2k::call::<T, 64> };
        let call = kernel(
            a.view,
            w.as_global(),
            n as u32,
            a.ld()?,
            a.stride as u64,
            (n * nb) as u64,
            rest as u32,
            width as u32,
            tiles as u32,
        );
        let blocks = (batch as u64).checked_mul(tiles as u64);
        let blocks =
            blocks.ok_or_else(|| Error::argument(format!("{batch} times {tiles} tiles overflow")))?;
        let shape = Syr2k::new(tile as u32, size_of::<T>(), size_of::<<T as Scalar>::Real>());
        submit(queue, config(blocks, 1, shape.threads, shape.bytes)?, call)
    }
}

/// Whether a parameter is a power of two.
fn power_of_two(name: &str, value: usize, most: u32) -> std::result::Result<(), String> {
    if value.is_power_of_two() { Ok(()) } else { Err(format!("{name} is a power of two up to {most}")) }
}

/// Whether a device holds so many blocks of each item at once, of which a multiprocessor has one.
fn are_resident(batch: usize, grid: usize, multiprocessors: u32) -> bool {
    batch.saturating_mul(grid) <= multiprocessors as usize
}

/// Blocks an item, which the device must hold all at once.
fn grid(params: &Params, batch: usize, multiprocessors: u32) -> std::result::Result<usize, String> {
    let grid = params.get("grid").map_or(1, |grid| grid as usize);
    power_of_two("grid", grid, 128)?;
    if grid > 1 && !are_resident(batch, grid, multiprocessors) {
        return Err(format!(
            "{batch} items of {grid} blocks pass the {multiprocessors} multiprocessors, which must hold them at once"
        ));
    }
    Ok(grid)
}

/// Warps of a block, whose shared memory is at most `most` bytes.
fn warps(
    dtype: Dtype,
    n: usize,
    grid: usize,
    params: &Params,
    most: usize,
) -> std::result::Result<usize, String> {
    if n > MAX_N {
        return Err(format!("n is at most {MAX_N}"));
    }
    let bytes = |warps: usize| Latrd::bytes(dtype.bytes(), n, warps, 0);
    if bytes(1) > most {
        return Err(format!(
            "a column takes {} bytes of shared memory, the device gives {most} a block",
            bytes(1)
        ));
    }
    let most_warps = if grid > 1 { LATRD_GRID_THREADS / 32 } else { LATRD_THREADS / 32 };
    let Some(warps) = params.get("warps").map(|warps| warps as usize) else {
        let mut warps = if grid > 1 { most_warps as usize } else { usual_warps(n) };
        while bytes(warps) > most {
            warps /= 2;
        }
        return Ok(warps);
    };
    power_of_two("warps", warps, most_warps)?;
    if warps > most_warps as usize {
        return Err(format!("warps is at most {most_warps} with a grid"));
    }
    if bytes(warps) > most {
        let needed = bytes(warps);
        return Err(format!(
            "{warps} warps need {needed} bytes of shared memory a block, the device gives {most}"
        ));
    }
    Ok(warps)
}

/// Memory of a reduction beside the matrices.
struct Scratch<T: Scalar> {
    w: GlobalMut<T>,
    x: GlobalMut<T>,
    parts: GlobalMut<T>,
    dots: GlobalMut<T>,
    norms: GlobalMut<T::Real>,
    counter: GlobalMut<u32>,
}

/// Brings items to elements of about 1, in the lower triangle.
fn scale<T: KernelScalar>(
    queue: &Queue,
    (n, batch, uplo): (usize, usize, Uplo),
    a: Matrices<T>,
    out: &Reduced<T>,
) -> Result<()> {
    let upper = u32::from(uplo == Uplo::Upper);
    let call = lascl::call::<T>(a.view, out.scale, out.status, n as u32, a.ld()?, a.stride as u64, upper);
    let shared = kernels_pack::lascl_shared_bytes(size_of::<T>());
    submit(queue, config(batch as u64, 1, kernels_pack::item_threads(n as u32), shared)?, call)
}

fn run<T: KernelScalar>(queue: &Queue, plan: &Plan, panels: &Panels, arrays: Arrays<'_, T>) -> Result<()> {
    let (Problem { n, batch, uplo, .. }, Arrays { a, out }) = (plan.problem, arrays);
    let mut workspace = queue.workspace(plan.workspace_bytes)?;
    let scales = workspace.take::<<T as Scalar>::Real>(batch)?;
    let (d, e, status) = (out.d.view_mut(), out.e.view_mut(), out.status.view_mut());
    let a = Matrices::of(a);
    let tau = out.tau.view_mut();
    let reduced = Reduced::<T> { d, e, e_stride: n - 1, tau, scale: scales, status };
    panels.enqueue(queue, (batch, uplo), a, &reduced, &mut workspace)?;
    unscale(queue, (n, batch), &reduced)
}

/// Brings diagonals and off-diagonals back to the items' scales; NaN for a bad item.
fn unscale<T: KernelScalar>(queue: &Queue, (n, batch): (usize, usize), reduced: &Reduced<T>) -> Result<()> {
    let (scale, status) = (reduced.scale.as_global(), reduced.status.as_global());
    let call = lascl_tridiagonal::call::<<T as Scalar>::Real>(reduced.d, reduced.e, scale, status, n as u32);
    submit(queue, config(batch as u64, 1, kernels_pack::threads(n as u32), 0)?, call)
}

/// Far above what shared memory holds; sizes below it do not overflow.
const MAX_N: usize = 1 << 20;

/// Sixteen columns are counted in 32 bits.
const MAX_LD: usize = 1 << 28;

/// Order of what is left of a matrix from which on the update's tiles are 128 by 128, where there are such tiles. Not
/// measured yet.
const LARGE_TILES: usize = 384;

/// Order above which V and W are not staged where nothing says otherwise: they take the place of L1. f32 with vectors, us a
/// matrix, as many as fit and none: n = 256 9.85 and 10.0, 512 56.4 and 55.8, 1024 386 and 377 (as `usual_warps`).
const LARGE_STAGED: usize = 384;

/// Columns of a panel where nothing says otherwise. us a matrix, 16, 24, 32 columns: n = 1024 f32 385.7, 386.3, 385.7, f64
/// 611, 595, 588 (as `usual_warps`).
const USUAL_PANEL: usize = 32;

/// Bytes of shared memory that a block takes beside its own.
const SYSTEM_BYTES: usize = 1024;

/// Blocks that the registers of a multiprocessor, 128 a thread, hold.
fn usable_blocks(warps: usize) -> usize {
    (LATRD_THREADS as usize / 32 / warps).max(1)
}

/// Warps where nothing says otherwise: the longer the columns, the fewer items fill a GPU. f64 with vectors, us a matrix: n = 256 13.9
/// by 4, 14.8 by 8, 16.7 by 16; 512 94, 85, 91; 1024 by 8 630, by 16 588 (H200, batch 131072 / n;
/// benches/results/blocked_h200_2026-11-30.jsonl).
fn usual_warps(n: usize) -> usize {
    match n {
        0..=256 => 4,
        257..=512 => 8,
        _ => 16,
    }
}
