//! The entries: which code solves an item, compiled for the instruction sets
//! that the machine may have.

use num_complex::Complex;

use crate::apply::Rotation;
use crate::batch::{Items, for_each_run};
use crate::blocks::Limits;
use crate::element::Element;
use crate::faer_solver::FaerScratch;
use crate::item::{self, Shape};
use crate::steqr::steqr;
use crate::sterf::sterf;
use crate::sytrd::Tridiagonalisation;
use crate::{CONVERGED, NOT_FINITE};

/// Up to this order our unblocked code is at least as fast as faer, in every
/// type, with vectors and without (one core of an EPYC Zen 4, 2026-11: f64 V
/// 1.20 against 1.43 ms at n = 128, 3.6 against 3.2 ms at n = 192).
const UNBLOCKED: usize = 128;

/// Storage that a thread uses for item after item.
struct Scratch<E: Element, const W: usize> {
    reduction: Tridiagonalisation<E::Part, W>,
    rotations: Vec<Rotation<E::Part>>,
    order: Vec<usize>,
    faer: FaerScratch<E>,
}

impl<E: Element + faer::traits::ComplexField, const W: usize> Scratch<E, W> {
    fn new() -> Self {
        Scratch {
            reduction: Tridiagonalisation::new(),
            rotations: Vec::new(),
            order: Vec::new(),
            faer: FaerScratch::new(),
        }
    }

    /// Solves one item; `F` as in [`crate::lanes`], `C` whether it is complex.
    #[inline(always)]
    fn item<const C: bool, const F: bool>(
        &mut self,
        a: &mut [E],
        w: &mut [E::Part],
        shape: Shape,
        vectors: bool,
    ) -> i32 {
        // faer's divide and conquer is not invariant to scale: elements near 2^-12 cost it digits, near 2^18 all of them.
        let band = if shape.n > UNBLOCKED { 0 } else { item::safe_band::<E::Part>() };
        let Some(scale) = item::scaling(a, shape, band) else {
            item::store_failure(a, w, shape, vectors);
            return NOT_FINITE;
        };
        let unconverged = if vectors {
            if shape.n > UNBLOCKED && self.faer.vectors(a, w, shape, scale, &mut self.order) {
                return CONVERGED;
            }
            self.with_vectors::<C, F>(a, w, shape, scale)
        } else {
            self.values_only::<C, F>(a, w, shape, scale)
        };
        if unconverged > 0 {
            item::store_failure(a, w, shape, vectors);
        }
        unconverged as i32
    }

    #[inline(always)]
    fn with_vectors<const C: bool, const F: bool>(
        &mut self,
        a: &mut [E],
        w: &mut [E::Part],
        shape: Shape,
        scale: E::Part,
    ) -> usize {
        let n = shape.n;
        let t = &mut self.reduction;
        t.resize::<C>(n);
        item::load::<E, W, C>(a, shape, scale, &mut t.a);
        t.reduce::<C, F>(n);
        t.form_q::<C, F>(n);
        let planes = &mut t.q[..1 + usize::from(C)];
        let (d, e) = (&mut t.d[..n], &mut t.e[..n]);
        let unconverged = steqr::<_, W, F>(d, e, planes, &mut self.rotations, Limits::LAPACK);
        if unconverged == 0 {
            item::ascending_order(&t.d[..n], &mut self.order);
            item::store_values(&t.d[..n], &self.order, scale, w);
            item::store_vectors::<E, W, C>(&t.q, &self.order, a, shape);
        }
        unconverged
    }

    #[inline(always)]
    fn values_only<const C: bool, const F: bool>(
        &mut self,
        a: &[E],
        w: &mut [E::Part],
        shape: Shape,
        scale: E::Part,
    ) -> usize {
        let n = shape.n;
        let t = &mut self.reduction;
        if n > UNBLOCKED {
            t.resize_values(n);
            self.faer.reduce(a, shape, scale, &mut t.d, &mut t.e);
        } else {
            t.resize::<C>(n);
            item::load::<E, W, C>(a, shape, scale, &mut t.a);
            t.reduce::<C, F>(n);
        }
        let unconverged = sterf(&mut t.d[..n], &mut t.e[..n], Limits::LAPACK);
        if unconverged == 0 {
            item::ascending_order(&t.d[..n], &mut self.order);
            item::store_values(&t.d[..n], &self.order, scale, w);
        }
        unconverged
    }
}

/// Solves consecutive items.
#[inline(always)]
fn run<E: Element + faer::traits::ComplexField, const W: usize, const C: bool, const F: bool>(
    items: &Items,
    a: &mut [E],
    w: &mut [E::Part],
    status: &mut [i32],
    scratch: &mut Scratch<E, W>,
) {
    let shape = items.shape();
    for (k, status) in status.iter_mut().enumerate() {
        let a = &mut a[k * items.stride..];
        let w = &mut w[k * items.n..(k + 1) * items.n];
        *status = scratch.item::<C, F>(a, w, shape, items.vectors);
    }
}

