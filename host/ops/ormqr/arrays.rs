//! The arrays of an application of reflectors, and which way it goes.

use num_complex::Complex;

use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::typed::{OfScalar, cast, cast_mut, of_scalar};
use crate::scalar::Scalar;

/// The arrays of an application, with their type.
pub(crate) type Operands<'a> =
    OfScalar<Arrays<'a, f32>, Arrays<'a, f64>, Arrays<'a, Complex<f32>>, Arrays<'a, Complex<f64>>>;

/// The arrays of an application.
// There is no family for the CPU.
#[cfg_attr(not(feature = "kernels"), allow(dead_code))]
pub(crate) struct Arrays<'a, T> {
    /// The reflectors' vectors.
    pub(crate) v: &'a DeviceBatch<T>,
    /// Their factors.
    pub(crate) tau: &'a DeviceBuffer<T>,
    /// The matrices, overwritten by the products.
    pub(crate) c: &'a mut DeviceBatch<T>,
    /// How many rows below the diagonal a vector begins.
    pub(crate) shift: usize,
    /// `Q^H` instead of `Q`.
    pub(crate) adjoint: bool,
}

impl<'a, T: Scalar> Arrays<'a, T> {
    /// With their type.
    pub(super) fn typed(self) -> Operands<'a> {
        let Arrays { v, tau, c, shift, adjoint } = self;
        of_scalar!(T::DTYPE, Arrays { v: cast(v), tau: cast(tau), c: cast_mut(c), shift, adjoint })
    }
}
