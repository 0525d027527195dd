//! Page-locked host memory, from and to which copies run asynchronously.

use std::fmt;

use super::DeviceElement;
use super::host::HostMemory;
use crate::error::Result;
use crate::queue::Event;

/// The memory behind a pinned buffer: page-locked for a GPU, plain otherwise.
pub(crate) enum Pages {
    Host(HostMemory),
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::PinnedMemory),
}

/// `len` elements of host memory that a GPU's copy engine reaches by itself.
///
/// A copy given to a queue may still be running: [`as_slice`](Self::as_slice),
/// [`as_mut_slice`](Self::as_mut_slice) and drop wait for it.
pub struct PinnedBuffer<T> {
    pages: Pages,
    pending: Option<Event>,
    len: usize,
    element: std::marker::PhantomData<T>,
}

impl<T: DeviceElement> PinnedBuffer<T> {
    pub(crate) fn new(pages: Pages, len: usize) -> Self {
        PinnedBuffer { pages, pending: None, len, element: std::marker::PhantomData }
    }

    /// Elements in the buffer.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements, once the copy in flight has ended.
    ///
    /// # Errors
    /// A fault of the work before that copy.
    pub fn as_slice(&self) -> Result<&[T]> {
        if let Some(event) = &self.pending {
            event.wait()?;
        }
        Ok(bytemuck::cast_slice(match &self.pages {
            Pages::Host(memory) => memory.bytes(),
            #[cfg(feature = "cuda")]
            Pages::Cuda(memory) => memory.bytes(),
        }))
    }

    /// The elements for writing, once the copy in flight has ended.
    ///
    /// # Errors
    /// A fault of the work before that copy.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T]> {
        self.settle()?;
        Ok(bytemuck::cast_slice_mut(match &mut self.pages {
            Pages::Host(memory) => memory.bytes_mut(),
            #[cfg(feature = "cuda")]
            Pages::Cuda(memory) => memory.bytes_mut(),
        }))
    }

    /// Waits for the copy in flight.
    fn settle(&mut self) -> Result<()> {
        match self.pending.take() {
            Some(event) => event.wait(),
            None => Ok(()),
        }
    }

    /// The copy that `event` follows uses the pages from here on.
    #[cfg(feature = "cuda")]
    pub(crate) fn set_pending(&mut self, event: Event) {
        self.pending = Some(event);
    }
}

impl<T> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        if let Some(event) = self.pending.take() {
            // A fault here has stopped the copy too; whoever synchronizes the queue hears of it.
            let _ = event.wait();
        }
    }
}

impl<T: DeviceElement> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedBuffer({} {})", self.len, T::NAME)
    }
}
