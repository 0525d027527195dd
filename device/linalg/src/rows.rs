//! Tiles whose lanes hold several rows each: lane `rank` holds rows `rank`, `rank + lanes`, ...

use cuda_std::partition::Tile;
use cuda_std::scalar::Scalar;
use cuda_std::shared::{Shared, dynamic_shared_mem};

/// Index of row `r` of this lane.
#[inline(always)]
pub fn row_of(tile: Tile, r: usize) -> u32 {
    tile.rank() + r as u32 * tile.lanes()
}

/// The element that belongs to row `row`, on every lane of the tile; `x[r]` belongs to row `r` of a lane.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn broadcast<T: Scalar, const R: usize>(tile: Tile, x: &[T; R], row: u32) -> T {
    let (mut re, mut im) = (x[0].re(), x[0].im());
    for r in 1..R {
        let here = row / tile.lanes() == r as u32;
        re = if here { x[r].re() } else { re };
        im = if here { x[r].im() } else { im };
    }
    tile.shuffle_idx(T::from_parts(re, im), row % tile.lanes())
}

/// Rows of a lane that lie in shared memory instead of registers.
///
/// Lanes of a tile are neighbours; [`shared_rows_elements`] from problem to problem keeps the tiles of a warp in
/// different banks.
#[derive(Clone, Copy, Debug)]
pub struct SharedRows<T> {
    /// Element 0 of this lane's first row.
    pub first: Shared<T>,
    /// Rows a lane.
    pub rows: u32,
    /// Lanes a problem.
    pub lanes: u32,
}

/// Elements that the rows of one problem take: `rows` a lane of `order` elements each.
pub const fn shared_rows_elements(order: usize, rows: usize, lanes: usize) -> usize {
    if rows == 0 { 0 } else { order * rows * lanes + lanes }
}

impl<T: Copy> SharedRows<T> {
    /// No rows.
    #[inline(always)]
    pub fn none() -> Self {
        // SAFETY: a view of no element.
        SharedRows { first: unsafe { dynamic_shared_mem::<T>(0, 0) }, rows: 0, lanes: 0 }
    }

    /// Element `column` of this lane's row `r`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn get(&self, r: u32, column: u32) -> T {
        self.first.get((column * self.rows + r) * self.lanes)
    }

    /// Sets what [`get`](Self::get) reads.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn set(&self, r: u32, column: u32, x: T) {
        self.first.set((column * self.rows + r) * self.lanes, x);
    }
}
