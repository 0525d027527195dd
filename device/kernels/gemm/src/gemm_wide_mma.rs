//! `gemm_wide_mma`: f64 on the tensor cores.

use core::marker::PhantomData;

use crate::operand::{Place, Side, Target};
use crate::pipeline::{Copies, Ring};
use crate::shape::{mma_slabs, mma_warps};
use cuda_std::matrix::product_16x8x16;
use cuda_std::prelude::*;
use cuda_std::{copy, hint};

/// C = alpha op(A) op(B) + beta C by tiles of `M` by `N`, `K` deep.
///
/// # Layout and shapes
/// As `gemm_reg`; where `WIDE`, columns and items of A and B begin at multiples of 16 bytes, and columns hold a multiple
/// of that. `ALONG_A`, `ALONG_B`: the memory of op(A), of op(B) runs along k, and so do its slabs; f64 where `WIDE`, else
/// false, and either way of memory is taken.
///
/// # Lanes
/// 128 threads for 64 by 64 real elements, a warp 32 by 32 of them, and for 128 by 64, a warp 64 by 32; 256 threads for
/// 128 by 128, a warp 64 by 32, and for 64 by 64 complex ones, a warp 32 by 16. In a warp fragments are those of
/// `cuda_std::matrix`: a store of C is 4 runs of 8 rows.
///
/// # Shared memory
/// `shape::mma_slabs` slabs of M rows of op(A) and N columns of op(B), padded (`shape::mma_shared_bytes`), which
/// asynchronous copies fill; the one just read is filled again while the next is multiplied.
///
/// # Synchronisation
/// One block barrier for K of k, met by all threads, before the last products of a slab: its fragments are in registers
/// by then, and those of the next come while the products are under way. Products are collectives of whole warps,
/// outside of all branches but those that are uniform in the block.
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
    group(T = [f64], M = [64], N = [64], K = [16], WIDE = [true], ALONG_A = [true, false], ALONG_B = [true, false], launch_bounds(128, 3)),
    group(T = [f64], M = [64], N = [64], K = [16], WIDE = [false], ALONG_A = [false], ALONG_B = [false], launch_bounds(128, 3)),
    group(T = [c64], M = [64], N = [64], K = [16], WIDE = [true], ALONG_A = [false], ALONG_B = [false], launch_bounds(256, 1)),
    group(T = [f64], M = [128], N = [64], K = [16], WIDE = [true], ALONG_A = [true, false], ALONG_B = [true, false], launch_bounds(128, 2)),
    group(T = [f64], M = [128], N = [64], K = [16], WIDE = [false], ALONG_A = [false], ALONG_B = [false], launch_bounds(128, 2)),
    group(T = [f64], M = [128], N = [128], K = [16], WIDE = [true], ALONG_A = [true, false], ALONG_B = [true, false], launch_bounds(256, 1)),
    group(T = [f64], M = [128], N = [128], K = [16], WIDE = [false], ALONG_A = [false], ALONG_B = [false], launch_bounds(256, 1))
)]
pub unsafe fn gemm_wide_mma<
    T: Scalar<Real = f64>,
    const M: u32,
    const N: u32,
    const K: u32,
    const WIDE: bool,
    const ALONG_A: bool,
    const ALONG_B: bool,
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

    let part = Part::<T, M, N>::new(thread::thread_idx_x());
    let slabs = const { mma_slabs(N, T::COMPLEX) };
    // SAFETY: the launch gives `mma_shared_bytes`, which hold both rings.
    let (ring_a, ring_b) = unsafe {
        let (ring_a, end) = Ring::<T, M, K, ALONG_A>::new(0, slabs);
        (ring_a, Ring::<T, N, K, ALONG_B>::new(end, slabs).0)
    };
    let mut pipeline = Pipeline::<T, M, N, K, WIDE, ALONG_A, ALONG_B> {
        a: Copies::new(left, ring_a, k, Part::<T, M, N>::THREADS, part.rank),
        b: Copies::new(right, ring_b, k, Part::<T, M, N>::THREADS, part.rank),
    };
    for slab in 0..slabs - 1 {
        pipeline.begin(slab, 0, 1);
        pipeline.commit();
    }
    let ring_a = ring_a.from(part.row + part.group, part.within);
    let ring_b = ring_b.from(part.column + part.group, part.within);
    let signs = [left, right].map(|side| if side.is_conjugated() { 1 << 63 } else { 0 });

    let (mut re, mut im): (Sums, Sums) = ([[[0.0; 4]; TILES]; TILES], [[[0.0; 4]; TILES]; TILES]);
    let mut columns = [[[0.0; 4]; 2]; TILES];
    wait_for_next(slabs);
    let mut rows = rows_of(ring_a, 0, signs[0]);
    for j in 0..Part::<T, M, N>::TILES_N {
        columns[j] = columns_of(ring_b, j, signs[1]);
    }
    let (mut first, mut index) = (0, 0);
    while first < k {
        let (next, freed) =
            (if index + 1 == slabs { 0 } else { index + 1 }, if index == 0 { slabs - 1 } else { index - 1 });
        let (tiles_m, tiles_n) = const { (Part::<T, M, N>::TILES_M, Part::<T, M, N>::TILES_N) };
        for i in 0..tiles_m {
            let is_last = i + 1 == tiles_m;
            if is_last {
                // All fragments of this slab are in registers: behind the barrier its place is free.
                pipeline.commit();
                wait_for_next(slabs);
            }
            let ahead = if is_last {
                rows_of(ring_a.slab(next), 0, signs[0])
            } else {
                rows_of(ring_a.slab(index), i + 1, signs[0])
            };
            for j in 0..tiles_n {
                multiply::<T>(rows, columns[j], &mut re[i][j], &mut im[i][j]);
                if is_last {
                    columns[j] = columns_of(ring_b.slab(next), j, signs[1]);
                } else {
                    pipeline.begin(freed, i * tiles_n + j, (tiles_m - 1) * tiles_n);
                }
            }
            rows = ahead;
        }
        // Else the loads for the next slab would become loads of it, behind the last products.
        hint::fence();
        (first, index) = (first + K, next);
    }
    // What is under way are zeros past the end.
    copy::wait::<0>();
    let target = c.at(place.item * stride_c);
    let target = Target::new(target, ldc, m, n, [alpha_re, alpha_im], [beta_re, beta_im])
        .from(place.row, place.column);
    if target.is_read() {
        part.put::<true>(target, &re, &im);
    } else {
        part.put::<false>(target, &re, &im);
    }
}

