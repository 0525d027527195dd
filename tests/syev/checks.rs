//! The numerical contract, as assertions.

use batchlas::check::{LIMIT, quality};
use batchlas::linalg::{Eigh, EighOptions, eigh_with};
use batchlas::{Batch, Complex, Jobz, Queue, Real, Scalar, Uplo};

use crate::arms::Arm;
use crate::support::{Matrix, poisoned, values};

/// Solves with vectors and for values only, and holds both to the contract.
pub fn check_items<T: Scalar>(arm: Arm, queue: &Queue, what: &str, items: &[Matrix], uplo: Uplo) -> Eigh<T> {
    let a = poisoned::<T>(items, uplo);
    let solved = arm.solve_named(queue, what, &a, uplo, Jobz::V);
    let context = format!("{arm:?} {} {what} n={} {uplo}", T::DTYPE, a.rows());
    if arm.is_vendor() {
        check_vendor(&context, what, &a, uplo, &solved);
        return solved;
    }
    check_vectors(&context, &a, uplo, &solved);
    let reference = reference(&a, uplo);
    check_values(&format!("{context} V"), &solved, &reference);
    let values = arm.solve_named(queue, what, &a, uplo, Jobz::N);
    assert!(values.vectors.is_none() && values.failed() == 0, "{context}: {:?}", values.status);
    check_values(&format!("{context} N"), &values, &reference);
    solved
}

/// The vendor's routines do not keep this library's contract: cuSOLVER 12.0.4 gave orthogonality 5e12 on the
/// matrix of ones (n = 16, f64) and 60 on random ones (syevj, n = 128). What is held here is that the family
/// passes results on as they are: right to two digits less than the contract, on plain input.
fn check_vendor<T: Scalar>(context: &str, what: &str, a: &Batch<T>, uplo: Uplo, solved: &Eigh<T>) {
    if !matches!(what, "random" | "many") {
        return;
    }
    assert_eq!(solved.failed(), 0, "{context}: {:?}", solved.status);
    let quality = quality(a, uplo, solved).unwrap();
    let worst = quality.max_residual.max(quality.max_orthogonality);
    assert!(worst <= 100.0 * LIMIT, "{context}: {quality:?}");
}

/// Statuses, residual, orthogonality, order, sign.
pub fn check_vectors<T: Scalar>(context: &str, a: &Batch<T>, uplo: Uplo, solved: &Eigh<T>) {
    assert_eq!(solved.failed(), 0, "{context}: {:?}", solved.status);
    let quality = quality(a, uplo, solved).unwrap();
    assert!(quality.is_ok(), "{context}: {quality:?} is above {LIMIT}");
    for item in 0..a.batch() {
        let w = solved.values_of(item);
        assert!(w.is_sorted(), "{context} item {item}: {w:?}");
        let vectors = solved.vectors.as_ref().unwrap();
        for k in 0..a.rows() {
            check_sign(&format!("{context} item {item} vector {k}"), vectors.column(item, k));
        }
    }
}

/// The component of largest modulus is real and positive, up to the rounding
/// of moduli that are nearly equal.
fn check_sign<T: Scalar>(context: &str, v: &[T]) {
    let modulus = |x: &T| x.abs_sq().widen().sqrt();
    let max = v.iter().map(modulus).fold(0.0, f64::max);
    let close = 1.0 - 64.0 * T::DTYPE.epsilon();
    let turned = v.iter().any(|x| {
        modulus(x) >= max * close && x.re().widen() > 0.0 && x.im().widen().abs() <= 64.0 * T::DTYPE.epsilon()
    });
    assert!(turned, "{context}: {v:?}");
}

/// Eigenvalues of the same matrices in double precision, by the CPU family;
/// `precise.rs` holds that family to a still higher precision.
fn reference<T: Scalar>(a: &Batch<T>, uplo: Uplo) -> Eigh<Complex<f64>> {
    let wide = Batch::from_fn(a.rows(), a.cols(), a.batch(), |item, i, j| {
        let x = a.get(item, i, j);
        Complex::new(x.re().widen(), x.im().widen())
    });
    let options = EighOptions { jobz: Jobz::N, uplo, ..Default::default() };
    eigh_with(&Queue::cpu(), &wide, &options).unwrap()
}

/// The values of every item against the reference.
pub fn check_values<T: Scalar>(context: &str, solved: &Eigh<T>, reference: &Eigh<Complex<f64>>) {
    for item in 0..solved.status.len() {
        let context = format!("{context} item {item}");
        values::check_values(&context, solved.values_of(item), reference.values_of(item));
    }
}
