//! Reads a symmetric or Hermitian matrix from one triangle into rows, one a lane.

use crate::layout::Items;
use crate::reduce::fence_wide;
use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// Columns that are transposed at a time.
pub const fn chunk(p: usize) -> usize {
    if p < 16 { p } else { 16 }
}

/// Shared elements that [`load_row`] needs a tile of `p` lanes.
pub const fn staging_elements(p: usize) -> usize {
    p * (chunk(p) + 1)
}

/// This lane's row of the full matrix; zero on lanes and columns past `n`. Only one triangle is read, and of
/// the diagonal only the real part.
///
/// Each column is read by consecutive lanes. The other half of a row is a column of what was read: it comes
/// transposed through `staging`, up to 16 columns at a time; leading dimension 17 keeps banks apart.
#[inline(always)]
pub fn load_row<T: Scalar, const P: usize>(
    tile: Tile,
    matrix: GlobalMut<T>,
    items: Items,
    upper: bool,
    staging: Shared<T>,
) -> [T; P] {
    let rank = tile.rank() as usize;
    let mut row = read_triangle::<T, P>(rank, matrix, items, upper);
    let width = const { chunk(P) };
    let ld = width + 1;
    for part in 0..P / width {
        let base = part * width;
        for c in 0..width {
            staging.set((rank * ld + c) as u32, row[base + c]);
        }
        tile.sync();
        for quad in 0..P / 4 {
            fence_wide::<T, P>(tile);
            // Lanes of the chunk find their column here.
            if rank >= base && rank < base + width {
                for step in 0..4 {
                    let c = 4 * quad + step;
                    let stored = if upper { rank <= c } else { rank >= c };
                    let mirrored = staging.get((c * ld + (rank - base)) as u32).conj();
                    let re = if stored { row[c].re() } else { mirrored.re() };
                    let im = if stored { row[c].im() } else { mirrored.im() };
                    row[c] = T::from_parts(re, im);
                }
            }
        }
        tile.sync();
    }
    row
}

#[inline(always)]
fn read_triangle<T: Scalar, const P: usize>(
    rank: usize,
    matrix: GlobalMut<T>,
    items: Items,
    upper: bool,
) -> [T; P] {
    let n = items.n as usize;
    let mut row = [T::ZERO; P];
    for c in 0..P {
        let stored = if upper { rank <= c } else { rank >= c };
        let mut x = T::ZERO;
        if stored && rank < n && c < n {
            x = matrix.get(c * items.ld as usize + rank);
        }
        let imaginary = if rank == c { <T::Real as Real>::ZERO } else { x.im() };
        row[c] = T::from_parts(x.re(), imaginary);
    }
    row
}

/// Magnitude of the largest element of the tile's rows, or `None` where one is not finite.
#[inline(always)]
pub fn largest_element<T: Scalar, const P: usize>(tile: Tile, row: &[T; P]) -> Option<T::Real> {
    let mut finite = true;
    let mut largest = <T::Real as Real>::ZERO;
    for c in 0..P {
        // Parts one by one: the sum of two finite ones may overflow.
        finite &= row[c].re().is_finite() && row[c].im().is_finite();
        largest = largest.max(row[c].re().abs()).max(row[c].im().abs());
    }
    let bad = tile.any(!finite);
    let largest = tile.reduce(largest, Real::max);
    if bad { None } else { Some(largest) }
}
