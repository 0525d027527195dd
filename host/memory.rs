//! Memory of a device: plain buffers, batches with a leading dimension and a
//! stride, and page-locked host memory for asynchronous copies.
//!
//! A buffer belongs to the [`Queue`](crate::Queue) that made it: copies and
//! launches on that queue see it in order, and it is freed in that order.

mod batch;
pub(crate) mod host;
mod meter;
mod pinned;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

pub use batch::DeviceBatch;
pub use meter::MemoryUse;
pub(crate) use meter::Meter;
pub(crate) use pinned::Pages;
pub use pinned::PinnedBuffer;

use crate::device::Device;
use crate::error::{Error, Result};
use host::HostMemory;
use meter::Share;

/// A type that device memory holds: plain bytes with the same layout on host and device.
pub trait DeviceElement: bytemuck::Pod + Send + Sync + sealed::Sealed {
    /// The type's name in messages.
    const NAME: &'static str;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($type:ty: $name:literal),* $(,)?) => { $(
        impl sealed::Sealed for $type {}
        impl DeviceElement for $type {
            const NAME: &'static str = $name;
        }
    )* };
}
elements! {
    u8: "u8", i32: "i32", u32: "u32", i64: "i64", u64: "u64", f32: "f32", f64: "f64",
    num_complex::Complex<f32>: "c32", num_complex::Complex<f64>: "c64",
}

/// The memory behind a buffer.
pub(crate) enum Memory {
    Host(HostMemory),
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::DeviceMemory),
}

/// `len` elements in the memory of one device. Freed on drop, after the work
/// that its queue was given before.
pub struct DeviceBuffer<T> {
    memory: Memory,
    device: Device,
    queue: u64,
    len: usize,
    _share: Share,
    element: PhantomData<T>,
}

impl<T: DeviceElement> DeviceBuffer<T> {
    pub(crate) fn new(memory: Memory, device: Device, queue: u64, len: usize, meter: &Arc<Meter>) -> Self {
        let _share = Share::new(meter, len * size_of::<T>());
        DeviceBuffer { memory, device, queue, len, _share, element: PhantomData }
    }

    /// Elements in the buffer.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes in the buffer.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The device whose memory this is.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The address on the device, aligned to 256 bytes.
    pub fn addr(&self) -> u64 {
        match &self.memory {
            Memory::Host(memory) => memory.addr() as u64,
            #[cfg(feature = "cuda")]
            Memory::Cuda(memory) => memory.addr(),
        }
    }

    /// The elements in place, where the device's memory is the host's (`cpu`, `simt`).
    pub fn as_host_slice(&self) -> Option<&[T]> {
        match &self.memory {
            Memory::Host(memory) => Some(bytemuck::cast_slice(memory.bytes())),
            #[cfg(feature = "cuda")]
            Memory::Cuda(_) => None,
        }
    }

    /// The elements in place for writing, where the device's memory is the
    /// host's (`cpu`, `simt`). The executor then takes all of them as written.
    pub fn as_host_mut_slice(&mut self) -> Option<&mut [T]> {
        match &mut self.memory {
            Memory::Host(memory) => Some(bytemuck::cast_slice_mut(memory.bytes_mut())),
            #[cfg(feature = "cuda")]
            Memory::Cuda(_) => None,
        }
    }

    /// The elements as a kernel's read-only parameter.
    #[cfg(feature = "kernels")]
    pub fn view(&self) -> cuda_std::Global<T> {
        // SAFETY: the address is valid for `len` elements while the buffer lives; launches, which are
        // unsafe, answer for the lifetime.
        unsafe { cuda_std::Global::from_raw_parts(self.addr() as *const T, self.len) }
    }

    /// The elements as a kernel's parameter that it may write.
    #[cfg(feature = "kernels")]
    pub fn view_mut(&mut self) -> cuda_std::GlobalMut<T> {
        // SAFETY: as for `view`, and the buffer is borrowed for writing here.
        unsafe { cuda_std::GlobalMut::from_raw_parts(self.addr() as *mut T, self.len) }
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(crate) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Refuses a buffer of another queue: its work is not ordered with that queue's.
    pub(crate) fn check_queue(&self, queue: u64, device: Device) -> Result<()> {
        if self.queue == queue {
            return Ok(());
        }
        Err(Error::argument(format!(
            "a buffer of another queue (on {}) was given to a queue on {device}: buffers belong to the queue that made them",
            self.device
        )))
    }
}

impl<T: DeviceElement> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBuffer({} {} on {})", self.len, T::NAME, self.device)
    }
}

/// Bytes of `len` elements, or an error that says which size overflows.
pub(crate) fn byte_count<T: DeviceElement>(len: usize) -> Result<usize> {
    let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize);
    bytes.ok_or_else(|| Error::argument(format!("{len} elements of {} pass the address space", T::NAME)))
}

/// Refuses a copy between different lengths.
pub(crate) fn check_copy(from: usize, to: usize) -> Result<()> {
    if from == to {
        return Ok(());
    }
    Err(Error::argument(format!("cannot copy {from} elements to a buffer of {to}")))
}
