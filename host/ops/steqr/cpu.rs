//! `cpu`: implicit QL of the crate `batchlas-cpu` on the host's cores, any n; values alone by its square-root-free form.

use batchlas_cpu::{Tridiagonals, steqr_f32, steqr_f64};

use super::family::{Arrays, Family, Iteration, Operands, Plan};
use super::{Problem, Shift};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::DeviceElement;
use crate::ops::Target;
use crate::queue::Queue;
use crate::routes::Params;

pub(crate) struct Cpu;

impl Family for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn can_run(&self, _: &Problem, _: &Params, target: &Target) -> std::result::Result<(), String> {
        match target.device() {
            Device::Cpu => Ok(()),
            other => Err(format!("runs on the device cpu, not on {other}")),
        }
    }

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        // Each thread's storage comes with the thread, not from the queue.
        Ok(Plan { problem: *problem, family: self.name(), params: params.clone(), workspace_bytes: 0 })
    }

    fn launch(&self, _: &Queue, plan: &Plan, iteration: &Iteration, operands: Operands<'_>) -> Result<()> {
        match operands {
            Operands::F32(arrays) => run(plan, iteration, arrays, steqr_f32),
            Operands::F64(arrays) => run(plan, iteration, arrays, steqr_f64),
        }
    }
}

fn run<T: DeviceElement>(
    plan: &Plan,
    iteration: &Iteration,
    arrays: Arrays<'_, T>,
    solve: impl FnOnce(&Tridiagonals, &mut [T], &[T], Option<&mut [T]>, &mut [i32]),
) -> Result<()> {
    let Problem { n, batch, .. } = plan.problem;
    let (ld, stride) = arrays.q.as_ref().map_or((n, 0), |q| (q.ld(), q.stride()));
    let Iteration { back_transform, sort, sweeps_per_value, shift } = *iteration;
    let shift = match shift {
        Shift::Lapack => batchlas_cpu::Shift::Lapack,
        Shift::Wilkinson => batchlas_cpu::Shift::Wilkinson,
    };
    let items = Tridiagonals { n, batch, ld, stride, back_transform, sort, sweeps_per_value, shift };
    let elsewhere = || Error::argument("the family cpu takes buffers in host memory");
    let q = match arrays.q {
        Some(q) => Some(q.buffer_mut().as_host_mut_slice().ok_or_else(elsewhere)?),
        None => None,
    };
    let (d, e, status) =
        (arrays.d.as_host_mut_slice(), arrays.e.as_host_slice(), arrays.status.as_host_mut_slice());
    match (d, e, status) {
        (Some(d), Some(e), Some(status)) => {
            solve(&items, d, e, q, status);
            Ok(())
        }
        _ => Err(elsewhere()),
    }
}
