//! Streams: a queue's order of work, and the memory pool that follows it.

use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use cust::sys::{
    self, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation, CUmemLocationType,
    CUmemPool_attribute as PoolAttribute, CUmemPoolProps, CUmemoryPool, CUresult, CUstream,
};

use super::context::Context;
use super::driver::{check, describe};
use crate::error::{Error, Result};

/// A pool keeps at most this part of the GPU's memory for reuse once it is free.
const POOL_KEEPS_ONE_OF: u64 = 16;

/// A stream of a context with its memory pool, destroyed with the last buffer
/// of its queue.
pub(crate) struct Stream {
    context: Arc<Context>,
    raw: CUstream,
    pool: Option<CUmemoryPool>,
    /// The kernel launched last, for the message of a fault that shows later.
    last_kernel: Mutex<Option<&'static str>>,
}

// SAFETY: the driver's streams and pools may be used from any thread, once the context is current there.
unsafe impl Send for Stream {}
// SAFETY: as above; the rest is locked.
unsafe impl Sync for Stream {}

impl Stream {
    pub(crate) fn new(context: Arc<Context>) -> Result<Arc<Self>> {
        context.make_current()?;
        let mut raw: CUstream = ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: `raw` is a place for a stream.
        check("cuStreamCreate", unsafe { sys::cuStreamCreateWithPriority(&mut raw, flags, 0) })?;
        let pool = context.has_pools.then(|| new_pool(&context)).flatten();
        let stream = Arc::new(Stream { context, raw, pool, last_kernel: Mutex::new(None) });
        stream.context.add_stream(&stream);
        Ok(stream)
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn raw(&self) -> CUstream {
        self.raw
    }

    pub(crate) fn set_last_kernel(&self, entry: &'static str) {
        *self.last_kernel.lock().unwrap_or_else(PoisonError::into_inner) = Some(entry);
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        self.context.make_current()?;
        // SAFETY: the stream lives as long as `self`.
        self.check_work("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.raw) })
    }

    /// As [`check`], and a fault that a kernel left behind names that kernel.
    pub(crate) fn check_work(&self, call: &str, status: CUresult) -> Result<()> {
        use CUresult::*;
        let fault = matches!(
            status,
            CUDA_ERROR_ILLEGAL_ADDRESS
                | CUDA_ERROR_LAUNCH_TIMEOUT
                | CUDA_ERROR_ASSERT
                | CUDA_ERROR_HARDWARE_STACK_ERROR
                | CUDA_ERROR_ILLEGAL_INSTRUCTION
                | CUDA_ERROR_MISALIGNED_ADDRESS
                | CUDA_ERROR_INVALID_ADDRESS_SPACE
                | CUDA_ERROR_INVALID_PC
                | CUDA_ERROR_LAUNCH_FAILED
        );
        let last = *self.last_kernel.lock().unwrap_or_else(PoisonError::into_inner);
        match last {
            Some(kernel) if fault => Err(Error::Launch {
                kernel: kernel.to_string(),
                reason: format!(
                    "{} (reported by {call}; this kernel or one before it on the GPU)",
                    describe(status)
                ),
            }),
            _ => check(call, status),
        }
    }

    /// `bytes > 0` of device memory, `None` where the GPU has not enough even
    /// after the pools gave back what they keep.
    pub(super) fn alloc(&self, bytes: usize) -> Result<Option<u64>> {
        self.context.make_current()?;
        if let Some(addr) = self.try_alloc(bytes)? {
            return Ok(Some(addr));
        }
        self.synchronize()?;
        self.context.trim_pools();
        self.try_alloc(bytes)
    }

    fn try_alloc(&self, bytes: usize) -> Result<Option<u64>> {
        let mut addr = 0_u64;
        let status = match self.pool {
            // SAFETY: `addr` is a place for an address; pool and stream live as long as `self`.
            Some(pool) => unsafe { sys::cuMemAllocFromPoolAsync(&mut addr, bytes, pool, self.raw) },
            // SAFETY: `addr` is a place for an address.
            None => unsafe { sys::cuMemAlloc_v2(&mut addr, bytes) },
        };
        if status == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return Ok(None);
        }
        self.check_work("cuMemAlloc", status)?;
        Ok(Some(addr))
    }

    /// Frees memory of [`alloc`](Self::alloc) after the work given to the stream so far.
    pub(super) fn free(&self, addr: u64) {
        if self.context.make_current().is_err() {
            return;
        }
        // A failure here is a fault of earlier work, which whoever synchronizes hears of.
        // SAFETY: the address comes from `alloc` of this stream and is freed once.
        let _ = unsafe {
            match self.pool {
                Some(_) => sys::cuMemFreeAsync(addr, self.raw),
                None => sys::cuMemFree_v2(addr),
            }
        };
    }

    /// Bytes that the pool holds and no buffer uses.
    pub(super) fn pool_spare_bytes(&self) -> u64 {
        let Some(pool) = self.pool else { return 0 };
        let get = |which| {
            let mut value = 0_u64;
            // SAFETY: these attributes are 64-bit numbers.
            let status = unsafe { sys::cuMemPoolGetAttribute(pool, which, (&raw mut value).cast()) };
            if status == CUresult::CUDA_SUCCESS { value } else { 0 }
        };
        let reserved = get(PoolAttribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
        reserved.saturating_sub(get(PoolAttribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT))
    }

    pub(super) fn trim_pool(&self) {
        if let Some(pool) = self.pool {
            // Memory in use stays; a failure leaves the pool as it was.
            // SAFETY: the pool lives as long as `self`.
            let _ = unsafe { sys::cuMemPoolTrimTo(pool, 0) };
        }
    }
}

/// A pool of the context's GPU; without one, memory is allocated directly.
fn new_pool(context: &Context) -> Option<CUmemoryPool> {
    let location =
        CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: context.device.as_raw() };
    let props = CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location,
        win32SecurityAttributes: ptr::null_mut(),
        reserved: [0; 64],
    };
    let mut pool: CUmemoryPool = ptr::null_mut();
    // SAFETY: `pool` is a place for a pool, and the properties are complete.
    check("cuMemPoolCreate", unsafe { sys::cuMemPoolCreate(&mut pool, &props) }).ok()?;
    let mut keeps = context.info.memory_bytes / POOL_KEEPS_ONE_OF;
    let threshold = PoolAttribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // Without the threshold the pool is slower and as right.
    // SAFETY: this attribute is a 64-bit number.
    let _ = unsafe { sys::cuMemPoolSetAttribute(pool, threshold, (&raw mut keeps).cast()) };
    Some(pool)
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.context.make_current().is_err() {
            return;
        }
        // SAFETY: the handles are used for the last time; the driver finishes work in flight first.
        unsafe {
            let _ = sys::cuStreamDestroy_v2(self.raw);
            if let Some(pool) = self.pool {
                let _ = sys::cuMemPoolDestroy(pool);
            }
        }
    }
}
