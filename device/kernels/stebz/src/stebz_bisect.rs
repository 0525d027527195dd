//! `stebz_bisect`: all eigenvalues by bisection and interpolation.

use crate::shape::{Shape, WARPS};
use cuda_std::prelude::*;
use device_linalg::intervals::Intervals;
pub use device_linalg::intervals::most_passes;
use device_linalg::sturm::{Band, disc, widened};

/// All eigenvalues of real symmetric tridiagonal matrices, in ascending order.
///
/// # Layout and shapes
/// `d`: `n` diagonal elements an item, items `d_stride` apart; `e`: `n - 1` off-diagonals, `e_stride` apart. Both are only
/// read. `w`: `batch * n` eigenvalues; NaN where an interval is still wider than an ulp of the norm after `passes`
/// passes. `status`: -1, and NaN in `w`, where `d` or `e` is not finite, else 0; `stebz_status` counts the NaNs after.
///
/// # Lanes
/// `VALUES` values a lane, `POINTS` points of each interval at a time; [`Shape`] says which. A warp has one item.
///
/// # Shared memory
/// `STAGED`: [`Shape::shared_bytes`] for diagonals and squares of off-diagonals. Else both are read from memory again in
/// each pass, by all lanes at once.
///
/// # Synchronisation
/// Shuffles of the warp, and one block barrier. Lanes leave the loop over passes by themselves.
///
/// # Numerics
/// Scaled by a power of two to elements of at most 2, so that no square overflows and those that underflow are below the
/// rounding error. Sturm counts with approximate reciprocals decide; the determinant, where a value is alone, says where to count
/// next. Every value is within a few ulp of the norm.
///
/// # Safety
/// The views cover the items; the launch gives the blocks and the shared memory of the [`Shape`].
///
/// # Source
/// Barth, Martin and Wilkinson, 1967; LAPACK's `dstebz`; `docs/algorithms/stebz.md`.
#[kernel(
    group(T = [f32, f64], VALUES = [1], POINTS = [3], STAGED = [true, false], launch_bounds(128)),
    group(T = [f32, f64], VALUES = [2, 4], POINTS = [1], STAGED = [true, false], launch_bounds(128))
)]
pub unsafe fn stebz_bisect<T: Real, const VALUES: usize, const POINTS: usize, const STAGED: bool>(
    d: Global<T>,
    e: Global<T>,
    w: GlobalMut<T>,
    status: GlobalMut<i32>,
    n: u32,
    d_stride: u64,
    e_stride: u64,
    batch: u64,
    passes: u32,
) {
    let shape = Shape::new(n, VALUES as u32);
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let group = thread::block_idx_x().checked_div(shape.blocks).unwrap_or(0);
    let part = thread::block_idx_x() - group * shape.blocks;
    let member = warp / shape.warps();
    let rank = warp % shape.warps();
    let item = group as u64 * shape.items as u64 + member as u64;
    let live = item < batch;
    let source = Source {
        d: d.at(if live { (item * d_stride) as usize } else { 0 }),
        e: e.at(if live { (item * e_stride) as usize } else { 0 }),
        n,
        scale: T::ONE,
    };
    let (source, finite) = source.normalized(lane, live);
    // SAFETY: the launch gives 2 n elements an item where STAGED.
    let rows = unsafe { dynamic_shared_mem::<T>((member * 2 * n) as usize * size_of::<T>(), 2 * n as usize) };
    let rows = rows.as_pairs();
    let bounds = source.bounds(lane, live, |i, row| {
        if STAGED && (i / 32) % shape.warps() == rank {
            rows.set(i, row.into());
        }
    });
    if STAGED {
        thread::sync_threads();
    }
    if !live {
        return;
    }

    // Lanes behind the last value look for that one again.
    let first = (part * WARPS + rank) * 32 * VALUES as u32 + lane;
    let mut index = [0; VALUES];
    for v in 0..VALUES {
        index[v] = (first + 32 * v as u32).min(n - 1);
    }
    let mut intervals = Intervals::new(index, n, bounds.0, bounds.1);
    if STAGED {
        narrow::<T, VALUES, POINTS>(&mut intervals, Staged { rows }, n, passes);
    } else {
        narrow::<T, VALUES, POINTS>(&mut intervals, source, n, passes);
    }
    let values = w.at(item as usize * n as usize);
    for v in 0..VALUES {
        let at = first + 32 * v as u32;
        if at < n {
            let found = finite && intervals.is_found(v);
            // The scale's inverse: both are powers of two.
            let value = intervals.middle(v) * source.scale.normalizer();
            values.set(at as usize, if found { value } else { T::NAN });
        }
    }
    if part * WARPS + rank == 0 && lane == 0 {
        status.set(item as usize, if finite { 0 } else { -1 });
    }
}

