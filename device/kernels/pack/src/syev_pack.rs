//! `syev_pack`: a batch as a vendor's routine wants it.

use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// Copies each item into a packed matrix, both triangles from the one that is read.
///
/// # Layout and shapes
/// `a`: items of `n` by `n`, column-major with `ld` and `stride`, one a block; only the triangle named by
/// `upper` is read, and of its diagonal only the real part. `packed`: `n * n` elements an item. `scale`: one
/// power of two an item, by which the packed matrix is multiplied. `status`: 0, or -1 for an item with a NaN or
/// an infinity, which is replaced by the identity.
///
/// # Lanes
/// One block an item, of whole warps; a thread takes every `block_dim`-th element.
///
/// # Shared memory
/// One real number a warp ([`pack_shared_bytes`](crate::pack_shared_bytes)).
///
/// # Synchronisation
/// Two block barriers, met by all threads.
///
/// # Numerics
/// The largest component of a packed matrix lies in [1, 2): squares in the routine neither overflow nor vanish.
/// Scaling by a power of two is exact but for components some `1 / SAFE_MIN` below the largest.
///
/// # Safety
/// The views cover the items that the grid counts, `n` is at least 1, and the launch gives the shared memory.
///
/// # Source
/// Ours.
#[kernel(T = [f32, f64, c32, c64], launch_bounds(256))]
pub unsafe fn syev_pack<T: Scalar>(
    a: Global<T>,
    packed: GlobalMut<T>,
    scale: GlobalMut<T::Real>,
    status: GlobalMut<i32>,
    n: u32,
    ld: u32,
    stride: u64,
    upper: u32,
) {
    let item = thread::block_idx_x() as usize;
    // Never 0, which lets the compiler drop the check of a division.
    let n = if n == 0 { 1 } else { n };
    let elements = n as usize * n as usize;
    let source = Triangle { view: a.at(item * stride as usize), ld: ld as usize, upper: upper != 0 };
    let target = packed.at(item * elements);

    let zero = <T::Real as Real>::ZERO;
    let (mut largest, mut finite) = (zero, true);
    let mut at = Cursor::start(n);
    while at.index < elements {
        if source.holds(at.row, at.column) {
            let x = source.stored(at.row, at.column);
            finite &= x.re().is_finite() && x.im().is_finite();
            largest = largest.max(x.re().abs()).max(x.im().abs());
        }
        at.step(n);
    }
    let bad = thread::sync_threads_or(!finite);
    let largest = block_max(largest);
    let factor = if bad || largest == zero { <T::Real as Real>::ONE } else { largest.normalizer() };

    let mut at = Cursor::start(n);
    while at.index < elements {
        let x = if bad {
            if at.row == at.column { T::ONE } else { T::ZERO }
        } else {
            source.element(at.row, at.column).scale(factor)
        };
        target.set(at.index, x);
        at.step(n);
    }
    if thread::thread_idx_x() == 0 {
        scale.set(item, factor);
        status.set(item, if bad { -1 } else { 0 });
    }
}

/// One item of which one triangle is read.
#[derive(Clone, Copy)]
struct Triangle<T> {
    view: Global<T>,
    ld: usize,
    upper: bool,
}

impl<T: Scalar> Triangle<T> {
    /// Whether (row, column) lies in the triangle that is read.
    #[inline(always)]
    fn holds(self, row: usize, column: usize) -> bool {
        if self.upper { row <= column } else { row >= column }
    }

    /// The element in memory; the diagonal is real.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn stored(self, row: usize, column: usize) -> T {
        let x = self.view.get(column * self.ld + row);
        if row == column { T::from_real(x.re()) } else { x }
    }

    /// The matrix's element, from the triangle that is read.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn element(self, row: usize, column: usize) -> T {
        if self.holds(row, column) { self.stored(row, column) } else { self.stored(column, row).conj() }
    }
}

/// The elements of one thread, column by column.
struct Cursor {
    index: usize,
    row: usize,
    column: usize,
}

impl Cursor {
    #[inline(always)]
    fn start(n: u32) -> Self {
        let thread = thread::thread_idx_x();
        Cursor { index: thread as usize, row: (thread % n) as usize, column: (thread / n) as usize }
    }

    #[inline(always)]
    fn step(&mut self, n: u32) {
        let stride = thread::block_dim_x();
        self.index += stride as usize;
        self.row += (stride % n) as usize;
        self.column += (stride / n) as usize;
        if self.row >= n as usize {
            self.row -= n as usize;
            self.column += 1;
        }
    }
}

/// The largest of the block's numbers, known to each thread. A barrier of the block lies before.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub(crate) fn block_max<R: Real>(mine: R) -> R {
    let warps = thread::block_dim_x() / 32;
    let largest = Tile::native(32).reduce(mine, |x, y| x.max(y));
    // SAFETY: the launch gives a real number a warp, and nothing else uses the block's shared memory.
    let slots = unsafe { dynamic_shared_mem::<R>(0, warps as usize) };
    if thread::thread_idx_x().is_multiple_of(32) {
        slots.set(thread::thread_idx_x() / 32, largest);
    }
    thread::sync_threads();
    let mut all = slots.get(0);
    for warp in 1..warps {
        all = all.max(slots.get(warp));
    }
    all
}
