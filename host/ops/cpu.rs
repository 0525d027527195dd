//! What the families `cpu` share.

use crate::device::Device;
use crate::error::Error;
use crate::ops::Target;

/// Whether the target is the host's cores.
pub(super) fn can_run(target: &Target) -> std::result::Result<(), String> {
    match target.device() {
        Device::Cpu => Ok(()),
        other => Err(format!("runs on the device cpu, not on {other}")),
    }
}

/// The error of a buffer that is not in host memory.
pub(super) fn elsewhere() -> Error {
    Error::argument("the family cpu takes buffers in host memory")
}
