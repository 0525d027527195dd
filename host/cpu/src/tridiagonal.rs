//! Batches of symmetric tridiagonal eigenproblems.

use rayon::prelude::*;

use crate::apply::Rotation;
use crate::blocks::{Limits, Shift};
use crate::element::Real;
use crate::item::{self, Shape};
use crate::lanes::Plane;
use crate::steqr::steqr;
use crate::sterf::sterf;
use crate::{CONVERGED, NOT_FINITE};

/// A batch of symmetric tridiagonal matrices, and how it is solved.
#[derive(Clone, Copy, Debug)]
pub struct Tridiagonals {
    /// Order of each matrix.
    pub n: usize,
    /// Number of matrices.
    pub batch: usize,
    /// Elements of the vectors from a column to the next, at least n.
    pub ld: usize,
    /// Elements of the vectors from an item to the next.
    pub stride: usize,
    /// Whether the columns of `q` on entry are the basis that the vectors are expressed in, else the identity.
    pub back_transform: bool,
    /// Whether eigenvalues, and vectors with them, are put in ascending order.
    pub sort: bool,
    /// Sweeps for each eigenvalue before an item counts as not converged.
    pub sweeps_per_value: u32,
    /// The formula of the shift.
    pub shift: Shift,
}

/// About this many multiply-adds are worth a task of their own.
const TASK_WORK: usize = 200_000;

impl Tridiagonals {
    fn item_len(&self) -> usize {
        if self.n == 0 { 0 } else { self.ld * (self.n - 1) + self.n }
    }

    /// Panics where the slices do not hold the batch.
    fn check<R>(&self, d: &[R], e: &[R], q: Option<&[R]>, status: &[i32]) {
        assert_eq!(d.len(), self.n * self.batch, "diagonals");
        assert_eq!(e.len(), self.n.saturating_sub(1) * self.batch, "off-diagonals");
        assert_eq!(status.len(), self.batch, "statuses");
        let Some(q) = q else { return };
        let item = self.item_len();
        assert!(self.ld >= self.n, "ld {} is below n {}", self.ld, self.n);
        assert!(self.batch <= 1 || self.stride >= item, "stride {} is below {item}", self.stride);
        let needed = if self.batch == 0 { 0 } else { (self.batch - 1) * self.stride + item };
        assert!(self.n == 0 || q.len() >= needed, "{} elements of {needed}", q.len());
    }

    fn limits(&self) -> Limits {
        Limits { sweeps_per_value: self.sweeps_per_value as usize, shift: self.shift }
    }
}

/// Consecutive items.
struct Run<'a, R> {
    d: &'a mut [R],
    e: &'a [R],
    q: Option<&'a mut [R]>,
    status: &'a mut [i32],
}

/// Cuts the batch into runs; which run an item is in does not touch its result.
fn runs<'a, R>(
    items: &Tridiagonals,
    d: &'a mut [R],
    e: &'a [R],
    mut q: Option<&'a mut [R]>,
    status: &'a mut [i32],
) -> Vec<Run<'a, R>> {
    let n = items.n;
    let work = if q.is_some() { n * n * n * 5 } else { n * n * 20 };
    let size = (TASK_WORK / work.max(1)).max(1);
    let mut out = Vec::with_capacity(items.batch.div_ceil(size));
    let mut first = 0;
    for (d, status) in d.chunks_mut(size * n).zip(status.chunks_mut(size)) {
        let count = status.len();
        let last = first + count == items.batch;
        let part = q.take().map(|whole| {
            let (head, tail) = whole.split_at_mut(if last { whole.len() } else { count * items.stride });
            q = Some(tail);
            head
        });
        out.push(Run { d, e: &e[first * (n - 1)..(first + count) * (n - 1)], q: part, status });
        first += count;
    }
    out
}

/// Storage that a thread uses for item after item.
struct Scratch<R, const W: usize> {
    d: Vec<R>,
    e: Vec<R>,
    /// The vectors; the second plane, for imaginary parts, stays empty.
    planes: [Plane<R, W>; 2],
    rotations: Vec<Rotation<R>>,
    order: Vec<usize>,
}

impl<R: Real, const W: usize> Scratch<R, W> {
    fn new() -> Self {
        let planes = [Plane::new(), Plane::new()];
        Scratch { d: Vec::new(), e: Vec::new(), planes, rotations: Vec::new(), order: Vec::new() }
    }

