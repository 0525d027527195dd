//! The input classes of the numerical contract: a name, and one matrix of a class from a generator.

pub mod dense;
pub mod tridiagonal;

use batchlas::Dtype;
pub use dense::{CLASSES, Class};

/// Decimal digits that a type resolves.
pub(crate) fn digits(t: Dtype) -> f64 {
    -t.epsilon().log10()
}

/// The ends of the range in which results are scale-invariant.
pub(crate) fn huge(t: Dtype) -> f64 {
    if t.real() == Dtype::F32 { 1e36 } else { 1e300 }
}
