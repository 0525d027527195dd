//! Classes of dense symmetric or Hermitian matrices.

use batchlas::Dtype;

use super::{digits, huge};
use crate::matrix::Matrix;
use crate::random::Random;

/// A class of matrices: its name and one matrix of order n.
pub type Class = (&'static str, fn(&mut Random, usize, Dtype) -> Matrix);

/// The classes of the contract.
pub const CLASSES: &[Class] = &[
    ("random", |r, n, _| r.hermitian(n)),
    ("diagonal", |r, n, _| Matrix::diagonal(&(0..n).map(|_| r.symmetric()).collect::<Vec<_>>())),
    ("graded", |r, n, t| {
        let digits = digits(t);
        let values: Vec<f64> = (0..n).map(|k| 10f64.powf(-digits * k as f64 / n.max(2) as f64)).collect();
        r.with_spectrum(&values, t.is_complex())
    }),
    ("graded rows", |r, n, t| {
        let step = 2.0 * digits(t) / n.max(2) as f64;
        let a = r.hermitian(n);
        let mut out = Matrix::zeros(n);
        for j in 0..n {
            for i in j..n {
                let s = 10f64.powf(-step * 0.5 * (i + j) as f64);
                out.set(i, j, a.re[j * n + i] * s, if i == j { 0.0 } else { a.im[j * n + i] * s });
            }
        }
        out
    }),
    ("clustered", |r, n, t| {
        let eps = t.epsilon();
        let values: Vec<f64> =
            (0..n).map(|k| if k % 3 == 0 { 2.0 } else { 1.0 + eps * (k % 7) as f64 }).collect();
        r.with_spectrum(&values, t.is_complex())
    }),
    ("glued Wilkinson", |_, n, t| {
        let m = n.min(11);
        let d: Vec<f64> = (0..n).map(|k| ((k % m) as f64 - (m / 2) as f64).abs()).collect();
        let glue = t.epsilon().sqrt();
        let e: Vec<f64> = (1..n).map(|k| if k % m == 0 { glue } else { 1.0 }).collect();
        Matrix::tridiagonal(&d, &e)
    }),
    ("zero", |_, n, _| Matrix::zeros(n)),
    ("identity", |_, n, _| Matrix::diagonal(&vec![1.0; n])),
    ("ones", |_, n, _| Matrix::from_fn(n, |_, _| 1.0)),
    ("rank one", |r, n, _| {
        let v: Vec<f64> = (0..n).map(|_| 10f64.powf(-6.5 * r.unit())).collect();
        Matrix::from_fn(n, |i, j| v[i] * v[j])
    }),
    ("half rank", |r, n, t| {
        let values: Vec<f64> = (0..n).map(|k| if k % 2 == 0 { 0.0 } else { r.symmetric() }).collect();
        r.with_spectrum(&values, t.is_complex())
    }),
    ("doubly degenerate", |r, n, t| {
        let values: Vec<f64> = (0..n).map(|k| (k / 2) as f64 - 3.0).collect();
        r.with_spectrum(&values, t.is_complex())
    }),
    ("adjacency", |r, n, _| Matrix::from_fn(n, |i, j| if i != j && r.below(2) == 1 { 1.0 } else { 0.0 })),
    ("second difference", |_, n, _| Matrix::tridiagonal(&vec![2.0; n], &vec![-1.0; n.saturating_sub(1)])),
    ("zero diagonal", |_, n, _| Matrix::tridiagonal(&vec![0.0; n], &vec![1.0; n.saturating_sub(1)])),
    ("tiny", |r, n, t| r.hermitian(n).scaled(1.0 / huge(t))),
    ("huge", |r, n, t| r.hermitian(n).scaled(huge(t))),
    ("tiny beside one", |r, n, t| {
        let a = r.hermitian(n).scaled(1.0 / huge(t));
        let mut out = Matrix::zeros(n);
        for j in 0..n {
            for i in j..n {
                let unit = if i == j && i % 2 == 0 { 1.0 } else { 0.0 };
                out.set(i, j, a.re[j * n + i] + unit, if i == j { 0.0 } else { a.im[j * n + i] });
            }
        }
        out
    }),
];
