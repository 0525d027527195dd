//! What an application of reflectors is about, without its data.

use crate::routes::ShapeKey;
use crate::scalar::Dtype;

/// A batch of matrices to be multiplied by products of reflectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The element type.
    pub dtype: Dtype,
    /// Rows of the reflectors and of each matrix.
    pub n: usize,
    /// Columns of each matrix.
    pub columns: usize,
    /// Reflectors of each product.
    pub reflectors: usize,
    /// Number of matrices.
    pub batch: usize,
}

impl Problem {
    /// Whether there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.n == 0 || self.columns == 0 || self.reflectors == 0 || self.batch == 0
    }

    /// The problem's place in a route table.
    pub fn key(&self) -> ShapeKey {
        ShapeKey { words: vec![self.dtype.name()], sizes: vec![self.n as u64, self.batch as u64] }
    }
}
