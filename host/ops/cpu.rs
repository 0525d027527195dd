//! The families `cpu`: solvers of the crate `batchlas-cpu` on the host's cores, an item a thread.

use super::family::{Family, Routed};
use super::{Plan, Target};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::queue::Queue;
use crate::routes::Params;

/// Problems that the host's cores solve.
pub(super) trait OnCpu: Routed {
    /// Runs the plan on buffers in host memory. Each thread's storage comes with the thread, not from the queue.
    ///
    /// # Errors
    /// [`elsewhere`], for buffers in another memory.
    fn solve(plan: &Plan<Self>, operands: Self::Operands<'_>) -> Result<()>;
}

/// The error of a buffer that is not in host memory.
pub(super) fn elsewhere() -> Error {
    Error::argument("the family cpu takes buffers in host memory")
}

pub(super) struct Cpu;

impl<P: OnCpu> Family<P> for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn can_run(&self, _: &P, _: &Params, target: &Target) -> std::result::Result<(), String> {
        match target.device() {
            Device::Cpu => Ok(()),
            other => Err(format!("runs on the device cpu, not on {other}")),
        }
    }

    fn launch(&self, _: &Queue, plan: &Plan<P>, operands: P::Operands<'_>) -> Result<()> {
        P::solve(plan, operands)
    }
}