/// The most tiles of 16 rows, or of 8 columns, of a warp.
const TILES: usize = 4;

/// A lane's sums, by tile of rows and tile of columns.
type Sums = [[[f64; 4]; TILES]; TILES];

/// Waits for this thread's copies of the next slab, and for all threads to have done so and to have read the slab before.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn wait_for_next(slabs: u32) {
    if slabs == 3 {
        copy::wait::<1>();
    } else {
        copy::wait::<2>();
    }
    thread::sync_threads();
}

/// The copies of both sides.
struct Pipeline<
    T,
    const M: u32,
    const N: u32,
    const K: u32,
    const WIDE: bool,
    const ALONG_A: bool,
    const ALONG_B: bool,
> {
    a: Copies<T, M, K, WIDE, ALONG_A>,
    b: Copies<T, N, K, WIDE, ALONG_B>,
}

impl<
    T: Scalar,
    const M: u32,
    const N: u32,
    const K: u32,
    const WIDE: bool,
    const ALONG_A: bool,
    const ALONG_B: bool,
> Pipeline<T, M, N, K, WIDE, ALONG_A, ALONG_B>
{
    /// Begins the `part`-th of `parts` parts of the next slab, which goes to place `index` of the rings.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn begin(&self, index: u32, part: usize, parts: usize) {
        if !const { Copies::<T, M, K, WIDE, ALONG_A>::PIECES } {
            if part == 0 {
                self.a.begin_elements(index, thread::thread_idx_x());
            }
            if part == parts / 2 {
                self.b.begin_elements(index, thread::thread_idx_x());
            }
            return;
        }
        let (of_a, of_b) = const {
            let threads = Part::<T, M, N>::THREADS;
            (
                Copies::<T, M, K, WIDE, ALONG_A>::pieces(threads),
                Copies::<T, N, K, WIDE, ALONG_B>::pieces(threads),
            )
        };
        let pieces = of_a + of_b;
        for piece in part * pieces / parts..(part + 1) * pieces / parts {
            if piece < of_a {
                self.a.begin(index, piece);
            } else {
                self.b.begin(index, piece - of_a);
            }
        }
    }

    /// All parts of the slab have begun.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn commit(&mut self) {
        copy::commit();
        self.a.advance();
        self.b.advance();
    }
}

