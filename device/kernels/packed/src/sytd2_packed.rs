//! `sytd2_packed`: reduction to tridiagonal form with the lower triangle in registers and shared memory.

use crate::step::Results;
use crate::triangle::Triangle;
use cuda_std::prelude::*;
use device_linalg::layout::Item;

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
/// The triangle lies in tiles of 32 by 32. A warp has `COLUMNS` columns of each column of tiles, lane = row. The tiles of the
/// first `SHARED` columns are in shared memory, the others in registers.
///
/// # Shared memory
/// [`Offsets`](crate::shape::Offsets).
///
/// # Synchronisation
/// A block barrier a column, and one; with scaling two more. Bad items leave as a block. A block of one warp has bounds of two: of
/// one alone `ptxas` makes warp barriers, after which it takes every branch for one within the warp.
///
/// # Numerics
/// As `latrd`: the product is that with the column below the pivot, before its reflector is known; `v^H A v` follows from it. For
/// elements of about 1. The order of all sums depends on the form and on `n - first` alone.
///
/// # Safety
/// The views cover the items; the launch gives a block an item, [`threads`](crate::shape::threads) threads,
/// [`Offsets::end`](crate::shape::Offsets::end) bytes.
///
/// # Source
/// LAPACK's `zhetd2`; `docs/algorithms/blocked.md`.
#[kernel(
    group(T = [f32], ROWS = [2], COLUMNS = [32], SHARED = [0], launch_bounds(64, 6)),
    group(T = [f32], ROWS = [3], COLUMNS = [32], SHARED = [1], launch_bounds(64, 6)),
    group(T = [f32], ROWS = [4], COLUMNS = [16], SHARED = [1], launch_bounds(64, 6)),
    group(T = [f32], ROWS = [5], COLUMNS = [8], SHARED = [1], launch_bounds(128, 3)),
    group(T = [f32], ROWS = [6], COLUMNS = [8], SHARED = [2], launch_bounds(128, 3)),
    group(T = [f32], ROWS = [8], COLUMNS = [8], SHARED = [3], launch_bounds(128, 2)),
    group(T = [f32], ROWS = [10], COLUMNS = [4], SHARED = [3], launch_bounds(256, 1)),
    group(T = [f64], ROWS = [2], COLUMNS = [16], SHARED = [0], launch_bounds(64, 6)),
    group(T = [c32], ROWS = [2], COLUMNS = [32], SHARED = [1], launch_bounds(64, 5)),
    group(T = [f64, c32], ROWS = [3], COLUMNS = [16], SHARED = [1], launch_bounds(64, 6)),
    group(T = [f64], ROWS = [4], COLUMNS = [8], SHARED = [1], launch_bounds(128, 3)),
    group(T = [c32], ROWS = [4], COLUMNS = [8], SHARED = [1], launch_bounds(128, 2)),
    group(T = [f64, c32], ROWS = [5], COLUMNS = [8], SHARED = [2], launch_bounds(128, 2)),
    group(T = [f64, c32], ROWS = [6], COLUMNS = [4], SHARED = [1], launch_bounds(256, 1)),
    group(T = [f64, c32], ROWS = [7], COLUMNS = [4], SHARED = [2], launch_bounds(256, 1)),
    group(T = [f64, c32], ROWS = [8], COLUMNS = [4], SHARED = [3], launch_bounds(256, 1)),
    group(T = [c64], ROWS = [2], COLUMNS = [16], SHARED = [1], launch_bounds(64, 4)),
    group(T = [c64], ROWS = [3], COLUMNS = [8], SHARED = [1], launch_bounds(128, 2)),
    group(T = [c64], ROWS = [4], COLUMNS = [4], SHARED = [1], launch_bounds(256, 1)),
    group(T = [c64], ROWS = [5], COLUMNS = [4], SHARED = [2], launch_bounds(256, 1))
)]
pub unsafe fn sytd2_packed<T: Scalar, const ROWS: usize, const COLUMNS: usize, const SHARED: usize>(
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
    let index = thread::block_idx_x() as usize;
    let start = first as usize * (ld as usize + 1);
    let item = Item { matrix: a.at(index * stride as usize + start), n: rest, ld };
    let place = index * n as usize + first as usize;
    let e = e.at(index * e_stride as usize + first as usize);
    let results = Results { item, d: d.at(place), e, tau: tau.at(place) };
    let mut triangle = Triangle::<T, ROWS, COLUMNS, SHARED>::new();
    let largest = triangle.load(item, upper != 0);
    if first == 0 {
        let found = triangle.normalize(rest, largest);
        if thread::thread_idx_x() == 0 {
            scale.set(index, found.unwrap_or(<T::Real as Real>::ONE));
            status.set(index, if found.is_some() { 0 } else { -1 });
        }
        if found.is_none() {
            clear(results);
            return;
        }
    }
    triangle.reduce(results);
}

/// Makes all results zero.
#[inline(always)]
fn clear<T: Scalar>(results: Results<T>) {
    let item = results.item;
    let mut row = thread::thread_idx_x();
    while row < item.n {
        results.d.set(row as usize, <T::Real as Real>::ZERO);
        if row + 1 < item.n {
            results.e.set(row as usize, <T::Real as Real>::ZERO);
            results.tau.set(row as usize, T::ZERO);
        }
        for k in 0..row + 1 {
            item.column(k).set(row as usize, T::ZERO);
        }
        row += thread::block_dim_x();
    }
}
