//! `gemm_tiled`: a plain tile in shared memory.

use crate::operand::{Place, Side, Target};
use crate::shape::{STAGED, TILED, TILED_K, TILED_THREADS, line};
use crate::stage::{Lines, Staging};
use cuda_std::prelude::*;

/// Columns of C that a thread holds.
const COLUMNS: usize = (TILED * TILED / TILED_THREADS) as usize;

/// C = alpha op(A) op(B) + beta C, any shape.
///
/// # Layout and shapes
/// Column-major with leading dimension and stride, op(A) of m by k, op(B) of k by n; see the crate. `tiles_m` by
/// `tiles_n` tiles of 32 by 32 an item, a block each.
///
/// # Lanes
/// 256 threads: a warp holds 32 rows of a column, so that C is read and written in whole lines, a thread 4 columns.
///
/// # Shared memory
/// 16 lines of 32 rows of op(A) and as many columns of op(B), padded (`shape::tiled_shared_bytes`).
///
/// # Synchronisation
/// Two block barriers for 16 of k, met by all threads.
///
/// # Numerics
/// A chain of fused multiply-adds in the order of k from 0 on; then alpha, then beta C.
///
/// # Safety
/// The views cover the items that the grid counts, and the launch gives the shared memory.
///
/// # Source
/// Ours.
#[kernel(T = [f32, f64, c32, c64], launch_bounds(256))]
pub unsafe fn gemm_tiled<T: Scalar>(
    a: Global<T>,
    b: Global<T>,
    c: GlobalMut<T>,
    m: u32,
    n: u32,
    k: u32,
    flags: u32,
    lda: usize,
    ldb: usize,
    ldc: usize,
    stride_a: usize,
    stride_b: usize,
    stride_c: usize,
    alpha_re: f64,
    alpha_im: f64,
    beta_re: f64,
    beta_im: f64,
    tiles_m: u32,
    tiles_n: u32,
) {
    let place = Place::of_block(tiles_m, tiles_n, TILED, TILED);
    let left = Side::left(a.at(place.item * stride_a), lda, m, flags).from_row(place.row);
    let right = Side::right(b.at(place.item * stride_b), ldb, n, flags).from_row(place.column);
    let target = c.at(place.item * stride_c);
    let target = Target::new(target, ldc, m, n, [alpha_re, alpha_im], [beta_re, beta_im])
        .from(place.row, place.column);

    let rank = thread::thread_idx_x();
    let lines = line(TILED, size_of::<T>());
    let bytes = lines * TILED_K * size_of::<T>() as u32;
    // SAFETY: the launch gives shared memory for both sides.
    let (a, b) = unsafe { (Lines::<T>::new(0, lines, TILED_K), Lines::<T>::new(bytes, lines, TILED_K)) };
    let mut stage_a = Staging::new(left, k, TILED, TILED_K, TILED_THREADS, rank);
    let mut stage_b = Staging::new(right, k, TILED, TILED_K, TILED_THREADS, rank);
    let (row, column) = (rank % TILED, rank / TILED);

    let mut sums = [T::ZERO; COLUMNS];
    let (mut held_a, mut held_b) = ([T::ZERO; STAGED], [T::ZERO; STAGED]);
    let mut first = 0;
    while first < k {
        stage_a.load(&mut held_a);
        stage_b.load(&mut held_b);
        thread::sync_threads();
        stage_a.store(a, &held_a);
        stage_b.store(b, &held_b);
        thread::sync_threads();
        for depth in 0..TILED_K {
            let x = a.get(row, depth);
            for j in 0..COLUMNS {
                sums[j] = x.mul_add(b.get(column + j as u32 * (TILED / COLUMNS as u32), depth), sums[j]);
            }
        }
        first += TILED_K;
    }
    for j in 0..COLUMNS {
        let column = column + j as u32 * (TILED / COLUMNS as u32);
        if target.is_read() {
            target.put::<true>(row, column, sums[j]);
        } else {
            target.put::<false>(row, column, sums[j]);
        }
    }
}
