//! Sorting, signs, and the way out: what solvers of a tile share.

use crate::layout::Items;
use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// Position of this lane's eigenvalue in ascending order; ties keep the order of lanes.
///
/// Lanes past `n` get positions past `n`.
#[inline(always)]
pub fn ascending_position<R: Real>(tile: Tile, n: u32, d: R) -> u32 {
    let rank = tile.rank();
    let mut position = 0;
    for j in 0..n {
        let other = tile.shuffle_idx(d, j);
        position += (other < d || (other == d && j < rank)) as u32;
    }
    if rank < n { position } else { rank }
}

/// What makes a vector's component of largest modulus real and positive.
#[derive(Clone, Copy, Debug)]
pub struct Phase<T> {
    /// Factor of modulus 1.
    pub factor: T,
    /// Row of the largest component, the earliest of equals.
    pub row: u32,
}

/// The phase of a column of `rows` (a power of two) elements, `ld` apart in shared memory.
///
/// The scan starts at row `start` and wraps around: lanes that scan columns in the same banks start apart.
#[inline(always)]
pub fn column_phase<T: Scalar>(column: Shared<T>, ld: u32, rows: u32, start: u32) -> Phase<T> {
    let zero = <T::Real as Real>::ZERO;
    let one = <T::Real as Real>::ONE;
    let mut best = -one;
    let (mut re, mut im, mut best_row) = (one, zero, 0);
    for step in 0..rows {
        let row = (start + step) & (rows - 1);
        let x = column.get(row * ld);
        let size = if T::COMPLEX { x.abs_sq_add(zero) } else { x.abs1() };
        let better = size > best || (size == best && row < best_row);
        best = if better { size } else { best };
        re = if better { x.re() } else { re };
        im = if better { x.im() } else { im };
        best_row = if better { row } else { best_row };
    }
    let inverse = if T::COMPLEX { one / best.sqrt() } else { one };
    let unit = T::from_parts(re * inverse, -(im * inverse));
    Phase { factor: if T::COMPLEX { unit } else { T::from_real(one.copysign(re)) }, row: best_row }
}

/// The columns of a tile's vectors in shared memory: element (row, column) at `column * ld + row`.
#[derive(Clone, Copy, Debug)]
pub struct Columns<T> {
    /// Element (0, 0).
    pub first: Shared<T>,
    /// Distance between columns.
    pub ld: u32,
}

impl<T: Scalar> Columns<T> {
    /// Writes column `rank` to column `position` of the item, with the sign convention. Lane = row; `live` is
    /// uniform in the tile, and collectives are reached where it is false, too.
    #[inline(always)]
    pub fn write<const P: usize>(
        self,
        tile: Tile,
        matrix: GlobalMut<T>,
        items: Items,
        position: u32,
        live: bool,
    ) {
        let rank = tile.rank();
        let phase = column_phase(self.first.at(rank * self.ld), 1, P as u32, rank);
        for j in 0..items.n {
            let target = tile.shuffle_idx(position, j);
            let factor = tile.shuffle_idx(phase.factor, j);
            let largest = tile.shuffle_idx(phase.row, j);
            if live && rank < items.n {
                let x = self.first.get(j * self.ld + rank).mul(factor);
                // The largest component is real by construction, up to a rounding error that goes here.
                let x = if rank == largest { T::from_real(x.re()) } else { x };
                matrix.set(target as usize * items.ld as usize + rank as usize, x);
            }
        }
    }
}

/// Writes NaN to all outputs of an item: one row a lane.
#[inline(always)]
pub fn write_nan<T: Scalar, const VECTORS: bool>(
    rank: u32,
    matrix: GlobalMut<T>,
    values: GlobalMut<T::Real>,
    items: Items,
) {
    let nan = <T::Real as Real>::NAN;
    if rank >= items.n {
        return;
    }
    values.set(rank as usize, nan);
    if VECTORS {
        for c in 0..items.n as usize {
            matrix.set(c * items.ld as usize + rank as usize, T::from_parts(nan, nan));
        }
    }
}

/// 1 or -1: what makes the component of largest modulus of column `column` positive. Each lane holds rows `rank`,
/// `rank + lanes`, ... of the basis.
#[inline(always)]
pub fn signs<T: Real, const P: usize, const R: usize>(tile: Tile, rows: &[[T; P]; R], column: usize) -> T {
    let mut best = rows[0][column];
    let mut best_row = tile.rank();
    for r in 1..R {
        let better = rows[r][column].abs() > best.abs();
        best = if better { rows[r][column] } else { best };
        best_row = if better { tile.rank() + r as u32 * tile.lanes() } else { best_row };
    }
    let mut step = tile.lanes() / 2;
    while step > 0 {
        let (other, row) = (tile.shuffle_xor(best, step), tile.shuffle_xor(best_row, step));
        let better = other.abs() > best.abs() || (other.abs() == best.abs() && row < best_row);
        best = if better { other } else { best };
        best_row = if better { row } else { best_row };
        step /= 2;
    }
    T::ONE.copysign(best)
}
