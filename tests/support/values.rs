//! Eigenvalues against a reference.

use batchlas::Real;

/// An item's values are within `units` roundings of the reference's norm: `n` times 10 of them by the contract.
pub fn check_within<T: Real>(context: &str, w: &[T], exact: &[f64], units: f64) {
    let norm = exact.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    // The last unit of a subnormal is no rounding error of ours.
    let bound = units * T::DTYPE.epsilon() * norm + T::DTYPE.smallest();
    for (k, (x, y)) in w.iter().zip(exact).enumerate() {
        let off = (x.widen() - y).abs();
        assert!(off <= bound, "{context} value {k}: {x} {y} off by {off:e}, bound {bound:e}");
    }
}

/// Within 10 n eps of the norm.
pub fn check_values<T: Real>(context: &str, w: &[T], exact: &[f64]) {
    check_within(context, w, exact, 10.0 * w.len() as f64);
}
