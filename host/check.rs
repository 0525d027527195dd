//! How good results are: the measures of the numerical contract, computed in
//! double precision. The command line's `--check` and the tests share them.

use batchlas_cpu::{Planes, departure_from_orthonormal, relative_residual};
use rayon::prelude::*;

use crate::batch::{Batch, BatchRef};
use crate::error::{Error, Result};
use crate::linalg::Eigh;
use crate::ops::{Uplo, steqr};
use crate::scalar::{Real, Scalar};
use crate::status::Status;

/// Residual and orthogonality are at most this for a result that keeps the contract.
pub const LIMIT: f64 = 10.0;

/// The worst of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quality {
    /// max ||A V - V L||_F / (n eps ||A||_F); where eps ||A||_F is less than the type's smallest number, to which the
    /// values are rounded, that takes its place
    pub max_residual: f64,
    /// max ||V^H V - I||_F / (n eps)
    pub max_orthogonality: f64,
    /// Items that were measured. Where there are none, the maxima are 0 and say nothing.
    pub checked_items: usize,
    /// Items without a result, which the maxima leave out.
    pub failed_items: usize,
}

impl Quality {
    /// Whether both maxima are within [`LIMIT`]; also where nothing was measured.
    pub fn is_ok(&self) -> bool {
        // Written so that a NaN fails.
        self.max_residual <= LIMIT && self.max_orthogonality <= LIMIT
    }
}

/// Measures the vectors of a solve against the matrices that it was given.
///
/// An item that failed is left out, and so is one of order 0. An eigenvalue that
/// overflowed makes the residual infinite or NaN.
///
/// Costs some n^3 multiply-adds an item, on all cores.
///
/// # Errors
/// [`Error::Argument`] where the solve has no vectors or another shape.
pub fn quality<'a, T: Scalar>(
    a: impl Into<BatchRef<'a, T>>,
    uplo: Uplo,
    solved: &Eigh<T>,
) -> Result<Quality> {
    let a = a.into();
    let n = a.layout().order()?;
    measure(n, results(solved, a.layout().batch())?, |item| whole(a, item, uplo))
}

/// Measures values and vectors of items that all have a result: `values` holds n an item, `vectors` them as columns.
///
/// Costs some n^3 multiply-adds an item, on all cores.
///
/// # Errors
/// [`Error::Argument`] where the shapes differ.
pub fn quality_of<'a, T: Scalar>(
    a: impl Into<BatchRef<'a, T>>,
    uplo: Uplo,
    values: &[T::Real],
    vectors: &Batch<T>,
) -> Result<Quality> {
    let a = a.into();
    let (n, batch) = (a.layout().order()?, a.layout().batch());
    let status = vec![Status::CONVERGED; batch];
    measure(n, Results { values, vectors, status: &status }, |item| whole(a, item, uplo))
}

/// Measures the vectors of a solve against the tridiagonal matrices that it was given: `d` holds n elements an
/// item, `e` n - 1.
///
/// Costs some n^3 multiply-adds an item, on all cores.
///
/// # Errors
/// [`Error::Argument`] where the solve has no vectors or another shape.
pub fn quality_tridiagonal<T: Real>(
    d: &[T],
    e: &[T],
    n: usize,
    solved: &Eigh<T, steqr::Problem>,
) -> Result<Quality> {
    let batch = solved.status.len();
    if (d.len(), e.len()) != (batch * n, batch * n.saturating_sub(1)) {
        return Err(Error::argument("the solve is of another batch"));
    }
    measure(n, results(solved, batch)?, |item| {
        let mut re = vec![0.0; n * n];
        for k in 0..n {
            re[k * n + k] = d[item * n + k].widen();
            if k + 1 < n {
                let x = e[item * (n - 1) + k].widen();
                (re[k * n + k + 1], re[(k + 1) * n + k]) = (x, x);
            }
        }
        Planes { re, im: Vec::new() }
    })
}

