//! The arrays of a solve.

use num_complex::Complex;

use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::typed::{OfScalar, cast_mut, of_scalar};
use crate::scalar::Scalar;

/// The arrays of a solve, with their type.
pub(crate) type Operands<'a> =
    OfScalar<Arrays<'a, f32>, Arrays<'a, f64>, Arrays<'a, Complex<f32>>, Arrays<'a, Complex<f64>>>;

/// The arrays of a solve.
pub(crate) struct Arrays<'a, T: Scalar> {
    /// The matrices, overwritten by the vectors, or destroyed for values only.
    pub(crate) a: &'a mut DeviceBatch<T>,
    /// n eigenvalues an item.
    pub(crate) w: &'a mut DeviceBuffer<T::Real>,
    /// One status an item; its content on entry is not set.
    pub(crate) status: &'a mut DeviceBuffer<i32>,
}

impl<'a, T: Scalar> Arrays<'a, T> {
    /// With their type.
    pub(super) fn typed(self) -> Operands<'a> {
        let Arrays { a, w, status } = self;
        of_scalar!(T::DTYPE, Arrays { a: cast_mut(a), w: cast_mut(w), status })
    }
}