    /// Solves one item; `F` as in [`crate::lanes`].
    #[inline(always)]
    fn item<const F: bool>(
        &mut self,
        items: &Tridiagonals,
        d: &mut [R],
        e: &[R],
        q: Option<&mut [R]>,
    ) -> i32 {
        let shape = Shape { n: items.n, ld: items.ld, upper: false };
        let finite = d.iter().chain(e).all(|x| x.is_finite());
        let unconverged = if finite { self.iterate::<F>(items, d, e, q.as_deref()) } else { 0 };
        if finite && unconverged == 0 {
            self.store(items.sort, d, q, shape);
            return CONVERGED;
        }
        match q {
            Some(q) => item::store_failure(q, d, shape, true),
            None => d.fill(R::NAN),
        }
        if finite { unconverged as i32 } else { NOT_FINITE }
    }

    /// Leaves eigenvalues in `self.d`, vectors in the first plane; says how many off-diagonals are left.
    #[inline(always)]
    fn iterate<const F: bool>(&mut self, items: &Tridiagonals, d: &[R], e: &[R], q: Option<&[R]>) -> usize {
        let n = items.n;
        self.d.clear();
        self.d.extend_from_slice(d);
        self.e.clear();
        self.e.extend_from_slice(e);
        self.e.push(R::ZERO);
        let Some(q) = q else { return sterf(&mut self.d, &mut self.e, items.limits()) };
        let plane = &mut self.planes[0];
        plane.resize(n);
        plane.clear(n);
        for j in 0..n {
            if !items.back_transform {
                plane.set(j, j, R::ONE);
                continue;
            }
            for (i, &x) in q[j * items.ld..j * items.ld + n].iter().enumerate() {
                plane.set(i, j, x);
            }
        }
        let planes = std::slice::from_mut(plane);
        steqr::<R, W, F>(&mut self.d, &mut self.e, planes, &mut self.rotations, items.limits())
    }

    #[inline(always)]
    fn store(&mut self, sort: bool, d: &mut [R], q: Option<&mut [R]>, shape: Shape) {
        if sort {
            item::ascending_order(&self.d, &mut self.order);
        } else {
            self.order.clear();
            self.order.extend(0..shape.n);
        }
        item::store_values(&self.d, &self.order, R::ONE, d);
        if let Some(q) = q {
            item::store_vectors::<R, W, false>(&self.planes, &self.order, q, shape);
        }
    }
}

/// Solves consecutive items.
#[inline(always)]
fn solve<R: Real, const W: usize, const F: bool>(
    items: &Tridiagonals,
    run: Run<'_, R>,
    scratch: &mut Scratch<R, W>,
) {
    let n = items.n;
    let Run { d, e, mut q, status } = run;
    for (k, status) in status.iter_mut().enumerate() {
        let q = q.as_deref_mut().map(|q| &mut q[k * items.stride..]);
        let e = &e[k * (n - 1)..(k + 1) * (n - 1)];
        *status = scratch.item::<F>(items, &mut d[k * n..(k + 1) * n], e, q);
    }
}

