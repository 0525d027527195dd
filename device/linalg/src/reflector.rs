//! Elementary reflectors across the lanes of a tile.

use crate::rows::{broadcast, row_of};
use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// `H = I - tau v v^H` with `v` = 1 in the row `pivot`, the components of this lane's `R` rows in `v`.
#[derive(Clone, Copy, Debug)]
pub struct Reflector<T: Scalar, const R: usize> {
    /// This lane's components; 0 above the pivot.
    pub v: [T; R],
    /// Factor; 0 makes `H` the identity.
    pub tau: T,
    /// What `H^H x` leaves on the pivot: real.
    pub beta: T::Real,
}

impl<T: Scalar, const R: usize> Reflector<T, R> {
    /// The identity, for the last column of a real matrix: `beta` is what row `pivot` already holds.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn identity(tile: Tile, pivot: u32, column: [T; R]) -> Self {
        Reflector { v: [T::ZERO; R], tau: T::ZERO, beta: broadcast(tile, &column, pivot).re() }
    }
}

/// What a reflector needs beside the vector that it annihilates.
#[derive(Clone, Copy, Debug)]
pub struct Scalars<T: Scalar> {
    /// Factor; 0 makes the reflector the identity.
    pub tau: T,
    /// What is left on the pivot: real.
    pub beta: T::Real,
    /// By what the components below the pivot are multiplied to become those of `v`.
    inverse: T,
    /// Whether there is a `v` below the pivot.
    reaches_tail: bool,
}

impl<T: Scalar> Scalars<T> {
    /// The scalars for a vector with `alpha` on the pivot, and `tail` the sum of the squares below.
    ///
    /// The vector is scaled to norm about 1. Components below whose squares underflow are dropped: they are below the
    /// rounding error of the matrix, and their squares would be no unit vector.
    #[inline(always)]
    pub fn new(alpha: T, tail: T::Real) -> Self {
        let zero = <T::Real as Real>::ZERO;
        let one = <T::Real as Real>::ONE;
        let negligible =
            <T::Real as Real>::SAFE_MIN / (<T::Real as Real>::EPSILON * <T::Real as Real>::EPSILON);
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
        Scalars {
            tau: if identity { T::ZERO } else { tau },
            beta: if identity { alpha.re() } else { beta },
            inverse,
            reaches_tail: !drops_tail && !identity,
        }
    }

    /// The identity, for the last column of a real matrix: `alpha` stays.
    #[inline(always)]
    pub fn identity(alpha: T) -> Self {
        Scalars { tau: T::ZERO, beta: alpha.re(), inverse: T::ZERO, reaches_tail: false }
    }

    /// The component of `v` that belongs to `x` below the pivot.
    #[inline(always)]
    pub fn component(&self, x: T) -> T {
        if self.reaches_tail { x.mul(self.inverse) } else { T::ZERO }
    }
}

/// The reflector that annihilates `x` below row `pivot`, as LAPACK's `zlarfg`.
///
/// `x` is what this lane's rows hold of a vector as [`Scalars::new`] wants it.
#[inline(always)]
pub fn larfg<T: Scalar, const R: usize>(tile: Tile, pivot: u32, x: [T; R]) -> Reflector<T, R> {
    let mut square = <T::Real as Real>::ZERO;
    for r in 0..R {
        square = if row_of(tile, r) > pivot { x[r].abs_sq_add(square) } else { square };
    }
    let tail = tile.reduce(square, |a, b| a + b);
    let scalars = Scalars::new(broadcast(tile, &x, pivot), tail);
    let mut v = [T::ZERO; R];
    for r in 0..R {
        let row = row_of(tile, r);
        let component = if row > pivot { scalars.component(x[r]) } else { T::ZERO };
        v[r] = if row == pivot { T::ONE } else { component };
    }
    Reflector { v, tau: scalars.tau, beta: scalars.beta }
}
