//! Eigenvalues in higher precision: of single precision in double, of double precision in 106 bits.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use batchlas::linalg::{EighOptions, EighTridiagonalOptions, eigh_tridiagonal_with, eigh_with};
use batchlas::{Batch, Complex, Dtype, Jobz, Queue, Real, Result, Scalar, Uplo};
use faer::fx128;
use rayon::prelude::*;

use crate::hash;
use crate::quad;

/// Eigenvalues by the CPU family in double precision, ascending, item after item; the lower triangle is read.
///
/// # Errors
/// Those of [`eigh_with`].
pub fn in_double<T: Scalar>(a: &Batch<T>) -> Result<Vec<f64>> {
    let options = EighOptions { jobz: Jobz::N, uplo: Uplo::Lower, ..EighOptions::default() };
    let (n, batch) = (a.rows(), a.batch());
    let part = |item, i, j| (a.get(item, i, j).re().widen(), a.get(item, i, j).im().widen());
    if T::DTYPE.is_complex() {
        let wide = Batch::from_fn(n, n, batch, |item, i, j| {
            let (re, im) = part(item, i, j);
            Complex::new(re, im)
        });
        return Ok(eigh_with(&Queue::cpu(), &wide, &options)?.values);
    }
    let wide = Batch::from_fn(n, n, batch, |item, i, j| part(item, i, j).0);
    Ok(eigh_with(&Queue::cpu(), &wide, &options)?.values)
}

/// The order from which on [`remembered`] keeps what it found: a solve takes as long as the check that needs it, and the
/// cells of an order have items in common.
const DEAR: usize = 256;

/// Eigenvalues of large matrices by a hash of their elements.
static KNOWN: Mutex<BTreeMap<String, Vec<f64>>> = Mutex::new(BTreeMap::new());

/// As [`in_double`]; a large matrix is solved once in a program's life.
///
/// # Errors
/// Those of [`in_double`].
pub(crate) fn remembered<T: Scalar>(a: &Batch<T>) -> Result<Vec<f64>> {
    let n = a.rows();
    if n < DEAR {
        return in_double(a);
    }
    let items = a.as_slice().chunks(n * n);
    let keys: Vec<String> = items
        .map(|item| format!("{} {n} {}", T::DTYPE, hash::of_bytes(&[bytemuck::cast_slice(item)])))
        .collect();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut new: Vec<usize> = (0..keys.len()).filter(|at| !known.contains_key(&keys[*at])).collect();
    new.sort_by_key(|at| &keys[*at]);
    new.dedup_by_key(|at| &keys[*at]);
    let values = in_double(&Batch::from_fn(n, n, new.len(), |at, i, j| a.get(new[at], i, j)))?;
    known.extend(new.iter().map(|at| keys[*at].clone()).zip(values.chunks(n).map(<[f64]>::to_vec)));
    Ok(keys.iter().flat_map(|key| known[key].iter().copied()).collect())
}

/// As [`in_double`], of tridiagonal matrices.
///
/// # Errors
/// Those of [`eigh_tridiagonal_with`].
pub fn tridiagonal_in_double<T: Real>(n: usize, d: &[T], e: &[T]) -> Result<Vec<f64>> {
    let wide = |x: &[T]| x.iter().map(|x| x.widen()).collect::<Vec<f64>>();
    let options = EighTridiagonalOptions { jobz: Jobz::N, ..EighTridiagonalOptions::default() };
    Ok(eigh_tridiagonal_with(&Queue::cpu(), &wide(d), &wide(e), n, &options)?.values)
}

/// Eigenvalues in a precision above the elements', ascending, item after item; the lower triangle is read. Each
/// item is brought to the middle of the range first. Costs some n^3 operations an item, of 106 bits for f64 and c64.
///
/// # Errors
/// Those of [`eigh_with`], or a solver that did not converge.
pub fn higher<T: Scalar>(a: &Batch<T>) -> Result<Vec<f64>> {
    if T::DTYPE.real() == Dtype::F32 {
        return in_double(a);
    }
    let values: Result<Vec<Vec<f64>>> = (0..a.batch()).into_par_iter().map(|item| in_quad(a, item)).collect();
    Ok(values?.concat())
}

