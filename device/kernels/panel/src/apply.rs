//! The two products of `ormqr`: which sums each thread of a block has, and the units that make them.
//!
//! Both products have `R` rows, those of a panel of reflectors or of as many rows of C, and [`STRIP`] columns. A warp has 16
//! columns; a thread has [`own_rows`] rows of 4 columns, the first half of them in the upper half of the rows. What is
//! zero because a factor is a triangle or ends early is left out, by halves of the rows or by tiles of the tensor
//! cores, so that all warps have as much to do.

use core::ops::Range;

use crate::shape::{STRIP, factor_ld, inner_ld, ormqr_threads, rows_ld};
use cuda_std::hint;
use cuda_std::matrix::product_16x8x16;
use cuda_std::prelude::*;
use device_linalg::fragments;

/// A thread's sums, by column and row; those of [`own_rows`] rows are used.
pub type Sums<T> = [[T; 8]; 4];

/// Rows of a thread.
pub const fn own_rows<T: Apply>(reflectors: usize) -> usize {
    reflectors * STRIP / 4 / T::THREADS as usize
}

/// Where a thread is.
#[derive(Clone, Copy)]
pub struct Corner {
    /// The warp's place among those with its columns.
    half: u32,
    /// The warp's first column.
    pub column: u32,
    lane: u32,
}

impl Corner {
    /// Of four neighbouring warps, which the schedulers share, each has other columns; `turn` says which one has the first, so
    /// that narrow strips do not load one scheduler.
    #[inline(always)]
    pub fn new(turn: u32) -> Self {
        // What follows from it is not held in registers from phase to phase.
        let thread = hint::opaque(thread::thread_idx_x());
        Corner { half: thread / 128, column: 16 * ((thread / 32 + turn) % 4), lane: thread % 32 }
    }
}

/// Which elements of a left factor may differ from zero, besides its ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// All.
    Full,
    /// On the diagonal and above.
    Upper,
    /// On the diagonal and below.
    Lower,
}

/// What there is of a left factor.
#[derive(Clone, Copy)]
pub struct Extent {
    /// Rows that are there.
    pub rows: u32,
    /// Columns that are there.
    pub columns: u32,
    /// Its shape.
    pub band: Band,
}

/// What there is of a chunk of V for `V^H C`.
#[derive(Clone, Copy)]
pub struct Depth {
    /// Rows that are there.
    pub rows: u32,
    /// From the panel's first row to the chunk's.
    pub offset: u32,
    /// Reflectors.
    pub used: u32,
}

/// A type with its units. The products are collectives of whole warps.
pub trait Apply: Scalar {
    /// Threads of a block.
    const THREADS: u32 = ormqr_threads(size_of::<Self>());
    /// Whether a thread's rows of [`product`](Self::product) lie beside each other, in two runs.
    const RUNS: bool;

    /// What a sum is where it comes from memory and goes there: of c64 its negative. A number that is copied as it is would
    /// keep its real and imaginary part beside each other, in registers that the tensor cores do not take.
    #[inline(always)]
    fn turned(self) -> Self {
        if !Self::RUNS && Self::COMPLEX { -self } else { self }
    }

    /// Adds `V^H C` over a chunk of rows, which lie column by column.
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn gram<const R: usize>(
        at: Corner,
        v: Shared<Self>,
        c: Shared<Self>,
        depth: Depth,
        sums: &mut Sums<Self>,
    );

    /// The reflector and the column of C that sum `r` of column `c` belongs to.
    fn gram_place<const R: usize>(at: Corner, r: usize, c: usize) -> (u32, u32);

    /// Adds `V F` for `R` rows of V, which lie column by column, and F, which lies row by row. Up to the next multiple of 16
    /// both are there from the last column of V on, and zero.
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn product<const R: usize>(
        at: Corner,
        v: Shared<Self>,
        factor: Shared<Self>,
        extent: Extent,
        sums: &mut Sums<Self>,
    );

    /// The first of this thread's rows of a product, and its column `c`.
    fn product_place<const R: usize>(at: Corner, c: usize) -> (u32, u32);

    /// From the first of a thread's rows of a product to row `r`: a constant.
    fn row_offset<const R: usize>(r: usize) -> u32;
}

