//! The arithmetic of a lane that chases alone, where the chain of dependent instructions is what counts.
//!
//! All of it assumes a problem scaled to a norm near [`Real::HIGH_NORM`].

use crate::givens::Givens;
use cuda_std::math::Real;

/// dsteqr's test on squares, `e^2 <= u^2 |d0| |d1| + safmin / u`.
///
/// The absolute term lies far above what [`rotation`] drops, so that this cannot stall the iteration, and far below
/// what counts: 2^-91 of the norm for f32, 2^-884 for f64.
#[inline(always)]
pub fn negligible<R: Real>(e: R, d0: R, d1: R) -> bool {
    let scaled = R::UNIT_ROUNDOFF * d0.abs() * (R::UNIT_ROUNDOFF * d1.abs());
    e * e <= scaled + R::SAFE_MIN * R::UNIT_ROUNDOFF.recip()
}

/// The rotation that turns `(f, g)` into `(r, 0)`: no guard and no branch. Where `g^2` underflows it is the
/// identity, an error of the root of the smallest number.
#[inline(always)]
pub fn rotation<R: Real>(f: R, g: R) -> Givens<R> {
    let g_square = g * g;
    let square = f.mul_add(f, g_square);
    let inverse = square.rsqrt();
    let identity = g_square < R::SAFE_MIN;
    Givens {
        c: if identity { R::ONE } else { inverse.times(f) },
        s: if identity { R::ZERO } else { inverse.times(g) },
        r: if identity { f } else { inverse.times(square) },
    }
}

/// The eigenvalue of `[[d0, e], [e, d1]]` nearest `d0`, to a few ulp of the distance: LAPACK's and Wilkinson's
/// formula in one, without a division. `e^2` does not underflow.
#[inline(always)]
pub fn shift<R: Real>(d0: R, e: R, d1: R) -> R {
    let half = (d1 - d0) * R::HALF;
    let square = half.mul_add(half, e * e);
    let root = square.rsqrt().times(square);
    let distance = e * (e * (half.abs() + root).recip_approx());
    d0 - distance.copysign(half)
}