/// A lane's fragment of the `i`-th tile of 16 rows, real and imaginary, from its first element in the slab.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn rows_of<T: Scalar<Real = f64>, const ROWS: u32, const DEPTH: u32, const ALONG_K: bool>(
    slab: Ring<T, ROWS, DEPTH, ALONG_K>,
    i: usize,
    sign: u64,
) -> [[f64; 8]; 2] {
    let mut fragment = [[0.0; 8]; 2];
    for e in 0..8 {
        let x = slab.get(16 * i as u32 + 8 * (e as u32 % 2), 4 * (e as u32 / 2));
        (fragment[0][e], fragment[1][e]) = (x.re(), flipped(x.im(), sign));
    }
    fragment
}

/// The same of the `j`-th tile of 8 columns.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn columns_of<T: Scalar<Real = f64>, const ROWS: u32, const DEPTH: u32, const ALONG_K: bool>(
    slab: Ring<T, ROWS, DEPTH, ALONG_K>,
    j: usize,
    sign: u64,
) -> [[f64; 4]; 2] {
    let mut fragment = [[0.0; 4]; 2];
    for e in 0..4 {
        let x = slab.get(8 * j as u32, 4 * e as u32);
        (fragment[0][e], fragment[1][e]) = (x.re(), flipped(x.im(), sign));
    }
    fragment
}

/// `x` with its sign changed where `sign` is the sign's bit.
#[inline(always)]
fn flipped(x: f64, sign: u64) -> f64 {
    f64::from_bits(x.to_bits() ^ sign)
}

/// Adds the product of two tiles.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn multiply<T: Scalar>(
    [rows_re, rows_im]: [[f64; 8]; 2],
    [columns_re, columns_im]: [[f64; 4]; 2],
    re: &mut [f64; 4],
    im: &mut [f64; 4],
) {
    *re = product_16x8x16(rows_re, columns_re, *re);
    if T::COMPLEX {
        *re = product_16x8x16(rows_im, columns_im.map(|x| -x), *re);
        *im = product_16x8x16(rows_re, columns_im, *im);
        *im = product_16x8x16(rows_im, columns_re, *im);
    }
}

/// The part of a block's tile that a warp holds, as one of its lanes sees it.
#[derive(Clone, Copy)]
struct Part<T, const M: u32, const N: u32> {
    rank: u32,
    row: u32,
    column: u32,
    /// Lane / 4 and lane % 4.
    group: u32,
    within: u32,
    element: PhantomData<T>,
}

impl<T: Scalar, const M: u32, const N: u32> Part<T, M, N> {
    /// Warps along the rows and along the columns.
    const WARPS: (u32, u32) = mma_warps(N, T::COMPLEX);
    /// Threads of a block.
    const THREADS: u32 = Self::WARPS.0 * Self::WARPS.1 * 32;
    /// Tiles of 16 rows and of 8 columns of a warp.
    const TILES_M: usize = (M / Self::WARPS.0 / 16) as usize;
    const TILES_N: usize = (N / Self::WARPS.1 / 8) as usize;

    #[inline(always)]
    fn new(rank: u32) -> Self {
        let (warp, lane, (warps_m, warps_n)) = (rank / 32, rank % 32, const { Self::WARPS });
        Part {
            rank,
            row: warp % warps_m * (M / warps_m),
            column: warp / warps_m * (N / warps_n),
            group: lane / 4,
            within: lane % 4,
            element: PhantomData,
        }
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn put<const READ: bool>(self, target: Target<T>, re: &Sums, im: &Sums)
    where
        T: Scalar<Real = f64>,
    {
        for i in 0..Self::TILES_M {
            for j in 0..Self::TILES_N {
                for e in 0..4 {
                    let row = self.row + 16 * i as u32 + 8 * (e as u32 / 2) + self.group;
                    let column = self.column + 8 * j as u32 + 2 * self.within + e as u32 % 2;
                    target.put::<READ>(row, column, T::from_parts(re[i][j][e], im[i][j][e]));
                }
            }
        }
    }
}
