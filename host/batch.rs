//! Batches of equal matrices in host memory: column-major, with a leading
//! dimension and a batch stride of the caller's choice.

use crate::error::{Error, Result};
use crate::memory::host::zeros;
use crate::scalar::Scalar;

/// Where the elements of a batch lie: element (i, j) of an item is at
/// `item * stride + j * ld + i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    rows: usize,
    cols: usize,
    ld: usize,
    stride: usize,
    batch: usize,
}

impl Layout {
    /// Columns and items without gaps.
    ///
    /// # Panics
    /// Where the number of elements does not fit `usize`: [`try_packed`](Self::try_packed) says so.
    pub fn packed(rows: usize, cols: usize, batch: usize) -> Self {
        Self::try_packed(rows, cols, batch).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Columns and items without gaps.
    ///
    /// # Errors
    /// [`Error::Argument`] where the number of elements does not fit `usize`.
    pub fn try_packed(rows: usize, cols: usize, batch: usize) -> Result<Self> {
        let stride = rows.checked_mul(cols).filter(|stride| stride.checked_mul(batch).is_some());
        let stride = stride.ok_or_else(|| {
            Error::argument(format!("{batch} items of {rows}x{cols} have more elements than can be counted"))
        })?;
        Ok(Layout { rows, cols, ld: rows, stride, batch })
    }

    /// With a leading dimension `ld >= rows` and, for more than one item, a
    /// batch stride that keeps items apart: `stride >= ld * (cols - 1) + rows`.
    ///
    /// # Errors
    /// [`Error::Argument`] where items or columns would overlap, or the number
    /// of elements does not fit `usize`.
    pub fn new(rows: usize, cols: usize, ld: usize, stride: usize, batch: usize) -> Result<Self> {
        if ld < rows {
            return Err(Error::argument(format!("leading dimension {ld} is below the {rows} rows")));
        }
        let layout = Layout { rows, cols, ld, stride, batch };
        let item = layout.item_len_checked().ok_or_else(|| Error::argument("ld * cols overflows"))?;
        if batch > 1 && stride < item {
            return Err(Error::argument(format!(
                "batch stride {stride} is below the {item} elements of an item"
            )));
        }
        let last = batch.saturating_sub(1).checked_mul(stride).and_then(|x| x.checked_add(item));
        last.ok_or_else(|| Error::argument("stride * batch overflows"))?;
        Ok(layout)
    }

    fn item_len_checked(&self) -> Option<usize> {
        if self.rows == 0 || self.cols == 0 {
            return Some(0);
        }
        self.ld.checked_mul(self.cols - 1)?.checked_add(self.rows)
    }

    /// Elements from the first to the last of one item, gaps included.
    pub fn item_len(&self) -> usize {
        self.item_len_checked().expect("checked by the constructors")
    }

    /// Elements from the first of the first item to the last of the last: the
    /// least length of a buffer that holds the batch.
    pub fn len(&self) -> usize {
        let item = self.item_len();
        if self.batch == 0 || item == 0 { 0 } else { (self.batch - 1) * self.stride + item }
    }

    /// Whether there is no element at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows of an item.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// Columns of an item.
    pub fn cols(&self) -> usize {
        self.cols
    }
    /// Elements from a column to the next.
    pub fn ld(&self) -> usize {
        self.ld
    }
    /// Elements from an item to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }
    /// Number of items.
    pub fn batch(&self) -> usize {
        self.batch
    }
    /// Whether columns and items follow each other without gaps.
    pub fn is_packed(&self) -> bool {
        self.ld == self.rows && (self.stride == self.rows * self.cols || self.batch <= 1)
    }

    /// Offset of element (i, j) of an item.
    ///
    /// # Panics
    /// Outside the batch.
    pub fn offset(&self, item: usize, i: usize, j: usize) -> usize {
        assert!(
            item < self.batch && i < self.rows && j < self.cols,
            "element ({i}, {j}) of item {item} is outside {} items of {}x{}",
            self.batch,
            self.rows,
            self.cols
        );
        item * self.stride + j * self.ld + i
    }

    /// The rows, when an item is square.
    ///
    /// # Errors
    /// [`Error::Argument`] for a rectangular item.
    pub fn order(&self) -> Result<usize> {
        if self.rows == self.cols {
            Ok(self.rows)
        } else {
            Err(Error::argument(format!("matrices are {}x{}, not square", self.rows, self.cols)))
        }
    }

    fn check_buffer(&self, len: usize) -> Result<()> {
        if len < self.len() {
            return Err(Error::argument(format!(
                "{} items of {}x{} (ld {}, stride {}) need {} elements, the buffer has {len}",
                self.batch,
                self.rows,
                self.cols,
                self.ld,
                self.stride,
                self.len()
            )));
        }
        Ok(())
    }
}

/// A batch that owns its elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch<T> {
    data: Vec<T>,
    layout: Layout,
}

