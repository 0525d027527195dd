//! What families of kernels share: checks, shapes of launches, scalar types of host and device.

use cuda_std::GlobalMut;
use cuda_std::launch::{Call, LaunchConfig, NoEntry};

use crate::device::Limits;
use crate::error::{Error, Result};
use crate::memory::{DeviceBatch, DeviceElement};
use crate::ops::Target;
use crate::queue::Queue;
use crate::scalar::Scalar;

/// A scalar that is the same type in host and device code.
pub(crate) trait KernelScalar:
    Scalar<Real: cuda_std::math::Real>
    + cuda_std::scalar::Scalar<Real = <Self as Scalar>::Real>
    + kernels_panel::apply::Apply
    + kernels_panel::gram::Gram
{
}
impl<T> KernelScalar for T where
    T: Scalar<Real: cuda_std::math::Real>
        + cuda_std::scalar::Scalar<Real = <T as Scalar>::Real>
        + kernels_panel::apply::Apply
        + kernels_panel::gram::Gram
{
}

/// A real type of host and device.
pub(crate) trait KernelReal:
    DeviceElement + cuda_std::math::Real + cuda_std::scalar::Scalar<Real = Self> + kernels_stedc::units::Units
{
}
impl<T> KernelReal for T where
    T: DeviceElement
        + cuda_std::math::Real
        + cuda_std::scalar::Scalar<Real = T>
        + kernels_stedc::units::Units
{
}

/// A batch of matrices, column-major, anywhere in a device's memory.
#[derive(Clone, Copy)]
pub(crate) struct Matrices<T> {
    pub(crate) view: GlobalMut<T>,
    /// Elements from a column to the next.
    pub(crate) ld: usize,
    /// Elements from an item to the next.
    pub(crate) stride: usize,
}

impl<T: Scalar> Matrices<T> {
    /// Those of a batch.
    pub(crate) fn of(batch: &mut DeviceBatch<T>) -> Self {
        let (ld, stride) = (batch.ld(), batch.stride());
        Matrices { view: batch.buffer_mut().view_mut(), ld, stride }
    }

    /// Leading dimension as the kernels take it.
    pub(crate) fn ld(&self) -> Result<u32> {
        leading_dimension(self.ld)
    }
}

/// A leading dimension as the kernels take it.
pub(super) fn leading_dimension(ld: usize) -> Result<u32> {
    u32::try_from(ld).map_err(|_| Error::argument(format!("leading dimension {ld} is past 32 bits")))
}

/// What kernels may use of the target.
pub(super) fn limits(target: &Target) -> std::result::Result<Limits, String> {
    target.limits().ok_or_else(|| "needs a GPU or the executor".to_owned())
}

/// Whether a family with a largest order can run.
pub(super) fn can_run(n: usize, target: &Target, max_n: usize) -> std::result::Result<(), String> {
    limits(target)?;
    if n > max_n {
        return Err(format!("n is at most {max_n}"));
    }
    Ok(())
}

/// Whether the device has so much shared memory for a block.
pub(super) fn has_shared(bytes: usize, target: &Target) -> std::result::Result<(), String> {
    let most = target.limits().map_or(0, |limits| limits.shared_bytes_per_block);
    if bytes > most {
        return Err(format!("needs {bytes} bytes of shared memory a block, the device gives {most}"));
    }
    Ok(())
}

/// Launches of at most this many blocks: x of a grid is 31 bits wide.
const MAX_GRID: u64 = (1 << 31) - 1;

/// The launch of `items` problems, `items_per_block` a block of `block` threads.
pub(super) fn config(
    items: u64,
    items_per_block: u32,
    block: u32,
    shared_bytes: usize,
) -> Result<LaunchConfig> {
    let grid = items.div_ceil(items_per_block as u64);
    if grid > MAX_GRID {
        return Err(Error::argument(format!("a batch of {items} is past {MAX_GRID} blocks: split it")));
    }
    Ok(LaunchConfig { grid: grid as u32, block, shared_bytes: shared_bytes as u32, cooperative: false })
}

/// Submits a call whose views are the operands of a solve.
pub(super) fn submit(
    queue: &Queue,
    config: LaunchConfig,
    call: std::result::Result<Call, NoEntry>,
) -> Result<()> {
    let call = call.map_err(|e| Error::argument(e.to_string()))?;
    // SAFETY: the operation's `solve` has checked that the buffers cover the problem and belong to the queue, and
    // the plan gives the kernel the block and the shared memory that its documentation asks for.
    unsafe { queue.launch(config, &call) }
}

/// Calls `$f::<T, P, ..>` for the least P of 4, 8, 16, 32 that is not below `$lanes`.
macro_rules! for_lanes {
    ($lanes:expr, $p:ident => $body:expr) => {
        match $lanes {
            4 => {
                const $p: usize = 4;
                $body
            }
            8 => {
                const $p: usize = 8;
                $body
            }
            16 => {
                const $p: usize = 16;
                $body
            }
            _ => {
                const $p: usize = 32;
                $body
            }
        }
    };
}
pub(super) use for_lanes;