fn for_each_run<R: Real, const W: usize>(
    items: &Tridiagonals,
    d: &mut [R],
    e: &[R],
    q: Option<&mut [R]>,
    status: &mut [i32],
    solve: impl Fn(Run<'_, R>, &mut Scratch<R, W>) + Send + Sync,
) {
    items.check(d, e, q.as_deref(), status);
    if items.n == 0 || items.batch == 0 {
        status.fill(CONVERGED);
        return;
    }
    let mut runs = runs(items, d, e, q, status);
    match runs.len() {
        1 => runs.drain(..).for_each(|run| solve(run, &mut Scratch::new())),
        _ => runs.into_par_iter().for_each_init(Scratch::new, |scratch, run| solve(run, scratch)),
    }
}

macro_rules! entry {
    ($(#[$doc:meta])* $name:ident, $fused:ident, $t:ty, $w:literal) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn $fused(items: &Tridiagonals, run: Run<'_, $t>, scratch: &mut Scratch<$t, $w>) {
            solve::<$t, $w, true>(items, run, scratch);
        }

        $(#[$doc])*
        pub fn $name(
            items: &Tridiagonals,
            d: &mut [$t],
            e: &[$t],
            q: Option<&mut [$t]>,
            status: &mut [i32],
        ) {
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                // SAFETY: the processor has avx2 and fma, by the test above.
                for_each_run(items, d, e, q, status, |run, scratch| unsafe { $fused(items, run, scratch) });
                return;
            }
            for_each_run(items, d, e, q, status, |run, scratch| {
                solve::<$t, $w, { cfg!(target_arch = "aarch64") }>(items, run, scratch);
            });
        }
    };
}

entry!(
    /// Eigenvalues, and on demand vectors, of a batch of symmetric tridiagonal `f32` matrices.
    ///
    /// `d` holds n diagonal elements an item and is overwritten by the eigenvalues, `e` the n - 1 off-diagonals
    /// and is only read. `q`, where given, receives the vectors as columns, as `items` says. `status` has one
    /// number an item: 0 converged, k > 0 off-diagonals unconverged, -1 a NaN or infinity in `d` or `e`; the last
    /// two leave NaN in the item's outputs. The component of largest modulus of each vector, the first of equal
    /// ones, is positive.
    ///
    /// # Panics
    /// Where a slice does not fit `items`.
    steqr_f32, steqr_f32_fused, f32, 8
);
entry!(
    /// As [`steqr_f32`], for `f64`.
    ///
    /// # Panics
    /// Where a slice does not fit `items`.
    steqr_f64, steqr_f64_fused, f64, 4
);

#[cfg(test)]
mod tests {
    use super::*;

    fn items(n: usize, batch: usize) -> Tridiagonals {
        let (ld, stride) = (n, n * n);
        let (sort, back_transform, shift) = (true, false, Shift::Lapack);
        Tridiagonals { n, batch, ld, stride, back_transform, sort, sweeps_per_value: 30, shift }
    }

    /// 2 - 2 cos(k pi / (n + 1)), with both shifts and in enough items for several runs.
    #[test]
    fn second_differences() {
        for (n, batch) in [(1, 3), (2, 5), (3, 1), (4, 1000), (9, 300), (33, 2), (150, 2)] {
            for shift in [Shift::Lapack, Shift::Wilkinson] {
                let items = Tridiagonals { shift, ..items(n, batch) };
                let e = vec![-1.0; (n - 1) * batch];
                let (mut d, mut q) = (vec![2.0; n * batch], vec![0.0; n * n * batch]);
                let mut status = vec![7; batch];
                steqr_f64(&items, &mut d, &e, Some(&mut q), &mut status);
                let mut w = vec![2.0; n * batch];
                steqr_f64(&items, &mut w, &e, None, &mut status);
                assert!(status.iter().all(|s| *s == CONVERGED));
                for (at, (x, y)) in d.iter().zip(&w).enumerate() {
                    let k = at % n + 1;
                    let exact = 2.0 - 2.0 * (std::f64::consts::PI * k as f64 / (n + 1) as f64).cos();
                    assert!((x - exact).abs() < 1e-13 && (y - exact).abs() < 1e-13, "n={n}: {x} {y} {exact}");
                    let v = &q[at * n..(at + 1) * n];
                    assert!((v.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-13);
                }
            }
        }
    }

    #[test]
    fn a_basis_turns_along_and_the_order_may_stay() {
        let e = [0.0, 3.0];
        let mut d = [5.0f64, 1.0, 1.0];
        let mut status = [7];
        // A basis of two columns swapped, in a leading dimension of 4.
        let mut q = vec![0.0, 1.0, 0.0, 9.0, 1.0, 0.0, 0.0, 9.0, 0.0, 0.0, 1.0];
        let items = Tridiagonals { ld: 4, stride: 12, sort: false, back_transform: true, ..items(3, 1) };
        steqr_f64(&items, &mut d, &e, Some(&mut q), &mut status);
        assert_eq!((status[0], d[0]), (0, 5.0));
        assert!((d[1] * d[2] + 8.0).abs() < 1e-14 && (d[1] + d[2] - 2.0).abs() < 1e-14, "{d:?}");
        assert_eq!((&q[..4], q[7]), (&[0.0, 1.0, 0.0, 9.0][..], 9.0));
        assert!((q[4] * q[4] - 0.5).abs() < 1e-14 && q[5] == 0.0);
    }

    #[test]
    fn bad_items_and_spent_budgets() {
        let items = Tridiagonals { sweeps_per_value: 0, ..items(3, 3) };
        let e = [1.0f32, 1.0, f32::INFINITY, 1.0, 0.0, 0.0];
        let (mut d, mut q, mut status) = ([1.0f32; 9], [0.0f32; 27], [9; 3]);
        steqr_f32(&items, &mut d, &e, Some(&mut q), &mut status);
        assert!(status[0] > 0 && status[1] == NOT_FINITE && status[2] == CONVERGED, "{status:?}");
        assert!(d[..6].iter().chain(&q[..18]).all(|x| x.is_nan()));
        assert_eq!(&d[6..], &[1.0; 3]);
        assert_eq!(&q[18..], &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn empty_batches() {
        let mut status = [1; 3];
        steqr_f32(&items(0, 3), &mut [], &[], Some(&mut []), &mut status);
        assert_eq!(status, [CONVERGED; 3]);
        steqr_f32(&items(3, 0), &mut [], &[], None, &mut []);
    }
}