/// The steps of a product in which only the upper half of the rows, both, and only the lower half has terms: up to `alone`,
/// up to `both`, up to `end`.
struct Steps {
    alone: u32,
    both: u32,
    end: u32,
}

impl Steps {
    #[inline(always)]
    fn new<const R: usize>(extent: Extent) -> Self {
        let (half, used) = (R as u32 / 2, extent.columns.div_ceil(4) * 4);
        let short = if used < half { used } else { half };
        let is_upper = extent.rows <= half;
        let end = if is_upper && extent.band == Band::Lower { short } else { used };
        let both = if extent.band == Band::Lower { short } else { used };
        let alone = match extent.band {
            _ if is_upper => end,
            Band::Upper => short,
            _ => 0,
        };
        Steps { alone, both, end }
    }
}

macro_rules! by_multiply_adds {
    ($($t:ty)*) => { $(
        impl Apply for $t {
            const RUNS: bool = true;

            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            fn gram<const R: usize>(
                at: Corner,
                v: Shared<Self>,
                c: Shared<Self>,
                depth: Depth,
                sums: &mut Sums<Self>,
            ) {
                let own = const { own_rows::<Self>(R) };
                // Below the diagonal of its last row a chunk has no other reflectors.
                let reach = depth.offset + const { crate::shape::depth(R) as u32 };
                if reach <= R as u32 / 2 || depth.used <= R as u32 / 2 {
                    gram_of_words::<Self, R>(at, v, c, depth.rows, own / 2, sums);
                } else {
                    gram_of_words::<Self, R>(at, v, c, depth.rows, own, sums);
                }
            }

            #[inline(always)]
            fn gram_place<const R: usize>(at: Corner, r: usize, c: usize) -> (u32, u32) {
                (row_lane(at) + row_lanes::<Self, R>() * r as u32, at.column + at.lane / 8 + 4 * c as u32)
            }

            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            fn product<const R: usize>(
                at: Corner,
                v: Shared<Self>,
                factor: Shared<Self>,
                extent: Extent,
                sums: &mut Sums<Self>,
            ) {
                let own = const { own_rows::<Self>(R) };
                let Steps { alone, both, end } = Steps::new::<R>(extent);
                product_of_words::<Self, R>(at, v, factor, 0..alone, 0..own / 2, sums);
                product_of_words::<Self, R>(at, v, factor, alone..both, 0..own, sums);
                product_of_words::<Self, R>(at, v, factor, both..end, own / 2..own, sums);
            }

            #[inline(always)]
            fn product_place<const R: usize>(at: Corner, c: usize) -> (u32, u32) {
                let run = const { own_rows::<Self>(R) as u32 / 2 };
                (row_lane(at) * run, at.column + at.lane / 8 * 4 + c as u32)
            }

            #[inline(always)]
            fn row_offset<const R: usize>(r: usize) -> u32 {
                let run = const { own_rows::<Self>(R) / 2 };
                (r / run * (R / 2) + r % run) as u32
            }
        }
    )* };
}
by_multiply_adds!(f32 c32);

/// Lanes along the rows: 8 of a warp, so that 8 words of the left factor and 4 of the right one serve it.
const fn row_lanes<T: Apply, const R: usize>() -> u32 {
    (R / own_rows::<T>(R)) as u32
}

#[inline(always)]
fn row_lane(at: Corner) -> u32 {
    at.lane % 8 + 8 * at.half
}

/// Of the first `own` rows of a thread.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn gram_of_words<T: Apply, const R: usize>(
    at: Corner,
    v: Shared<T>,
    c: Shared<T>,
    rows: u32,
    own: usize,
    sums: &mut Sums<T>,
) {
    let ld = const { inner_ld(R, size_of::<T>(), T::COMPLEX) };
    let (mut v, mut c) = (v.at(row_lane(at) * ld), c.at((at.column + at.lane / 8) * ld));
    let mut row = 0;
    // A bound that is not known keeps the loop rolled, and registers low.
    while row < rows {
        let mut left = [T::ZERO.splat(); 8];
        for r in 0..own {
            left[r] = v.get_vector(row_lanes::<T, R>() * r as u32 * ld);
        }
        for s in 0..4 {
            let right = c.get_vector(4 * s as u32 * ld);
            for e in 0..T::LANES {
                for r in 0..own {
                    sums[s][r] = left[r].as_ref()[e].conj().mul_add(right.as_ref()[e], sums[s][r]);
                }
            }
        }
        (v, c) = (v.at(T::LANES as u32), c.at(T::LANES as u32));
        row += T::LANES as u32;
    }
}

