//! The arithmetic units that `ormqr` multiplies with, and how a block's threads share a product.
//!
//! Both products of a block of 256 threads have `R` rows, those of a panel of reflectors or of as many rows of C, and
//! [`STRIP`] columns; a thread holds `R / 16` rows of 4 columns.

use crate::gram::Gram;
use crate::shape::{STRIP, product_ld, staged_ld};
use cuda_std::hint;
use cuda_std::prelude::*;
use device_linalg::fragments;

/// A thread's sums, by column and row; of 32 rows the first two are used.
pub type Sums<T> = [[T; 4]; 4];

/// Rows of a thread.
pub const fn own_rows(reflectors: usize) -> usize {
    reflectors / 16
}

/// A type with its units. The products are collectives of whole warps.
pub trait Units: Gram {
    /// Whether a thread's rows of [`product`](Self::product) lie beside each other, as many as fill 16 bytes or more.
    const ROWS_TOGETHER: bool;

    /// Adds `V^H C` over [`depth`](crate::shape::depth) rows, which lie column by column; those from `rows` on are zero.
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn gram<const R: usize>(v: Shared<Self>, c: Shared<Self>, rows: u32, sums: &mut Sums<Self>);

    /// The reflector and the column of C that sum `r` of column `c` belongs to.
    fn gram_place<const R: usize>(r: usize, c: usize) -> (u32, u32);

    /// Adds `V F` for `R` rows of V, which lie column by column, and F, which lies row by row; columns of V from `used` on are
    /// zero.
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn product<const R: usize>(v: Shared<Self>, factor: Shared<Self>, used: u32, sums: &mut Sums<Self>);

    /// The first of this thread's rows, and its column `c`.
    fn product_place<const R: usize>(c: usize) -> (u32, u32);

    /// From the first of a thread's rows to row `r`: a constant.
    fn row_offset(r: usize) -> u32;
}

/// Where a thread is: lanes 8 by 4 in warps 2 by 4, so that 8 words of V and 4 of C or F serve a warp.
#[inline(always)]
fn corner() -> (u32, u32) {
    // What follows from it is not held in registers from phase to phase.
    let thread = hint::opaque(thread::thread_idx_x());
    let (warp, lane) = (thread / 32, thread % 32);
    (lane % 8 + 8 * (warp % 2), lane / 8 + 4 * (warp / 2))
}

macro_rules! by_multiply_adds {
    ($($t:ty)*) => { $(
        impl Units for $t {
            const ROWS_TOGETHER: bool = true;

            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            fn gram<const R: usize>(v: Shared<Self>, c: Shared<Self>, rows: u32, sums: &mut Sums<Self>) {
                gram_of_words::<Self, R>(v, c, rows, sums);
            }

            #[inline(always)]
            fn gram_place<const R: usize>(r: usize, c: usize) -> (u32, u32) {
                let (i, j) = corner();
                (i + 16 * r as u32, j + 16 * c as u32)
            }

            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            fn product<const R: usize>(v: Shared<Self>, factor: Shared<Self>, used: u32, sums: &mut Sums<Self>) {
                product_of_words::<Self, R>(v, factor, used, sums);
            }

            #[inline(always)]
            fn product_place<const R: usize>(c: usize) -> (u32, u32) {
                let (i, j) = corner();
                (i * own_rows(R) as u32, 4 * j + c as u32)
            }

            #[inline(always)]
            fn row_offset(r: usize) -> u32 {
                r as u32
            }
        }
    )* };
}
by_multiply_adds!(f32 c32 c64);

#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn gram_of_words<T: Scalar, const R: usize>(v: Shared<T>, c: Shared<T>, rows: u32, sums: &mut Sums<T>) {
    let ld = const { staged_ld(R, size_of::<T>(), T::COMPLEX) as u32 };
    let (i, j) = corner();
    let mut row = 0;
    // A bound that is not known keeps the loop rolled, and registers low.
    while row < rows {
        let mut left = [T::ZERO.splat(); 4];
        for r in 0..own_rows(R) {
            left[r] = v.get_vector((i + 16 * r as u32) * ld + row);
        }
        for s in 0..4 {
            let right = c.get_vector((j + 16 * s as u32) * ld + row);
            for e in 0..T::LANES {
                for r in 0..own_rows(R) {
                    sums[s][r] = left[r].as_ref()[e].conj().mul_add(right.as_ref()[e], sums[s][r]);
                }
            }
        }
        row += T::LANES as u32;
    }
}

#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn product_of_words<T: Scalar, const R: usize>(
    v: Shared<T>,
    factor: Shared<T>,
    used: u32,
    sums: &mut Sums<T>,
) {
    let v_ld = const { product_ld(R, size_of::<T>(), T::COMPLEX) as u32 };
    let f_ld = const { product_ld(STRIP, size_of::<T>(), T::COMPLEX) as u32 };
    let (i, j) = corner();
    let (v, factor) = (v.at(i * own_rows(R) as u32), factor.at(4 * j));
    for k in 0..used {
        let mut left = [T::ZERO; 4];
        if own_rows(R) == 4 {
            left = v.get_array::<4>(k * v_ld);
        } else {
            [left[0], left[1]] = v.get_array::<2>(k * v_ld);
        }
        let right = factor.get_array::<4>(k * f_ld);
        for c in 0..4 {
            for r in 0..own_rows(R) {
                sums[c][r] = left[r].mul_add(right[c], sums[c][r]);
            }
        }
    }
}

/// By the tensor cores: warps 2 by 4, `R / 2` rows by 16 columns each, in tiles of 16 by 8.
impl Units for f64 {
    const ROWS_TOGETHER: bool = false;

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn gram<const R: usize>(v: Shared<f64>, c: Shared<f64>, rows: u32, sums: &mut Sums<f64>) {
        let ld = const { staged_ld(R, 8, false) as u32 };
        let mut from = 0;
        while from < rows {
            let left = |i: u32, k: u32| v.get(i * ld + from + k);
            let right = |k: u32, j: u32| c.get(j * ld + from + k);
            fragments::add_product(warp_corner::<R>(), own_rows(R), left, right, sums);
            from += 16;
        }
    }

    #[inline(always)]
    fn gram_place<const R: usize>(r: usize, c: usize) -> (u32, u32) {
        let (row, column) = Self::product_place::<R>(c);
        (row + Self::row_offset(r), column)
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn product<const R: usize>(v: Shared<f64>, factor: Shared<f64>, used: u32, sums: &mut Sums<f64>) {
        let (v_ld, f_ld) = const { (product_ld(R, 8, false) as u32, product_ld(STRIP, 8, false) as u32) };
        let mut from = 0;
        while from < used {
            let left = |i: u32, k: u32| v.get((from + k) * v_ld + i);
            let right = |k: u32, j: u32| factor.get((from + k) * f_ld + j);
            fragments::add_product(warp_corner::<R>(), own_rows(R), left, right, sums);
            from += 16;
        }
    }

    #[inline(always)]
    fn product_place<const R: usize>(c: usize) -> (u32, u32) {
        let (row, column) = warp_corner::<R>();
        (row + fragments::row(0), column + fragments::column(c))
    }

    #[inline(always)]
    fn row_offset(r: usize) -> u32 {
        fragments::row_offset(r)
    }
}

/// First row and column of this warp's part of a product.
#[inline(always)]
fn warp_corner<const R: usize>() -> (u32, u32) {
    let warp = warp::warp_id();
    (warp % 2 * (R / 2) as u32, warp / 2 * 16)
}
