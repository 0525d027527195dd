//! The numerical contract, as assertions.

use batchlas::check::{LIMIT, quality_tridiagonal};
use batchlas::linalg::{EighTridiagonalOptions, eigh_tridiagonal_with};
use batchlas::ops::steqr::Shift;
use batchlas::{Jobz, Queue, Real};

use crate::arms::{Arm, Solved};
use crate::support::tridiagonal::Batched;
use crate::support::values;

/// Solves with vectors and for values only, and holds both to the contract.
pub fn check_items<T: Real>(
    arm: Arm,
    queue: &Queue,
    what: &str,
    batch: &Batched<T>,
    shift: Shift,
) -> Solved<T> {
    let context = format!("{arm:?} {} {what} n={} {shift}", T::DTYPE, batch.n);
    let reference = reference(batch);
    let solved = arm.solve_shifted(queue, what, batch, Jobz::V, shift);
    check_vectors(&context, batch, &solved);
    check_values(&format!("{context} V"), &solved, &reference);
    let values = arm.solve_shifted(queue, what, batch, Jobz::N, shift);
    assert!(values.vectors.is_none() && values.failed() == 0, "{context}: {:?}", values.status);
    check_values(&format!("{context} N"), &values, &reference);
    solved
}

/// Statuses, residual, orthogonality, order, sign.
pub fn check_vectors<T: Real>(context: &str, batch: &Batched<T>, solved: &Solved<T>) {
    assert_eq!(solved.failed(), 0, "{context}: {:?}", solved.status);
    let quality = quality_tridiagonal(&batch.d, &batch.e, batch.n, solved).unwrap();
    assert!(quality.is_ok(), "{context}: {quality:?} is above {LIMIT}");
    let vectors = solved.vectors.as_ref().unwrap();
    for item in 0..batch.items() {
        let w = solved.values_of(item);
        assert!(w.is_sorted(), "{context} item {item}: {w:?}");
        for k in 0..batch.n {
            check_sign(&format!("{context} item {item} vector {k}"), vectors.column(item, k));
        }
    }
}

/// The component of largest modulus, the first of equal ones, is positive.
pub fn check_sign<T: Real>(context: &str, v: &[T]) {
    let largest = v.iter().fold(v[0], |best, x| if x.abs() > best.abs() { *x } else { best });
    assert!(largest > T::zero(), "{context}: {v:?}");
}

/// Eigenvalues of the same matrices in double precision, by the CPU family;
/// `precise.rs` holds that family to a still higher precision.
fn reference<T: Real>(batch: &Batched<T>) -> Solved<f64> {
    let Batched { n, d, e } = batch.widened();
    let options = EighTridiagonalOptions { jobz: Jobz::N, ..Default::default() };
    eigh_tridiagonal_with(&Queue::cpu(), &d, &e, n, &options).unwrap()
}

/// The values of every item against the reference.
pub fn check_values<T: Real>(context: &str, solved: &Solved<T>, reference: &Solved<f64>) {
    for item in 0..solved.status.len() {
        let context = format!("{context} item {item}");
        values::check_values(&context, solved.values_of(item), reference.values_of(item));
    }
}