/// Over columns `k` of V, in fours; of rows `own` of a thread.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn product_of_words<T: Apply, const R: usize>(
    at: Corner,
    v: Shared<T>,
    factor: Shared<T>,
    k: Range<u32>,
    own: Range<usize>,
    sums: &mut Sums<T>,
) {
    let (v_ld, f_ld) =
        const { (rows_ld(R, size_of::<T>(), T::COMPLEX), factor_ld(size_of::<T>(), T::COMPLEX)) };
    let run = const { own_rows::<T>(R) / 2 };
    let together = if T::COMPLEX { 2 } else { 4 };
    let ((row, column), mut from) = (T::product_place::<R>(at, 0), k.start);
    let (mut v, mut f) = (v.at(from * v_ld + row), factor.at(from * f_ld + column));
    while from < k.end {
        for step in 0..together {
            let mut left = [T::ZERO; 8];
            for first in (own.start..own.end).step_by(run) {
                let words = v.at(step * v_ld + T::row_offset::<R>(first));
                if run == 4 {
                    let word = words.get_array::<4>(0);
                    for r in 0..4 {
                        left[(first + r) % 8] = word[r];
                    }
                } else if run == 2 {
                    let word = words.get_array::<2>(0);
                    for r in 0..2 {
                        left[(first + r) % 8] = word[r];
                    }
                } else {
                    left[first] = words.get(0);
                }
            }
            let right = f.get_array::<4>(step * f_ld);
            for c in 0..4 {
                for r in own.start..own.end {
                    sums[c][r] = left[r].mul_add(right[c], sums[c][r]);
                }
            }
        }
        (v, f) = (v.at(together * v_ld), f.at(together * f_ld));
        from += together;
    }
}

macro_rules! by_tensor_cores {
    ($($t:ty)*) => { $(
        /// Of a warp a tile of 16 rows in each 32, two of 8 columns wide.
        impl Apply for $t {
            const RUNS: bool = false;

            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            fn gram<const R: usize>(
                at: Corner,
                v: Shared<Self>,
                c: Shared<Self>,
                depth: Depth,
                sums: &mut Sums<Self>,
            ) {
                let ld = const { inner_ld(R, size_of::<Self>(), Self::COMPLEX) };
                let row = 16 * at.half;
                let place = |k: u32| (v.at(row * ld + k), c.at(at.column * ld + k));
                let (left, right) = (Line { row: ld, k: 1 }, Line { row: ld, k: 1 });
                // A row of the chunk has the reflectors that begin above it.
                let start = |row: u32| {
                    let start = row.saturating_sub(depth.offset);
                    if row < depth.used && start < depth.rows { start } else { depth.rows }
                };
                // Where there is another tile, it has no reflectors before the first has.
                let mut from = start(row);
                while from < depth.rows {
                    add_tiles::<Self, true>(at.lane, 0..R / 32, place(from), (left, right), sums);
                    from += 16;
                }
            }

            #[inline(always)]
            fn gram_place<const R: usize>(at: Corner, r: usize, c: usize) -> (u32, u32) {
                let (row, column) = Self::product_place::<R>(at, c);
                (row + Self::row_offset::<R>(r), column)
            }

            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            fn product<const R: usize>(
                at: Corner,
                v: Shared<Self>,
                factor: Shared<Self>,
                extent: Extent,
                sums: &mut Sums<Self>,
            ) {
                let v_ld = const { rows_ld(R, size_of::<Self>(), Self::COMPLEX) };
                let f_ld = const { factor_ld(size_of::<Self>(), Self::COMPLEX) };
                let row = 16 * at.half;
                let place = |k: u32| (v.at(row + k * v_ld), factor.at(at.column + k * f_ld));
                let lines = (Line { row: 1, k: v_ld }, Line { row: 1, k: f_ld });
                // The steps in which a tile has terms.
                let steps = |row: u32| {
                    let last = if extent.band == Band::Lower { row + 16 } else { R as u32 };
                    let end = if extent.columns < last { extent.columns } else { last };
                    let start = if extent.band == Band::Upper { row } else { 0 };
                    if row < extent.rows && start < end { start..end } else { end..end }
                };
                let Range { start: mut from, mut end } = steps(row);
                let lower = steps(row + 32);
                if R > 32 {
                    let alone = if end < lower.start { end } else { lower.start };
                    while from < alone {
                        add_tiles::<Self, false>(at.lane, 0..1, place(from), lines, sums);
                        from += 16;
                    }
                }
                while from < end {
                    add_tiles::<Self, false>(at.lane, 0..R / 32, place(from), lines, sums);
                    from += 16;
                }
                if R > 32 {
                    from = if from < lower.start { lower.start } else { from };
                    end = lower.end;
                    while from < end {
                        add_tiles::<Self, false>(at.lane, 1..2, place(from), lines, sums);
                        from += 16;
                    }
                }
            }

            #[inline(always)]
            fn product_place<const R: usize>(at: Corner, c: usize) -> (u32, u32) {
                (16 * at.half + fragments::row(0), at.column + fragments::column(c))
            }

            #[inline(always)]
            fn row_offset<const R: usize>(r: usize) -> u32 {
                (r / 2 * 32 + r % 2 * 8) as u32
            }
        }
    )* };
}
by_tensor_cores!(f64 c64);

