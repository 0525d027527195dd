//! Where bisection is the fastest way to values alone.

use crate::ops::Target;
use crate::scalar::Dtype;

/// Whether bisection finds all eigenvalues faster than divide and conquer without vectors, or divide and conquer cannot.
///
/// ms by either: f32 n = 64 batch 4096 0.25 and 0.28, 256 batch 512 0.48 and 0.45, 1024 batch 128 2.0 and 0.8; f64 0.74
/// and 0.70, 1.33 and 0.79, 5.3 and 1.2 (H200; benches/results/tridiagonal_values_h200_2026-11-30.txt).
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
