//! Matrices from files: `.npy`, `.npz` and Matrix Market; tridiagonal ones from `.npz`.
//!
//! The format is told by the first bytes, never by the name alone.

mod mtx;
mod npy;
mod npz;
mod tridiagonal;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};
use std::path::Path;

use batchlas::{Batch, Scalar};
use num_complex::Complex;

pub use tridiagonal::{Tridiagonal, Tridiagonals, read_tridiagonal};

use crate::failure::{Failure, check_memory};

/// A batch of square matrices in one of the four types.
#[derive(Debug)]
pub enum Matrices {
    /// NumPy's float32.
    F32(Items<f32>),
    /// NumPy's float64.
    F64(Items<f64>),
    /// NumPy's complex64.
    C32(Items<Complex<f32>>),
    /// NumPy's complex128.
    C64(Items<Complex<f64>>),
}

/// Order of the elements in memory, as NumPy names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Row-major: (batch, row, column) with the column fastest.
    C,
    /// Column-major: (batch, row, column) with the batch fastest.
    Fortran,
}

/// Elements of `batch` matrices of `n` x `n` as the file has them.
#[derive(Debug)]
pub struct Items<T> {
    data: Vec<T>,
    batch: usize,
    n: usize,
    order: Order,
}

impl<T: Scalar> Items<T> {
    /// Takes the elements of an array of shape (batch, n, n).
    pub fn new(data: Vec<T>, batch: usize, n: usize, order: Order) -> Self {
        debug_assert_eq!(data.len(), batch * n * n);
        Items { data, batch, n, order }
    }

    /// Number of matrices.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Order of each matrix.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Checks that the solve of this shape fits the address space and the memory.
    fn check_size(&self) -> Result<(), Failure> {
        let (batch, n) = (self.batch, self.n);
        // Vectors beside the matrices.
        let item = n.checked_mul(n).and_then(|x| x.checked_mul(2 * size_of::<T>()));
        let item =
            item.ok_or_else(|| Failure::new(format!("a matrix of order {n} is larger than any memory")))?;
        check_memory(batch, size_of::<i32>(), &format!("the statuses of {batch} matrices"))?;
        check_memory(batch, item, "the solve")
    }

    /// `count` matrices from `first` on, column-major as the library wants them.
    pub fn chunk(&self, first: usize, count: usize) -> Result<Batch<T>, Failure> {
        let (n, item) = (self.n, self.n * self.n);
        match self.order {
            Order::C => {
                let data = &self.data[first * item..(first + count) * item];
                Ok(Batch::from_row_major(data, n, n, count)?)
            }
            Order::Fortran => {
                let mut out = vec![T::zero(); count * item];
                for at in 0..item {
                    // Position (i, j) of all items lies together: at = i + n j.
                    let row = &self.data[at * self.batch + first..][..count];
                    for (k, &x) in row.iter().enumerate() {
                        out[k * item + at] = x;
                    }
                }
                Ok(Batch::from_col_major(out, n, n, count)?)
            }
        }
    }
}

/// A readable input whose length is known.
pub(crate) struct Source<'a> {
    path: &'a Path,
    reader: Box<dyn BufReadSeek>,
    bytes: u64,
}

pub(crate) trait BufReadSeek: BufRead + Seek {}
impl<R: BufRead + Seek> BufReadSeek for R {}

impl<'a> Source<'a> {
    fn open(path: &'a Path) -> Result<Self, Failure> {
        let file = File::open(path).map_err(|e| Failure::io(path, &e))?;
        let meta = file.metadata().map_err(|e| Failure::io(path, &e))?;
        if meta.is_dir() {
            return Err(Failure::at(path, "is a directory, not a file of matrices"));
        }
        if meta.is_file() {
            return Ok(Source { path, reader: Box::new(BufReader::new(file)), bytes: meta.len() });
        }
        // A pipe has no length and no way back.
        let mut all = Vec::new();
        BufReader::new(file).read_to_end(&mut all).map_err(|e| Failure::io(path, &e))?;
        let bytes = all.len() as u64;
        Ok(Source { path, reader: Box::new(Cursor::new(all)), bytes })
    }

    fn starts_with(&mut self, magic: &[u8]) -> io::Result<bool> {
        let start = self.reader.fill_buf()?;
        Ok(start.len() >= magic.len() && start[..magic.len()].eq_ignore_ascii_case(magic))
    }

