//! Seeded input that the suites of all operations share.
// Not every suite uses all of it.
#![allow(dead_code, unused_imports)]

use batchlas::{Batch, Queue, Real, Scalar, Uplo};
pub use batchlas_bench::{Matrix, classes, precise, random};

pub mod tridiagonal;
pub mod values;

/// A queue on a device of the suite, or `None` with the reason on stderr where
/// this machine has none; `BATCHLAS_REQUIRE_GPU=1` makes a missing GPU a failure.
pub fn queue(device: batchlas::Device) -> Option<Queue> {
    match Queue::new(device) {
        Ok(queue) => Some(queue),
        Err(error) if required("BATCHLAS_REQUIRE_GPU") => {
            panic!("BATCHLAS_REQUIRE_GPU=1, but {error}")
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// Whether a variable of the environment is 1.
pub fn required(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}

/// A batch from matrices of one order; what `uplo` does not read is NaN, and so
/// are the imaginary parts of the diagonal.
pub fn poisoned<T: Scalar>(items: &[Matrix], uplo: Uplo) -> Batch<T> {
    let n = items.first().map_or(0, |m| m.n);
    Batch::from_fn(n, n, items.len(), |item, i, j| {
        let m = &items[item];
        let read = if uplo == Uplo::Lower { i >= j } else { i <= j };
        match (read, i == j) {
            (false, _) => T::nan(),
            (true, true) => T::from_f64(m.re[j * n + i], f64::NAN),
            (true, false) => T::from_f64(m.re[j * n + i], m.im[j * n + i]),
        }
    })
}

/// Bits of numbers, so that NaN equals NaN and 0 is not -0.
pub fn bits<T: Scalar>(numbers: &[T]) -> Vec<(u64, u64)> {
    numbers.iter().map(|x| (x.re().widen().to_bits(), x.im().widen().to_bits())).collect()
}
