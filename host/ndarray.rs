//! Views of `ndarray` arrays, in and out.

use ndarray::{ArrayView2, ArrayView3, ShapeBuilder};

use crate::batch::Batch;
use crate::linalg::Eigh;
use crate::scalar::Scalar;

impl<T: Scalar> Batch<T> {
    /// Copies an array of shape (batch, rows, columns) in any memory order;
    /// nothing is conjugated.
    pub fn from_array(array: ArrayView3<'_, T>) -> Self {
        let (batch, rows, cols) = array.dim();
        Batch::from_fn(rows, cols, batch, |item, i, j| array[(item, i, j)])
    }

    /// The batch as an array of shape (batch, rows, columns), without a copy:
    /// of an eigensolver's vectors, `[item, i, k]` is component i of vector k.
    pub fn array(&self) -> ArrayView3<'_, T> {
        let shape = (self.batch(), self.rows(), self.cols());
        if self.layout().is_empty() {
            return ArrayView3::from_shape(shape, &[]).expect("no elements");
        }
        // The stride past a lone item may lead out of the buffer: ndarray wants it within.
        let stride = if self.batch() > 1 { self.stride() } else { 0 };
        let ld = if self.cols() > 1 { self.ld() } else { 0 };
        ArrayView3::from_shape(shape.strides((stride, 1, ld)), self.as_slice())
            .expect("the layout's constructor checked the buffer")
    }
}

impl<T: Scalar> Eigh<T> {
    /// The eigenvalues as an array of shape (batch, n), without a copy.
    pub fn values_array(&self) -> ArrayView2<'_, T::Real> {
        let shape = (self.status.len(), self.route.problem.n);
        ArrayView2::from_shape(shape, &self.values).expect("n values an item")
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array3, ShapeBuilder};

    use super::*;
    use crate::batch::Layout;
    use crate::{Complex, Queue, linalg};

    #[test]
    fn every_memory_order_reads_the_same() {
        let c =
            Array3::from_shape_fn((2, 3, 3), |(b, i, j)| Complex::new((9 * b + 3 * i + j) as f64, i as f64));
        let mut f = Array3::zeros((2, 3, 3).f());
        f.assign(&c);
        for array in [c.view(), f.view()] {
            let batch = Batch::from_array(array);
            assert_eq!(batch.get(1, 0, 2), c[(1, 0, 2)]);
            assert_eq!(batch.array(), c);
        }
    }

    #[test]
    fn gaps_and_empty_shapes() {
        let layout = Layout::new(2, 2, 3, 8, 2).unwrap();
        let gaps = Batch::from_parts((0..13).map(f64::from).collect(), layout).unwrap();
        assert_eq!(gaps.array()[(1, 1, 1)], 12.0);
        for shape in [(0, 3, 3), (2, 0, 0), (1, 1, 1)] {
            let array = Array3::<f32>::zeros(shape);
            let batch = Batch::from_array(array.view());
            assert_eq!(batch.array().dim(), shape);
            let solved = linalg::eigh(&Queue::cpu(), &batch).unwrap();
            assert_eq!(solved.values_array().dim(), (shape.0, shape.1));
        }
    }
}
