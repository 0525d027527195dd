//! `sytd2`: reduction to tridiagonal form with the matrix in registers.

use crate::reduce::Columns;
use crate::shape::{Offsets, padded};
use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::layout::Item;
use device_linalg::reflector::Reflector;
use device_linalg::rows::row_of;

/// Reduces each matrix from column `first` on, which leaves at most `32 ROWS` columns.
///
/// # Layout and shapes
/// `a`: items of order `n`, column-major with `ld` and `stride`, one a block. Where `first` is 0, the triangle named by
/// `upper` (0: lower) is read and the matrix scaled first, as `lascl` does, with `scale` and `status` written; else the lower
/// triangle from row and column `first` on is read, of elements of about 1, and neither is touched. Below the diagonal of each
/// column is left its reflector's vector, beginning with 1; the rest of the lower triangle is not set. `d`, `tau`: `n` an
/// item; `e`: `e_stride` an item; from place `first` on `n - first` of `d` and one less of `e` and `tau` are set. For an item with
/// a NaN or an infinity all of them and the lower triangle are zero.
///
/// # Lanes
/// A warp holds `COLUMNS` columns, lane = row.
///
/// # Shared memory
/// [`Offsets`] without vectors: the tridiagonal matrix and the reduction's exchange.
///
/// # Synchronisation
/// A block barrier a column, and three. Bad items leave as a block.
///
/// # Numerics
/// As `syev_block`.
///
/// # Safety
/// The views cover the items; the launch gives a block an item, [`threads`](crate::shape::threads) threads,
/// [`Offsets::end`] bytes.
///
/// # Source
/// LAPACK's `zhetd2`; `docs/algorithms/block.md`.
#[kernel(
    group(T = [f32], ROWS = [2], COLUMNS = [32], launch_bounds(64, 6)),
    group(T = [f64, c32], ROWS = [2], COLUMNS = [32], launch_bounds(64, 4)),
    group(T = [c64], ROWS = [2], COLUMNS = [16], launch_bounds(128, 2)),
    group(T = [f32], ROWS = [4], COLUMNS = [16], launch_bounds(256, 2)),
    group(T = [f64, c32, c64], ROWS = [4], COLUMNS = [16], launch_bounds(256, 1))
)]
pub unsafe fn sytd2<T: Scalar, const ROWS: usize, const COLUMNS: usize>(
    a: GlobalMut<T>,
    d: GlobalMut<T::Real>,
    e: GlobalMut<T::Real>,
    tau: GlobalMut<T>,
    scale: GlobalMut<T::Real>,
    status: GlobalMut<i32>,
    n: u32,
    ld: u32,
    stride: u64,
    e_stride: u64,
    first: u32,
    upper: u32,
) {
    let rest = n - first;
    let offsets = Offsets::new(ROWS, COLUMNS, size_of::<T>(), size_of::<T::Real>(), rest as usize, false);
    let index = thread::block_idx_x() as usize;
    let start = (first * ld + first) as usize;
    let item = || Item { matrix: a.at(index * stride as usize + start), n: rest, ld };
    let place = (index * n as usize) + first as usize;
    let tau = tau.at(place);
    let mut columns = Columns::<T, ROWS, COLUMNS>::load(item(), upper != 0, &offsets);
    let thread = thread::thread_idx_x();
    if first == 0 {
        let found = columns.normalize();
        if thread == 0 {
            scale.set(index, found.unwrap_or(<T::Real as Real>::ONE));
            status.set(index, if found.is_some() { 0 } else { -1 });
        }
        if found.is_none() {
            if thread < rest {
                d.at(place).set(thread as usize, <T::Real as Real>::ZERO);
            }
            if thread + 1 < rest {
                e.at(index * e_stride as usize).set(thread as usize, <T::Real as Real>::ZERO);
                tau.set(thread as usize, T::ZERO);
            }
            clear(item());
            return;
        }
    }
    columns.reduce(|k, reflector| keep::<T, ROWS>(item(), tau, k, reflector));
    thread::sync_threads();
    // SAFETY: the launch gives Offsets::end bytes; the part is aligned.
    let tridiagonal = unsafe { dynamic_shared_mem::<T::Real>(offsets.tridiagonal, 2 * padded(ROWS)) };
    if thread < rest {
        d.at(place).set(thread as usize, tridiagonal.get(thread));
    }
    if thread + 1 < rest {
        let e = e.at(index * e_stride as usize + first as usize);
        e.set(thread as usize, tridiagonal.get(padded(ROWS) as u32 + thread));
    }
}

/// Makes the lower triangle zero.
#[inline(always)]
fn clear<T: Scalar>(item: Item<T>) {
    let mut row = thread::thread_idx_x();
    while row < item.n {
        for k in 0..row + 1 {
            item.column(k).set(row as usize, T::ZERO);
        }
        row += thread::block_dim_x();
    }
}

/// Leaves reflector `k` below the diagonal of column `k`, and its factor.
#[inline(always)]
fn keep<T: Scalar, const ROWS: usize>(
    item: Item<T>,
    tau: GlobalMut<T>,
    k: u32,
    reflector: &Reflector<T, ROWS>,
) {
    let tile = Tile::native(32);
    for r in 0..ROWS {
        let row = row_of(tile, r);
        if row > k && row < item.n {
            item.column(k).set(row as usize, if row == k + 1 { T::ONE } else { reflector.v[r] });
        }
    }
    if tile.rank() == 0 {
        tau.set(k as usize, reflector.tau);
    }
}
