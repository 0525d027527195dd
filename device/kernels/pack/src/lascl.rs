//! `lascl`: a batch scaled in place for a reduction that has no guards.

use crate::syev_pack::block_max;
use cuda_std::prelude::*;

/// Multiplies each item by a power of two that brings its largest component to [1, 2), and leaves it in the lower
/// triangle.
///
/// # Layout and shapes
/// `a`: items of `n` by `n`, column-major with `ld` and `stride`, one a block. The triangle named by `upper` is read, the
/// lower one written, its diagonal real. `scale`: by what each item was multiplied. `status`: 0, or -1 for an item with
/// a NaN or an infinity, whose lower triangle becomes zero.
///
/// # Lanes
/// One block of whole warps an item ([`item_threads`](crate::item_threads)): a warp takes every k-th column, a lane every
/// 32nd row, of which it reads eight before it uses them.
///
/// # Shared memory
/// A square of 32 by 33 scalars ([`lascl_shared_bytes`](crate::lascl_shared_bytes)); before it, a real number a warp.
///
/// # Synchronisation
/// Two block barriers, and for the upper triangle two for each 32 by 32 elements, met by all threads.
///
/// # Numerics
/// Scaling by a power of two is exact but for components some `1 / SAFE_MIN` below the largest.
///
/// # Safety
/// The views cover the items that the grid counts, and the launch gives the shared memory.
///
/// # Source
/// LAPACK's `zlascl`, `zlansy`; in place of its quotient of two norms a power of two.
#[kernel(T = [f32, f64, c32, c64], launch_bounds(1024))]
pub unsafe fn lascl<T: Scalar>(
    a: GlobalMut<T>,
    scale: GlobalMut<T::Real>,
    status: GlobalMut<i32>,
    n: u32,
    ld: u32,
    stride: u64,
    upper: u32,
) {
    let item = thread::block_idx_x() as usize;
    let matrix = Matrix { a: a.at(item * stride as usize), n, ld };
    let zero = <T::Real as Real>::ZERO;
    let (mut largest, mut finite) = (zero, true);
    matrix.for_each(upper != 0, |_, x| {
        finite &= x.re().is_finite() && x.im().is_finite();
        largest = largest.max(x.re().abs()).max(x.im().abs());
    });
    let bad = thread::sync_threads_or(!finite);
    let largest = block_max(largest);
    let factor = if largest == zero { <T::Real as Real>::ONE } else { largest.normalizer() };
    if bad {
        matrix.for_each(false, |at, _| matrix.a.set(at, T::ZERO));
    } else if upper == 0 {
        matrix.for_each(false, |at, x| matrix.a.set(at, x.scale(factor)));
    } else {
        matrix.mirror(factor);
    }
    if thread::thread_idx_x() == 0 {
        scale.set(item, if bad { <T::Real as Real>::ONE } else { factor });
        status.set(item, if bad { -1 } else { 0 });
    }
}

/// Brings a tridiagonal matrix back to its scale.
///
/// # Layout and shapes
/// `d`: `n` an item, `e`: `n - 1` an item, divided by the item's `scale` in place; NaN where `status` is negative.
///
/// # Lanes
/// One block an item; a thread takes every `block_dim`-th element.
///
/// # Shared memory
/// None.
///
/// # Synchronisation
/// None.
///
/// # Numerics
/// Exact where nothing leaves the type's range.
///
/// # Safety
/// The views cover the items that the grid counts.
///
/// # Source
/// LAPACK's `dlascl`.
#[kernel(R = [f32, f64], launch_bounds(256))]
pub unsafe fn lascl_tridiagonal<R: Real>(
    d: GlobalMut<R>,
    e: GlobalMut<R>,
    scale: Global<R>,
    status: Global<i32>,
    n: u32,
) {
    let item = thread::block_idx_x() as usize;
    let n = n as usize;
    let factor = if status.get(item) < 0 { R::NAN } else { scale.get(item).recip() };
    let (d, e) = (d.at(item * n), e.at(item * (n - 1)));
    let mut k = thread::thread_idx_x() as usize;
    while k < n {
        d.set(k, d.get(k) * factor);
        if k + 1 < n {
            e.set(k, e.get(k) * factor);
        }
        k += thread::block_dim_x() as usize;
    }
}

/// An item.
#[derive(Clone, Copy)]
struct Matrix<T> {
    a: GlobalMut<T>,
    n: u32,
    ld: u32,
}

impl<T: Scalar> Matrix<T> {
    #[inline(always)]
    fn place(&self, row: u32, column: u32) -> usize {
        column as usize * self.ld as usize + row as usize
    }

    /// Calls `f` with place and value of this thread's elements of a triangle; those on the diagonal are real. Several are
    /// read before the first call.
    #[inline(always)]
    fn for_each(&self, upper: bool, mut f: impl FnMut(usize, T)) {
        const READ: usize = 8;
        let (lane, warps) = (thread::thread_idx_x() % 32, thread::block_dim_x() / 32);
        let mut column = thread::thread_idx_x() / 32;
        while column < self.n {
            let (from, to) = if upper { (0, column + 1) } else { (column, self.n) };
            let mut row = from + lane;
            while row < to {
                let first = self.a.at(self.place(row, column));
                let mut values = [T::ZERO; READ];
                for i in 0..READ {
                    if row + 32 * (i as u32) < to {
                        values[i] = first.get(32 * i);
                    }
                }
                for i in 0..READ {
                    let at = row + 32 * i as u32;
                    if at < to {
                        let x = values[i];
                        f(self.place(at, column), if at == column { T::from_real(x.re()) } else { x });
                    }
                }
                row += 32 * READ as u32;
            }
            column += warps;
        }
    }

    /// Overwrites the lower triangle by the scaled adjoint of the upper one, in tiles that are turned in shared memory.
    #[inline(always)]
    fn mirror(&self, factor: T::Real) {
        const LD: u32 = 33;
        // SAFETY: the launch gives lascl_shared_bytes; a barrier lies behind the numbers of block_max below.
        let tile = unsafe { dynamic_shared_mem::<T>(0, 32 * LD as usize) };
        let (lane, warps) = (thread::thread_idx_x() % 32, thread::block_dim_x() / 32);
        let mut column = 0;
        while column < self.n {
            let mut row = column;
            while row < self.n {
                thread::sync_threads();
                // Row of the upper triangle: a lane; its columns, which are rows of the lower one: the warps.
                let mut other = thread::thread_idx_x() / 32;
                while other < 32 {
                    let (i, j) = (column + lane, row + other);
                    if j < self.n && i <= j {
                        tile.set(other * LD + lane, self.a.get(self.place(i, j)).conj().scale(factor));
                    }
                    other += warps;
                }
                thread::sync_threads();
                let mut other = thread::thread_idx_x() / 32;
                while other < 32 {
                    let (i, j) = (row + lane, column + other);
                    if i < self.n && j <= i {
                        let x = tile.get(lane * LD + other);
                        self.a.set(self.place(i, j), if i == j { T::from_real(x.re()) } else { x });
                    }
                    other += warps;
                }
                row += 32;
            }
            column += 32;
        }
    }
}
