//! How well vectors and values solve a Hermitian eigenproblem, in double precision.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// A matrix of order n as two column-major planes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planes {
    /// Real parts.
    pub re: Vec<f64>,
    /// Imaginary parts; empty for a real matrix.
    pub im: Vec<f64>,
}

impl Planes {
    fn columns(&self, n: usize, first: usize, count: usize) -> (&[f64], &[f64]) {
        let range = first * n..(first + count) * n;
        (&self.re[range.clone()], if self.im.is_empty() { &[] } else { &self.im[range] })
    }

    /// The Frobenius norm, also where squares of elements would leave the range.
    pub fn frobenius(&self) -> f64 {
        let scale = self.scale();
        self.scaled_frobenius(scale) / scale
    }

    fn scaled_frobenius(&self, scale: f64) -> f64 {
        self.re.iter().chain(&self.im).map(|x| (x * scale) * (x * scale)).sum::<f64>().sqrt()
    }

    /// What brings the elements to where squares are safe.
    fn scale(&self) -> f64 {
        let max = self.re.iter().chain(&self.im).fold(0.0f64, |m, x| x.abs().max(m));
        let scale = if max > 0.0 && max.is_finite() { 1.0 / max } else { 1.0 };
        // 1 / max of a subnormal is infinite: 2^1023 does for the smallest, too.
        scale.min(2f64.powi(1023))
    }

    fn scaled(&self, scale: f64) -> Planes {
        let times = |x: &Vec<f64>| x.iter().map(|x| x * scale).collect();
        Planes { re: times(&self.re), im: times(&self.im) }
    }
}

/// Columns that a task takes.
const STRIP: usize = 32;

/// ||A V - V L||_F / ||A||_F, for both triangles of A filled; 0 where the numerator is 0.
pub fn relative_residual(n: usize, a: &Planes, v: &Planes, w: &[f64]) -> f64 {
    let scale = a.scale();
    let norm = a.scaled_frobenius(scale);
    let a = a.scaled(scale);
    let sum = over_strips(n, |first, width| {
        let (v_re, v_im) = v.columns(n, first, width);
        let by_value = |x: &[f64]| -> Vec<f64> {
            x.iter().enumerate().map(|(at, x)| -(w[first + at / n] * scale) * x).collect()
        };
        let (mut re, mut im) = (by_value(v_re), by_value(v_im));
        let add = |to: &mut [f64], sign: f64, a: &[f64], v: &[f64]| {
            if !a.is_empty() && !v.is_empty() {
                let (a, v) = (columns(a, n, n), columns(v, n, width));
                let to = MatMut::from_column_major_slice_mut(to, n, width);
                matmul(to, Accum::Add, a, v, sign, Par::Seq);
            }
        };
        add(&mut re, 1.0, &a.re, v_re);
        add(&mut re, -1.0, &a.im, v_im);
        if !v_im.is_empty() {
            add(&mut im, 1.0, &a.im, v_re);
            add(&mut im, 1.0, &a.re, v_im);
        }
        re.iter().chain(&im).map(|x| x * x).sum()
    });
    if sum == 0.0 { 0.0 } else { sum.sqrt() / norm }
}

/// ||V^H V - I||_F.
pub fn departure_from_orthonormal(n: usize, v: &Planes) -> f64 {
    let sum = over_strips(n, |first, width| {
        // Products with the strip's columns and those before.
        let last = first + width;
        let (x_re, x_im) = v.columns(n, first, width);
        let (y_re, y_im) = v.columns(n, 0, last);
        let product = |terms: [(f64, &[f64], &[f64]); 2]| {
            let mut to = vec![0.0; last * width];
            for (sign, y, x) in terms.into_iter().filter(|(_, y, x)| !y.is_empty() && !x.is_empty()) {
                let (y, x) = (columns(y, n, last), columns(x, n, width));
                let to = MatMut::from_column_major_slice_mut(&mut to, last, width);
                matmul(to, Accum::Add, y.transpose(), x, sign, Par::Seq);
            }
            to
        };
        let re = product([(1.0, y_re, x_re), (1.0, y_im, x_im)]);
        let im = product([(1.0, y_im, x_re), (-1.0, y_re, x_im)]);
        let mut sum = 0.0;
        for j in 0..width {
            for k in 0..=first + j {
                let (re, im) = (re[j * last + k], im[j * last + k]);
                let is_diagonal = k == first + j;
                let re = if is_diagonal { re - 1.0 } else { re };
                sum += (re * re + im * im) * if is_diagonal { 1.0 } else { 2.0 };
            }
        }
        sum
    });
    sum.sqrt()
}

