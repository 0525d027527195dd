//! Sorting, signs, and the way out: shared by the solvers of this crate.

use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// Position of this lane's eigenvalue in ascending order; ties keep the order of lanes.
///
/// Lanes past `n` get positions past `n`.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
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

/// The phase of column `rank` of a basis of `P` rows, column by column in shared memory.
///
/// Lanes start at different rows, so that they meet different banks.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn column_phase<T: Scalar, const P: usize>(tile: Tile, basis: Shared<T>) -> Phase<T> {
    let rank = tile.rank();
    let zero = <T::Real as Real>::ZERO;
    let mut best = -<T::Real as Real>::ONE;
    let mut phase = Phase { factor: T::ONE, row: 0 };
    for step in 0..P as u32 {
        let row = (rank + step) & (P as u32 - 1);
        let x = basis.get(rank * P as u32 + row);
        let square = x.abs_sq_add(zero);
        let better = square > best || (square == best && row < phase.row);
        best = if better { square } else { best };
        phase = if better { Phase { factor: x.conj(), row } } else { phase };
    }
    let length = best.sqrt();
    let unit = phase.factor.scale(<T::Real as Real>::ONE / length);
    let sign = T::from_real(<T::Real as Real>::ONE.copysign(phase.factor.re()));
    Phase { factor: if T::COMPLEX { unit } else { sign }, ..phase }
}
