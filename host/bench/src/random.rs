//! A small generator with a seed: the same input on every machine.

// Matrices are indexed as the formulas are.
#![allow(clippy::needless_range_loop)]

use crate::matrix::Matrix;

/// xorshift64* from a seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in [-1, 1).
    pub fn symmetric(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    /// A number below n > 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 33) as usize % n
    }

    /// Normal, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A Hermitian matrix with uniform elements.
    pub fn hermitian(&mut self, n: usize) -> Matrix {
        let mut out = Matrix::zeros(n);
        for j in 0..n {
            for i in j..n {
                let (re, im) = (self.symmetric(), self.symmetric());
                out.set(i, j, re, if i == j { 0.0 } else { im });
            }
        }
        out
    }

    /// Q diag(values) Q^H, with Q a product of random reflections. `complex`
    /// false keeps it real, so that rounding to a real type keeps the spectrum.
    pub fn with_spectrum(&mut self, values: &[f64], complex: bool) -> Matrix {
        let n = values.len();
        let mut a = Matrix::diagonal(values);
        for _ in 0..n.min(6) {
            let mut v: Vec<[f64; 2]> =
                (0..n).map(|_| [self.symmetric(), if complex { self.symmetric() } else { 0.0 }]).collect();
            let norm = v.iter().map(|[x, y]| x * x + y * y).sum::<f64>().sqrt();
            v.iter_mut().for_each(|x| *x = [x[0] / norm, x[1] / norm]);
            reflect(&mut a, &v);
        }
        // Rounding may have left the halves a bit apart.
        for j in 0..n {
            for i in j..n {
                let (re, im) = (a.re[j * n + i], a.im[j * n + i]);
                a.set(i, j, re, if i == j { 0.0 } else { im });
            }
        }
        a
    }
}

/// A := H A H with H = I - 2 v v^H.
fn reflect(a: &mut Matrix, v: &[[f64; 2]]) {
    let n = a.n;
    // p = A v, then A - 2 v p^H - 2 p v^H + 4 (v^H p) v v^H.
    let mut p = vec![[0.0; 2]; n];
    for j in 0..n {
        for i in 0..n {
            let (x, y) = (a.re[j * n + i], a.im[j * n + i]);
            p[i][0] += x * v[j][0] - y * v[j][1];
            p[i][1] += x * v[j][1] + y * v[j][0];
        }
    }
    let k: f64 = (0..n).map(|i| v[i][0] * p[i][0] + v[i][1] * p[i][1]).sum();
    let w: Vec<[f64; 2]> =
        (0..n).map(|i| [2.0 * (p[i][0] - k * v[i][0]), 2.0 * (p[i][1] - k * v[i][1])]).collect();
    for j in 0..n {
        for i in 0..n {
            // v w^H + w v^H
            let re = v[i][0] * w[j][0] + v[i][1] * w[j][1] + w[i][0] * v[j][0] + w[i][1] * v[j][1];
            let im = v[i][1] * w[j][0] - v[i][0] * w[j][1] + w[i][1] * v[j][0] - w[i][0] * v[j][1];
            a.re[j * n + i] -= re;
            a.im[j * n + i] -= im;
        }
    }
}
