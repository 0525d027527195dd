//! A warp's part of `V^H V` for `larft`: a quarter, of `R / 2` reflectors by as many.

use crate::shape::staged_ld;
use cuda_std::prelude::*;
use device_linalg::fragments;

/// A lane's sums: by halves of 16 columns, column and row. Of a quarter of 16 the first half and two rows are used.
pub type Quarter<T> = [[[T; 4]; 4]; 2];

/// Halves of 16 columns of a quarter.
pub const fn halves(reflectors: usize) -> usize {
    reflectors / 32
}

/// Rows of a lane in a half.
pub const fn quarter_rows(reflectors: usize) -> usize {
    reflectors / 16
}

/// A type with the units that multiply vectors by vectors. The products are collectives of whole warps.
pub trait Gram: Scalar {
    /// Adds `V^H W` over `rows` rows; both lie column by column, [`staged_ld`] apart, and are zero from `rows` to the next
    /// multiple of 16.
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn add_gram<const R: usize>(v: Shared<Self>, w: Shared<Self>, rows: u32, sums: &mut Quarter<Self>);

    /// This lane's first row and first column. Its rows lie 8 apart, its columns in pairs 8 apart.
    fn corner() -> (u32, u32);
}

macro_rules! by_multiply_adds {
    ($($t:ty)*) => { $(
        impl Gram for $t {
            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            fn add_gram<const R: usize>(v: Shared<Self>, w: Shared<Self>, rows: u32, sums: &mut Quarter<Self>) {
                add_words::<Self, R>(v, w, rows, sums);
            }

            /// Lanes 8 by 4.
            #[inline(always)]
            fn corner() -> (u32, u32) {
                let lane = warp::lane_id();
                (lane % 8, 2 * (lane / 8))
            }
        }
    )* };
}
by_multiply_adds!(f32 c32 c64);

#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn add_words<T: Gram, const R: usize>(v: Shared<T>, w: Shared<T>, rows: u32, sums: &mut Quarter<T>) {
    let ld = const { staged_ld(R, size_of::<T>(), T::COMPLEX) as u32 };
    let (i, j) = T::corner();
    let (v, w) = (v.at(i * ld), w.at(j * ld));
    let mut row = 0;
    // A bound that is not known keeps the loop rolled, and registers low.
    while row < rows {
        let mut left = [T::ZERO.splat(); 4];
        for r in 0..quarter_rows(R) {
            left[r] = v.get_vector(8 * r as u32 * ld + row);
        }
        for half in 0..halves(R) {
            for c in 0..4 {
                let right = w.get_vector(offset(half, c) * ld + row);
                for e in 0..T::LANES {
                    for r in 0..quarter_rows(R) {
                        let (x, y) = (left[r].as_ref()[e].conj(), right.as_ref()[e]);
                        sums[half][c][r] = x.mul_add(y, sums[half][c][r]);
                    }
                }
            }
        }
        row += T::LANES as u32;
    }
}

/// From a lane's first column to column `c` of a half.
#[inline(always)]
pub fn offset(half: usize, c: usize) -> u32 {
    (16 * half + 8 * (c / 2) + c % 2) as u32
}

/// By the tensor cores, 16 rows at a time.
impl Gram for f64 {
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn add_gram<const R: usize>(v: Shared<f64>, w: Shared<f64>, rows: u32, sums: &mut Quarter<f64>) {
        let ld = const { staged_ld(R, 8, false) as u32 };
        let mut from = 0;
        while from < rows {
            let left = |i: u32, k: u32| v.get(i * ld + from + k);
            let right = |k: u32, j: u32| w.get(j * ld + from + k);
            for half in 0..halves(R) {
                fragments::add_product((0, 16 * half as u32), quarter_rows(R), left, right, &mut sums[half]);
            }
            from += 16;
        }
    }

    #[inline(always)]
    fn corner() -> (u32, u32) {
        (fragments::row(0), fragments::column(0))
    }
}
