//! Products of host matrices.

use super::items;
use super::parts::{in_parts, item_bytes, or_cpu, part_items};
use crate::batch::{Batch, BatchRef, Layout};
use crate::error::Result;
use crate::memory::DeviceBatch;
use crate::ops::Target;
use crate::ops::gemm::{Decided, Decision, Op, Problem};
use crate::queue::Queue;
use crate::routes::Pin;
use crate::scalar::Scalar;

/// How [`matmul_with`] multiplies.
#[derive(Clone, Debug, Default)]
pub struct MatmulOptions {
    /// What is multiplied of A.
    pub op_a: Op,
    /// What is multiplied of B.
    pub op_b: Op,
    /// The family to take; `None`: scoped pin, environment or table.
    pub route: Option<Pin>,
    /// Where no family can run the shape on the queue's device, take the CPU
    /// and say so in the decision's note. A pin that cannot run stays an error.
    pub or_cpu: bool,
}

/// A batch of products.
#[derive(Clone, Debug)]
pub struct Matmul<T> {
    /// The products, packed.
    pub product: Batch<T>,
    /// The family that computed them, and why it was taken.
    pub route: Decision,
}

/// A B for each item of two batches, of m by k and of k by n: the result is m by n.
///
/// On a GPU the cost is the product and three copies over the bus; a batch that does not fit the memory goes through
/// in parts. [`crate::ops::gemm`] has factors, a sum, and matrices that stay on the device.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) where shapes do not fit,
/// [`Error::Route`](crate::Error::Route) where no family can run the shape on the queue's device,
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the host has no room for the products or the device not for
/// one item, and faults of the device.
pub fn matmul<'a, T: Scalar>(
    queue: &Queue,
    a: impl Into<BatchRef<'a, T>>,
    b: impl Into<BatchRef<'a, T>>,
) -> Result<Batch<T>> {
    matmul_with(queue, a, b, &MatmulOptions::default()).map(|done| done.product)
}

/// op(A) op(B): as [`matmul`], with options.
///
/// # Errors
/// As [`matmul`], and [`Error::Route`](crate::Error::Route) for a pin that cannot be honoured.
pub fn matmul_with<'a, T: Scalar>(
    queue: &Queue,
    a: impl Into<BatchRef<'a, T>>,
    b: impl Into<BatchRef<'a, T>>,
    options: &MatmulOptions,
) -> Result<Matmul<T>> {
    let (a, b) = (a.into(), b.into());
    let MatmulOptions { op_a, op_b, ref route, or_cpu: allowed } = *options;
    let ((m, k), (_, n)) = (op_a.shape(a.layout()), op_b.shape(b.layout()));
    let problem = Problem::of_factors(T::DTYPE, op_a, op_b, a.layout(), b.layout())?;
    let mut product = Batch::try_zeros(m, n, problem.batch)?;
    let decide = |target: &Target, route: Option<&Pin>| Decided::new(&problem, target, route);
    let (mut decided, cpu) = or_cpu(queue, allowed, route.as_ref(), decide)?;
    let other = cpu.map(|(cpu, note)| {
        decided.decision.note = Some(note);
        cpu
    });
    let queue = other.as_ref().unwrap_or(queue);
    let part = part_items(
        queue,
        problem.batch,
        item_bytes([[m, k], [k, n], [m, n]].map(|shape| (shape, size_of::<T>()))),
    )?;
    in_parts(problem.batch, part, |first, count| {
        let a = DeviceBatch::upload(queue, items(a, first, count)?)?;
        let b = DeviceBatch::upload(queue, items(b, first, count)?)?;
        let mut c = DeviceBatch::alloc(queue, Layout::packed(m, n, count))?;
        decided.gemm(queue, T::one(), &a, &b, T::zero(), &mut c)?;
        queue.download_into(c.buffer(), &mut product.as_mut_slice()[first * m * n..(first + count) * m * n])
    })?;
    Ok(Matmul { product, route: decided.decision })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn products_of_host_matrices() {
        let queue = Queue::cpu();
        let a = Batch::<f64>::from_row_major(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3, 1).unwrap();
        let b = Batch::<f64>::from_row_major(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], 3, 2, 1).unwrap();
        assert_eq!(matmul(&queue, &a, &b).unwrap().to_row_major(), [4.0, 5.0, 10.0, 11.0]);
        let options = MatmulOptions { op_a: Op::T, op_b: Op::N, ..MatmulOptions::default() };
        let square = matmul_with(&queue, &a, &a, &options).unwrap();
        assert_eq!(square.product.to_row_major(), [17.0, 22.0, 27.0, 22.0, 29.0, 36.0, 27.0, 36.0, 45.0]);
        assert_eq!(square.route.to_string(), "cpu");
        assert!(matches!(matmul(&queue, &a, &a), Err(Error::Argument(_))));
        // C would have 2^56 elements: shapes come first, then memory, then what cannot be counted.
        let tall = Batch::<f64>::zeros(1 << 28, 0, 1);
        assert!(matches!(matmul(&queue, &tall, &tall), Err(Error::Argument(_))));
        let with_t = MatmulOptions { op_b: Op::T, ..MatmulOptions::default() };
        assert!(matches!(matmul_with(&queue, &tall, &tall, &with_t), Err(Error::OutOfMemory { .. })));
        // More bytes than a process has addresses: 3 2^47.
        let column = Batch::<f64>::zeros(1 << 22, 1, 3);
        assert!(matches!(matmul_with(&queue, &column, &column, &with_t), Err(Error::OutOfMemory { .. })));
        let taller = Batch::<f64>::zeros(1 << 40, 0, 1);
        let text = matmul(&queue, &taller, &Batch::zeros(0, 1 << 40, 1)).unwrap_err().to_string();
        assert!(text.contains("1099511627776x1099511627776"), "{text}");
        let none = Batch::<f64>::zeros(0, 3, 4);
        assert_eq!(matmul(&queue, &none, &Batch::zeros(3, 2, 4)).unwrap().rows(), 0);
        let deep = matmul(&queue, &Batch::<f64>::zeros(2, 0, 1), &Batch::zeros(0, 2, 1)).unwrap();
        assert_eq!(deep.as_slice(), [0.0; 4]);
    }
}