/// The sum of what strips of columns come to, each a task; always added in the same order.
fn over_strips(n: usize, strip: impl Fn(usize, usize) -> f64 + Sync) -> f64 {
    let of = |at: usize| strip(at * STRIP, STRIP.min(n - at * STRIP));
    let sums: Vec<f64> = (0..n.div_ceil(STRIP)).into_par_iter().map(of).collect();
    sums.iter().sum()
}

fn columns(x: &[f64], n: usize, count: usize) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(x, n, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_checked_pairs() {
        // [[2, i], [-i, 2]]: eigenvalues 1 and 3, vectors (1, i)/sqrt 2 and (1, -i)/sqrt 2.
        let a = Planes { re: vec![2.0, 0.0, 0.0, 2.0], im: vec![0.0, -1.0, 1.0, 0.0] };
        let h = 0.5f64.sqrt();
        let v = Planes { re: vec![h, 0.0, h, 0.0], im: vec![0.0, h, 0.0, -h] };
        assert!(relative_residual(2, &a, &v, &[1.0, 3.0]) < 1e-15);
        assert!(departure_from_orthonormal(2, &v) < 1e-15);
        // Swapped values: each column is off by 2, so the norm is sqrt 8 over sqrt 10.
        let swapped = relative_residual(2, &a, &v, &[3.0, 1.0]);
        assert!((swapped - (0.8f64).sqrt()).abs() < 1e-15, "{swapped}");
        let twice = Planes { re: vec![h, 0.0, h, 0.0], im: vec![0.0, h, 0.0, h] };
        assert!((departure_from_orthonormal(2, &twice) - 2f64.sqrt()).abs() < 1e-15);
    }

    /// Against sums as the definition has them, over more columns than a strip.
    #[test]
    fn strips_come_to_the_definition() {
        let n = 2 * STRIP + 5;
        let number = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5;
        let plane = |shift: usize| -> Vec<f64> { (0..n * n).map(|k| number(k + shift)).collect() };
        let (a, v) = (Planes { re: plane(1), im: plane(2) }, Planes { re: plane(3), im: plane(4) });
        let w: Vec<f64> = (0..n).map(number).collect();
        let at = |m: &Planes, i: usize, j: usize| (m.re[j * n + i], m.im[j * n + i]);
        let (mut residual, mut departure) = (0.0, 0.0);
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let (x, y) = at(&v, i, j);
            let (mut re, mut im) = (-w[j] * x, -w[j] * y);
            let (mut dot_re, mut dot_im) = (if i == j { -1.0 } else { 0.0 }, 0.0);
            for k in 0..n {
                let ((p, q), (x, y), (r, s)) = (at(&a, i, k), at(&v, k, j), at(&v, k, i));
                (re, im) = (re + p * x - q * y, im + p * y + q * x);
                (dot_re, dot_im) = (dot_re + r * x + s * y, dot_im + r * y - s * x);
            }
            residual += re * re + im * im;
            departure += dot_re * dot_re + dot_im * dot_im;
        }
        let norm = a.frobenius();
        assert!((relative_residual(n, &a, &v, &w) - residual.sqrt() / norm).abs() < 1e-11);
        assert!((departure_from_orthonormal(n, &v) - departure.sqrt()).abs() < 1e-11 * departure.sqrt());
        let nan = Planes { re: vec![f64::NAN; n * n], im: vec![] };
        assert!(departure_from_orthonormal(n, &nan).is_nan() && relative_residual(n, &a, &nan, &w).is_nan());
    }

    #[test]
    fn huge_and_zero_matrices() {
        let one = Planes { re: vec![1.0], im: vec![] };
        let huge = Planes { re: vec![1e300], im: vec![] };
        assert_eq!(relative_residual(1, &huge, &one, &[1e300]), 0.0);
        assert_eq!(relative_residual(1, &huge, &one, &[0.5e300]), 0.5);
        let zero = Planes { re: vec![0.0], im: vec![] };
        assert_eq!(relative_residual(1, &zero, &one, &[0.0]), 0.0);
        assert_eq!(relative_residual(1, &zero, &one, &[1.0]), f64::INFINITY);
        let norm = |re: Vec<f64>, im: Vec<f64>| Planes { re, im }.frobenius();
        assert!((norm(vec![3e300], vec![4e300]) / 5e300 - 1.0).abs() < 1e-15);
        assert_eq!(norm(vec![f64::from_bits(3)], vec![f64::from_bits(4)]), f64::from_bits(5));
        assert_eq!(norm(vec![0.0], vec![]), 0.0);
    }
}
