//! Elementary reflectors across the lanes of a tile.

use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// `H = I - tau v v^H` with `v` = 1 on the lane `pivot`, this lane's component in `v`.
#[derive(Clone, Copy, Debug)]
pub struct Reflector<T: Scalar> {
    /// This lane's component; 0 above the pivot.
    pub v: T,
    /// Factor; 0 makes `H` the identity.
    pub tau: T,
    /// What `H^H x` leaves on the pivot: real.
    pub beta: T::Real,
}

impl<T: Scalar> Reflector<T> {
    /// The identity, for the last column of a real matrix: `beta` is what lane `k + 1` already holds.
    #[inline(always)]
    pub fn identity(column: T) -> Self {
        Reflector { v: T::ZERO, tau: T::ZERO, beta: column.re() }
    }
}

/// The reflector that annihilates `x` below lane `pivot`, as LAPACK's `zlarfg`.
///
/// `x` is this lane's component, of a vector scaled to norm about 1. Components below whose squares underflow
/// are dropped: they are below the rounding error of the matrix, and their squares would be no unit vector.
#[inline(always)]
pub fn larfg<T: Scalar>(tile: Tile, pivot: u32, x: T) -> Reflector<T> {
    let zero = <T::Real as Real>::ZERO;
    let one = <T::Real as Real>::ONE;
    let rank = tile.rank();
    let below = rank > pivot;
    let square = if below { x.abs_sq_add(zero) } else { zero };
    let tail = tile.reduce(square, |a, b| a + b);
    let alpha = tile.shuffle_idx(x, pivot);
    let negligible = <T::Real as Real>::SAFE_MIN / (<T::Real as Real>::EPSILON * <T::Real as Real>::EPSILON);
    let square = alpha.abs_sq_add(zero);
    let drops_tail = tail < negligible;
    // A negligible pivot is no direction either: its phase could not be divided out.
    let identity = drops_tail && (alpha.im() == zero || square < negligible);
    let norm = (if drops_tail { square } else { square + tail }).sqrt();
    let beta = -norm.copysign(alpha.re());
    let scaled = T::from_parts(beta - alpha.re(), -alpha.im());
    let tau = scaled.scale(one / beta);
    // 1 / (alpha - beta), in real arithmetic.
    let denominator = T::from_parts(alpha.re() - beta, alpha.im());
    let inverse = denominator.conj().scale(one / denominator.abs_sq_add(zero));
    let component = if below && !drops_tail { x.mul(inverse) } else { T::ZERO };
    let v = if rank == pivot { T::ONE } else { component };
    Reflector {
        v: if identity && rank != pivot { T::ZERO } else { v },
        tau: if identity { T::ZERO } else { tau },
        beta: if identity { alpha.re() } else { beta },
    }
}
