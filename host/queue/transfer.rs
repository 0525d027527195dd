//! Copies between host and device memory.

#[cfg(feature = "cuda")]
use super::Backend;
use super::Queue;
use crate::error::{Error, Result};
use crate::memory::host::{HostMemory, zeros};
use crate::memory::{DeviceBuffer, DeviceElement, Memory, PinnedBuffer, byte_count, check_copy};
use crate::trace::{Kind, Label};

impl Queue {
    /// A copy of host elements in device memory. Waits for the copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with the bytes asked for, or a fault of the driver.
    pub fn upload<T: DeviceElement>(&self, from: &[T]) -> Result<DeviceBuffer<T>> {
        let mut buffer = self.alloc(from.len())?;
        self.upload_into(from, &mut buffer)?;
        Ok(buffer)
    }

    /// Copies host elements into device memory of the same length. Waits for the copy.
    ///
    /// # Errors
    /// [`Error::Argument`] for another length or another queue's buffer, or a fault of the driver.
    pub fn upload_into<T: DeviceElement>(&self, from: &[T], to: &mut DeviceBuffer<T>) -> Result<()> {
        check_copy(from.len(), to.len())?;
        to.check_queue(self.id, self.device)?;
        self.traced(
            Kind::Copy,
            || copy_of("host to device", from.len(), size_of::<T>()),
            || {
                match to.memory_mut() {
                    Memory::Host(memory) => memory.bytes_mut().copy_from_slice(bytemuck::cast_slice(from)),
                    #[cfg(feature = "cuda")]
                    Memory::Cuda(memory) => memory.upload(bytemuck::cast_slice(from))?,
                }
                Ok(())
            },
        )
    }

    /// A host copy of device elements. Waits for the work before and for the copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the host has no room, a fault of the work before, or of the driver.
    pub fn download<T: DeviceElement>(&self, from: &DeviceBuffer<T>) -> Result<Vec<T>> {
        let mut to = zeros(from.len(), || format!("a copy of {} elements of {}", from.len(), T::NAME))?;
        self.download_into(from, &mut to)?;
        Ok(to)
    }

    /// Copies device elements into host memory of the same length. Waits for
    /// the work before and for the copy.
    ///
    /// # Errors
    /// [`Error::Argument`] for another length or another queue's buffer, a
    /// fault of the work before, or of the driver.
    pub fn download_into<T: DeviceElement>(&self, from: &DeviceBuffer<T>, to: &mut [T]) -> Result<()> {
        check_copy(from.len(), to.len())?;
        from.check_queue(self.id, self.device)?;
        let to: &mut [u8] = bytemuck::cast_slice_mut(to);
        self.traced(
            Kind::Copy,
            || copy_of("device to host", from.len(), size_of::<T>()),
            || {
                match from.memory() {
                    Memory::Host(memory) => to.copy_from_slice(memory.bytes()),
                    #[cfg(feature = "cuda")]
                    Memory::Cuda(memory) => memory.download(to)?,
                }
                Ok(())
            },
        )
    }

    /// Copies `to.len()` device elements from the place `first` on into host memory. Waits for the work before and
    /// for the copy.
    ///
    /// # Errors
    /// [`Error::Argument`] where the buffer ends before, or for another queue's buffer; a fault of the work
    /// before, or of the driver.
    pub fn download_part<T: DeviceElement>(
        &self,
        from: &DeviceBuffer<T>,
        first: usize,
        to: &mut [T],
    ) -> Result<()> {
        let (count, all) = (to.len(), from.len());
        if first.checked_add(count).is_none_or(|end| end > all) {
            return Err(Error::argument(format!("{count} elements from {first} on: the buffer has {all}")));
        }
        from.check_queue(self.id, self.device)?;
        let (first, to): (_, &mut [u8]) = (first * size_of::<T>(), bytemuck::cast_slice_mut(to));
        self.traced(
            Kind::Copy,
            || copy_of("device to host", count, size_of::<T>()),
            || {
                match from.memory() {
                    Memory::Host(memory) => to.copy_from_slice(&memory.bytes()[first..first + to.len()]),
                    #[cfg(feature = "cuda")]
                    Memory::Cuda(memory) => memory.download_part(first, to)?,
                }
                Ok(())
            },
        )
    }