macro_rules! entry {
    ($(#[$doc:meta])* $name:ident, $fused:ident, $e:ty, $real:ty, $w:literal, $c:literal) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn $fused(
            items: &Items,
            a: &mut [$e],
            w: &mut [$real],
            status: &mut [i32],
            scratch: &mut Scratch<$e, $w>,
        ) {
            run::<$e, $w, $c, true>(items, a, w, status, scratch);
        }

        $(#[$doc])*
        pub fn $name(items: &Items, a: &mut [$e], w: &mut [$real], status: &mut [i32]) {
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                for_each_run(items, a, w, status, Scratch::new, |a, w, status, scratch| {
                    // SAFETY: the processor has avx2 and fma, by the test above.
                    unsafe { $fused(items, a, w, status, scratch) }
                });
                return;
            }
            for_each_run(items, a, w, status, Scratch::new, |a, w, status, scratch| {
                run::<$e, $w, $c, { cfg!(target_arch = "aarch64") }>(items, a, w, status, scratch);
            });
        }
    };
}

entry!(
    /// Eigenvalues, and on demand vectors, of a batch of symmetric `f32` matrices.
    ///
    /// `a` holds the batch as `items` says; with `items.vectors` each matrix is
    /// overwritten by its eigenvectors as columns, otherwise it is only read.
    /// `w` receives n ascending eigenvalues an item, `status` one number an
    /// item: 0 converged, k > 0 off-diagonals unconverged, -1 a NaN or infinity
    /// in the triangle read; the last two leave NaN in the item's outputs. The
    /// component of largest modulus of each vector, the first of equal ones, is
    /// real and positive.
    ///
    /// # Panics
    /// Where a slice does not fit `items`.
    syev_f32, syev_f32_fused, f32, f32, 8, false
);
entry!(
    /// As [`syev_f32`], for `f64`.
    ///
    /// # Panics
    /// Where a slice does not fit `items`.
    syev_f64, syev_f64_fused, f64, f64, 4, false
);
entry!(
    /// As [`syev_f32`], for Hermitian matrices; imaginary parts of the diagonal are not read.
    ///
    /// # Panics
    /// Where a slice does not fit `items`.
    syev_c32, syev_c32_fused, Complex<f32>, f32, 8, true
);
entry!(
    /// As [`syev_c32`], for `Complex<f64>`.
    ///
    /// # Panics
    /// Where a slice does not fit `items`.
    syev_c64, syev_c64_fused, Complex<f64>, f64, 4, true
);

#[cfg(test)]
mod tests {
    use super::*;

    fn items(n: usize, batch: usize, vectors: bool) -> Items {
        Items { n, ld: n, stride: n * n, batch, upper: false, vectors }
    }

    /// max |A v - w v| of the second-difference matrix, whose eigenvalues are
    /// 2 - 2 cos(k pi / (n + 1)).
    fn check_second_difference(n: usize) {
        let mut a = vec![0.0f64; n * n];
        for k in 0..n {
            a[k * n + k] = 2.0;
            if k + 1 < n {
                a[k * n + k + 1] = -1.0;
            }
        }
        let mut w = vec![0.0; n];
        let mut status = [7];
        syev_f64(&items(n, 1, true), &mut a, &mut w, &mut status);
        assert_eq!(status, [CONVERGED]);
        for k in 0..n {
            let exact = 2.0 - 2.0 * (std::f64::consts::PI * (k + 1) as f64 / (n + 1) as f64).cos();
            assert!((w[k] - exact).abs() < 1e-13, "n={n} k={k}: {} {exact}", w[k]);
            let v = &a[k * n..(k + 1) * n];
            for i in 0..n {
                let neighbours = if i > 0 { v[i - 1] } else { 0.0 } + v.get(i + 1).copied().unwrap_or(0.0);
                assert!((2.0 * v[i] - neighbours - w[k] * v[i]).abs() < 1e-13, "n={n} k={k} i={i}");
            }
        }
        let mut values = vec![0.0; n];
        a.fill(0.0);
        for k in 0..n {
            a[k * n + k] = 2.0;
            if k + 1 < n {
                a[k * n + k + 1] = -1.0;
            }
        }
        syev_f64(&items(n, 1, false), &mut a, &mut values, &mut status);
        for (x, y) in w.iter().zip(&values) {
            assert!((x - y).abs() < 1e-13, "n={n}");
        }
    }

    #[test]
    fn second_differences_on_both_sides_of_the_crossover() {
        for n in [1, 2, 3, 4, 5, 8, 9, 33, UNBLOCKED, UNBLOCKED + 1] {
            check_second_difference(n);
        }
    }

    #[test]
    fn empty_batches() {
        syev_f32(&items(0, 3, true), &mut [], &mut [], &mut [1, 1, 1]);
        syev_f32(&items(3, 0, true), &mut [], &mut [], &mut []);
    }
}
