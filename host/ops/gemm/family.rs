//! What a family of `gemm` does, and the list of those that are built.
//!
//! A family is one file beside this one. It enters [`BUILT`] below; its name
//! and parameters are in `OPERATION` already, where tables and pins look.

use num_complex::Complex;

use super::Problem;
use crate::device::Device;
use crate::error::Result;
use crate::memory::DeviceBatch;
use crate::ops::Target;
use crate::ops::decide::{NOT_BUILT, no_kernels};
use crate::ops::typed::{cast, cast_mut};
use crate::queue::Queue;
use crate::routes::Params;
use crate::scalar::{Dtype, Scalar};

/// One way to compute the products.
pub(crate) trait Family: Sync {
    /// The name in tables and pins.
    fn name(&self) -> &'static str;

    /// Whether the answer would be right, and if not, why: one clause, such as
    /// `m and n are at most 64`. Speed has no say. Touches no device.
    fn can_run(&self, problem: &Problem, params: &Params, target: &Target)
    -> std::result::Result<(), String>;

    /// Fixes every parameter. Called after `can_run`; touches no device.
    fn plan(&self, problem: &Problem, params: &Params, target: &Target) -> Result<Plan>;

    /// Runs the plan on the queue, without waiting where the device allows it.
    /// The operands fit the plan's problem, which is not empty, and belong to the queue.
    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()>;
}

/// A product with every parameter fixed.
pub type Plan = crate::ops::Plan<Problem>;

/// The arrays of a product, with their type.
pub(crate) enum Operands<'a> {
    F32(Arrays<'a, f32>),
    F64(Arrays<'a, f64>),
    C32(Arrays<'a, Complex<f32>>),
    C64(Arrays<'a, Complex<f64>>),
}

/// The arrays of a product, and its factors.
pub(crate) struct Arrays<'a, T> {
    pub(crate) alpha: T,
    pub(crate) beta: T,
    pub(crate) a: Place,
    pub(crate) b: Place,
    pub(crate) c: Place,
    /// The elements themselves, on the CPU.
    pub(crate) host: Option<Host<'a, T>>,
}

/// Where the items of a matrix lie in the device's memory.
#[derive(Clone, Copy, Debug)]
// The CPU has slices, and needs no addresses.
#[cfg_attr(not(feature = "kernels"), allow(dead_code))]
pub(crate) struct Place {
    /// Address of the first element of the first item.
    pub(crate) addr: u64,
    /// Elements from there to the end of the buffer.
    pub(crate) len: usize,
    pub(crate) ld: usize,
    pub(crate) stride: usize,
}

/// Slices of host memory.
pub(crate) struct Host<'a, T> {
    pub(crate) a: &'a [T],
    pub(crate) b: &'a [T],
    pub(crate) c: &'a mut [T],
}

impl Place {
    fn of<T: Scalar>(batch: &DeviceBatch<T>) -> Self {
        let buffer = batch.buffer();
        Place { addr: buffer.addr(), len: buffer.len(), ld: batch.ld(), stride: batch.stride() }
    }
}

impl<'a> Operands<'a> {
    pub(crate) fn new<T: Scalar>(
        alpha: T,
        a: &'a DeviceBatch<T>,
        b: &'a DeviceBatch<T>,
        beta: T,
        c: &'a mut DeviceBatch<T>,
    ) -> Self {
        let places = [Place::of(a), Place::of(b), Place::of(c)];
        // Asking for host memory would make the executor take all of it as written.
        if c.buffer().device() != Device::Cpu {
            return Self::at(alpha, beta, places);
        }
        macro_rules! arm {
            ($variant:ident) => {
                Operands::$variant(Arrays {
                    host: Host::of(cast(a), cast(b), cast_mut(c)),
                    ..Arrays::at(value(alpha), value(beta), places)
                })
            };
        }
        match T::DTYPE {
            Dtype::F32 => arm!(F32),
            Dtype::F64 => arm!(F64),
            Dtype::C32 => arm!(C32),
            Dtype::C64 => arm!(C64),
        }
    }

    /// A, B and C where kernels find them, such as parts of larger matrices. Who launches them answers for what
    /// [`DeviceBatch`]es are known to keep: C overlaps neither A nor B, and all of it lives in the queue's memory.
    pub(crate) fn at<T: Scalar>(alpha: T, beta: T, places: [Place; 3]) -> Self {
        match T::DTYPE {
            Dtype::F32 => Operands::F32(Arrays::at(value(alpha), value(beta), places)),
            Dtype::F64 => Operands::F64(Arrays::at(value(alpha), value(beta), places)),
            Dtype::C32 => Operands::C32(Arrays::at(value(alpha), value(beta), places)),
            Dtype::C64 => Operands::C64(Arrays::at(value(alpha), value(beta), places)),
        }
    }
}

impl<T> Arrays<'_, T> {
    fn at(alpha: T, beta: T, [a, b, c]: [Place; 3]) -> Self {
        Arrays { alpha, beta, a, b, c, host: None }
    }
}

impl<'a, T: Scalar> Host<'a, T> {
    fn of(a: &'a DeviceBatch<T>, b: &'a DeviceBatch<T>, c: &'a mut DeviceBatch<T>) -> Option<Self> {
        let (a, b) = (a.buffer().as_host_slice()?, b.buffer().as_host_slice()?);
        Some(Host { a, b, c: c.buffer_mut().as_host_mut_slice()? })
    }
}

/// The same value under the name that its type has in this arm.
fn value<T: 'static, U: Copy + 'static>(x: T) -> U {
    *cast(&x)
}

/// The families of this build.
static BUILT: &[&dyn Family] = &[
    #[cfg(feature = "kernels")]
    &super::direct::Direct,
    #[cfg(feature = "kernels")]
    &super::small::Small,
    #[cfg(feature = "kernels")]
    &super::tiled::Tiled,
    #[cfg(feature = "kernels")]
    &super::reg::Reg,
    #[cfg(feature = "kernels")]
    &super::wide::Wide,
    #[cfg(feature = "vendor")]
    &super::vendor::Vendor,
    &super::cpu::Cpu,
];

/// The family of a name, or why this build has none.
pub(crate) fn built(name: &str) -> std::result::Result<&'static dyn Family, String> {
    let found = BUILT.iter().copied().find(|f| f.name() == name);
    found.ok_or_else(|| match name {
        "vendor" => "this build lacks the feature `vendor`".to_owned(),
        "direct" | "small" | "tiled" | "reg" | "wide" => no_kernels(),
        _ => NOT_BUILT.to_owned(),
    })
}
