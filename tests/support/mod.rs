//! Seeded input that the suites of all operations share.
// Not every suite uses all of it; matrices are indexed as the formulas are.
#![allow(dead_code, clippy::needless_range_loop)]

pub mod classes;
pub mod precise;
pub mod random;

use batchlas::{Batch, Queue, Real, Scalar, Uplo};

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

/// A dense matrix in double precision, column-major, both triangles.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub n: usize,
    pub re: Vec<f64>,
    pub im: Vec<f64>,
}

impl Matrix {
    pub fn zeros(n: usize) -> Self {
        Matrix { n, re: vec![0.0; n * n], im: vec![0.0; n * n] }
    }

    pub fn diagonal(values: &[f64]) -> Self {
        let mut out = Self::zeros(values.len());
        for (k, x) in values.iter().enumerate() {
            out.re[k * values.len() + k] = *x;
        }
        out
    }

    pub fn tridiagonal(d: &[f64], e: &[f64]) -> Self {
        let mut out = Self::diagonal(d);
        for (k, x) in e.iter().enumerate() {
            out.set(k + 1, k, *x, 0.0);
        }
        out
    }

    /// Sets (i, j) and its mirror image.
    pub fn set(&mut self, i: usize, j: usize, re: f64, im: f64) {
        let n = self.n;
        (self.re[j * n + i], self.im[j * n + i]) = (re, im);
        (self.re[i * n + j], self.im[i * n + j]) = (re, if i == j { 0.0 } else { -im });
    }

    pub fn from_fn(n: usize, mut f: impl FnMut(usize, usize) -> f64) -> Self {
        let mut out = Self::zeros(n);
        for j in 0..n {
            for i in j..n {
                out.set(i, j, f(i, j), 0.0);
            }
        }
        out
    }

    pub fn scaled(mut self, s: f64) -> Self {
        self.re.iter_mut().chain(&mut self.im).for_each(|x| *x *= s);
        self
    }
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
