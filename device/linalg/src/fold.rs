//! Sums over the lanes of a warp, several at a time.

use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// `x` if `first`, else `y`, part by part: a choice of a whole number may go through memory.
#[inline(always)]
pub fn choose<T: Scalar>(first: bool, x: T, y: T) -> T {
    T::from_parts(if first { x.re() } else { y.re() }, if first { x.im() } else { y.im() })
}

/// Halves the columns of a lane: lanes with the bit `HALF` keep the upper ones.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn fold<T: Scalar, const HALF: usize, const N: usize>(tile: Tile, sums: &mut [T; N]) {
    let upper = tile.rank() & HALF as u32 != 0;
    for c in 0..HALF {
        let (low, high) = (sums[c], sums[c + HALF]);
        let given = choose(upper, low, high);
        sums[c] = choose(upper, high, low) + tile.shuffle_xor(given, HALF as u32);
    }
}
