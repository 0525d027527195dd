//! `gemm_small`: products of up to 64 rows and columns, several a block.

use crate::micro::Micro;
use crate::operand::{Side, Target};
use crate::shape::{COLUMNS, ROWS, SMALL_K, STAGED, line, small_group, small_items, small_micro};
use crate::stage::{Lines, Staging};
use cuda_std::prelude::*;

/// C = alpha op(A) op(B) + beta C, for m and n of at most `P`.
///
/// # Layout and shapes
/// Column-major with leading dimension and stride, op(A) of m by k, op(B) of k by n; see the crate. A block has 8, 4, 2
/// items, or 1, for P = 8, 16, 32, 64.
///
/// # Lanes
/// 128 threads; 16, 32, 64 or 128 share an item, each with 4 by 1, 4 by 2, 4 by 4 or 8 by 4 elements of C.
///
/// # Shared memory
/// For each item 16 lines of P rows of op(A) and P columns of op(B), padded (`shape::small_shared_bytes`).
///
/// # Synchronisation
/// Two block barriers for 16 of k, met by all threads.
///
/// # Numerics
/// A chain of fused multiply-adds in the order of k from 0 on; then alpha, then beta C.
///
/// # Safety
/// The views cover `batch` items, and the launch gives the shared memory.
///
/// # Source
/// Ours.
#[kernel(T = [f32, f64, c32, c64], P = [8, 16, 32, 64], launch_bounds(128))]
pub unsafe fn gemm_small<T: Scalar, const P: u32>(
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
    batch: u32,
) {
    let (group, items) = (const { small_group(P) }, const { small_items(P) });
    let (within, rank) = (thread::thread_idx_x() / group, thread::thread_idx_x() % group);
    let item = thread::block_idx_x() * items + within;
    // A group past the end goes through with the last item's shape and no rows.
    let live = item < batch;
    let (item, rows, columns) = if live { (item as usize, m, n) } else { (0, 0, 0) };
    let left = Side::left(a.at(item * stride_a), lda, rows, flags);
    let right = Side::right(b.at(item * stride_b), ldb, columns, flags);
    let target = c.at(item * stride_c);
    let target = Target::new(target, ldc, rows, columns, [alpha_re, alpha_im], [beta_re, beta_im]);

    let lines = line(P, size_of::<T>());
    let bytes = lines * SMALL_K * size_of::<T>() as u32;
    let offset = 2 * within * bytes;
    // SAFETY: the launch gives shared memory for both sides of each item.
    let (a, b) =
        unsafe { (Lines::<T>::new(offset, lines, SMALL_K), Lines::<T>::new(offset + bytes, lines, SMALL_K)) };
    let mut stage_a = Staging::new(left, k, P, SMALL_K, group, rank);
    let mut stage_b = Staging::new(right, k, P, SMALL_K, group, rank);
    let counts = const { small_micro(P) };
    let lanes_m = P / counts.0 as u32;
    let micro =
        Micro::new::<T>(counts, (lanes_m, P / counts.1 as u32), (rank % lanes_m, rank / lanes_m), (0, 0));

    let mut sums = [[T::ZERO; ROWS]; COLUMNS];
    let (mut held_a, mut held_b) = ([T::ZERO; STAGED], [T::ZERO; STAGED]);
    let mut first = 0;
    while first < k {
        stage_a.load(&mut held_a);
        stage_b.load(&mut held_b);
        thread::sync_threads();
        stage_a.store(a, &held_a);
        stage_b.store(b, &held_b);
        thread::sync_threads();
        // Depths past k are zeros; most of them are left out.
        let mut depth = 0;
        while depth < SMALL_K && first + depth < k {
            micro.accumulate(a.from(depth), b.from(depth), SMALL_STEP, &mut sums);
            depth += SMALL_STEP;
        }
        first += SMALL_K;
    }
    micro.put(target, &sums);
}

/// Depths between two looks at the end of k.
const SMALL_STEP: u32 = 4;
const _: () = assert!(SMALL_K.is_multiple_of(SMALL_STEP));
