//! `gemm_wide_mma`: f64 on the tensor cores.

use crate::gemm_reg::Buffers;
use crate::operand::{Place, Side, Target};
use crate::shape::{STAGED, mma_line, mma_warps};
use crate::stage::{Lines, Staging};
use cuda_std::matrix::product_16x8x16;
use cuda_std::prelude::*;

/// C = alpha op(A) op(B) + beta C by tiles of `M` by `N`, `K` deep.
///
/// # Layout and shapes
/// As `gemm_reg`; where `WIDE`, columns and items of A and B begin at multiples of 16 bytes, and columns hold a multiple
/// of that.
///
/// # Lanes
/// 128 threads for 64 by 64 real elements, a warp 32 by 32 of them; 256 threads for 64 by 64 complex ones, a warp 32 by
/// 16, and for 128 by 128 real ones, a warp 64 by 32. In a warp fragments are those of `cuda_std::matrix`: a store of C
/// is 4 runs of 8 rows.
///
/// # Shared memory
/// Two buffers of K lines of M rows of op(A) and N columns of op(B), padded (`shape::mma_shared_bytes`).
///
/// # Synchronisation
/// One block barrier for K of k, met by all threads; products are collectives of whole warps, outside of all branches
/// but those that are uniform in the block.
///
/// # Numerics
/// Products of 16 by 16 by 8 in f64, which the hardware rounds; a complex product is four real ones. Then alpha, then
/// beta C.
///
/// # Safety
/// As `gemm_wide`.
///
/// # Source
/// Ours; fragments after the PTX manual.
#[kernel(
    group(T = [f64], M = [64], N = [64], K = [16], WIDE = [true, false], launch_bounds(128, 2)),
    group(T = [c64], M = [64], N = [64], K = [16], WIDE = [true], launch_bounds(256, 1)),
    group(T = [f64], M = [128], N = [128], K = [16], WIDE = [true, false], launch_bounds(256, 1))
)]
pub unsafe fn gemm_wide_mma<
    T: Scalar<Real = f64>,
    const M: u32,
    const N: u32,
    const K: u32,
    const WIDE: bool,
>(
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

    let (warps_m, warps_n) = const { mma_warps(M, T::COMPLEX) };
    let rank = thread::thread_idx_x();
    let threads = warps_m * warps_n * 32;
    let (line_a, line_b) = (mma_line(M, size_of::<T>()), mma_line(N, size_of::<T>()));
    let buffers = Buffers::<T>::of_lines(line_a, line_b, K);
    let stage = |side, rows| {
        if WIDE {
            Staging::wide(side, k, rows, K, threads, rank)
        } else {
            Staging::new(side, k, rows, K, threads, rank)
        }
    };
    let (mut stage_a, mut stage_b) = (stage(left, M), stage(right, N));
    let part = WarpPart::new(M / warps_m, N / warps_n, warps_m, rank);

    let mut held = [T::ZERO; STAGED];
    if k > 0 {
        stage_a.load(&mut held);
        stage_a.store(buffers.a(0), &held);
        stage_b.load(&mut held);
        stage_b.store(buffers.b(0), &held);
    }
    thread::sync_threads();

    let (mut re, mut im): (Sums, Sums) = ([[[0.0; 4]; TILES]; TILES], [[[0.0; 4]; TILES]; TILES]);
    let (mut first, mut buffer) = (0, 0);
    while first < k {
        // One side after the other, for want of registers; without a branch at the end of k, as in `gemm_reg`.
        let (a, b, half) = (buffers.a(buffer), buffers.b(buffer), part.tiles_m / 2);
        stage_a.load(&mut held);
        part.accumulate(a, b, 0, half, &mut re, &mut im);
        stage_a.store(buffers.a(1 - buffer), &held);
        stage_b.load(&mut held);
        part.accumulate(a, b, half, part.tiles_m, &mut re, &mut im);
        stage_b.store(buffers.b(1 - buffer), &held);
        thread::sync_threads();
        (first, buffer) = (first + K, 1 - buffer);
    }
    if target.is_read() {
        part.put::<T, true>(target, &re, &im);
    } else {
        part.put::<T, false>(target, &re, &im);
    }
}

/// The most tiles of 16 rows, or of 8 columns, of a warp.
const TILES: usize = 4;

/// A lane's sums, by tile of rows and tile of columns.
type Sums = [[[f64; 4]; TILES]; TILES];

/// The part of a block's tile that a warp holds, as one of its lanes sees it.
#[derive(Clone, Copy)]
struct WarpPart {
    tiles_m: usize,
    tiles_n: usize,
    row: u32,
    column: u32,
    /// Lane / 4 and lane % 4.
    group: u32,
    within: u32,
}

impl WarpPart {
    #[inline(always)]
    fn new(rows: u32, columns: u32, warps_m: u32, rank: u32) -> Self {
        let (warp, lane) = (rank / 32, rank % 32);
        WarpPart {
            tiles_m: (rows / 16) as usize,
            tiles_n: (columns / 8) as usize,
            row: warp % warps_m * rows,
            column: warp / warps_m * columns,
            group: lane / 4,
            within: lane % 4,
        }
    }

    /// Adds the product of 16 lines in the tiles of rows from `from` up to `to`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn accumulate<T: Scalar<Real = f64>>(
        self,
        a: Lines<T>,
        b: Lines<T>,
        from: usize,
        to: usize,
        re: &mut Sums,
        im: &mut Sums,
    ) {
        for i in from..to {
            let row = self.row + 16 * i as u32 + self.group;
            let (mut left_re, mut left_im) = ([0.0; 8], [0.0; 8]);
            for e in 0..8 {
                let x = a.get(row + 8 * (e as u32 % 2), self.within + 4 * (e as u32 / 2));
                (left_re[e], left_im[e]) = (x.re(), x.im());
            }
            for j in 0..self.tiles_n {
                let column = self.column + 8 * j as u32 + self.group;
                let (mut right_re, mut right_im) = ([0.0; 4], [0.0; 4]);
                for e in 0..4 {
                    let x = b.get(column, self.within + 4 * e as u32);
                    (right_re[e], right_im[e]) = (x.re(), x.im());
                }
                re[i][j] = product_16x8x16(left_re, right_re, re[i][j]);
                if T::COMPLEX {
                    re[i][j] = product_16x8x16(left_im, right_im.map(|x| -x), re[i][j]);
                    im[i][j] = product_16x8x16(left_re, right_im, im[i][j]);
                    im[i][j] = product_16x8x16(left_im, right_re, im[i][j]);
                }
            }
        }
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn put<T: Scalar<Real = f64>, const READ: bool>(self, target: Target<T>, re: &Sums, im: &Sums) {
        for i in 0..self.tiles_m {
            for j in 0..self.tiles_n {
                for e in 0..4 {
                    let row = self.row + 16 * i as u32 + 8 * (e as u32 / 2) + self.group;
                    let column = self.column + 8 * j as u32 + 2 * self.within + e as u32 % 2;
                    target.put::<READ>(row, column, T::from_parts(re[i][j][e], im[i][j][e]));
                }
            }
        }
    }
}
