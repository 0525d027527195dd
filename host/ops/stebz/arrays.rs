//! The arrays of a solve, and its passes.

use crate::memory::DeviceBuffer;
use crate::ops::typed::{OfReal, cast, cast_mut, of_real};
use crate::scalar::Real;

/// The arrays of a solve, with their type.
pub(crate) type Operands<'a> = OfReal<Arrays<'a, f32>, Arrays<'a, f64>>;

/// The arrays of a solve.
pub(crate) struct Arrays<'a, T> {
    /// n diagonal elements an item.
    pub(crate) d: &'a DeviceBuffer<T>,
    /// n - 1 off-diagonal elements an item.
    pub(crate) e: &'a DeviceBuffer<T>,
    /// n eigenvalues an item.
    pub(crate) w: &'a mut DeviceBuffer<T>,
    /// One status an item; its content on entry is not set.
    pub(crate) status: &'a mut DeviceBuffer<i32>,
    /// The most passes of bisection; `None`: as many as full accuracy takes.
    pub(crate) passes: Option<u32>,
}

impl<'a, T: Real> Arrays<'a, T> {
    /// With their type.
    pub(super) fn typed(self) -> Operands<'a> {
        let Arrays { d, e, w, status, passes } = self;
        of_real!(T::DTYPE, Arrays { d: cast(d), e: cast(e), w: cast_mut(w), status, passes })
    }
}
