//! What a reduction is about, without its data.

use crate::ops::Uplo;
use crate::routes::ShapeKey;
use crate::scalar::Dtype;

/// A batch of symmetric or Hermitian matrices to be reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The element type.
    pub dtype: Dtype,
    /// The order of each matrix.
    pub n: usize,
    /// Number of matrices.
    pub batch: usize,
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
        ShapeKey { words: vec![self.dtype.name()], sizes: vec![self.n as u64, self.batch as u64] }
    }
}
