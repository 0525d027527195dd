//! More inputs on which software of this kind has failed, by size of the batch and by what was lost.

use batchlas::{Batch, Device, Dtype, Jobz, Queue, Real, Scalar, Status, Uplo};

use crate::arms::Arm;
use crate::checks::{check_items, check_vectors};
use crate::items::same_runs;
use crate::support::random::Random;
use crate::support::{Matrix, bits, poisoned};

/// Random graphs of 20 vertices, with many eigenvalues at zero: an iteration counter overflowed.
pub fn graphs_of_20<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue().filter(|_| arm.max_n(T::DTYPE) >= 20) else { return };
    let mut random = Random::new(2020);
    let graphs: Vec<Matrix> = (0..arm.items(40))
        .map(|k| {
            let sparse = 2 + k % 12;
            Matrix::from_fn(20, |i, j| f64::from(u8::from(i != j && random.below(sparse) == 0)))
        })
        .collect();
    check_items::<T>(arm, &queue, "graphs", &graphs, Uplo::Lower);
}

/// `[[1, 2, 3], [2, NaN, 4], [3, 4, 5]]` hung; as item 7 of ten thousand it must not touch the others.
pub fn one_nan_among_many<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let count = if arm.device == Device::Simt { 9 } else { 10_000 };
    let bad =
        Matrix::from_fn(3, |i, j| if i == 1 && j == 1 { f64::NAN } else { [1.0, 2.0, 3.0, 4.0, 5.0][i + j] });
    let mut random = Random::new(7);
    let mut items: Vec<Matrix> = (0..count).map(|_| random.hermitian(3)).collect();
    let good = arm.solve(&queue, &poisoned::<T>(&items, Uplo::Lower), Uplo::Lower, Jobz::V);
    items[7] = bad;
    let solved = arm.solve(&queue, &poisoned::<T>(&items, Uplo::Lower), Uplo::Lower, Jobz::V);
    let context = format!("{arm:?} {}", T::DTYPE);
    assert_eq!((solved.failed(), solved.status[7]), (1, Status::NOT_FINITE), "{context}");
    if !arm.keeps_bits() {
        return;
    }
    let (v, w) = (good.vectors.as_ref().unwrap().as_slice(), solved.vectors.as_ref().unwrap().as_slice());
    for (name, part) in [("before", 0..7), ("behind", 8..count)] {
        let (values, vectors) = (3 * part.start..3 * part.end, 9 * part.start..9 * part.end);
        assert_eq!(bits(&good.values[values.clone()]), bits(&solved.values[values]), "{context} {name}");
        assert_eq!(bits(&v[vectors.clone()]), bits(&w[vectors]), "{context} {name}");
    }
}

/// Gauss-Hermite quadrature integrates `x^34 exp(-x^2)` exactly from 18 nodes on; divide and conquer lost the small
/// first components of the vectors, which are the weights.
pub fn a_moment_of_the_normal_distribution<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue().filter(|_| arm.max_n(T::DTYPE) >= 32 && !arm.is_vendor()) else { return };
    // The largest node's power asks for more digits than f32 has.
    if T::DTYPE.real() == Dtype::F32 {
        return;
    }
    for n in [18, 25, 32] {
        let e: Vec<f64> = (1..n).map(|k| (k as f64 / 2.0).sqrt()).collect();
        let a = poisoned::<T>(&[Matrix::tridiagonal(&vec![0.0; n], &e)], Uplo::Lower);
        let solved = arm.solve(&queue, &a, Uplo::Lower, Jobz::V);
        let vectors = solved.vectors.as_ref().unwrap();
        let term = |k: usize| {
            let first = vectors.get(0, 0, k);
            let square = first.re().widen().powi(2) + first.im().widen().powi(2);
            square * solved.values[k].widen().powi(34)
        };
        let sum = std::f64::consts::PI.sqrt() * (0..n).map(term).sum::<f64>();
        let exact = 8.563_497_447_516e13;
        assert!((sum / exact - 1.0).abs() < 1e-9, "{arm:?} {} n={n}: {sum} {exact}", T::DTYPE);
    }
}

/// Batches that were wrong or refused elsewhere: 32,768, 40,000 and 210,000 of order 3, a million and 2,047,172 of
/// order 4, a million copies of one matrix of order 6; where a GPU does the work.
pub fn batches_beyond_limits<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    if !matches!(arm.device, Device::Cuda(_)) || !arm.keeps_bits() {
        return;
    }
    let cases: &[(usize, usize, usize)] = match (arm.route, T::DTYPE) {
        (_, Dtype::F32) => {
            &[(3, 64, 32_768), (3, 64, 40_000), (3, 64, 210_000), (4, 64, 1_000_000), (6, 1, 1_000_000)]
        }
        (_, Dtype::C32) => &[(4, 64, 2_047_172)],
        _ => &[(3, 64, 1_000_000)],
    };
    for &(n, kinds, batch) in cases {
        let mut random = Random::new((n + batch) as u64);
        let items: Vec<Matrix> = (0..kinds).map(|_| random.hermitian(n)).collect();
        let few = poisoned::<T>(&items, Uplo::Lower);
        let context = format!("{arm:?} {} n={n} batch {batch}", T::DTYPE);
        let reference = arm.solve(&queue, &few, Uplo::Lower, Jobz::V);
        check_vectors(&context, &few, Uplo::Lower, &reference);
        let a = Batch::from_fn(n, n, batch, |item, i, j| few.get(item % kinds, i, j));
        queue.reset_memory_peak();
        same_runs(&context, &arm.solve(&queue, &a, Uplo::Lower, Jobz::V), &reference);
        if arm.route != "blocked" {
            memory_is_the_arrays::<T>(&context, &queue, n, batch);
        }
    }
}

/// The orders that our families for n <= 32 take on a GPU need the matrices, the values and the status, and no more.
pub fn no_memory_beside_the_arrays<T: Scalar>(arm: Arm) {
    let without = arm.keeps_bits() && arm.route != "blocked";
    let Some(queue) = arm.queue().filter(|_| without && arm.device != Device::Cpu) else { return };
    for n in [1, 4, 8, 17, 32].into_iter().filter(|n| *n <= arm.max_n(T::DTYPE).min(32)) {
        let mut random = Random::new(n as u64);
        let items: Vec<Matrix> = (0..arm.items(50)).map(|_| random.hermitian(n)).collect();
        let a = poisoned::<T>(&items, Uplo::Lower);
        for jobz in [Jobz::V, Jobz::N] {
            queue.reset_memory_peak();
            arm.solve(&queue, &a, Uplo::Lower, jobz);
            let context = format!("{arm:?} {} n={n} {jobz}", T::DTYPE);
            memory_is_the_arrays::<T>(&context, &queue, n, items.len());
        }
    }
}

fn memory_is_the_arrays<T: Scalar>(context: &str, queue: &Queue, n: usize, batch: usize) {
    let arrays = batch * (n * n * size_of::<T>() + n * size_of::<T::Real>() + size_of::<i32>());
    let peak = queue.memory_use().peak as usize;
    println!("{context}: {peak} bytes at most on the device, arrays {arrays}");
    assert_eq!(peak, arrays, "{context}");
}
