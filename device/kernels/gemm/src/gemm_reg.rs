//! `gemm_reg`: micro-tiles in registers, two buffers in shared memory.

use crate::micro::Micro;
use crate::operand::{Place, Side, Target};
use crate::shape::{self, COLUMNS, LANES_M, ROWS, STAGED, line, reg_threads};
use crate::stage::{Lines, Staging};
use cuda_std::prelude::*;

/// C = alpha op(A) op(B) + beta C by tiles of `M` by `N`, `K` deep.
///
/// # Layout and shapes
/// Column-major with leading dimension and stride, op(A) of m by k, op(B) of k by n; see the crate. `tiles_m` by
/// `tiles_n` tiles an item, a block each.
///
/// # Lanes
/// A thread holds 8 rows and 4 columns of C, 8 columns in the largest tile, 4 rows of c64. A warp is 8 threads along the rows, whose
/// runs of 16 bytes follow each other, and 4 along the columns: it reads lines of 128 and of 64 bytes from shared memory
/// without conflicts, and C in lines of 128 bytes.
///
/// # Shared memory
/// Two buffers of K lines of M rows of op(A) and N columns of op(B), padded (`shape::reg_shared_bytes`).
///
/// # Synchronisation
/// One block barrier for K of k, met by all threads: while one buffer is used, the other one is filled, UNROLL lines at
/// a time, by loads that are under way while UNROLL lines are multiplied.
///
/// # Numerics
/// A chain of fused multiply-adds in the order of k from 0 on; then alpha, then beta C.
///
/// # Safety
/// The views cover the items that the grid counts, and the launch gives the shared memory.
///
/// # Source
/// Ours.
#[kernel(
    group(T = [f32], M = [128], N = [128], K = [8], UNROLL = [8], launch_bounds(256, 2)),
    group(T = [f64, c32], M = [128], N = [128], K = [8], UNROLL = [8], launch_bounds(256, 1)),
    group(T = [f32], M = [64], N = [64], K = [16], UNROLL = [8, 16], launch_bounds(128, 4)),
    group(T = [f64], M = [64], N = [64], K = [16], UNROLL = [8, 16], launch_bounds(128, 3)),
    group(T = [c32], M = [64], N = [64], K = [16], UNROLL = [8], launch_bounds(128, 3)),
    group(T = [c64], M = [64], N = [64], K = [16], UNROLL = [8], launch_bounds(256, 1)),
    group(T = [f32], M = [128], N = [64], K = [32], UNROLL = [8, 16], launch_bounds(256, 2)),
    group(T = [f64], M = [128], N = [64], K = [32], UNROLL = [8, 16], launch_bounds(256, 1)),
    group(T = [c32], M = [128], N = [64], K = [32], UNROLL = [8], launch_bounds(256, 1)),
    group(T = [c64], M = [128], N = [64], K = [32], UNROLL = [8], launch_bounds(256, 1)),
    group(T = [f32], M = [128], N = [32], K = [32], UNROLL = [8, 16], launch_bounds(128, 3)),
    group(T = [f64], M = [128], N = [32], K = [32], UNROLL = [8, 16], launch_bounds(128, 2)),
    group(T = [c32], M = [128], N = [32], K = [32], UNROLL = [8], launch_bounds(128, 3)),
    group(T = [c64], M = [128], N = [32], K = [32], UNROLL = [8], launch_bounds(256, 1))
)]
pub unsafe fn gemm_reg<T: Scalar, const M: u32, const N: u32, const K: u32, const UNROLL: u32>(
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
    let buffers = Buffers::<T>::new(M, N, K);
    let mut stage_a = Staging::new(left, k, M, UNROLL, threads, rank);
    let mut stage_b = Staging::new(right, k, N, UNROLL, threads, rank);
    let micro = micro::<T>(M, const { shape::micro(M, N, size_of::<T>()) }, rank);

    let (mut held_a, mut held_b) = ([T::ZERO; STAGED], [T::ZERO; STAGED]);
    let mut depth = 0;
    while depth < K && depth < k {
        stage_a.load(&mut held_a);
        stage_b.load(&mut held_b);
        stage_a.store(buffers.a(0).from(depth), &held_a);
        stage_b.store(buffers.b(0).from(depth), &held_b);
        depth += UNROLL;
    }
    thread::sync_threads();

    let mut sums = [[T::ZERO; ROWS]; COLUMNS];
    let (mut first, mut depth, mut buffer) = (0, 0, 0);
    while first < k {
        // Without a branch at the end of k, which the assembler would close around the products: zeros are moved then.
        let (a, b) = (buffers.a(buffer).from(depth), buffers.b(buffer).from(depth));
        let (next_a, next_b) = (buffers.a(1 - buffer).from(depth), buffers.b(1 - buffer).from(depth));
        if size_of::<T>() < 16 {
            stage_a.load(&mut held_a);
            stage_b.load(&mut held_b);
            micro.accumulate(a, b, UNROLL, &mut sums);
            stage_a.store(next_a, &held_a);
            stage_b.store(next_b, &held_b);
        } else {
            // One side after the other, for want of registers.
            stage_a.load(&mut held_a);
            micro.accumulate(a, b, UNROLL / 2, &mut sums);
            stage_a.store(next_a, &held_a);
            stage_b.load(&mut held_a);
            micro.accumulate(a.from(UNROLL / 2), b.from(UNROLL / 2), UNROLL / 2, &mut sums);
            stage_b.store(next_b, &held_a);
        }
        (first, depth) = (first + UNROLL, depth + UNROLL);
        if depth == K {
            thread::sync_threads();
            (depth, buffer) = (0, 1 - buffer);
        }
    }
    micro.put(target, &sums);
}

/// The micro-tile of a thread: warps lie below each other, then beside.
#[inline(always)]
pub(crate) fn micro<T: Scalar>(m: u32, (rows, columns): (usize, usize), rank: u32) -> Micro {
    let (warp, lane) = (rank / 32, rank % 32);
    let (span_m, lanes_n) = (LANES_M * rows as u32, 32 / LANES_M);
    let warps_m = m / span_m;
    let first = (warp % warps_m * span_m, warp / warps_m * lanes_n * columns as u32);
    Micro::new::<T>((rows, columns), (LANES_M, lanes_n), (lane % LANES_M, lane / LANES_M), first)
}

/// The two buffers of each side in shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Buffers<T> {
    a: Lines<T>,
    b: Lines<T>,
    depth: u32,
}

impl<T: Scalar> Buffers<T> {
    #[inline(always)]
    pub(crate) fn new(m: u32, n: u32, depth: u32) -> Self {
        Self::of_lines(line(m, size_of::<T>()), line(n, size_of::<T>()), depth)
    }

    /// With lines of so many elements.
    #[inline(always)]
    pub(crate) fn of_lines(a: u32, b: u32, depth: u32) -> Self {
        let bytes = 2 * depth * a * size_of::<T>() as u32;
        // SAFETY: the launch gives shared memory for two buffers of both sides, which do not overlap.
        unsafe { Buffers { a: Lines::new(0, a, 2 * depth), b: Lines::new(bytes, b, 2 * depth), depth } }
    }

    #[inline(always)]
    pub(crate) fn a(self, buffer: u32) -> Lines<T> {
        self.a.from(buffer * self.depth)
    }

    #[inline(always)]
    pub(crate) fn b(self, buffer: u32) -> Lines<T> {
        self.b.from(buffer * self.depth)
    }
}
