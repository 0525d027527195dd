//! A queue's workspace: memory that grows to the largest request and is used again.

use std::cell::RefMut;

use super::Queue;
use crate::error::{Error, Result};
use crate::memory::{DeviceBuffer, DeviceElement};

/// Parts of a workspace start at multiples of this many bytes.
const PART_ALIGN: usize = 256;

/// Bytes that one part of `len` elements takes of a workspace: what a plan adds up.
pub const fn workspace_bytes<T>(len: usize) -> usize {
    len.saturating_mul(size_of::<T>()).saturating_add(PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN
}

/// A queue's workspace for one operation, handed out in parts.
///
/// Its content is not set. The next operation of the queue uses the same
/// memory, in order, so nothing has to wait when this is dropped.
pub struct Workspace<'q> {
    memory: RefMut<'q, Option<DeviceBuffer<u8>>>,
    bytes: usize,
    used: usize,
}

impl Queue {
    /// The queue's workspace, grown to `bytes` where it is smaller.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with the bytes asked for; [`Error::Argument`]
    /// where the workspace is in use.
    pub fn workspace(&self, bytes: usize) -> Result<Workspace<'_>> {
        let busy = |_| Error::argument("the queue's workspace is in use by another operation");
        let mut memory = self.arena.try_borrow_mut().map_err(busy)?;
        if memory.as_ref().map_or(0, DeviceBuffer::len) < bytes {
            // Give the old memory back first: the two need not fit together.
            *memory = None;
            *memory = Some(self.alloc(bytes).map_err(|error| for_workspace(error, bytes))?);
        }
        #[cfg(feature = "simt")]
        if let Some(crate::memory::Memory::Host(memory)) = memory.as_ref().map(DeviceBuffer::memory) {
            memory.mark_unwritten("the queue's workspace");
        }
        Ok(Workspace { memory, bytes, used: 0 })
    }
}

fn for_workspace(error: Error, bytes: usize) -> Error {
    match error {
        Error::OutOfMemory { device, .. } => {
            Error::OutOfMemory { device, bytes: bytes as u64, what: "the workspace".to_string() }
        }
        other => other,
    }
}

impl Workspace<'_> {
    /// The address of the next `len` elements, aligned to 256 bytes.
    ///
    /// # Errors
    /// [`Error::Argument`] where the parts pass the bytes asked for.
    pub fn take_addr<T: DeviceElement>(&mut self, len: usize) -> Result<u64> {
        let end = self.used.saturating_add(workspace_bytes::<T>(len));
        if end > self.bytes {
            return Err(Error::argument(format!(
                "a workspace of {} bytes has {} left, {len} elements of {} asked for",
                self.bytes,
                self.bytes - self.used,
                T::NAME
            )));
        }
        let base = self.memory.as_ref().map_or(PART_ALIGN as u64, DeviceBuffer::addr);
        let addr = base + self.used as u64;
        self.used = end;
        Ok(addr)
    }

    /// The bytes handed out so far, to go back to.
    #[cfg(feature = "kernels")]
    pub(crate) fn mark(&self) -> usize {
        self.used
    }

    /// Takes back all parts since a mark: launches that are enqueued keep them, later ones get the memory anew.
    #[cfg(feature = "kernels")]
    pub(crate) fn rewind(&mut self, mark: usize) {
        self.used = self.used.min(mark);
    }

    /// The next `len` elements as a kernel's parameter.
    ///
    /// # Errors
    /// [`Error::Argument`] where the parts pass the bytes asked for.
    #[cfg(feature = "kernels")]
    pub fn take<T: DeviceElement>(&mut self, len: usize) -> Result<cuda_std::GlobalMut<T>> {
        let addr = self.take_addr::<T>(len)?;
        // SAFETY: the part lies within the workspace and is handed out once; launches answer for the lifetime.
        Ok(unsafe { cuda_std::GlobalMut::from_raw_parts(addr as *mut T, len) })
    }
}
