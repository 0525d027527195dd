//! The CPU executor as a device: buffers are host memory under a checker, and
//! a launch runs to its end before it returns.

use std::cell::RefCell;
use std::collections::VecDeque;

use cuda_std::launch::{Call, LaunchConfig, Param};

use crate::error::{Error, Result};

/// A queue keeps the counts of this many launches, the last ones.
const LAUNCHES_KEPT: usize = 4096;

/// What the executor counted in one launch.
#[derive(Clone, Debug)]
pub struct LaunchRecord {
    /// The kernel.
    pub kernel: &'static str,
    /// Its instantiation.
    pub entry: &'static str,
    /// The shape of the launch.
    pub config: LaunchConfig,
    /// The counts.
    pub counters: simt::Counters,
}

/// A queue on the executor.
pub(crate) struct SimtQueue {
    seed: u64,
    launches: RefCell<VecDeque<LaunchRecord>>,
}

impl SimtQueue {
    pub(crate) fn new(seed: u64) -> Self {
        SimtQueue { seed, launches: RefCell::new(VecDeque::new()) }
    }

    /// With the lane order of `BATCHLAS_SIMT_SEED`.
    pub(crate) fn from_env() -> Result<Self> {
        simt::seed_from_env().map(Self::new).map_err(|error| Error::argument(error.to_string()))
    }

    pub(crate) fn take_launches(&self) -> Vec<LaunchRecord> {
        self.launches.take().into()
    }

    pub(crate) fn launch(&self, config: &LaunchConfig, call: &Call) -> Result<()> {
        let buffers: Vec<_> = call.params.iter().filter_map(buffer).collect();
        let launch = simt::Launch {
            kernel: call.kernel.name,
            entry: call.entry.name,
            grid: config.grid,
            block: config.block,
            shared_bytes: config.shared_bytes as usize,
            cooperative: config.cooperative,
            buffers: &buffers,
            seed: self.seed,
        };
        let lane = || (call.lane)();
        let counters = simt::run(&launch, &lane).map_err(|error| findings(call, error))?;
        let (kernel, entry) = (call.kernel.name, call.entry.name);
        let mut launches = self.launches.borrow_mut();
        if launches.len() == LAUNCHES_KEPT {
            launches.pop_front();
        }
        launches.push_back(LaunchRecord { kernel, entry, config: *config, counters });
        Ok(())
    }
}

fn buffer(param: &Param) -> Option<simt::Buffer<'static>> {
    let Param::Buffer(buffer) = param else { return None };
    Some(simt::Buffer {
        name: buffer.name,
        addr: buffer.addr as usize,
        bytes: buffer.len * buffer.elem_bytes,
        elem_bytes: buffer.elem_bytes,
        writable: buffer.writable,
    })
}

fn findings(call: &Call, error: simt::LaunchError) -> Error {
    Error::Findings {
        kernel: call.entry.name.to_string(),
        findings: error.findings.iter().map(ToString::to_string).collect(),
        suppressed: error.suppressed,
    }
}
