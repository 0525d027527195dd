//! `vendor`: cuBLAS's strided batched products, in the type's own precision.

use super::arrays::{self, Arrays, Operands};
use super::launch::{KernelScalar, Views};
use super::{Plan, Problem, tiled};
use crate::device::Device;
use crate::error::Result;
use crate::ops::Target;
use crate::ops::family::Family;
use crate::ops::typed::for_scalar;
use crate::queue::Queue;
use crate::routes::Params;
use crate::vendor::{BlasScalar, Place, gemm, gemm_available, gemm_fits};

pub(crate) struct Vendor;

impl Family<Problem> for Vendor {
    fn name(&self) -> &'static str {
        "vendor"
    }

    fn can_run(&self, problem: &Problem, _: &Params, target: &Target) -> std::result::Result<(), String> {
        if !matches!(target.device(), Device::Cuda(_)) {
            return Err("needs a GPU".to_owned());
        }
        gemm_fits(problem)?;
        if target.is_assumed() { Ok(()) } else { gemm_available() }
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        // The library's workspace comes with its handle.
        for_scalar!(operands, arrays => run(queue, &plan.problem, arrays))
    }
}

fn run<T: KernelScalar + BlasScalar>(queue: &Queue, problem: &Problem, arrays: Arrays<'_, T>) -> Result<()> {
    let views = Views::new(problem, &arrays);
    if views.k == 0 {
        // C = beta C: what the library does with NaN in A and B then is not documented.
        return tiled::run(queue, problem, &views);
    }
    let place = |place: arrays::Place| Place { addr: place.addr, ld: place.ld, stride: place.stride };
    let places = [arrays.a, arrays.b, arrays.c].map(place);
    // SAFETY: the operands fit the problem and belong to the queue, and C is borrowed alone.
    unsafe { gemm(queue, problem, (arrays.alpha, arrays.beta), places) }
}
