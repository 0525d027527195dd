//! What a family of `syev` does, and the list of those that are built.
//!
//! A family is one file beside this one. It enters [`BUILT`] below; its name
//! and parameters are in `OPERATION` already, where tables and pins look.

use num_complex::Complex;

use super::Problem;
use crate::error::Result;
use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::Target;
use crate::ops::decide::{NOT_BUILT, no_kernels};
use crate::ops::typed::cast_mut;
use crate::queue::Queue;
use crate::routes::Params;
use crate::scalar::{Dtype, Scalar};

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
    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()>;
}

/// A solve with every parameter fixed: the workspace query and the launch share it.
pub type Plan = crate::ops::Plan<Problem>;

/// The arrays of a solve, with their type.
pub(crate) enum Operands<'a> {
    F32(Arrays<'a, f32>),
    F64(Arrays<'a, f64>),
    C32(Arrays<'a, Complex<f32>>),
    C64(Arrays<'a, Complex<f64>>),
}

/// The arrays of a solve.
pub(crate) struct Arrays<'a, T: Scalar> {
    /// The matrices, overwritten by the vectors, or destroyed for values only.
    pub(crate) a: &'a mut DeviceBatch<T>,
    /// n eigenvalues an item.
    pub(crate) w: &'a mut DeviceBuffer<T::Real>,
    /// One status an item; its content on entry is not set.
    pub(crate) status: &'a mut DeviceBuffer<i32>,
}

impl<'a> Operands<'a> {
    pub(crate) fn new<T: Scalar>(
        a: &'a mut DeviceBatch<T>,
        w: &'a mut DeviceBuffer<T::Real>,
        status: &'a mut DeviceBuffer<i32>,
    ) -> Self {
        match T::DTYPE {
            Dtype::F32 => Operands::F32(Arrays { a: cast_mut(a), w: cast_mut(w), status }),
            Dtype::F64 => Operands::F64(Arrays { a: cast_mut(a), w: cast_mut(w), status }),
            Dtype::C32 => Operands::C32(Arrays { a: cast_mut(a), w: cast_mut(w), status }),
            Dtype::C64 => Operands::C64(Arrays { a: cast_mut(a), w: cast_mut(w), status }),
        }
    }
}

/// The families of this build.
static BUILT: &[&dyn Family] = &[
    #[cfg(feature = "kernels")]
    &super::thread::Thread,
    #[cfg(feature = "kernels")]
    &super::cta::Cta,
    #[cfg(feature = "kernels")]
    &super::cta_fused::CtaFused,
    #[cfg(feature = "kernels")]
    &super::jacobi::Jacobi,
    #[cfg(feature = "kernels")]
    &super::block::Block,
    #[cfg(feature = "kernels")]
    &super::blocked::Blocked,
    #[cfg(feature = "vendor")]
    &super::vendor::Vendor,
    &super::cpu::Cpu,
];

/// The family of a name, or why this build has none.
pub(crate) fn built(name: &str) -> std::result::Result<&'static dyn Family, String> {
    let found = BUILT.iter().copied().find(|f| f.name() == name);
    found.ok_or_else(|| match name {
        "vendor" => "this build lacks the feature `vendor`".to_owned(),
        "thread" | "cta" | "cta_fused" | "jacobi" | "block" | "blocked" => no_kernels(),
        _ => NOT_BUILT.to_owned(),
    })
}
