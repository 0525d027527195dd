//! An unreduced block: scaling, direction, and back.
//!
//! Every function is reached by the whole tile, and by the whole warp where the tile names it; `due` says whether
//! this tile's results count. Forms whose control flow follows the tile pass `true`.

use super::Tridiagonal;
use cuda_std::math::Real;
use cuda_std::partition::Tile;

/// Rows `begin..=end` of the matrix, coupled by nonzero off-diagonals.
#[derive(Clone, Copy, Debug)]
pub struct Block<T> {
    /// First row.
    pub begin: u32,
    /// Last row.
    pub end: u32,
    /// What the rows were multiplied by: a power of two.
    scale: T,
    /// Whether rows are in reverse order, so that QR runs as QL.
    pub mirrored: bool,
}

/// First row at or after `begin` whose coupling to the next is negligible relative to its neighbours.
///
/// dsteqr's splitting test; relative and without squares, so it holds at any scale. The coupling is set to 0.
#[inline(always)]
pub fn split<T: Real>(tile: Tile, n: u32, rows: &mut Tridiagonal<T>, begin: u32, due: bool) -> u32 {
    let rank = tile.rank();
    let d_next = tile.shuffle_down(rows.d, 1);
    let bound = rows.d.abs().sqrt() * d_next.abs().sqrt() * T::UNIT_ROUNDOFF;
    let negligible = rank + 1 >= n || rows.e.abs() <= bound;
    let end = tile.ballot(negligible && rank >= begin).trailing_zeros();
    rows.e = if due && rank == end { T::ZERO } else { rows.e };
    end
}

impl<T: Real> Block<T> {
    /// No block.
    #[inline(always)]
    pub fn none() -> Self {
        Block { begin: 0, end: 0, scale: T::ONE, mirrored: false }
    }

    /// Scales the block into the range where squares are safe and turns it so that its smaller end comes first.
    ///
    /// QL where `|d[begin]| <= |d[end]|`, as dsteqr: a graded block converges its small end first. A zero block
    /// stays as it is: its couplings are negligible already.
    #[inline(always)]
    pub fn open(tile: Tile, rows: &mut Tridiagonal<T>, begin: u32, end: u32, due: bool) -> Self {
        let rank = tile.rank();
        let inside = due && rank >= begin && rank <= end;
        let magnitude = if inside { rows.d.abs().max(rows.e.abs()) } else { T::ZERO };
        let norm = tile.reduce(magnitude, T::max);
        let safe = norm == T::ZERO || (norm <= T::SCALE_MAX && norm >= T::SCALE_MIN);
        let scale = if safe { T::ONE } else { norm.normalizer() };
        let factor = if inside { scale } else { T::ONE };
        rows.d *= factor;
        rows.e *= factor;
        let d_begin = tile.shuffle_idx(rows.d, begin);
        let d_end = tile.shuffle_idx(rows.d, end);
        let mirrored = due && d_end.abs() < d_begin.abs();
        let block = Block { begin, end, scale, mirrored };
        if tile.enters(mirrored) {
            block.mirror(tile, rows, mirrored);
        }
        block
    }

    /// Undoes [`open`](Self::open).
    #[inline(always)]
    pub fn close(self, tile: Tile, rows: &mut Tridiagonal<T>, due: bool) {
        let turned = due && self.mirrored;
        if tile.enters(turned) {
            self.mirror(tile, rows, turned);
        }
        let rank = tile.rank();
        let inside = due && rank >= self.begin && rank <= self.end;
        // The inverse of a power of two is exact, and a multiplication is no division.
        let factor = if inside { self.scale.recip() } else { T::ONE };
        rows.d *= factor;
        rows.e *= factor;
    }

    /// Column of the basis that belongs to row `i`.
    #[inline(always)]
    pub fn mirror_sum(self) -> Option<u32> {
        if self.mirrored { Some(self.begin + self.end) } else { None }
    }

    #[inline(always)]
    fn mirror(self, tile: Tile, rows: &mut Tridiagonal<T>, due: bool) {
        let rank = tile.rank();
        let inside = due && rank >= self.begin && rank <= self.end;
        let d = tile.shuffle_idx(rows.d, (self.begin + self.end).wrapping_sub(rank));
        let e = tile.shuffle_idx(rows.e, (self.begin + self.end).wrapping_sub(rank + 1));
        rows.d = if inside { d } else { rows.d };
        rows.e = if inside && rank < self.end { e } else { rows.e };
    }
}
