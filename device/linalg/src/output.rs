//! Sorting, signs, and the way out: what solvers of a tile share.

use crate::layout::Items;
use crate::rows::row_of;
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
    Phase { factor: phase_factor(T::from_parts(re, im)), row: best_row }
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
        self.write_each::<P>(tile, matrix, items, (position, live), |x| x);
    }

    /// The same with `finish` applied to each component.
    #[inline(always)]
    pub fn write_each<const P: usize>(
        self,
        tile: Tile,
        matrix: GlobalMut<T>,
        items: Items,
        (position, live): (u32, bool),
        finish: impl Fn(T) -> T,
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
                matrix.set(target as usize * items.ld as usize + rank as usize, finish(x));
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

/// Component of largest modulus of a column, and its row, the earliest of equals; on every lane. `column[r]` belongs
/// to row `r` of a lane, as in [`rows`](crate::rows).
#[inline(always)]
pub fn largest_component<T: Scalar, const R: usize>(tile: Tile, column: &[T; R]) -> (T, u32) {
    let size = |x: T| if T::COMPLEX { x.abs_sq_add(<T::Real as Real>::ZERO) } else { x.abs1() };
    let (mut re, mut im) = (column[0].re(), column[0].im());
    let (mut best, mut row) = (size(column[0]), tile.rank());
    for r in 1..R {
        let x = column[r];
        let better = size(x) > best;
        best = if better { size(x) } else { best };
        re = if better { x.re() } else { re };
        im = if better { x.im() } else { im };
        row = if better { row_of(tile, r) } else { row };
    }
    let mut step = tile.lanes() / 2;
    while step > 0 {
        let other = tile.shuffle_xor(T::from_parts(re, im), step);
        let other_row = tile.shuffle_xor(row, step);
        let better = size(other) > best || (size(other) == best && other_row < row);
        best = if better { size(other) } else { best };
        re = if better { other.re() } else { re };
        im = if better { other.im() } else { im };
        row = if better { other_row } else { row };
        step /= 2;
    }
    (T::from_parts(re, im), row)
}

/// Whether the sign convention turns a real column of `rows` elements in global memory: whether its component of largest
/// modulus, the first of equals, is negative. The same on every lane; nothing is read, nor turned, where it is not `live`.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn is_turned<R: Real>(tile: Tile, column: GlobalMut<R>, rows: u32, live: bool) -> bool {
    let (mut largest, mut row) = (R::ZERO, u32::MAX);
    let mut i = tile.rank();
    while i < rows && live {
        let x = column.get(i as usize);
        let better = x.abs() > largest.abs();
        largest = if better { x } else { largest };
        row = if better { i } else { row };
        i += tile.lanes();
    }
    let most = tile.reduce(largest.abs(), |a, b| a.max(b));
    let first = tile.reduce(if largest.abs() == most { row } else { u32::MAX }, |a, b| a.min(b));
    tile.any(row == first && largest < R::ZERO)
}

/// The factor of modulus 1 that makes `x` real and positive; any for 0.
#[inline(always)]
pub fn phase_factor<T: Scalar>(x: T) -> T {
    let one = <T::Real as Real>::ONE;
    if !T::COMPLEX {
        return T::from_real(one.copysign(x.re()));
    }
    // Of a unit vector's largest component: the square is normal. A root and a division would be calls.
    let inverse = x.abs_sq_add(<T::Real as Real>::ZERO).rsqrt();
    T::from_parts(inverse.times(x.re()), -inverse.times(x.im()))
}
