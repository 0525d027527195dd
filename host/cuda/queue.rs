//! A queue on a GPU.

use std::ffi::c_void;
use std::sync::Arc;

use cuda_std::launch::{Call, LaunchConfig};
use cust::sys;

use super::context::Context;
use super::driver::check;
use super::event::CudaEvent;
use super::memory::{DeviceMemory, PinnedMemory};
use super::module::LoadedKernel;
use super::stream::Stream;
use crate::device::{DeviceInfo, Limits};
use crate::error::Result;
use crate::queue::MemoryInfo;

/// A stream on a GPU's primary context, which holds the loaded modules.
pub(crate) struct CudaQueue {
    stream: Arc<Stream>,
}

impl CudaQueue {
    pub(crate) fn new(ordinal: u32) -> Result<Self> {
        Ok(CudaQueue { stream: Stream::new(Context::of(ordinal)?)? })
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.stream.context().info
    }

    pub(crate) fn limits(&self) -> Limits {
        self.stream.context().limits()
    }

    pub(crate) fn memory_info(&self) -> Result<MemoryInfo> {
        self.stream.context().make_current()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are places for sizes.
        check("cuMemGetInfo", unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) })?;
        Ok(MemoryInfo { free: free as u64 + self.stream.pool_spare_bytes(), total: total as u64 })
    }

    /// `None` where the GPU has not enough.
    pub(crate) fn alloc(&self, bytes: usize) -> Result<Option<DeviceMemory>> {
        DeviceMemory::new(&self.stream, bytes)
    }

    /// `None` where the system locks no more pages.
    pub(crate) fn pinned(&self, bytes: usize) -> Result<Option<PinnedMemory>> {
        PinnedMemory::new(self.stream.context(), bytes)
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        self.stream.synchronize()
    }

    pub(crate) fn record(&self) -> Result<CudaEvent> {
        CudaEvent::record(&self.stream)
    }

    pub(crate) fn wait_for(&self, event: &CudaEvent) -> Result<()> {
        event.hold_back(&self.stream)
    }

    /// # Safety
    /// As [`Queue::launch`](crate::Queue::launch).
    pub(crate) unsafe fn launch(&self, config: &LaunchConfig, call: &Call) -> Result<()> {
        // SAFETY: the caller answers for buffers and kernel.
        unsafe { super::launch::launch(&self.stream, config, call) }
    }

    pub(crate) fn load_all(&self) -> Result<Vec<LoadedKernel>> {
        let context = self.stream.context();
        context.make_current()?;
        context.modules().load_all(context.limits().arch)
    }

    /// Makes the context current here, for a vendor's library.
    pub(crate) fn make_current(&self) -> Result<()> {
        self.stream.context().make_current()
    }

    /// The stream's handle; it lives as long as the queue and its buffers.
    pub(crate) fn raw_stream(&self) -> *mut c_void {
        self.stream.raw().cast()
    }
}
