//! `cpu`: the square-root-free QL and QR iterations of the crate `batchlas-cpu` on the host's cores, any n.

use batchlas_cpu::{Shift, Tridiagonals, steqr_f32, steqr_f64};

use super::Problem;
use super::family::{Arrays, Family, Operands, Plan};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::DeviceElement;
use crate::ops::{SWEEPS_PER_VALUE, Target};
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
        Ok(Plan { problem: *problem, family: self.name(), params: params.clone(), workspace_bytes: 0 })
    }

    fn launch(&self, _: &Queue, plan: &Plan, _: Option<u32>, operands: Operands<'_>) -> Result<()> {
        match operands {
            Operands::F32(arrays) => run(plan, arrays, steqr_f32),
            Operands::F64(arrays) => run(plan, arrays, steqr_f64),
        }
    }
}

fn run<T: DeviceElement>(
    plan: &Plan,
    arrays: Arrays<'_, T>,
    solve: impl FnOnce(&Tridiagonals, &mut [T], &[T], Option<&mut [T]>, &mut [i32]),
) -> Result<()> {
    let Problem { n, batch, .. } = plan.problem;
    let items = Tridiagonals {
        n,
        batch,
        ld: n,
        stride: 0,
        back_transform: false,
        sort: true,
        sweeps_per_value: SWEEPS_PER_VALUE,
        shift: Shift::default(),
    };
    let (d, e) = (arrays.d.as_host_slice(), arrays.e.as_host_slice());
    match (d, e, arrays.w.as_host_mut_slice(), arrays.status.as_host_mut_slice()) {
        (Some(d), Some(e), Some(w), Some(status)) => {
            w.copy_from_slice(d);
            solve(&items, w, e, None, status);
            Ok(())
        }
        _ => Err(Error::argument("the family cpu takes buffers in host memory")),
    }
}
