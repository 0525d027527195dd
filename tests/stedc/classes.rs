//! The classes of the contract, and those that divide and conquer finds hard.

use batchlas::Dtype;

use crate::support::classes::tridiagonal::{CLASSES, Tridiagonal};
use crate::support::random::Random;

/// Wilkinson's matrix, whose largest values come in pairs that agree to working precision.
pub fn wilkinson(n: usize) -> Tridiagonal {
    Tridiagonal::new(n, |k| (k as f64 - (n - 1) as f64 / 2.0).abs(), |_| 1.0)
}

/// Few different diagonal elements, and couplings around the tolerance of deflation: many poles agree.
pub fn repeated(r: &mut Random, n: usize, t: Dtype) -> Tridiagonal {
    let e: Vec<f64> = (0..n).map(|_| t.epsilon() * 10f64.powf(4.0 * r.unit())).collect();
    Tridiagonal::new(n, |k| [1.0, 2.0, 1.0, -1.0][k % 4], |k| e[k])
}

/// All of them, each with its name.
pub fn all(n: usize, t: Dtype) -> Vec<(&'static str, Tridiagonal)> {
    let random = || Random::new(n as u64);
    let mut all: Vec<_> = CLASSES.iter().map(|(name, make)| (*name, make(&mut random(), n, t))).collect();
    all.push(("Wilkinson", wilkinson(n)));
    all.push(("repeated", repeated(&mut random(), n, t)));
    all
}