    /// Copies between two buffers of this queue, in order with its work and
    /// without making the host wait.
    ///
    /// # Errors
    /// [`Error::Argument`] for another length or another queue's buffer, or a fault of the driver.
    pub fn copy<T: DeviceElement>(&self, from: &DeviceBuffer<T>, to: &mut DeviceBuffer<T>) -> Result<()> {
        check_copy(from.len(), to.len())?;
        from.check_queue(self.id, self.device)?;
        to.check_queue(self.id, self.device)?;
        self.traced(
            Kind::Copy,
            || copy_of("device to device", from.len(), size_of::<T>()),
            || {
                match (from.memory(), to.memory_mut()) {
                    (Memory::Host(from), Memory::Host(to)) => to.bytes_mut().copy_from_slice(from.bytes()),
                    #[cfg(feature = "cuda")]
                    (Memory::Cuda(from), Memory::Cuda(to)) => to.copy_from(from)?,
                    #[cfg(feature = "cuda")]
                    _ => return Err(Error::argument("cannot copy between two kinds of memory")),
                }
                Ok(())
            },
        )
    }

    /// Sets every byte of a buffer, in order with the queue's work and without
    /// making the host wait.
    ///
    /// # Errors
    /// [`Error::Argument`] for another queue's buffer, or a fault of the driver.
    pub fn fill_bytes<T: DeviceElement>(&self, buffer: &mut DeviceBuffer<T>, byte: u8) -> Result<()> {
        buffer.check_queue(self.id, self.device)?;
        let len = buffer.len();
        self.traced(
            Kind::Copy,
            || copy_of("fill", len, size_of::<T>()),
            || {
                match buffer.memory_mut() {
                    Memory::Host(memory) => memory.bytes_mut().fill(byte),
                    #[cfg(feature = "cuda")]
                    Memory::Cuda(memory) => memory.fill(byte)?,
                }
                Ok(())
            },
        )
    }

    /// Page-locked host memory for `len` elements, zeroed, for the asynchronous copies.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with the bytes asked for.
    pub fn pinned<T: DeviceElement>(&self, len: usize) -> Result<PinnedBuffer<T>> {
        use crate::memory::Pages;
        let bytes = byte_count::<T>(len)?;
        let pages = match &self.backend {
            #[cfg(feature = "cuda")]
            Backend::Cuda(queue) => queue.pinned(bytes)?.map(Pages::Cuda),
            _ => HostMemory::new(bytes).map(Pages::Host),
        };
        let pages = pages.ok_or_else(|| Error::OutOfMemory {
            device: "page-locked host memory".to_string(),
            bytes: bytes as u64,
            what: format!("{len} elements of {}", T::NAME),
        })?;
        Ok(PinnedBuffer::new(pages, len))
    }

    /// Copies page-locked elements into device memory without waiting.
    ///
    /// # Errors
    /// [`Error::Argument`] for another length or another queue's buffer, or a fault of the driver.
    pub fn upload_async<T: DeviceElement>(
        &self,
        from: &mut PinnedBuffer<T>,
        to: &mut DeviceBuffer<T>,
    ) -> Result<()> {
        check_copy(from.len(), to.len())?;
        to.check_queue(self.id, self.device)?;
        match to.memory_mut() {
            Memory::Host(memory) => {
                memory.bytes_mut().copy_from_slice(bytemuck::cast_slice(from.as_slice()?))
            }
            #[cfg(feature = "cuda")]
            Memory::Cuda(memory) => {
                let bytes = bytemuck::cast_slice(from.as_slice()?);
                // SAFETY: the pages stay in place and unwritten until the event below, for which the pinned
                // buffer waits.
                unsafe { memory.upload_async(bytes)? };
                from.set_pending(self.record_or_wait()?);
            }
        }
        Ok(())
    }

    /// Copies device elements into page-locked memory without waiting.
    ///
    /// # Errors
    /// [`Error::Argument`] for another length or another queue's buffer, or a fault of the driver.
    pub fn download_async<T: DeviceElement>(
        &self,
        from: &DeviceBuffer<T>,
        to: &mut PinnedBuffer<T>,
    ) -> Result<()> {
        check_copy(from.len(), to.len())?;
        from.check_queue(self.id, self.device)?;
        match from.memory() {
            Memory::Host(memory) => to.as_mut_slice()?.copy_from_slice(bytemuck::cast_slice(memory.bytes())),
            #[cfg(feature = "cuda")]
            Memory::Cuda(memory) => {
                let bytes = bytemuck::cast_slice_mut(to.as_mut_slice()?);
                // SAFETY: the pages stay in place and unread until the event below, for which the pinned
                // buffer waits.
                unsafe { memory.download_async(bytes)? };
                to.set_pending(self.record_or_wait()?);
            }
        }
        Ok(())
    }

    /// An event after a copy that has begun: without one, its memory is in use until the queue is idle.
    #[cfg(feature = "cuda")]
    fn record_or_wait(&self) -> Result<crate::queue::Event> {
        self.record().inspect_err(|_| {
            // The first error is the one to report.
            let _ = self.synchronize();
        })
    }
}

fn copy_of(direction: &str, len: usize, width: usize) -> Label {
    Label { bytes: Some(len * width), ..Label::named(direction) }
}
