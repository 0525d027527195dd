//! The CPU family against 106-bit arithmetic: the reference of all others.

use batchlas::linalg::{EighTridiagonalOptions, eigh_tridiagonal_with};
use batchlas::ops::steqr::Shift;
use batchlas::{Dtype, Jobz, Queue};

use crate::support::classes::tridiagonal::CLASSES;
use crate::support::precise::precise;
use crate::support::random::Random;
use crate::support::tridiagonal::Batched;

/// The classes whose numbers a double-double solver without scaling can square.
const WILD: [&str; 5] = ["large", "small", "huge", "tiny", "tiny block beside one"];

#[test]
fn values_with_and_without_vectors() {
    for n in [2, 5, 12, 24] {
        for (name, make) in CLASSES.iter().filter(|(name, _)| !WILD.contains(name)) {
            let t = make(&mut Random::new(n as u64), n, Dtype::F64);
            let exact = precise(n, |i, j| match i.abs_diff(j) {
                0 => t.d[i],
                1 => t.e[i.min(j)],
                _ => 0.0,
            });
            let norm = exact.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let bound = 10.0 * n as f64 * f64::EPSILON * norm;
            let Batched { d, e, .. } = Batched::<f64>::new(n, &[t]);
            for (jobz, shift) in [
                (Jobz::V, Shift::Lapack),
                (Jobz::V, Shift::Wilkinson),
                (Jobz::N, Shift::Lapack),
                (Jobz::N, Shift::Wilkinson),
            ] {
                let options = EighTridiagonalOptions { jobz, shift: Some(shift), ..Default::default() };
                let w = eigh_tridiagonal_with(&Queue::cpu(), &d, &e, n, &options).unwrap().values;
                for (x, y) in w.iter().zip(&exact) {
                    assert!((x - y).abs() <= bound, "{name} n={n} {jobz} {shift}: {x} {y}, bound {bound:e}");
                }
            }
        }
    }
}
