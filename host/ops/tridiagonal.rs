//! What the operations on tridiagonal matrices share: their arrays' lengths and checks.

use super::{Jobz, check_len, count_values};
use crate::error::{Error, Result};
use crate::memory::{DeviceBatch, DeviceBuffer, DeviceElement};
use crate::routes::Operation;
use crate::scalar::{Dtype, Real};

/// Off-diagonal elements of a batch: n - 1 an item.
pub(super) fn count_couplings(n: usize, batch: usize) -> Result<usize> {
    count_values(n, batch).map(|values| if n == 0 { 0 } else { values - batch })
}

/// The order of the matrices of a batch, by the length of its diagonals; by the vectors where there is no item.
pub(super) fn order<T: DeviceElement>(
    diagonals: &DeviceBuffer<T>,
    q: Option<&DeviceBatch<T>>,
    batch: usize,
) -> Result<usize> {
    match (batch, q) {
        (0, Some(q)) => q.layout().order(),
        (0, None) => Ok(0),
        _ => Ok(diagonals.len() / batch),
    }
}

/// Refuses complex types: the tridiagonal form of a Hermitian matrix is real.
pub(super) fn check_type(operation: &Operation, dtype: Dtype) -> Result<()> {
    if dtype.is_complex() {
        return Err(Error::argument(format!("{} takes f32 or f64, not {dtype}", operation.name)));
    }
    Ok(())
}

/// Refuses diagonals and off-diagonals of another type or length than was decided about.
pub(super) fn check_matrices<T: Real>(
    (dtype, n, batch): (Dtype, usize, usize),
    diagonals: &DeviceBuffer<T>,
    couplings: &DeviceBuffer<T>,
) -> Result<()> {
    if T::DTYPE != dtype {
        return Err(Error::argument(format!("decided for {dtype}: the batch is of {}", T::DTYPE)));
    }
    check_len("diagonals", diagonals.len(), count_values(n, batch)?)?;
    check_len("off-diagonals", couplings.len(), count_couplings(n, batch)?)
}

/// Refuses vectors where none were decided about, none where they were, and those of another shape.
pub(super) fn check_vectors<T: DeviceElement>(
    (jobz, n, items): (Jobz, usize, usize),
    q: Option<&DeviceBatch<T>>,
) -> Result<()> {
    let q = match (q, jobz) {
        (None, Jobz::N) => return Ok(()),
        (Some(_), Jobz::N) => return Err(Error::argument("decided for values only: there are no vectors")),
        (None, Jobz::V) => return Err(Error::argument("decided for vectors: they need a place")),
        (Some(q), Jobz::V) => q,
    };
    let (rows, cols, batch) = (q.rows(), q.cols(), q.batch());
    if (rows, cols, batch) == (n, n, items) {
        return Ok(());
    }
    Err(Error::argument(format!(
        "vectors of {batch} items of {rows}x{cols} for {items} problems of order {n}: {items} of {n}x{n} are needed"
    )))
}