    fn fail(&self, text: impl std::fmt::Display) -> Failure {
        Failure::at(self.path, text)
    }
}

/// Reads the matrices of a file.
///
/// # Errors
/// One line that names the file and what is wrong with it.
pub fn read(path: &Path) -> Result<Matrices, Failure> {
    let matrices = decode(path)?;
    let fits = match &matrices {
        Matrices::F32(items) => items.check_size(),
        Matrices::F64(items) => items.check_size(),
        Matrices::C32(items) => items.check_size(),
        Matrices::C64(items) => items.check_size(),
    };
    fits.map_err(|e| Failure::at(path, e))?;
    Ok(matrices)
}

fn decode(path: &Path) -> Result<Matrices, Failure> {
    let mut source = Source::open(path)?;
    let mut is = |magic: &[u8]| source.starts_with(magic).map_err(|e| Failure::io(path, &e));
    if is(npy::MAGIC)? {
        let bytes = source.bytes;
        let array = npy::read(&mut source.reader, bytes, &check_square, &|text| Failure::at(path, text));
        return array.map(matrices);
    }
    if is(npz::MAGIC)? || is(npz::EMPTY_MAGIC)? {
        return npz::Archive::open(source)?.array("a", &check_square).map(matrices);
    }
    if is(mtx::MAGIC)? {
        return mtx::read(source);
    }
    Err(unknown_format(&source))
}

/// (batch, n) of an array's shape.
fn square(shape: &[usize]) -> Result<(usize, usize), String> {
    let text = npy::shape_text(shape);
    let (batch, rows, cols) = match *shape {
        [rows, cols] => (1, rows, cols),
        [batch, rows, cols] => (batch, rows, cols),
        _ => return Err(format!("shape {text}: (batch, n, n) or (n, n) is needed")),
    };
    if rows != cols {
        return Err(format!("shape {text}: matrices of {rows}x{cols} are not square"));
    }
    Ok((batch, rows))
}

fn check_square(shape: &[usize]) -> Result<(), String> {
    square(shape).map(drop)
}

/// Matrices of an array whose shape is square.
fn matrices(array: npy::Array) -> Matrices {
    let npy::Array { shape, order, elements } = array;
    let (batch, n) = square(&shape).expect("checked before the elements were read");
    match elements {
        npy::Elements::F32(data) => Matrices::F32(Items::new(data, batch, n, order)),
        npy::Elements::F64(data) => Matrices::F64(Items::new(data, batch, n, order)),
        npy::Elements::C32(data) => Matrices::C32(Items::new(data, batch, n, order)),
        npy::Elements::C64(data) => Matrices::C64(Items::new(data, batch, n, order)),
    }
}

fn unknown_format(source: &Source<'_>) -> Failure {
    if source.bytes == 0 {
        return source.fail("the file is empty");
    }
    let extension = source.path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    source.fail(match extension.as_deref() {
        Some("npy") => "not a .npy file: it does not start with NumPy's magic bytes",
        Some("npz") => "not a .npz file: it is no zip archive",
        Some("mtx") => "not a Matrix Market file: line 1 must start with '%%MatrixMarket matrix'",
        _ => "unknown format: a NumPy .npy or .npz or a Matrix Market .mtx file is needed",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_give_the_same_matrices() {
        let (b, n) = (3, 2);
        let at = |item: usize, i: usize, j: usize| (100 * item + 10 * i + j) as f64;
        let mut c = Vec::new();
        for item in 0..b {
            for i in 0..n {
                c.extend((0..n).map(|j| at(item, i, j)));
            }
        }
        let mut f = Vec::new();
        for j in 0..n {
            for i in 0..n {
                f.extend((0..b).map(|item| at(item, i, j)));
            }
        }
        let c = Items::new(c, b, n, Order::C);
        let f = Items::new(f, b, n, Order::Fortran);
        for items in [c, f] {
            let chunk = items.chunk(1, 2).unwrap();
            assert_eq!(chunk.batch(), 2);
            for item in 0..2 {
                for i in 0..n {
                    for j in 0..n {
                        assert_eq!(chunk.get(item, i, j), at(item + 1, i, j));
                    }
                }
            }
        }
    }
}
