//! Small eigenvalues of graded positive definite input keep their digits in the Jacobi families.

use batchlas::{Batch, Device, Dtype, Jobz, Real, Scalar, Uplo};

use crate::arms::Arm;
use crate::support::precise::precise;
use crate::support::random::Random;
use crate::support::{Matrix, poisoned};

/// `D B D` with `D` graded, so that the condition is about `10^digits`, and `B` near the identity: the eigenvalues
/// are determined by the elements to as many digits as the elements have.
fn graded(random: &mut Random, n: usize, digits: f64, place: impl Fn(usize) -> usize) -> Matrix {
    let scale = |k: usize| 10f64.powf(-digits / 2.0 * place(k) as f64 / (n - 1) as f64);
    let mut out = Matrix::zeros(n);
    for j in 0..n {
        out.set(j, j, scale(j) * scale(j) * (1.0 + random.unit()), 0.0);
        for i in j + 1..n {
            let s = scale(i) * scale(j) * 0.7 / n as f64;
            out.set(i, j, s * random.symmetric(), s * random.symmetric());
        }
    }
    out
}

/// Eigenvalues of what a type holds of the matrix, to f64's digits each.
fn exact<T: Scalar>(a: &Batch<T>, item: usize) -> Vec<f64> {
    let n = a.rows();
    // The lower triangle, mirrored.
    let parts = |i: usize, j: usize| {
        let x = a.get(item, i.max(j), i.min(j));
        let im = if i == j { 0.0 } else { x.im().widen() };
        (x.re().widen(), if i < j { -im } else { im })
    };
    if !T::DTYPE.is_complex() {
        return precise(n, |i, j| parts(i, j).0);
    }
    // A + iB has each eigenvalue of [[A, -B], [B, A]] once instead of twice.
    let embedded = precise(2 * n, |i, j| {
        let (re, im) = parts(i % n, j % n);
        match (i < n, j < n) {
            (true, false) => -im,
            (false, true) => im,
            _ => re,
        }
    });
    embedded.chunks(2).map(|pair| pair[0]).collect()
}

/// Each eigenvalue to `n eps`, falling, rising and mixed, at the conditions that Jacobi's relative criterion is for.
pub fn small_values_keep_their_digits<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue().filter(|_| arm.keeps_small_values()) else { return };
    let conditions: &[f64] = if T::DTYPE.real() == Dtype::F32 { &[3.0, 6.0] } else { &[10.0, 15.0] };
    let orders: &[usize] =
        if arm.device == Device::Simt { &[2, 3, 6, 8, 14, 24] } else { &[2, 3, 4, 6, 8, 11, 16, 24, 32] };
    for &n in orders.iter().filter(|n| **n <= arm.max_n(T::DTYPE)) {
        let mut random = Random::new(800 + n as u64);
        let mut items = vec![];
        for &digits in conditions {
            items.push(graded(&mut random, n, digits, |k| k));
            items.push(graded(&mut random, n, digits, |k| n - 1 - k));
            items.push(graded(&mut random, n, digits, |k| if k % 2 == 0 { k / 2 } else { n - 1 - k / 2 }));
        }
        let a = poisoned::<T>(&items, Uplo::Lower);
        for jobz in [Jobz::V, Jobz::N] {
            let solved = arm.solve_named(&queue, "graded", &a, Uplo::Lower, jobz);
            for item in 0..items.len() {
                for (k, (x, y)) in solved.values_of(item).iter().zip(exact(&a, item)).enumerate() {
                    let error = (x.widen() - y).abs() / y;
                    assert!(
                        error <= n as f64 * T::DTYPE.epsilon(),
                        "{arm:?} {} n={n} {jobz} item {item} value {k}: {x} is {error:e} off {y}",
                        T::DTYPE
                    );
                }
            }
        }
    }
}

/// The reference and the input are sharp enough to tell: QL, which promises accuracy by norm alone, fails it.
#[cfg(feature = "simt")]
#[test]
fn accuracy_by_norm_is_not_enough() {
    let arm = Arm { device: Device::Simt, route: "cta" };
    let queue = arm.queue().unwrap();
    let item = graded(&mut Random::new(808), 8, 15.0, |k| 7 - k);
    let a = poisoned::<f64>(&[item], Uplo::Lower);
    let solved = arm.solve(&queue, &a, Uplo::Lower, Jobz::N);
    let errors = solved.values.iter().zip(exact(&a, 0)).map(|(x, y)| (x - y).abs() / y);
    let worst = errors.fold(0.0, f64::max);
    assert!(worst > 8.0 * f64::EPSILON, "worst relative error {worst:e}");
}
