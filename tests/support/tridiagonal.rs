//! Tridiagonal batches as the solvers take them.

use batchlas::Real;
use batchlas_bench::classes::tridiagonal::Tridiagonal;

/// Matrices of one order in a type.
#[derive(Clone, Debug)]
pub struct Batched<T> {
    pub n: usize,
    /// n diagonal elements an item.
    pub d: Vec<T>,
    /// n - 1 off-diagonal elements an item.
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

    /// Each element times `scale`.
    pub fn scaled(&self, scale: T) -> Self {
        let times = |x: &[T]| x.iter().map(|x| *x * scale).collect();
        Batched { n: self.n, d: times(&self.d), e: times(&self.e) }
    }

    pub fn widened(&self) -> Batched<f64> {
        let widen = |x: &[T]| x.iter().map(|x| x.widen()).collect();
        Batched { n: self.n, d: widen(&self.d), e: widen(&self.e) }
    }

    /// Element (i, j) of the item at `at`.
    pub fn get(&self, at: usize, i: usize, j: usize) -> T {
        match i.abs_diff(j) {
            0 => self.d[at * self.n + i],
            1 => self.e[at * (self.n - 1) + i.min(j)],
            _ => T::zero(),
        }
    }
}
