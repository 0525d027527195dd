//! Where work runs, and what a device can hold.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// A place where a [`Queue`](crate::Queue) can run work.
///
/// Its text form is `cpu`, `simt`, `cuda` (the first GPU) or `cuda:N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Device {
    /// The host's cores; the CPU families.
    Cpu,
    /// The CPU executor: any GPU family, checked, without a GPU. Needs the feature `simt`.
    Simt,
    /// An NVIDIA GPU by its ordinal. Needs the feature `cuda`.
    Cuda(u32),
}

impl Device {
    /// The first GPU where a driver and a device answer, else the CPU.
    ///
    /// Costs the start of the driver on the first call.
    pub fn auto() -> Self {
        if Device::gpus().is_ok_and(|found| !found.is_empty()) { Device::Cuda(0) } else { Device::Cpu }
    }

    /// The GPUs that the driver reports; at least one.
    ///
    /// # Errors
    /// [`Error::Unavailable`] that says what was looked for, where there is no
    /// driver, no GPU, or no feature `cuda`.
    pub fn gpus() -> Result<Vec<DeviceInfo>> {
        #[cfg(feature = "cuda")]
        return crate::cuda::gpus();
        #[cfg(not(feature = "cuda"))]
        Err(crate::queue::not_built(Device::Cuda(0), "cuda"))
    }

    /// Whether kernels run here, as opposed to CPU families.
    pub fn runs_kernels(self) -> bool {
        self != Device::Cpu
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => f.pad("cpu"),
            Device::Simt => f.pad("simt"),
            Device::Cuda(0) => f.pad("cuda"),
            Device::Cuda(n) => f.pad(&format!("cuda:{n}")),
        }
    }
}

impl FromStr for Device {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::argument(format!("unknown device `{text}`: one of cpu, simt, cuda, cuda:N"));
        match text {
            "cpu" => Ok(Device::Cpu),
            "simt" => Ok(Device::Simt),
            "cuda" => Ok(Device::Cuda(0)),
            _ => {
                let ordinal = text.strip_prefix("cuda:").ok_or_else(wrong)?;
                if !ordinal.bytes().all(|c| c.is_ascii_digit()) {
                    return Err(wrong());
                }
                ordinal.parse().map(Device::Cuda).map_err(|_| wrong())
            }
        }
    }
}

/// A GPU architecture: `Arch(90)` is `sm_90`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch(pub u32);

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("sm_{}", self.0))
    }
}

impl FromStr for Arch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = text.strip_prefix("sm_").and_then(|digits| digits.parse().ok());
        // One name an architecture, as files and reports write it: not sm_+90, nor sm_090.
        number
            .map(Arch)
            .filter(|arch| arch.to_string() == text)
            .ok_or_else(|| Error::argument(format!("unknown architecture `{text}`: write sm_90")))
    }
}

/// What one block and one device can hold: the facts that a launch is checked
/// against and that `can_run` of a GPU family may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The architecture.
    pub arch: Arch,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Shared memory of one block, in bytes, after opting in.
    pub shared_bytes_per_block: usize,
    /// Lanes of a warp.
    pub warp_size: u32,
    /// Threads of one block.
    pub max_threads_per_block: u32,
}

impl Limits {
    /// The limits of the CPU executor: an `sm_90` with four multiprocessors.
    pub const SIMT: Limits = Limits {
        arch: Arch(90),
        multiprocessors: 4,
        shared_bytes_per_block: 227 * 1024,
        warp_size: 32,
        max_threads_per_block: 1024,
    };
}

/// One GPU that the driver reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// How to ask for it.
    pub device: Device,
    /// The maker's name for it.
    pub name: String,
    /// Its limits.
    pub limits: Limits,
    /// Its memory in bytes.
    pub memory_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_names_round_trip() {
        for device in [Device::Cpu, Device::Simt, Device::Cuda(0), Device::Cuda(3)] {
            assert_eq!(device.to_string().parse::<Device>().unwrap(), device);
        }
        assert_eq!("cuda:0".parse::<Device>().unwrap(), Device::Cuda(0));
        for wrong in ["", "gpu", "CPU", "cuda:", "cuda:-1", "cuda:+1", "cuda:99999999999", "cuda0"] {
            let text = wrong.parse::<Device>().unwrap_err().to_string();
            assert!(text.contains("cpu, simt, cuda, cuda:N"), "{text}");
        }
    }

    #[test]
    fn architecture_names_round_trip() {
        assert_eq!("sm_90".parse::<Arch>().unwrap(), Arch(90));
        assert_eq!(Arch(120).to_string(), "sm_120");
        for wrong in ["90", "sm_", "sm_+90", "sm_-90", "sm_090", "SM_90", "sm_90a", "sm_4294967296"] {
            assert!(wrong.parse::<Arch>().is_err(), "{wrong}");
        }
    }
}
