//! Matrices in double precision, from which inputs of every type are rounded.

/// A dense matrix in double precision, column-major, both triangles.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// The order.
    pub n: usize,
    /// Real parts.
    pub re: Vec<f64>,
    /// Imaginary parts.
    pub im: Vec<f64>,
}

impl Matrix {
    /// Zeros.
    pub fn zeros(n: usize) -> Self {
        Matrix { n, re: vec![0.0; n * n], im: vec![0.0; n * n] }
    }

    /// These values on the diagonal.
    pub fn diagonal(values: &[f64]) -> Self {
        let mut out = Self::zeros(values.len());
        for (k, x) in values.iter().enumerate() {
            out.re[k * values.len() + k] = *x;
        }
        out
    }

    /// n diagonal and n - 1 off-diagonal elements.
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

    /// A real matrix of f(i, j) for i >= j, and its mirror image.
    pub fn from_fn(n: usize, mut f: impl FnMut(usize, usize) -> f64) -> Self {
        let mut out = Self::zeros(n);
        for j in 0..n {
            for i in j..n {
                out.set(i, j, f(i, j), 0.0);
            }
        }
        out
    }

    /// Every element times s.
    pub fn scaled(mut self, s: f64) -> Self {
        self.re.iter_mut().chain(&mut self.im).for_each(|x| *x *= s);
        self
    }
}
