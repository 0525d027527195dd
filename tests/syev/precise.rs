//! The CPU family against 106-bit arithmetic: the reference of all others.

use batchlas::linalg::eigvalsh;
use batchlas::{Batch, Complex, Queue};
use faer::fx128;

use crate::support::classes::CLASSES;
use crate::support::random::Random;

/// Eigenvalues of a real symmetric matrix given as f64, by cyclic Jacobi
/// rotations over double-double numbers.
fn precise(n: usize, a: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let mut m: Vec<fx128> = (0..n * n).map(|k| fx128::from(a(k % n, k / n))).collect();
    for _ in 0..30 {
        let size = |k: usize| m[k].0.abs();
        let off = (0..n * n).filter(|k| k % n != k / n).map(size).fold(0.0, f64::max);
        if off <= 1e-27 * (0..n * n).map(size).fold(0.0, f64::max) {
            break;
        }
        for (p, q) in (0..n).flat_map(|q| (0..q).map(move |p| (p, q))) {
            rotate(&mut m, n, p, q);
        }
    }
    let mut values: Vec<f64> = (0..n).map(|k| m[k * n + k].0).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The rotation of rows and columns p and q that makes element (p, q) zero.
fn rotate(m: &mut [fx128], n: usize, p: usize, q: usize) {
    let x = m[q * n + p];
    // Nothing beside the diagonal, and its quotient's square would overflow.
    if x.0.abs() <= 1e-40 * (m[p * n + p].0 - m[q * n + q].0).abs() || x.0 == 0.0 {
        return;
    }
    let one = fx128::from(1.0);
    let half = (m[q * n + q] - m[p * n + p]) / (x + x);
    let root = (half * half + one).sqrt();
    let t = if half.0 < 0.0 { -(one / (root - half)) } else { one / (root + half) };
    let c = one / (t * t + one).sqrt();
    let s = t * c;
    for k in 0..n {
        let (a, b) = (m[p * n + k], m[q * n + k]);
        (m[p * n + k], m[q * n + k]) = (c * a - s * b, s * a + c * b);
    }
    for k in 0..n {
        let (a, b) = (m[k * n + p], m[k * n + q]);
        (m[k * n + p], m[k * n + q]) = (c * a - s * b, s * a + c * b);
    }
}

fn check(context: &str, w: &[f64], exact: &[f64]) {
    let norm = exact.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    for (x, y) in w.iter().zip(exact) {
        let bound = 10.0 * w.len() as f64 * f64::EPSILON * norm;
        assert!((x - y).abs() <= bound, "{context}: {x} {y} off by {:e}, bound {bound:e}", (x - y).abs());
    }
}

/// The classes whose numbers a double-double solver without scaling can square.
fn tame() -> impl Iterator<Item = &'static crate::support::classes::Class> {
    CLASSES.iter().filter(|(name, _)| !["tiny", "huge", "tiny beside one"].contains(name))
}

#[test]
fn real_values() {
    for n in [2, 5, 12, 24] {
        for (name, make) in tame() {
            let m = make(&mut Random::new(n as u64), n, batchlas::Dtype::F64);
            let a = Batch::from_fn(n, n, 1, |_, i, j| m.re[j * n + i]);
            let w = eigvalsh(&Queue::cpu(), &a).unwrap().values;
            check(&format!("{name} n={n}"), &w, &precise(n, |i, j| m.re[j * n + i]));
        }
    }
}

/// A Hermitian matrix A + iB has each eigenvalue of [[A, -B], [B, A]] once instead of twice.
#[test]
fn hermitian_values() {
    for n in [2, 5, 11] {
        for (name, make) in tame() {
            let m = make(&mut Random::new(n as u64), n, batchlas::Dtype::C64);
            let a = Batch::from_fn(n, n, 1, |_, i, j| Complex::new(m.re[j * n + i], m.im[j * n + i]));
            let w = eigvalsh(&Queue::cpu(), &a).unwrap().values;
            let embedded = precise(2 * n, |i, j| {
                let (x, y) = (m.re[j % n * n + i % n], m.im[j % n * n + i % n]);
                match (i < n, j < n) {
                    (true, false) => -y,
                    (false, true) => y,
                    _ => x,
                }
            });
            let once: Vec<f64> = embedded.chunks(2).map(|pair| pair[0]).collect();
            check(&format!("{name} n={n}"), &w, &once);
        }
    }
}
