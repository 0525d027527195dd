//! The shift of a QL sweep.

use super::Shift;
use super::deflate::Corner;
use crate::givens::hypot;
use cuda_std::math::Real;

/// The eigenvalue of the leading 2x2 block nearest its first diagonal element; the coupling is not 0.
#[inline(always)]
pub fn shift<T: Real>(kind: Shift, corner: Corner<T>) -> T {
    let Corner { d0, e0: e, d1 } = corner;
    match kind {
        Shift::Lapack => {
            let g = (d1 - d0) / (e + e);
            // |g| may be past the root of the largest number where e is tiny: hypot does not overflow.
            let r = hypot(g.abs(), T::ONE);
            d0 - e / (g + r.copysign(g))
        }
        Shift::Wilkinson => {
            let half = (d1 - d0) * T::HALF;
            let root = hypot(half.abs(), e.abs());
            // The nearer root is d0 + half - sign(half) root, rationalised against cancellation.
            d0 - (e / (half + root.copysign(half))) * e
        }
    }
}