fn in_quad<T: Scalar>(a: &Batch<T>, item: usize) -> Result<Vec<f64>> {
    let n = a.rows();
    let part = |i: usize, j: usize| (a.get(item, i, j).re().widen(), a.get(item, i, j).im().widen());
    let lower = (0..n).flat_map(|j| (j..n).map(move |i| (i, j)));
    let largest = lower.map(|(i, j)| part(i, j)).fold(0.0f64, |m, (x, y)| m.max(x.abs()).max(y.abs()));
    if largest == 0.0 {
        return Ok(vec![0.0; n]);
    }
    // A power of two, in two steps since one may leave the range.
    let exponent = largest.log2().floor() as i32;
    let (down, rest) = (2f64.powi(-(exponent / 2)), 2f64.powi(-(exponent - exponent / 2)));
    let scaled = |x: f64| fx128::from(x * down * rest);
    let read = |i: usize, j: usize| {
        let (re, im) = if i >= j { part(i, j) } else { part(j, i) };
        (
            re,
            if i == j {
                0.0
            } else if i > j {
                im
            } else {
                -im
            },
        )
    };
    let values = if T::DTYPE.is_complex() {
        // A + iB has each eigenvalue of [[A, -B], [B, A]] once instead of twice.
        let embedded = (0..4 * n * n).map(|k| {
            let (i, j) = (k % (2 * n), k / (2 * n));
            let (re, im) = read(i % n, j % n);
            scaled(match (i < n, j < n) {
                (true, false) => -im,
                (false, true) => im,
                _ => re,
            })
        });
        quad::eigenvalues(2 * n, embedded.collect())
            .map(|twice| twice.chunks(2).map(|pair| pair[0]).collect())
    } else {
        quad::eigenvalues(n, (0..n * n).map(|k| scaled(read(k % n, k / n).0)).collect())
    };
    let values: Vec<f64> =
        values.ok_or_else(|| batchlas::Error::argument("the reference in 106 bits did not converge"))?;
    Ok(values.into_iter().map(|x| x / down / rest).collect())
}

/// The largest error of the eigenvalues of one item, over n eps times the largest exact one; what rounding to
/// the smallest number of the type costs is left out. `None` for n = 0.
pub fn error<R: Real>(dtype: Dtype, values: &[R], exact: &[f64]) -> Option<f64> {
    let norm = exact.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let unit = exact.len() as f64 * dtype.epsilon() * norm;
    let off = |(x, y): (&R, &f64)| ((x.widen() - y).abs() - dtype.smallest()).max(0.0) + 0.0 * x.widen();
    let worst = values.iter().zip(exact).map(off).reduce(|x, y| if x.is_nan() || x >= y { x } else { y })?;
    Some(if worst == 0.0 { 0.0 } else { worst / unit })
}

/// The worst of [`error`] over items.
pub(crate) fn worst<R: Real>(dtype: Dtype, n: usize, values: &[R], exact: &[f64]) -> Option<f64> {
    if n == 0 {
        return None;
    }
    let items = values.chunks(n).zip(exact.chunks(n));
    items.filter_map(|(x, y)| error(dtype, x, y)).reduce(|x, y| if x.is_nan() || x >= y { x } else { y })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::dense::CLASSES;
    use crate::random::Random;

    #[test]
    fn complex_items_and_the_ends_of_the_range() {
        for (name, make) in CLASSES {
            let m = make(&mut Random::new(7), 20, Dtype::C64);
            let a: Batch<Complex<f64>> = crate::syev::rounded(&[m]);
            let (double, exact) = (in_double(&a).unwrap(), higher(&a).unwrap());
            let error = error(Dtype::F64, &double, &exact).unwrap();
            assert!(error <= 10.0, "{name}: {error} {double:?} {exact:?}");
        }
    }

    #[test]
    fn large_items_are_remembered_each_for_itself() {
        let mut random = Random::new(9);
        let [x, y] = [random.hermitian(DEAR), random.hermitian(DEAR)];
        let of = |items: &[&crate::Matrix]| -> Batch<f32> {
            crate::syev::rounded(&items.iter().map(|m| (*m).clone()).collect::<Vec<_>>())
        };
        let both = in_double(&of(&[&x, &y])).unwrap();
        assert_eq!(
            remembered(&of(&[&y, &x, &y])).unwrap(),
            [&both[DEAR..], &both[..DEAR], &both[DEAR..]].concat()
        );
        assert_eq!(remembered(&of(&[&x, &y])).unwrap(), both);
    }

    #[test]
    fn errors_are_in_units_of_the_contract() {
        assert_eq!(error::<f64>(Dtype::F64, &[], &[]), None);
        assert_eq!(error(Dtype::F64, &[0.0, 0.0], &[0.0, 0.0]), Some(0.0));
        assert_eq!(error(Dtype::F64, &[1.0, 2.0 + 4.0 * f64::EPSILON], &[1.0, 2.0]), Some(1.0));
        assert!(error(Dtype::F64, &[f64::NAN, 2.0], &[1.0, 2.0]).unwrap().is_nan());
        assert_eq!(error(Dtype::F64, &[1.0], &[0.0]), Some(f64::INFINITY));
        assert!(worst(Dtype::F64, 1, &[1.0, f64::NAN], &[1.0, 1.0]).unwrap().is_nan());
    }
}
