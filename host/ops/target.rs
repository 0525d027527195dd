//! Where a problem is to run, as far as `can_run` may know it.

use crate::device::{Arch, Device, Limits};
use crate::queue::Queue;

/// A device, or one that is only thought of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    device: Device,
    limits: Option<Limits>,
    assumed: bool,
}

impl Target {
    /// The host's cores.
    pub const CPU: Target = Target { device: Device::Cpu, limits: None, assumed: false };

    /// The device of a queue.
    pub fn of(queue: &Queue) -> Self {
        Target { device: queue.device(), limits: queue.limits(), assumed: false }
    }

    /// A GPU of this architecture that need not be here, with the vendor's
    /// libraries: for questions about routes.
    pub fn assumed(arch: Arch) -> Self {
        Target { device: Device::Cuda(0), limits: Some(Limits::assumed(arch)), assumed: true }
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.device
    }

    /// What kernels may use; `None` on the CPU.
    pub fn limits(&self) -> Option<Limits> {
        self.limits
    }

    /// Whether the device is only thought of, and nothing may be asked of it.
    pub fn is_assumed(&self) -> bool {
        self.assumed
    }
}

impl Limits {
    /// The limits of a GPU known by its architecture alone.
    fn assumed(arch: Arch) -> Self {
        // CUDA's tables of compute capabilities: the most that one block may opt in to.
        let kilobytes = match arch.0 {
            80 | 87 => 163,
            86 | 89 | 120 | 121 => 99,
            _ => 227,
        };
        // Of the data centre's card of each generation, or the largest.
        let multiprocessors = match arch.0 {
            80 => 108,
            86 | 87 => 84,
            89 => 128,
            100 | 103 => 148,
            120 | 121 => 170,
            _ => 132,
        };
        Limits { arch, multiprocessors, shared_bytes_per_block: kilobytes * 1024, ..Limits::SIMT }
    }
}
