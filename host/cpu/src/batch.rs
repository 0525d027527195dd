//! Spreads the items of a batch over the threads of rayon's pool.

use rayon::prelude::*;

use crate::element::Element;
use crate::item::Shape;

/// A batch of n by n matrices, column-major.
#[derive(Clone, Copy, Debug)]
pub struct Items {
    /// Order of each matrix.
    pub n: usize,
    /// Elements from a column to the next, at least n.
    pub ld: usize,
    /// Elements from an item to the next.
    pub stride: usize,
    /// Number of matrices.
    pub batch: usize,
    /// Whether the upper triangle is read, else the lower one.
    pub upper: bool,
    /// Whether vectors overwrite the matrices; otherwise these are only read.
    pub vectors: bool,
}

impl Items {
    pub(crate) fn shape(&self) -> Shape {
        Shape { n: self.n, ld: self.ld, upper: self.upper }
    }

    fn item_len(&self) -> usize {
        if self.n == 0 { 0 } else { self.ld * (self.n - 1) + self.n }
    }

    /// Panics where the slices do not hold the batch: the solvers index them
    /// without further thought.
    fn check(&self, a: usize, w: usize, status: usize) {
        let item = self.item_len();
        assert!(self.ld >= self.n, "ld {} is below n {}", self.ld, self.n);
        assert!(self.batch <= 1 || self.stride >= item, "stride {} is below {item}", self.stride);
        let needed = if self.batch == 0 { 0 } else { (self.batch - 1) * self.stride + item };
        assert!(self.n == 0 || a >= needed, "{a} elements of {needed}");
        assert_eq!(w, self.n * self.batch, "eigenvalues");
        assert_eq!(status, self.batch, "statuses");
    }
}

/// About this many multiply-adds are worth a task of their own.
const TASK_WORK: usize = 200_000;

/// Calls `solve(items, values, statuses, scratch)` on runs of consecutive
/// items, in parallel where there is enough to do. Which run an item is in
/// does not touch its result.
pub(crate) fn for_each_run<E, S>(
    items: &Items,
    a: &mut [E],
    w: &mut [E::Part],
    status: &mut [i32],
    scratch: impl Fn() -> S + Send + Sync,
    solve: impl Fn(&mut [E], &mut [E::Part], &mut [i32], &mut S) + Send + Sync,
) where
    E: Element,
{
    items.check(a.len(), w.len(), status.len());
    if items.n == 0 || items.batch == 0 {
        status.fill(crate::CONVERGED);
        return;
    }
    let work = (items.n * items.n * items.n * 9).max(1);
    let run = (TASK_WORK / work).max(1).min(items.batch);
    let a = &mut a[..(items.batch - 1) * items.stride + items.item_len()];
    if run == items.batch {
        solve(a, w, status, &mut scratch());
        return;
    }
    (a.par_chunks_mut(run * items.stride), w.par_chunks_mut(run * items.n), status.par_chunks_mut(run))
        .into_par_iter()
        .for_each_init(scratch, |scratch, (a, w, status)| solve(a, w, status, scratch));
}
