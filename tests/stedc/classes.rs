//! Tridiagonal input of each kind that the contract names.

use batchlas::{Dtype, Real};

use crate::support::random::Random;
pub use batchlas_bench::classes::tridiagonal::{CLASSES, Tridiagonal, random};

/// Matrices of one order in a type, as the solvers take them.
#[derive(Clone, Debug)]
pub struct Batched<T> {
    pub n: usize,
    pub d: Vec<T>,
    pub e: Vec<T>,
}

impl<T: Real> Batched<T> {
    pub fn new(n: usize, items: &[Tridiagonal]) -> Self {
        let round = |x: &f64| T::round_from(*x);
        Batched {
            n,
            d: items.iter().flat_map(|t| t.d.iter().map(round)).collect(),
            e: items.iter().flat_map(|t| t.e.iter().map(round)).collect(),
        }
    }

    pub fn items(&self) -> usize {
        self.d.len().checked_div(self.n).unwrap_or(0)
    }

    /// The item at `at` alone.
    pub fn item(&self, at: usize) -> Self {
        let (n, m) = (self.n, self.n - 1);
        Batched { n, d: self.d[at * n..(at + 1) * n].to_vec(), e: self.e[at * m..(at + 1) * m].to_vec() }
    }

    pub fn widened(&self) -> Batched<f64> {
        let widen = |x: &T| x.widen();
        Batched { n: self.n, d: self.d.iter().map(widen).collect(), e: self.e.iter().map(widen).collect() }
    }
}

/// Wilkinson's matrix, whose largest values come in pairs that agree to working precision.
pub fn wilkinson(n: usize) -> Tridiagonal {
    Tridiagonal::new(n, |k| (k as f64 - (n - 1) as f64 / 2.0).abs(), |_| 1.0)
}

/// Few different diagonal elements, and couplings around the tolerance of deflation: many poles agree.
pub fn repeated(r: &mut Random, n: usize, t: Dtype) -> Tridiagonal {
    let e: Vec<f64> = (0..n).map(|_| t.epsilon() * 10f64.powf(4.0 * r.unit())).collect();
    Tridiagonal::new(n, |k| [1.0, 2.0, 1.0, -1.0][k % 4], |k| e[k])
}

/// The classes of the contract, and those that divide and conquer finds hard.
pub fn all(n: usize, t: Dtype) -> Vec<(&'static str, Tridiagonal)> {
    let random = || Random::new(n as u64);
    let mut all: Vec<_> = CLASSES.iter().map(|(name, make)| (*name, make(&mut random(), n, t))).collect();
    all.push(("Wilkinson", wilkinson(n)));
    all.push(("repeated", repeated(&mut random(), n, t)));
    all
}
