//! Device memory, page-locked host memory and the copies between them.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use cust::sys::{self, CUresult};

use super::context::Context;
use super::driver::check;
use super::stream::Stream;
use crate::error::Result;

/// Memory of a GPU in the order of one stream.
pub(crate) struct DeviceMemory {
    stream: Arc<Stream>,
    addr: u64,
    bytes: usize,
}

impl DeviceMemory {
    /// `None` where the GPU has not enough.
    pub(crate) fn new(stream: &Arc<Stream>, bytes: usize) -> Result<Option<Self>> {
        let addr = if bytes == 0 { Some(0) } else { stream.alloc(bytes)? };
        Ok(addr.map(|addr| DeviceMemory { stream: stream.clone(), addr, bytes }))
    }

    pub(crate) fn addr(&self) -> u64 {
        self.addr
    }

    /// Copies host bytes here and waits: the caller may change them at once.
    pub(crate) fn upload(&mut self, from: &[u8]) -> Result<()> {
        // SAFETY: the copy ends before this returns.
        unsafe { self.upload_async(from)? };
        self.stream.synchronize()
    }

    /// Copies to host bytes and waits.
    pub(crate) fn download(&self, to: &mut [u8]) -> Result<()> {
        // SAFETY: the copy ends before this returns.
        unsafe { self.download_async(to)? };
        self.stream.synchronize()
    }

    /// Copies the bytes from `first` on to host bytes and waits.
    pub(crate) fn download_part(&self, first: usize, to: &mut [u8]) -> Result<()> {
        // SAFETY: the copy ends before this returns.
        unsafe { self.download_part_async(first, to)? };
        self.stream.synchronize()
    }

    /// Copies host bytes here in the order of the stream.
    ///
    /// # Safety
    /// The bytes stay in place and unchanged until the stream has come to this copy.
    pub(crate) unsafe fn upload_async(&mut self, from: &[u8]) -> Result<()> {
        assert_eq!(from.len(), self.bytes, "the caller compares the lengths");
        if self.bytes == 0 {
            return Ok(());
        }
        self.stream.context().make_current()?;
        let stream = self.stream.raw();
        // SAFETY: both sides hold `bytes` bytes, the host's for as long as the caller promises.
        let status =
            unsafe { sys::cuMemcpyHtoDAsync_v2(self.addr, from.as_ptr().cast(), self.bytes, stream) };
        self.stream.check_work("cuMemcpyHtoDAsync", status)
    }

    /// Copies to host bytes in the order of the stream.
    ///
    /// # Safety
    /// The bytes stay in place and unused until the stream has come to this copy.
    pub(crate) unsafe fn download_async(&self, to: &mut [u8]) -> Result<()> {
        assert_eq!(to.len(), self.bytes, "the caller compares the lengths");
        // SAFETY: the caller's promise.
        unsafe { self.download_part_async(0, to) }
    }

    /// Copies the bytes from `first` on to host bytes in the order of the stream.
    ///
    /// # Safety
    /// As [`download_async`](Self::download_async).
    unsafe fn download_part_async(&self, first: usize, to: &mut [u8]) -> Result<()> {
        assert!(first + to.len() <= self.bytes, "the caller compares the lengths");
        if to.is_empty() {
            return Ok(());
        }
        self.stream.context().make_current()?;
        let (stream, from) = (self.stream.raw(), self.addr + first as u64);
        // SAFETY: both sides hold the bytes, the host's for as long as the caller promises.
        let status = unsafe { sys::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), stream) };
        self.stream.check_work("cuMemcpyDtoHAsync", status)
    }

    /// Copies device memory here in the order of the stream.
    pub(crate) fn copy_from(&mut self, from: &DeviceMemory) -> Result<()> {
        assert_eq!(from.bytes, self.bytes, "the caller compares the lengths");
        if self.bytes == 0 {
            return Ok(());
        }
        self.stream.context().make_current()?;
        let stream = self.stream.raw();
        // SAFETY: both sides hold `bytes` bytes and are freed in the order of this stream.
        let status = unsafe { sys::cuMemcpyDtoDAsync_v2(self.addr, from.addr, self.bytes, stream) };
        self.stream.check_work("cuMemcpyDtoDAsync", status)
    }

    /// Sets every byte in the order of the stream.
    pub(crate) fn fill(&mut self, byte: u8) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        self.stream.context().make_current()?;
        // SAFETY: the memory holds `bytes` bytes.
        let status = unsafe { sys::cuMemsetD8Async(self.addr, byte, self.bytes, self.stream.raw()) };
        self.stream.check_work("cuMemsetD8Async", status)
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.stream.free(self.addr);
        }
    }
}

/// Page-locked host memory.
pub(crate) struct PinnedMemory {
    context: Arc<Context>,
    ptr: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the pages have one owner, and shared access only reads.
unsafe impl Send for PinnedMemory {}
// SAFETY: as above.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    /// `bytes` zeros, or `None` where the system locks no more pages.
    pub(crate) fn new(context: &Arc<Context>, bytes: usize) -> Result<Option<Self>> {
        let context = context.clone();
        if bytes == 0 {
            return Ok(Some(PinnedMemory { context, ptr: NonNull::<u64>::dangling().cast(), bytes }));
        }
        context.make_current()?;
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` is a place for a pointer.
        let status = unsafe { sys::cuMemHostAlloc(&mut raw, bytes, sys::CU_MEMHOSTALLOC_PORTABLE) };
        if status == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return Ok(None);
        }
        check("cuMemHostAlloc", status)?;
        let Some(ptr) = NonNull::new(raw.cast::<u8>()) else { return Ok(None) };
        // SAFETY: the driver gave `bytes` bytes.
        unsafe { ptr.as_ptr().write_bytes(0, bytes) };
        Ok(Some(PinnedMemory { context, ptr, bytes }))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `bytes` initialised bytes; the pinned buffer has waited for copies in flight.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.bytes) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`, and the owner is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.bytes) }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        if self.bytes > 0 && self.context.make_current().is_ok() {
            // SAFETY: allocated in `new`, freed once.
            let _ = unsafe { sys::cuMemFreeHost(self.ptr.as_ptr().cast()) };
        }
    }
}
