//! The CPU family against 106-bit arithmetic: the reference of all others.

use batchlas::linalg::eigvalsh;
use batchlas::{Batch, Complex, Queue};

use crate::support::classes::CLASSES;
use crate::support::precise::precise;
use crate::support::random::Random;

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
