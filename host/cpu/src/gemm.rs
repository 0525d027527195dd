//! Batched products of matrices, by faer.

use faer::linalg::matmul::matmul_with_conj;
use faer::traits::ComplexField;
use faer::{Accum, Conj, MatMut, MatRef, Par};
use num_complex::Complex;
use rayon::prelude::*;

/// How one factor lies in memory, and what is multiplied of it.
#[derive(Clone, Copy, Debug)]
pub struct Factor {
    /// Whether rows and columns change places.
    pub transposed: bool,
    /// Whether the elements are conjugated.
    pub conjugated: bool,
    /// Elements from a column to the next.
    pub ld: usize,
    /// Elements from an item to the next.
    pub stride: usize,
}

/// A batch of products C = alpha op(A) op(B) + beta C, column-major: op(A) is m by k, op(B) k by n.
#[derive(Clone, Copy, Debug)]
pub struct Products {
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// Columns of op(A), rows of op(B).
    pub k: usize,
    /// Number of products.
    pub batch: usize,
    /// The left factor.
    pub a: Factor,
    /// The right factor.
    pub b: Factor,
    /// Elements from a column of C to the next.
    pub ldc: usize,
    /// Elements from an item of C to the next.
    pub stride_c: usize,
}

/// What the arithmetic asks of an element.
trait Number: ComplexField + Copy + Send + Sync + PartialEq + std::ops::Mul<Output = Self> {}
impl<T: ComplexField + Copy + Send + Sync + PartialEq + std::ops::Mul<Output = T>> Number for T {}

macro_rules! entry {
    ($($name:ident: $t:ty, $zero:expr, $one:expr;)*) => { $(
        /// C = alpha op(A) op(B) + beta C. C is not read where beta is 0, A and B are not where alpha or k is 0.
        ///
        /// # Panics
        /// Where a slice is shorter than the batch.
        pub fn $name(products: &Products, alpha: $t, a: &[$t], b: &[$t], beta: $t, c: &mut [$t]) {
            run(products, Scalars { zero: $zero, one: $one, alpha, beta }, a, b, c);
        }
    )* };
}
entry! {
    gemm_f32: f32, 0.0, 1.0;
    gemm_f64: f64, 0.0, 1.0;
    gemm_c32: Complex<f32>, Complex::new(0.0, 0.0), Complex::new(1.0, 0.0);
    gemm_c64: Complex<f64>, Complex::new(0.0, 0.0), Complex::new(1.0, 0.0);
}

#[derive(Clone, Copy)]
struct Scalars<T> {
    zero: T,
    one: T,
    alpha: T,
    beta: T,
}

/// About this many multiply-adds are worth a task of their own.
const TASK_WORK: usize = 200_000;

fn run<T: Number>(products: &Products, scalars: Scalars<T>, a: &[T], b: &[T], c: &mut [T]) {
    let Products { m, n, k, batch, ldc, stride_c, .. } = *products;
    if m == 0 || n == 0 || batch == 0 {
        return;
    }
    let item = ldc * (n - 1) + m;
    assert!(ldc >= m && (batch == 1 || stride_c >= item), "items of C overlap");
    let c = &mut c[..(batch - 1) * stride_c + item];
    let run = (TASK_WORK / (m * n * k.max(1))).clamp(1, batch);
    let one = |index: usize, c: &mut [T]| {
        let (a, b) =
            (&a[(index * products.a.stride).min(a.len())..], &b[(index * products.b.stride).min(b.len())..]);
        multiply(products, scalars, a, b, c);
    };
    if batch == 1 {
        return one(0, c);
    }
    c.par_chunks_mut(run * stride_c).enumerate().for_each(|(chunk, c)| {
        c.chunks_mut(stride_c).enumerate().for_each(|(at, c)| one(chunk * run + at, c));
    });
}

/// One item. On one thread: a split over threads would enter the bits.
fn multiply<T: Number>(products: &Products, scalars: Scalars<T>, a: &[T], b: &[T], c: &mut [T]) {
    let Products { m, n, k, ldc, .. } = *products;
    let Scalars { zero, one, alpha, beta } = scalars;
    let is_empty = k == 0 || alpha == zero;
    if beta != one && (is_empty || beta != zero) {
        for column in c.chunks_mut(ldc).take(n) {
            column[..m].iter_mut().for_each(|x| *x = if beta == zero { zero } else { beta * *x });
        }
    }
    if is_empty {
        return;
    }
    let accum = if beta == zero { Accum::Replace } else { Accum::Add };
    let (left, right) = (factor(a, &products.a, m, k), factor(b, &products.b, k, n));
    let conj = |factor: &Factor| if factor.conjugated { Conj::Yes } else { Conj::No };
    let target = MatMut::from_column_major_slice_with_stride_mut(c, m, n, ldc);
    matmul_with_conj(target, accum, left, conj(&products.a), right, conj(&products.b), alpha, Par::Seq);
}

/// op(X) of `rows` by `columns`, not conjugated.
fn factor<'a, T>(x: &'a [T], factor: &Factor, rows: usize, columns: usize) -> MatRef<'a, T> {
    if factor.transposed {
        MatRef::from_column_major_slice_with_stride(x, columns, rows, factor.ld).transpose()
    } else {
        MatRef::from_column_major_slice_with_stride(x, rows, columns, factor.ld)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn products(transposed: bool) -> Products {
        let factor = |stride| Factor { transposed, conjugated: false, ld: 2, stride };
        Products { m: 2, n: 2, k: 2, batch: 2, a: factor(4), b: factor(4), ldc: 3, stride_c: 6 }
    }

    #[test]
    fn gaps_stay_and_c_is_read_as_beta_has_it() {
        let a = [1.0, 2.0, 3.0, 4.0, 1.0, 0.0, 0.0, 1.0];
        let b = [5.0, 6.0, 7.0, 8.0, 1.0, 2.0, 3.0, 4.0];
        let mut c = [f64::NAN; 12];
        gemm_f64(&products(false), 1.0, &a, &b, 0.0, &mut c);
        assert_eq!([c[0], c[1], c[3], c[4]], [23.0, 34.0, 31.0, 46.0]);
        assert_eq!([c[6], c[7], c[9], c[10]], [1.0, 2.0, 3.0, 4.0]);
        assert!([2, 5, 8, 11].iter().all(|&at| c[at].is_nan()));
        gemm_f64(&products(true), 2.0, &a, &b, -1.0, &mut c);
        assert_eq!([c[6], c[7], c[9], c[10]], [2.0 - 1.0, 6.0 - 2.0, 4.0 - 3.0, 8.0 - 4.0]);
        gemm_f64(&products(true), 0.0, &[f64::NAN; 8], &[f64::NAN; 8], 0.5, &mut c);
        assert_eq!([c[6], c[7], c[9], c[10]], [0.5, 2.0, 0.5, 2.0]);
    }
}
