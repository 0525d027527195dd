//! Powers of two that bring numbers to where squares are safe. Such a scaling
//! is exact, save for parts that are negligible beside the norm.

use crate::element::Real;
use crate::lanes::Plane;

/// A power of two that brings a number of modulus `max` to about 1; 1 where it
/// is zero or already between 2^-`band` and 2^`band`.
pub(crate) fn to_one<R: Real>(max: R, band: i32) -> R {
    if max == R::ZERO {
        return R::ONE;
    }
    let exponent = max.exponent();
    if exponent.abs() <= band {
        return R::ONE;
    }
    R::exp2i((-exponent).clamp(-R::MAX_EXPONENT, R::MAX_EXPONENT))
}

/// The factor for column k below its diagonal, whose first element is held
/// apart in `x0`.
pub(crate) fn column_scale<R: Real, const W: usize, const C: bool>(
    re: &Plane<R, W>,
    im: &Plane<R, W>,
    k: usize,
    n: usize,
    x0: [R; 2],
) -> R {
    let mut max = x0[0].abs().max(x0[1].abs());
    for i in k + 2..n {
        max = max.max(re.get(i, k).abs());
        if C {
            max = max.max(im.get(i, k).abs());
        }
    }
    to_one(max, 0)
}