/// The results of a batch, where there are vectors.
struct Results<'a, T: Scalar> {
    values: &'a [T::Real],
    vectors: &'a Batch<T>,
    status: &'a [Status],
}

fn results<T: Scalar, P>(solved: &Eigh<T, P>, batch: usize) -> Result<Results<'_, T>> {
    let vectors = solved.vectors.as_ref().ok_or_else(|| Error::argument("values alone have no residual"))?;
    if solved.status.len() != batch {
        return Err(Error::argument("the solve is of another batch"));
    }
    Ok(Results { values: &solved.values, vectors, status: &solved.status })
}

fn measure<T: Scalar>(
    n: usize,
    solved: Results<'_, T>,
    matrix: impl Fn(usize) -> Planes + Sync,
) -> Result<Quality> {
    let Results { values, vectors, status } = solved;
    let (shape, batch) = (vectors.layout(), status.len());
    if (shape.rows(), shape.cols(), shape.batch(), values.len()) != (n, n, batch, batch * n) {
        return Err(Error::argument("the solve is of another batch"));
    }
    let unit = n.max(1) as f64 * T::DTYPE.epsilon();
    let measured: Vec<Option<(f64, f64)>> = (0..batch)
        .into_par_iter()
        .map(|item| {
            if !status[item].is_ok() {
                return None;
            }
            let w: Vec<f64> = values[item * n..(item + 1) * n].iter().map(|x| x.widen()).collect();
            let (a, v) = (matrix(item), planes(vectors, item));
            let relative = relative_residual(n, &a, &v, &w) / unit;
            // 0 / 0 for the zero matrix: the rounding of its values costs nothing.
            let steps = T::DTYPE.smallest() / (T::DTYPE.epsilon() * a.frobenius());
            let residual = if steps > 1.0 && relative.is_finite() { relative / steps } else { relative };
            Some((residual, departure_from_orthonormal(n, &v) / unit))
        })
        .collect();
    let failed_items = measured.iter().filter(|m| m.is_none()).count();
    let checked_items = if n == 0 { 0 } else { batch - failed_items };
    let worst = |f: fn(&(f64, f64)) -> f64| measured.iter().flatten().map(f).fold(0.0, max_or_nan);
    let (max_residual, max_orthogonality) = (worst(|m| m.0), worst(|m| m.1));
    Ok(Quality { max_residual, max_orthogonality, checked_items, failed_items })
}

/// The larger one; a NaN wins.
fn max_or_nan(x: f64, y: f64) -> f64 {
    if x.is_nan() || x >= y { x } else { y }
}

/// Both triangles of an item from the one that is read.
fn whole<T: Scalar>(a: BatchRef<'_, T>, item: usize, uplo: Uplo) -> Planes {
    let n = a.layout().rows();
    let mut out = Planes { re: vec![0.0; n * n], im: Vec::new() };
    if T::DTYPE.is_complex() {
        out.im = vec![0.0; n * n];
    }
    for j in 0..n {
        for i in j..n {
            let x = match uplo {
                Uplo::Lower => a.get(item, i, j),
                Uplo::Upper => a.get(item, j, i).conj(),
            };
            out.re[j * n + i] = x.re().widen();
            out.re[i * n + j] = x.re().widen();
            if T::DTYPE.is_complex() && i != j {
                out.im[j * n + i] = x.im().widen();
                out.im[i * n + j] = -x.im().widen();
            }
        }
    }
    out
}

fn planes<T: Scalar>(a: &Batch<T>, item: usize) -> Planes {
    let columns = (0..a.cols()).flat_map(|j| a.column(item, j));
    let im = |x: &T| x.im().widen();
    Planes {
        re: columns.clone().map(|x| x.re().widen()).collect(),
        im: if T::DTYPE.is_complex() { columns.map(im).collect() } else { Vec::new() },
    }
}
