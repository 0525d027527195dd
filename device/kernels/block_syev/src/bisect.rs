//! Eigenvalues of a tridiagonal matrix by bisection, a lane a value.

use cuda_std::prelude::*;

/// Points that a lane tries at a time: independent chains of divisions.
const POINTS: usize = 3;

/// Passes, each of which quarters the interval: to an eighth of the roundoff of the norm.
const fn passes(real_bytes: usize) -> u32 {
    if real_bytes == 4 { 14 } else { 28 }
}

/// Eigenvalue `index` (from 0, ascending) of the matrix of order `n`, whose norm is near 1.
///
/// Counts the negative pivots of `T - x` with an approximate reciprocal: each pivot is then exact for elements that
/// are a few ulp off, so the count is right for a matrix as near. Pivots near 0 are moved away from it.
#[inline(always)]
pub fn eigenvalue<R: Real>(d: Shared<R>, e: Shared<R>, n: u32, index: u32) -> R {
    let (mut low, mut high) = bounds(d, e, n);
    let quarter = R::HALF * R::HALF;
    for _ in 0..passes(size_of::<R>()) {
        let step = (high - low) * quarter;
        let middle = low + (high - low) * R::HALF;
        let points = [low + step, middle, high - step];
        let below = counts(d, e, n, points);
        // The outermost points that hold it.
        let mut new_low = low;
        let mut new_high = high;
        for p in 0..POINTS {
            new_low = if below[p] <= index { new_low.max(points[p]) } else { new_low };
            new_high = if below[p] > index { new_high.min(points[p]) } else { new_high };
        }
        low = new_low;
        high = new_high.max(new_low);
    }
    low + (high - low) * R::HALF
}

/// Gershgorin's interval.
#[inline(always)]
fn bounds<R: Real>(d: Shared<R>, e: Shared<R>, n: u32) -> (R, R) {
    let (mut low, mut high) = (d.get(0), d.get(0));
    let mut left = R::ZERO;
    for i in 0..n {
        let right = if i + 1 < n { e.get(i).abs() } else { R::ZERO };
        let radius = left + right;
        low = low.min(d.get(i) - radius);
        high = high.max(d.get(i) + radius);
        left = right;
    }
    // The sums are rounded.
    let margin = R::EPSILON * R::TWO * low.abs().max(high.abs());
    (low - margin, high + margin)
}

/// How many eigenvalues lie below each point.
#[inline(always)]
fn counts<R: Real>(d: Shared<R>, e: Shared<R>, n: u32, points: [R; POINTS]) -> [u32; POINTS] {
    let least = R::SAFE_MIN * R::UNIT_ROUNDOFF.recip();
    let mut below = [0; POINTS];
    let mut pivots = [R::ONE; POINTS];
    let mut square = R::ZERO;
    for i in 0..n {
        let d_i = d.get(i);
        for p in 0..POINTS {
            let pivot = (-square).mul_add(pivots[p].recip_approx(), d_i - points[p]);
            pivots[p] = if pivot.abs() < least { -least } else { pivot };
            below[p] += (pivots[p] < R::ZERO) as u32;
        }
        let e_i = if i + 1 < n { e.get(i) } else { R::ZERO };
        square = e_i * e_i;
    }
    below
}
