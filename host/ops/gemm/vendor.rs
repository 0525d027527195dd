//! `vendor`: cuBLAS's strided batched products, in the type's own precision.

use super::Problem;
use super::family::{self, Arrays, Family, Operands, Plan};
use super::launch::{KernelScalar, Views};
use super::tiled;
use crate::device::Device;
use crate::error::Result;
use crate::ops::Target;
use crate::queue::Queue;
use crate::routes::Params;
use crate::vendor::{BlasScalar, Place, gemm, gemm_available, gemm_fits};

pub(crate) struct Vendor;

impl Family for Vendor {
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

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        // The library's workspace comes with its handle.
        Ok(Plan { problem: *problem, family: self.name(), params: params.clone(), workspace_bytes: 0 })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        match operands {
            Operands::F32(arrays) => run(queue, &plan.problem, arrays),
            Operands::F64(arrays) => run(queue, &plan.problem, arrays),
            Operands::C32(arrays) => run(queue, &plan.problem, arrays),
            Operands::C64(arrays) => run(queue, &plan.problem, arrays),
        }
    }
}

fn run<T: KernelScalar + BlasScalar>(queue: &Queue, problem: &Problem, arrays: Arrays<'_, T>) -> Result<()> {
    let views = Views::new(problem, &arrays);
    if views.k == 0 {
        // C = beta C: what the library does with NaN in A and B then is not documented.
        return tiled::run(queue, problem, &views);
    }
    let place = |place: family::Place| Place { addr: place.addr, ld: place.ld, stride: place.stride };
    let places = [arrays.a, arrays.b, arrays.c].map(place);
    // SAFETY: the operands fit the problem and belong to the queue, and C is borrowed alone.
    unsafe { gemm(queue, problem, (arrays.alpha, arrays.beta), places) }
}