/// A batch in a borrowed slice.
#[derive(Clone, Copy, Debug)]
pub struct BatchRef<'a, T> {
    data: &'a [T],
    layout: Layout,
}

/// A batch in a slice borrowed for writing.
#[derive(Debug)]
pub struct BatchMut<'a, T> {
    data: &'a mut [T],
    layout: Layout,
}

impl<T: Scalar> Batch<T> {
    /// Zeros, packed.
    ///
    /// # Panics
    /// Where the number of elements does not fit `usize`, or memory is short: [`try_zeros`](Self::try_zeros) says so.
    pub fn zeros(rows: usize, cols: usize, batch: usize) -> Self {
        Self::try_zeros(rows, cols, batch).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Zeros, packed.
    ///
    /// # Errors
    /// [`Error::Argument`] where the number of elements does not fit `usize`, [`Error::OutOfMemory`] where the host has no
    /// room for them.
    pub fn try_zeros(rows: usize, cols: usize, batch: usize) -> Result<Self> {
        let layout = Layout::try_packed(rows, cols, batch)?;
        let data = zeros(layout.len(), || format!("{batch} matrices of {rows}x{cols}"))?;
        Ok(Batch { data, layout })
    }

    /// Takes column-major elements, packed: `data.len() == rows * cols * batch`.
    ///
    /// # Errors
    /// [`Error::Argument`] where the length differs.
    pub fn from_col_major(data: Vec<T>, rows: usize, cols: usize, batch: usize) -> Result<Self> {
        let layout = Layout::new(rows, cols, rows, rows.saturating_mul(cols), batch)?;
        if data.len() != layout.len() {
            return Err(Error::argument(format!(
                "{batch} items of {rows}x{cols} are {} elements, got {}",
                layout.len(),
                data.len()
            )));
        }
        Ok(Batch { data, layout })
    }

    /// Copies row-major elements (C order, as NumPy has them), packed, into a
    /// column-major batch; nothing is conjugated.
    ///
    /// # Errors
    /// [`Error::Argument`] where `data.len() != rows * cols * batch`, [`Error::OutOfMemory`] where the host has no room.
    pub fn from_row_major(data: &[T], rows: usize, cols: usize, batch: usize) -> Result<Self> {
        let layout = Layout::new(rows, cols, rows, rows.saturating_mul(cols), batch)?;
        if data.len() != layout.len() {
            return Err(Error::argument(format!(
                "{batch} items of {rows}x{cols} are {} elements, got {}",
                layout.len(),
                data.len()
            )));
        }
        let mut out = Self::try_zeros(rows, cols, batch)?;
        if data.is_empty() {
            return Ok(out);
        }
        let items = data.chunks_exact(layout.stride).zip(out.data.chunks_exact_mut(layout.stride));
        for (from, to) in items {
            for i in 0..rows {
                for j in 0..cols {
                    to[j * rows + i] = from[i * cols + j];
                }
            }
        }
        Ok(out)
    }

    /// Takes elements with a leading dimension and a batch stride.
    ///
    /// # Errors
    /// [`Error::Argument`] where the layout is not valid or the buffer too short.
    pub fn from_parts(data: Vec<T>, layout: Layout) -> Result<Self> {
        layout.check_buffer(data.len())?;
        Ok(Batch { data, layout })
    }

    /// One item from a function of (item, row, column), packed.
    pub fn from_fn(
        rows: usize,
        cols: usize,
        batch: usize,
        mut f: impl FnMut(usize, usize, usize) -> T,
    ) -> Self {
        let mut out = Batch::zeros(rows, cols, batch);
        for item in 0..batch {
            for j in 0..cols {
                for i in 0..rows {
                    out.data[item * rows * cols + j * rows + i] = f(item, i, j);
                }
            }
        }
        out
    }

    /// The elements row by row, item after item, packed.
    pub fn to_row_major(&self) -> Vec<T> {
        let mut out = Vec::with_capacity(self.rows() * self.cols() * self.batch());
        for item in 0..self.batch() {
            for i in 0..self.rows() {
                out.extend((0..self.cols()).map(|j| self.get(item, i, j)));
            }
        }
        out
    }

    /// Where the elements lie.
    pub fn layout(&self) -> Layout {
        self.layout
    }
    /// Rows of an item.
    pub fn rows(&self) -> usize {
        self.layout.rows
    }
    /// Columns of an item.
    pub fn cols(&self) -> usize {
        self.layout.cols
    }
    /// Elements from a column to the next.
    pub fn ld(&self) -> usize {
        self.layout.ld
    }
    /// Elements from an item to the next.
    pub fn stride(&self) -> usize {
        self.layout.stride
    }
    /// Number of items.
    pub fn batch(&self) -> usize {
        self.layout.batch
    }
    /// All elements, gaps included.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }
    /// All elements, gaps included, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }
    /// The elements, gaps included.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }
    /// Element (i, j) of an item.
    ///
    /// # Panics
    /// Outside the batch.
    pub fn get(&self, item: usize, i: usize, j: usize) -> T {
        self.data[self.layout.offset(item, i, j)]
    }
    /// Sets element (i, j) of an item.
    ///
    /// # Panics
    /// Outside the batch.
    pub fn set(&mut self, item: usize, i: usize, j: usize, value: T) {
        let at = self.layout.offset(item, i, j);
        self.data[at] = value;
    }
    /// Column j of an item.
    ///
    /// # Panics
    /// Outside the batch.
    pub fn column(&self, item: usize, j: usize) -> &[T] {
        assert!(item < self.batch() && j < self.cols(), "column {j} of item {item} is outside the batch");
        let start = item * self.stride() + j * self.ld();
        if self.rows() == 0 { &[] } else { &self.data[start..start + self.rows()] }
    }
    /// Borrows the batch.
    pub fn view(&self) -> BatchRef<'_, T> {
        BatchRef { data: &self.data, layout: self.layout }
    }
    /// Borrows the batch for writing.
    pub fn view_mut(&mut self) -> BatchMut<'_, T> {
        BatchMut { data: &mut self.data, layout: self.layout }
    }
}

