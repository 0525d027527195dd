//! The arrays of a reduction.

use num_complex::Complex;

use super::Tridiagonal;
use crate::memory::DeviceBatch;
use crate::ops::typed::{OfScalar, cast_mut, of_scalar};
use crate::scalar::Scalar;

/// The arrays of a reduction, with their type.
pub(crate) type Operands<'a> =
    OfScalar<Arrays<'a, f32>, Arrays<'a, f64>, Arrays<'a, Complex<f32>>, Arrays<'a, Complex<f64>>>;

/// The arrays of a reduction.
// There is no family for the CPU.
#[cfg_attr(not(feature = "kernels"), allow(dead_code))]
pub(crate) struct Arrays<'a, T: Scalar> {
    /// The matrices, overwritten by the reflectors.
    pub(crate) a: &'a mut DeviceBatch<T>,
    pub(crate) out: Tridiagonal<'a, T>,
}

impl<'a, T: Scalar> Arrays<'a, T> {
    /// With their type.
    pub(super) fn typed(self) -> Operands<'a> {
        let Arrays { a, out: Tridiagonal { d, e, tau, status } } = self;
        of_scalar!(
            T::DTYPE,
            Arrays {
                a: cast_mut(a),
                out: Tridiagonal { d: cast_mut(d), e: cast_mut(e), tau: cast_mut(tau), status }
            }
        )
    }
}
