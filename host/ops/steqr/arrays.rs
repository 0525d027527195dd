//! The arrays of a solve, and how it iterates.

use super::Shift;
use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::SWEEPS_PER_VALUE;
use crate::ops::typed::{OfReal, cast, cast_mut, of_real};
use crate::scalar::Real;

/// What changes the result but not the choice of a family.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Iteration {
    /// Whether `q` holds a basis on entry.
    pub(crate) back_transform: bool,
    /// Whether the values are put in ascending order.
    pub(crate) sort: bool,
    /// Budget: n times this many sweeps an item.
    pub(crate) sweeps_per_value: u32,
    /// The formula of the shift.
    pub(crate) shift: Shift,
}

impl Default for Iteration {
    fn default() -> Self {
        Iteration {
            back_transform: false,
            sort: true,
            sweeps_per_value: SWEEPS_PER_VALUE,
            shift: Shift::default(),
        }
    }
}

/// The arrays of a solve, with their type.
pub(crate) type Operands<'a> = OfReal<Arrays<'a, f32>, Arrays<'a, f64>>;

/// The arrays of a solve.
pub(crate) struct Arrays<'a, T> {
    /// n diagonal elements an item, overwritten by the eigenvalues.
    pub(crate) d: &'a mut DeviceBuffer<T>,
    /// n - 1 off-diagonal elements an item.
    pub(crate) e: &'a DeviceBuffer<T>,
    /// The vectors, where they are wanted.
    pub(crate) q: Option<&'a mut DeviceBatch<T>>,
    /// One status an item; its content on entry is not set.
    pub(crate) status: &'a mut DeviceBuffer<i32>,
    /// How it is solved.
    pub(crate) iteration: Iteration,
}

impl<'a, T: Real> Arrays<'a, T> {
    /// With their type.
    pub(super) fn typed(self) -> Operands<'a> {
        let Arrays { d, e, q, status, iteration } = self;
        of_real!(T::DTYPE, Arrays { d: cast_mut(d), e: cast(e), q: q.map(cast_mut), status, iteration })
    }
}