impl<'a, T: Scalar> BatchRef<'a, T> {
    /// A view of a slice.
    ///
    /// # Errors
    /// [`Error::Argument`] where the slice is too short for the layout.
    pub fn new(data: &'a [T], layout: Layout) -> Result<Self> {
        layout.check_buffer(data.len())?;
        Ok(BatchRef { data, layout })
    }
    /// Where the elements lie.
    pub fn layout(&self) -> Layout {
        self.layout
    }
    /// All elements, gaps included.
    pub fn as_slice(&self) -> &'a [T] {
        self.data
    }
    /// Element (i, j) of an item.
    ///
    /// # Panics
    /// Outside the batch.
    pub fn get(&self, item: usize, i: usize, j: usize) -> T {
        self.data[self.layout.offset(item, i, j)]
    }
    /// A packed copy.
    pub fn to_packed(&self) -> Batch<T> {
        let l = self.layout;
        if l.is_packed() {
            return Batch {
                data: self.data[..l.len()].to_vec(),
                layout: Layout::packed(l.rows, l.cols, l.batch),
            };
        }
        Batch::from_fn(l.rows, l.cols, l.batch, |item, i, j| self.data[item * l.stride + j * l.ld + i])
    }
}

impl<'a, T: Scalar> From<&'a Batch<T>> for BatchRef<'a, T> {
    fn from(batch: &'a Batch<T>) -> Self {
        batch.view()
    }
}

