//! Tridiagonal input of each kind that the contract names.

use batchlas::Real;
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

    /// The first `items`, again and again up to `batch`.
    pub fn repeated(&self, batch: usize) -> Self {
        let cycle = |few: &[T], width: usize| few.iter().copied().cycle().take(width * batch).collect();
        Batched { n: self.n, d: cycle(&self.d, self.n), e: cycle(&self.e, self.n - 1) }
    }

    pub fn widened(&self) -> Batched<f64> {
        let widen = |x: &T| x.widen();
        Batched { n: self.n, d: self.d.iter().map(widen).collect(), e: self.e.iter().map(widen).collect() }
    }
}
