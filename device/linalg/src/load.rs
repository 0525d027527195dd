//! Reads a symmetric or Hermitian matrix from one triangle, into rows or into shared memory.

use crate::layout::Items;
use crate::reduce::fence_wide;
use crate::rows::row_of;
use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// Columns that are transposed at a time.
pub const fn chunk(p: usize) -> usize {
    if p < 16 { p } else { 16 }
}

/// Shared elements that [`load_rows`] needs for `p` rows.
pub const fn staging_elements(p: usize) -> usize {
    p * (chunk(p) + 1)
}

/// This lane's rows of the full matrix; zero on rows and columns past `n`. Only one triangle is read, and of
/// the diagonal only the real part.
///
/// Each column is read by consecutive lanes. The other half of a row is a column of what was read: it comes
/// transposed through `staging`, up to 16 columns at a time; leading dimension 17 keeps banks apart.
#[inline(always)]
pub fn load_rows<T: Scalar, const P: usize, const R: usize>(
    tile: Tile,
    matrix: GlobalMut<T>,
    items: Items,
    upper: bool,
    staging: Shared<T>,
) -> [[T; P]; R] {
    let mut rows = [[T::ZERO; P]; R];
    for r in 0..R {
        read_triangle(row_of(tile, r) as usize, matrix, items, upper, &mut rows[r]);
    }
    let width = const { chunk(P) };
    let ld = width + 1;
    for part in 0..P / width {
        let base = part * width;
        for r in 0..R {
            for c in 0..width {
                staging.set((row_of(tile, r) as usize * ld + c) as u32, rows[r][base + c]);
            }
        }
        tile.sync();
        for quad in 0..P / 4 {
            fence_wide::<T>(tile, P * R);
            for r in 0..R {
                let row = row_of(tile, r) as usize;
                // Rows of the chunk find their column here.
                if row >= base && row < base + width {
                    for step in 0..4 {
                        let c = 4 * quad + step;
                        let stored = if upper { row <= c } else { row >= c };
                        let mirrored = staging.get((c * ld + (row - base)) as u32).conj();
                        let re = if stored { rows[r][c].re() } else { mirrored.re() };
                        let im = if stored { rows[r][c].im() } else { mirrored.im() };
                        rows[r][c] = T::from_parts(re, im);
                    }
                }
            }
        }
        tile.sync();
    }
    rows
}

#[inline(always)]
fn read_triangle<T: Scalar, const P: usize>(
    row: usize,
    matrix: GlobalMut<T>,
    items: Items,
    upper: bool,
    elements: &mut [T; P],
) {
    let n = items.n as usize;
    for c in 0..P {
        let stored = if upper { row <= c } else { row >= c };
        let mut x = T::ZERO;
        if stored && row < n && c < n {
            x = matrix.get(c * items.ld as usize + row);
        }
        let imaginary = if row == c { <T::Real as Real>::ZERO } else { x.im() };
        elements[c] = T::from_parts(x.re(), imaginary);
    }
}

/// Magnitude of the largest element of the tile's rows, or `None` where one is not finite.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn largest_element<T: Scalar, const P: usize, const R: usize>(
    tile: Tile,
    rows: &[[T; P]; R],
) -> Option<T::Real> {
    let mut finite = true;
    let mut largest = <T::Real as Real>::ZERO;
    for r in 0..R {
        for c in 0..P {
            // Parts one by one: the sum of two finite ones may overflow.
            finite &= rows[r][c].re().is_finite() && rows[r][c].im().is_finite();
            largest = largest.max(rows[r][c].re().abs()).max(rows[r][c].im().abs());
        }
    }
    let bad = tile.any(!finite);
    let largest = tile.reduce(largest, Real::max);
    if bad { None } else { Some(largest) }
}

/// Leading dimension of [`load_square`]: odd, so that rows and columns meet different banks.
pub const fn square_ld(p: usize) -> usize {
    p + 1
}

/// Leaves the full matrix in shared memory, `p` columns [`square_ld`] apart, zero past `n`; returns the magnitude of
/// the largest element, or `None` where one is not finite. An item that is not `live` is zero. Lane = row.
///
/// Only one triangle is read, each column by consecutive lanes, and of the diagonal only the real part. No barrier
/// follows.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn load_square<T: Scalar, const P: usize>(
    tile: Tile,
    matrix: GlobalMut<T>,
    items: Items,
    (upper, live): (bool, bool),
    square: Shared<T>,
) -> Option<T::Real> {
    let mut elements = [T::ZERO; P];
    let row = tile.rank() as usize;
    let there = Items { n: if live { items.n } else { 0 }, ..items };
    read_triangle(row, matrix, there, upper, &mut elements);
    let ld = const { square_ld(P) };
    let mut finite = true;
    let mut largest = <T::Real as Real>::ZERO;
    for c in 0..P {
        let x = elements[c];
        // Parts one by one: the sum of two finite ones may overflow.
        finite &= x.re().is_finite() && x.im().is_finite();
        largest = largest.max(x.re().abs()).max(x.im().abs());
        let stored = if upper { row <= c } else { row >= c };
        if stored {
            square.set((c * ld + row) as u32, x);
            square.set((row * ld + c) as u32, x.conj());
        }
    }
    let bad = tile.any(!finite);
    let largest = tile.reduce(largest, Real::max);
    if bad { None } else { Some(largest) }
}
