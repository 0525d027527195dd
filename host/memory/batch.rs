//! Batches of matrices in device memory.

use std::fmt;

use super::host::zeros;
use super::{DeviceBuffer, DeviceElement};
use crate::batch::{Batch, BatchMut, BatchRef, Layout};
use crate::error::{Error, Result};
use crate::queue::Queue;
use crate::scalar::Scalar;

/// `batch` matrices of `rows` by `cols` in device memory, column-major:
/// element (i, j) of an item is at `item * stride + j * ld + i`.
///
/// The buffer may be longer than the layout needs, at either end of the gaps:
/// what lies between columns and items is never touched.
pub struct DeviceBatch<T> {
    buffer: DeviceBuffer<T>,
    layout: Layout,
}

impl<T: DeviceElement> DeviceBatch<T> {
    /// Takes a buffer that holds the layout.
    ///
    /// # Errors
    /// [`Error::Argument`] where the buffer is too short.
    pub fn from_buffer(buffer: DeviceBuffer<T>, layout: Layout) -> Result<Self> {
        if buffer.len() < layout.len() {
            return Err(Error::argument(format!(
                "{} items of {}x{} (ld {}, stride {}) need {} elements, the buffer has {}",
                layout.batch(),
                layout.rows(),
                layout.cols(),
                layout.ld(),
                layout.stride(),
                layout.len(),
                buffer.len()
            )));
        }
        Ok(DeviceBatch { buffer, layout })
    }

    /// Memory for a layout, its content not set.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with the bytes asked for.
    pub fn alloc(queue: &Queue, layout: Layout) -> Result<Self> {
        Ok(DeviceBatch { buffer: queue.alloc(layout.len())?, layout })
    }

    /// Where the elements lie.
    pub fn layout(&self) -> Layout {
        self.layout
    }
    /// Rows of an item.
    pub fn rows(&self) -> usize {
        self.layout.rows()
    }
    /// Columns of an item.
    pub fn cols(&self) -> usize {
        self.layout.cols()
    }
    /// Elements from a column to the next.
    pub fn ld(&self) -> usize {
        self.layout.ld()
    }
    /// Elements from an item to the next.
    pub fn stride(&self) -> usize {
        self.layout.stride()
    }
    /// Number of items.
    pub fn batch(&self) -> usize {
        self.layout.batch()
    }
    /// The memory behind it.
    pub fn buffer(&self) -> &DeviceBuffer<T> {
        &self.buffer
    }
    /// The memory behind it, for writing.
    pub fn buffer_mut(&mut self) -> &mut DeviceBuffer<T> {
        &mut self.buffer
    }
    /// The memory behind it.
    pub fn into_buffer(self) -> DeviceBuffer<T> {
        self.buffer
    }
}

impl<T: DeviceElement + Scalar> DeviceBatch<T> {
    /// A packed copy of a host batch.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with the bytes asked for, or a failed copy.
    pub fn upload<'a>(queue: &Queue, from: impl Into<BatchRef<'a, T>>) -> Result<Self>
    where
        T: 'a,
    {
        let from = from.into();
        let l = from.layout();
        Self::upload_as(queue, from, Layout::packed(l.rows(), l.cols(), l.batch()))
    }

    /// A copy of a host batch in another layout; the gaps of the new layout hold zeros.
    ///
    /// # Errors
    /// [`Error::Argument`] where the shapes differ, [`Error::OutOfMemory`], or a failed copy.
    pub fn upload_as<'a>(queue: &Queue, from: impl Into<BatchRef<'a, T>>, layout: Layout) -> Result<Self>
    where
        T: 'a,
    {
        let from = from.into();
        check_shapes(from.layout(), layout)?;
        let buffer = if same_places(from.layout(), layout) {
            queue.upload(&from.as_slice()[..layout.len()])?
        } else {
            let mut staged = zeros(layout.len(), || "a copy in another layout".to_owned())?;
            move_columns(from.as_slice(), from.layout(), &mut staged, layout);
            queue.upload(&staged)?
        };
        Ok(DeviceBatch { buffer, layout })
    }

    /// A packed host copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the host has no room, a failed copy, or a fault of the work before it.
    pub fn download(&self, queue: &Queue) -> Result<Batch<T>> {
        let mut out = Batch::try_zeros(self.rows(), self.cols(), self.batch())?;
        self.download_into(queue, out.view_mut())?;
        Ok(out)
    }

    /// Copies the items into a host batch of any layout; its gaps keep their content.
    ///
    /// # Errors
    /// [`Error::Argument`] where the shapes differ, a failed copy, or a fault of the work before it.
    pub fn download_into(&self, queue: &Queue, mut to: BatchMut<'_, T>) -> Result<()> {
        let layout = to.layout();
        check_shapes(self.layout, layout)?;
        let all = queue.download(&self.buffer)?;
        move_columns(&all, self.layout, to.as_mut_slice(), layout);
        Ok(())
    }
}

impl<T: DeviceElement> fmt::Debug for DeviceBatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBatch").field("layout", &self.layout).field("buffer", &self.buffer).finish()
    }
}

fn check_shapes(from: Layout, to: Layout) -> Result<()> {
    let shape = |l: Layout| (l.rows(), l.cols(), l.batch());
    if shape(from) == shape(to) {
        return Ok(());
    }
    Err(Error::argument(format!(
        "cannot copy {} items of {}x{} to {} items of {}x{}",
        from.batch(),
        from.rows(),
        from.cols(),
        to.batch(),
        to.rows(),
        to.cols()
    )))
}

/// Whether each element has the same place in both layouts and there is no gap to leave alone.
fn same_places(from: Layout, to: Layout) -> bool {
    from == to || (from.is_packed() && to.is_packed())
}

/// Copies column by column; the shapes are equal.
fn move_columns<T: Copy>(from: &[T], at: Layout, to: &mut [T], goes: Layout) {
    let rows = at.rows();
    if rows == 0 {
        return;
    }
    for item in 0..at.batch() {
        for j in 0..at.cols() {
            let (a, b) = (item * at.stride() + j * at.ld(), item * goes.stride() + j * goes.ld());
            to[b..b + rows].copy_from_slice(&from[a..a + rows]);
        }
    }
}
