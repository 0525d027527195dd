//! What a solve of `syev` is about, without its data.

use crate::error::Result;
use crate::ops::{Jobz, Uplo, count_values};
use crate::routes::ShapeKey;
use crate::scalar::Dtype;

/// A batch of symmetric or Hermitian eigenproblems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The element type.
    pub dtype: Dtype,
    /// The order of each matrix.
    pub n: usize,
    /// Number of matrices.
    pub batch: usize,
    /// Whether eigenvectors are wanted.
    pub jobz: Jobz,
    /// The triangle that is read.
    pub uplo: Uplo,
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

    /// Eigenvalues of the whole batch.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) where n * batch passes the address space.
    pub fn values(&self) -> Result<usize> {
        count_values(self.n, self.batch)
    }
}
