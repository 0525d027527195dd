//! What a solve of `stedc` is about, without its data.

use crate::error::Result;
use crate::ops::tridiagonal::count_couplings;
use crate::ops::{Jobz, count_values};
use crate::routes::ShapeKey;
use crate::scalar::Dtype;

/// A batch of real symmetric tridiagonal eigenproblems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The element type: `f32` or `f64`.
    pub dtype: Dtype,
    /// The order of each matrix.
    pub n: usize,
    /// Number of matrices.
    pub batch: usize,
    /// Whether eigenvectors are wanted.
    pub jobz: Jobz,
}

impl Problem {
    /// Whether there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.n == 0 || self.batch == 0
    }

    /// The problem's place in a route table.
    pub fn key(&self) -> ShapeKey {
        ShapeKey {
            words: vec![self.dtype.name(), self.jobz.word()],
            sizes: vec![self.n as u64, self.batch as u64],
        }
    }

    /// Diagonal elements, and eigenvalues, of the whole batch.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) where n * batch passes the address space.
    pub fn values(&self) -> Result<usize> {
        count_values(self.n, self.batch)
    }

    /// Off-diagonal elements of the whole batch: n - 1 an item.
    ///
    /// # Errors
    /// As [`values`](Self::values).
    pub fn couplings(&self) -> Result<usize> {
        count_couplings(self.n, self.batch)
    }
}