impl<'a, T: Scalar> BatchMut<'a, T> {
    /// A view of a slice.
    ///
    /// # Errors
    /// [`Error::Argument`] where the slice is too short for the layout.
    pub fn new(data: &'a mut [T], layout: Layout) -> Result<Self> {
        layout.check_buffer(data.len())?;
        Ok(BatchMut { data, layout })
    }
    /// Where the elements lie.
    pub fn layout(&self) -> Layout {
        self.layout
    }
    /// All elements, gaps included.
    pub fn as_slice(&self) -> &[T] {
        self.data
    }
    /// All elements, gaps included, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_that_overlap_are_refused() {
        assert!(Layout::new(3, 3, 2, 9, 2).is_err());
        assert!(Layout::new(3, 3, 4, 10, 2).is_err());
        assert!(Layout::new(3, 3, 4, 11, 2).is_ok());
        assert!(Layout::new(usize::MAX, 2, usize::MAX, 0, 1).is_err());
        assert!(Layout::new(1 << 20, 1 << 20, 1 << 20, 1 << 40, usize::MAX).is_err());
    }

    #[test]
    fn what_cannot_be_counted_or_held_is_an_error() {
        assert!(matches!(Layout::try_packed(1 << 40, 1 << 40, 0), Err(Error::Argument(_))));
        assert!(matches!(Layout::try_packed(1 << 30, 1 << 30, 1 << 30), Err(Error::Argument(_))));
        assert!(matches!(Batch::<f64>::try_zeros(1 << 28, 1 << 28, 1), Err(Error::OutOfMemory { .. })));
        // More bytes than a pointer counts.
        assert!(matches!(Batch::<f64>::try_zeros(1 << 31, 1 << 31, 1), Err(Error::OutOfMemory { .. })));
        assert_eq!(Batch::<f64>::try_zeros(1 << 40, 0, 3).unwrap().as_slice().len(), 0);
    }

    #[test]
    fn empty_batches_keep_their_shapes() {
        for (n, b) in [(0, 0), (0, 5), (3, 0)] {
            let a = Batch::<f64>::from_row_major(&[], n, n, b).unwrap();
            assert_eq!((a.rows(), a.batch(), a.as_slice().len()), (n, b, 0));
            assert!(a.layout().is_empty());
        }
    }

    #[test]
    fn row_major_and_back() {
        let data: Vec<f32> = (0..12).map(|x| x as f32).collect();
        let a = Batch::from_row_major(&data, 2, 3, 2).unwrap();
        assert_eq!(a.get(1, 0, 2), 8.0);
        assert_eq!(a.column(0, 1), &[1.0, 4.0]);
        assert_eq!(a.to_row_major(), data);
        assert!(Batch::from_row_major(&data, 2, 3, 3).is_err());
    }

    #[test]
    fn a_strided_view_packs() {
        let data: Vec<f64> = (0..20).map(|x| x as f64).collect();
        let layout = Layout::new(2, 2, 3, 7, 2).unwrap();
        let packed = BatchRef::new(&data, layout).unwrap().to_packed();
        assert_eq!(packed.as_slice(), &[0.0, 1.0, 3.0, 4.0, 7.0, 8.0, 10.0, 11.0]);
        assert!(BatchRef::new(&data[..11], layout).is_err());
    }
}
