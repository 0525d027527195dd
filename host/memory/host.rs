//! Device memory that is the host's: for the CPU and for the executor.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use super::DeviceElement;
use crate::error::{Error, Result};

/// What a GPU's allocator aligns to; kernels rely on it for wide accesses.
const ALIGN: usize = 256;

/// `len` zeros in memory of the host that a caller is given, for `what`.
///
/// # Errors
/// [`Error::OutOfMemory`] where the system has no such amount.
pub(crate) fn zeros<T: DeviceElement>(len: usize, what: impl FnOnce() -> String) -> Result<Vec<T>> {
    let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
    zeroed(len).ok_or_else(|| Error::OutOfMemory { device: "the host".to_owned(), bytes, what: what() })
}

fn zeroed<T: DeviceElement>(len: usize) -> Option<Vec<T>> {
    let layout = Layout::array::<T>(len).ok()?;
    if layout.size() == 0 {
        return Some(Vec::new());
    }
    // SAFETY: the layout has a size above 0.
    let ptr = NonNull::new(unsafe { alloc_zeroed(layout) })?;
    // SAFETY: the global allocator gave `ptr` for just this layout, which is that of a vector of capacity `len`, and
    // zeros are values of a plain type.
    Some(unsafe { Vec::from_raw_parts(ptr.as_ptr().cast(), len, len) })
}

/// An aligned allocation of zeros. For the executor it is registered, so that
/// reads of what nothing wrote are found.
pub(crate) struct HostMemory {
    ptr: NonNull<u8>,
    bytes: usize,
    #[cfg(feature = "simt")]
    shadowed: bool,
}

// SAFETY: the allocation has one owner, and shared access only reads.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// `bytes` zeros, or `None` where the system has no such amount.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        if bytes == 0 {
            return Some(Self::from_ptr(NonNull::new(ALIGN as *mut u8)?, bytes));
        }
        let layout = Layout::from_size_align(bytes, ALIGN).ok()?;
        // SAFETY: the layout has a size above 0.
        let ptr = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self::from_ptr(ptr, bytes))
    }

    fn from_ptr(ptr: NonNull<u8>, bytes: usize) -> Self {
        HostMemory {
            ptr,
            bytes,
            #[cfg(feature = "simt")]
            shadowed: false,
        }
    }

    /// Memory that the executor watches, under a name that its findings use.
    #[cfg(feature = "simt")]
    pub(crate) fn shadowed(bytes: usize, name: &str) -> Option<Self> {
        let mut memory = Self::new(bytes)?;
        if bytes > 0 {
            simt::memory::register(memory.addr(), bytes, name);
            memory.shadowed = true;
        }
        Some(memory)
    }

    pub(crate) fn addr(&self) -> usize {
        self.ptr.as_ptr().expose_provenance()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the allocation holds `bytes` initialised bytes, and a launch that could write them has
        // ended before the queue returned.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.bytes) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.mark_written();
        // SAFETY: as for `bytes`, and the owner is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.bytes) }
    }

    /// Tells the executor that the host wrote everything.
    fn mark_written(&self) {
        #[cfg(feature = "simt")]
        if self.shadowed {
            simt::memory::mark_written(self.addr(), self.bytes);
        }
    }

    /// Tells the executor that the content is stale, as in fresh memory.
    #[cfg(feature = "simt")]
    pub(crate) fn mark_unwritten(&self, name: &str) {
        if self.shadowed {
            simt::memory::unregister(self.addr());
            simt::memory::register(self.addr(), self.bytes, name);
        }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        #[cfg(feature = "simt")]
        if self.shadowed {
            simt::memory::unregister(self.addr());
        }
        if self.bytes > 0 {
            // SAFETY: allocated in `new` with this very layout.
            unsafe { dealloc(self.ptr.as_ptr(), Layout::from_size_align_unchecked(self.bytes, ALIGN)) }
        }
    }
}
