//! Between sweeps: the deflation test, and the 2x2 block in closed form.

use super::chase::Span;
use super::{Basis, Tridiagonal};
use crate::givens::laev2;
use cuda_std::math::Real;
use cuda_std::partition::Tile;

/// First row at or after `l` whose coupling has become negligible, else `end`; the coupling is set to 0.
#[inline(always)]
pub fn deflate<T: Real>(tile: Tile, rows: &mut Tridiagonal<T>, l: u32, end: u32, due: bool) -> u32 {
    let rank = tile.rank();
    let d_next = tile.shuffle_down(rows.d, 1);
    let relative = T::UNIT_ROUNDOFF * rows.d.abs() * (T::UNIT_ROUNDOFF * d_next.abs());
    let negligible = rows.e * rows.e <= relative + T::SAFE_MIN;
    let m = tile.ballot(rank >= l && (rank >= end || negligible)).trailing_zeros();
    rows.e = if due && rank == m && rank < end { T::ZERO } else { rows.e };
    m
}

/// What a sweep or a 2x2 block starts from: its leading 2x2 block.
#[derive(Clone, Copy, Debug)]
pub struct Corner<T> {
    /// `d[l]`.
    pub d0: T,
    /// `e[l]`.
    pub e0: T,
    /// `d[l + 1]`.
    pub d1: T,
}

impl<T: Real> Corner<T> {
    /// Something that can be computed with, where nothing is due.
    #[inline(always)]
    pub fn unit() -> Self {
        Corner { d0: T::ZERO, e0: T::ONE, d1: T::ZERO }
    }

    /// The 2x2 block at row `l`, on every lane.
    #[inline(always)]
    pub fn at(tile: Tile, rows: &Tridiagonal<T>, l: u32) -> Self {
        Corner {
            d0: tile.shuffle_idx(rows.d, l),
            e0: tile.shuffle_idx(rows.e, l),
            d1: tile.shuffle_idx(rows.d, l + 1),
        }
    }
}

/// Solves the 2x2 block at rows `span.l`, `span.m` in closed form. No collectives.
#[inline(always)]
pub fn solve_pair<T: Real, B: Basis<T>>(
    tile: Tile,
    rows: &mut Tridiagonal<T>,
    span: Span,
    corner: Corner<T>,
    basis: B,
) {
    let pair = laev2(corner.d0, corner.e0, corner.d1);
    let rank = tile.rank();
    rows.d = if rank == span.l { pair.rt1 } else { rows.d };
    rows.d = if rank == span.m { pair.rt2 } else { rows.d };
    rows.e = if rank == span.l { T::ZERO } else { rows.e };
    let (first, second) = (span.column(span.l), span.column(span.m));
    let (x, y) = (basis.load(first), basis.load(second));
    basis.store(first, B::combine(pair.cs1, x, pair.sn1, y));
    basis.store(second, B::combine(pair.cs1, y, -pair.sn1, x));
}
