//! What a family of `steqr` does, and the list of those that are built.
//!
//! A family is one file beside this one. It enters [`BUILT`] below; its name
//! and parameters are in `OPERATION` already, where tables and pins look.

use super::{Problem, Shift};
use crate::error::Result;
use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::Target;
use crate::ops::decide::no_kernels;
use crate::ops::typed::{cast, cast_mut};
use crate::queue::Queue;
use crate::routes::Params;
use crate::scalar::{Dtype, Real};

/// One way to solve the problem.
pub(crate) trait Family: Sync {
    /// The name in tables and pins.
    fn name(&self) -> &'static str;

    /// Whether the answer would be right, and if not, why: one clause, such as
    /// `n is at most 32`. Speed has no say. Touches no device.
    fn can_run(&self, problem: &Problem, params: &Params, target: &Target)
    -> std::result::Result<(), String>;

    /// Fixes every parameter and the workspace. Called after `can_run`; touches no device.
    fn plan(&self, problem: &Problem, params: &Params, target: &Target) -> Result<Plan>;

    /// Runs the plan on the queue, without waiting where the device allows it.
    /// The operands fit the plan's problem, which is not empty, and belong to the queue.
    fn launch(&self, queue: &Queue, plan: &Plan, iteration: &Iteration, operands: Operands<'_>)
    -> Result<()>;
}

/// A solve with every parameter fixed: the workspace query and the launch share it.
pub type Plan = crate::ops::Plan<Problem>;

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

/// The arrays of a solve, with their type.
pub(crate) enum Operands<'a> {
    F32(Arrays<'a, f32>),
    F64(Arrays<'a, f64>),
}

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
}

impl<'a> Operands<'a> {
    pub(crate) fn new<T: Real>(
        d: &'a mut DeviceBuffer<T>,
        e: &'a DeviceBuffer<T>,
        q: Option<&'a mut DeviceBatch<T>>,
        status: &'a mut DeviceBuffer<i32>,
    ) -> Self {
        match T::DTYPE {
            Dtype::F32 => Operands::F32(Arrays { d: cast_mut(d), e: cast(e), q: q.map(cast_mut), status }),
            _ => Operands::F64(Arrays { d: cast_mut(d), e: cast(e), q: q.map(cast_mut), status }),
        }
    }
}

/// The families of this build.
static BUILT: &[&dyn Family] = &[
    #[cfg(feature = "kernels")]
    &super::cta::Cta,
    #[cfg(feature = "kernels")]
    &super::wg::Wg,
    &super::cpu::Cpu,
];

/// The family of a name, or why this build has none.
pub(crate) fn built(name: &str) -> std::result::Result<&'static dyn Family, String> {
    let found = BUILT.iter().copied().find(|f| f.name() == name);
    found.ok_or_else(no_kernels)
}
