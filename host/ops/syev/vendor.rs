//! `vendor`: cuSOLVER's batched eigensolvers, as `crate::vendor` keeps them to
//! this library's promises. `vendor:xsyev` (the default) or `vendor:syevj`.

use super::arrays::{Arrays, Operands};
use super::{Plan, Problem};
use crate::device::Device;
use crate::error::Result;
use crate::ops::Target;
use crate::ops::family::Family;
use crate::ops::typed::for_scalar;
use crate::queue::Queue;
use crate::routes::Params;
use crate::vendor::{Routine, SyevPlan, VendorScalar, available, syev};

pub(crate) struct Vendor;

impl Family<Problem> for Vendor {
    fn name(&self) -> &'static str {
        "vendor"
    }

    fn can_run(
        &self,
        problem: &Problem,
        params: &Params,
        target: &Target,
    ) -> std::result::Result<(), String> {
        if !matches!(target.device(), Device::Cuda(_)) {
            return Err("needs a GPU".to_owned());
        }
        vendor_plan(problem, params).map_err(|e| e.to_string())?;
        if target.is_assumed() { Ok(()) } else { available(routine(params)) }
    }

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        let plan = vendor_plan(problem, params)?;
        // What the routine itself asks for is known to the library on the device only.
        let workspace_bytes = plan.own_bytes();
        let mut params = params.clone();
        params.set_word(0, routine(&params).word());
        Ok(Plan { problem: *problem, family: self.name(), params, workspace_bytes })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        let plan = vendor_plan(&plan.problem, &plan.params)?;
        for_scalar!(operands, arrays => run(queue, &plan, arrays))
    }
}

fn routine(params: &Params) -> Routine {
    match params.word() {
        Some("syevj") => Routine::Syevj,
        _ => Routine::Xsyev,
    }
}

fn vendor_plan(problem: &Problem, params: &Params) -> Result<SyevPlan> {
    SyevPlan::new(problem.dtype, problem.n, problem.batch, problem.jobz, problem.uplo, routine(params))
}

fn run<T: VendorScalar>(queue: &Queue, plan: &SyevPlan, arrays: Arrays<'_, T>) -> Result<()> {
    syev(queue, plan, arrays.a, arrays.w, arrays.status)
}
