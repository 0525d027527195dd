//! The arithmetic of a lane that chases alone, where the chain of dependent instructions is what counts.
//!
//! All of it assumes a problem scaled to a norm near [`Real::HIGH_NORM`].

use crate::givens::Givens;
use cuda_std::math::Real;

/// dsteqr's test on squares, with an absolute term of this form's own: `e^2 <= u^2 |d0| |d1| + 16 safmin norm`.
///
/// A sweep hands its shift from plane to plane in the bulge, which between two small couplings is as small as their
/// product over the norm. The absolute term ends what could make that underflow, and the iteration stand still; it is
/// far below what counts: 2^-81 of the norm for f32, 2^-709 for f64.
#[inline(always)]
pub fn negligible<R: Real>(e: R, d0: R, d1: R) -> bool {
    let scaled = R::UNIT_ROUNDOFF * d0.abs() * (R::UNIT_ROUNDOFF * d1.abs());
    let sixteen = R::TWO * R::TWO * (R::TWO * R::TWO);
    e * e <= scaled + R::SAFE_MIN * (sixteen * R::HIGH_NORM)
}

/// The rotation that turns `(f, g)` into `(r, 0)`: no guard and no branch. Where `f^2 + g^2` underflows it is the
/// identity, an error of the root of the smallest number. Where `g^2` alone does, `s` is still right: it carries the
/// shift past a small coupling.
#[inline(always)]
pub fn rotation<R: Real>(f: R, g: R) -> Givens<R> {
    let square = f.mul_add(f, g * g);
    let inverse = square.rsqrt();
    let identity = square < R::SAFE_MIN;
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