/// From a row, or column, of a factor to the next, and from a step to the next.
#[derive(Clone, Copy)]
struct Line {
    row: u32,
    k: u32,
}

/// Adds the product of 16 columns of a left factor, conjugated where `CONJUGATE`, and 16 rows of a right one, to `tiles` of 16
/// rows, each 32 rows behind the other, two of 8 columns wide.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn add_tiles<T: Scalar<Real = f64>, const CONJUGATE: bool>(
    lane: u32,
    tiles: Range<usize>,
    (left, right): (Shared<T>, Shared<T>),
    (left_line, right_line): (Line, Line),
    sums: &mut Sums<T>,
) {
    let (group, within) = (lane / 4, lane % 4);
    let left = left.at(group * left_line.row + within * left_line.k);
    let right = right.at(group * right_line.row + within * right_line.k);
    let columns_of = |tile: usize| {
        let mut b = [[0.0; 4]; 2];
        for s in 0..4 {
            let x = right.get(8 * tile as u32 * right_line.row + 4 * s as u32 * right_line.k);
            (b[0][s], b[1][s]) = (x.re(), x.im());
        }
        b
    };
    // Of complex numbers there are registers for one tile at a time.
    let of_both = if T::COMPLEX { [[[0.0; 4]; 2]; 2] } else { [columns_of(0), columns_of(1)] };
    for part in tiles.start..tiles.end {
        let mut a = [[0.0; 8]; 2];
        for e in 0..8 {
            let (h, s) = ((e % 2) as u32, (e / 2) as u32);
            let x = left.get((32 * part as u32 + 8 * h) * left_line.row + 4 * s * left_line.k);
            (a[0][e], a[1][e]) = (x.re(), x.im());
        }
        for tile in 0..2 {
            let (mut re, mut im) = ([0.0; 4], [0.0; 4]);
            for e in 0..4 {
                let x = sums[2 * tile + e % 2][(2 * part + e / 2) % 8];
                (re[e], im[e]) = (x.re(), x.im());
            }
            let b = if T::COMPLEX { columns_of(tile) } else { of_both[tile] };
            multiply::<T, CONJUGATE>(a, b, &mut re, &mut im);
            for e in 0..4 {
                sums[2 * tile + e % 2][(2 * part + e / 2) % 8] = T::from_parts(re[e], im[e]);
            }
        }
    }
}

/// Adds the product of two tiles, real and imaginary parts by themselves.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn multiply<T: Scalar, const CONJUGATE: bool>(
    a: [[f64; 8]; 2],
    b: [[f64; 4]; 2],
    re: &mut [f64; 4],
    im: &mut [f64; 4],
) {
    *re = product_16x8x16(a[0], b[0], *re);
    if T::COMPLEX {
        let [mut of_re, mut of_im] = b;
        if CONJUGATE {
            of_re = of_re.map(|x| -x);
        } else {
            of_im = of_im.map(|x| -x);
        }
        *im = product_16x8x16(a[0], b[1], *im);
        *re = product_16x8x16(a[1], of_im, *re);
        *im = product_16x8x16(a[1], of_re, *im);
    }
}
