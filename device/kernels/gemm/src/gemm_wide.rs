//! `gemm_wide`: micro-tiles in registers, 16 bytes at a time from and to global memory.

use crate::gemm_reg::{Buffers, micro};
use crate::operand::{Place, Side, Target};
use crate::shape::{self, COLUMNS, ROWS, STAGED, reg_threads, wide_line};
use crate::stage::Staging;
use cuda_std::prelude::*;

/// C = alpha op(A) op(B) + beta C by tiles of `M` by `N`, `K` deep.
///
/// # Layout and shapes
/// As `gemm_reg`. Columns and items of A, B and C begin at multiples of 16 bytes, and columns hold a multiple of that.
///
/// # Lanes
/// As `gemm_reg`.
///
/// # Shared memory
/// As `gemm_reg`, with longer lines (`shape::wide_shared_bytes`).
///
/// # Synchronisation
/// One block barrier for K of k, met by all threads: while one buffer is used, the other one is filled by loads that
/// are under way meanwhile.
///
/// # Numerics
/// As `gemm_reg`, whose bits it gives.
///
/// # Safety
/// The views cover the items that the grid counts and are aligned as above, and the launch gives the shared memory.
///
/// # Source
/// Ours.
#[kernel(
    group(T = [f32, c32], M = [64], N = [64], K = [16], launch_bounds(128, 3)),
    group(T = [f32], M = [128], N = [128], K = [8], launch_bounds(256, 2))
)]
pub unsafe fn gemm_wide<T: Scalar, const M: u32, const N: u32, const K: u32>(
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
    let place = Place::of_block(tiles_m, tiles_n, M, N);
    let left = Side::left(a.at(place.item * stride_a), lda, m, flags).from_row(place.row);
    let right = Side::right(b.at(place.item * stride_b), ldb, n, flags).from_row(place.column);
    let target = c.at(place.item * stride_c);
    let target = Target::new(target, ldc, m, n, [alpha_re, alpha_im], [beta_re, beta_im])
        .from(place.row, place.column);

    let (threads, rank) = (const { reg_threads(M, N, size_of::<T>()) }, thread::thread_idx_x());
    let buffers = Buffers::<T>::of_lines(wide_line(M), wide_line(N), K);
    let mut stage_a = Staging::wide(left, k, M, K, threads, rank);
    let mut stage_b = Staging::wide(right, k, N, K, threads, rank);
    let micro = micro::<T>(M, const { shape::micro(M, N, size_of::<T>()) }, rank);

    let (mut held_a, mut held_b) = ([T::ZERO; STAGED], [T::ZERO; STAGED]);
    if k > 0 {
        stage_a.load(&mut held_a);
        stage_b.load(&mut held_b);
        stage_a.store(buffers.a(0), &held_a);
        stage_b.store(buffers.b(0), &held_b);
    }
    thread::sync_threads();

    let mut sums = [[T::ZERO; ROWS]; COLUMNS];
    let (mut first, mut buffer) = (0, 0);
    while first < k {
        // Without a branch at the end of k, as in `gemm_reg`.
        let (a, b) = (buffers.a(buffer), buffers.b(buffer));
        if size_of::<T>() == 4 {
            stage_a.load(&mut held_a);
            stage_b.load(&mut held_b);
            micro.accumulate(a, b, K, &mut sums);
            stage_a.store(buffers.a(1 - buffer), &held_a);
            stage_b.store(buffers.b(1 - buffer), &held_b);
        } else {
            // One side after the other, for want of registers.
            stage_a.load(&mut held_a);
            micro.accumulate(a, b, K / 2, &mut sums);
            stage_a.store(buffers.a(1 - buffer), &held_a);
            stage_b.load(&mut held_a);
            micro.accumulate(a.from(K / 2), b.from(K / 2), K / 2, &mut sums);
            stage_b.store(buffers.b(1 - buffer), &held_a);
        }
        thread::sync_threads();
        (first, buffer) = (first + K, 1 - buffer);
    }
    micro.put_wide(target, &sums);
}