/// At most so many passes, the first of which the lanes of the warp share.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn narrow<T: Real, const VALUES: usize, const POINTS: usize>(
    intervals: &mut Intervals<T, VALUES>,
    band: impl Band<T>,
    n: u32,
    passes: u32,
) {
    if passes > 0 {
        intervals.spread::<POINTS>(band, n);
        intervals.narrow::<POINTS>(band, n, passes - 1);
    }
}

/// An item in memory.
#[derive(Clone, Copy)]
struct Source<T> {
    d: Global<T>,
    e: Global<T>,
    n: u32,
    /// What its elements are multiplied by.
    scale: T,
}

impl<T: Real> Source<T> {
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn diagonal(self, i: u32) -> T {
        self.d.get(i as usize) * self.scale
    }

    /// The coupling of rows `i` and `i + 1`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn coupling(self, i: u32) -> T {
        if i + 1 < self.n { self.e.get(i as usize) * self.scale } else { T::ZERO }
    }

    /// The same with the scale that brings its largest element near 1, and whether all elements are finite. By a warp.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn normalized(self, lane: u32, live: bool) -> (Self, bool) {
        let tile = tiled_partition::<32>();
        let (mut largest, mut finite) = (T::ZERO, true);
        let mut i = lane;
        while live && i < self.n {
            let (d, e) = (self.diagonal(i), self.coupling(i));
            largest = largest.max(d.abs()).max(e.abs());
            finite &= d.is_finite() && e.is_finite();
            i += 32;
        }
        let finite = tile.all(finite);
        let largest = tile.reduce(largest, |a, b| a.max(b));
        (Source { scale: largest.normalizer(), ..self }, finite)
    }

    /// Gershgorin's interval; `visit` sees each row once. By a warp.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn bounds(self, lane: u32, live: bool, visit: impl Fn(u32, [T; 2])) -> (T, T) {
        let tile = tiled_partition::<32>();
        let (mut low, mut high) = (T::INFINITY, -T::INFINITY);
        let mut i = lane;
        while live && i < self.n {
            let (d, right) = (self.diagonal(i), self.coupling(i));
            let left = if i > 0 { self.coupling(i - 1) } else { T::ZERO };
            let (least, most) = disc(d, left, right);
            low = low.min(least);
            high = high.max(most);
            visit(i, [d, right * right]);
            i += 32;
        }
        widened((tile.reduce(low, |a, b| a.min(b)), tile.reduce(high, |a, b| a.max(b))))
    }
}

impl<T: Real> Band<T> for Source<T> {
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn row(self, i: u32) -> (T, T) {
        let coupling = self.coupling(i);
        (self.diagonal(i), coupling * coupling)
    }
}

/// Diagonal and squares in shared memory.
#[derive(Clone, Copy)]
struct Staged<T: Real> {
    rows: Shared<T::Pair>,
}

impl<T: Real> Band<T> for Staged<T> {
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn row(self, i: u32) -> (T, T) {
        let [d, square] = self.rows.get(i).into();
        (d, square)
    }
}
