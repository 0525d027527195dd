//! Where bisection is the fastest way to values alone.

use crate::ops::Target;
use crate::scalar::Dtype;

/// Whether bisection finds all eigenvalues faster than divide and conquer without vectors, or divide and conquer cannot.
///
/// ms by either, batch 1024, n = 256 and up 512, 512, 256: f32 n = 208 0.56 and 0.62, 240 0.65 and 0.70, 256 0.52 and 0.45, 320 0.83
/// and 0.66, 512 1.09 and 0.60; f64 n = 128 batch 2048 0.99 and 1.07, 160 1.19 and 0.98, 256 1.11 and 0.80, 512 2.19 and 1.00
/// (H200, then with 4 values a lane; benches/results/tridiagonal_values_h200_2026-11-30.jsonl).
pub(crate) fn is_fastest(dtype: Dtype, n: usize, target: &Target) -> bool {
    // At 128 divide and conquer takes more workspace than half of the dense matrices that the problem may come from.
    let few = if dtype == Dtype::F64 { 128 } else { 224 };
    n <= few || n > 4096 || !divides(dtype, n, target)
}

/// Of large orders a GPU with little shared memory cannot hold the poles.
#[cfg(feature = "kernels")]
fn divides(dtype: Dtype, n: usize, target: &Target) -> bool {
    crate::ops::stedc::levels::fits(dtype, n, target).is_ok()
}

#[cfg(not(feature = "kernels"))]
fn divides(_: Dtype, _: usize, _: &Target) -> bool {
    false
}
