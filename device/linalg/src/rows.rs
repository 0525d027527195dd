//! Tiles whose lanes hold several rows each: lane `rank` holds rows `rank`, `rank + lanes`, ...

use cuda_std::partition::Tile;
use cuda_std::scalar::Scalar;

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
