//! Values, vectors, orthogonality: the contract on every class.

use batchlas::check::{LIMIT, quality_of};
use batchlas::{Batch, Dtype, Jobz, Queue, Real, Uplo};

use crate::arms::{Arm, Solved};
use crate::classes::{all, repeated, wilkinson};
use crate::support::classes::tridiagonal::{Tridiagonal, random};
use crate::support::random::Random;
use crate::support::tridiagonal::Batched;
use crate::support::values::check_values;

/// Every class, with vectors and without.
pub fn every_class<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for &n in arm.orders() {
        let (names, items): (Vec<_>, Vec<_>) = all(n, T::DTYPE).into_iter().unzip();
        check_items::<T>(arm, &queue, n, &names, &items);
    }
}

/// Every shape of the tree.
pub fn every_order<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for &n in arm.more_orders() {
        let items = [random(&mut Random::new(n as u64), n), wilkinson(n)];
        check_items::<T>(arm, &queue, n, &["random", "Wilkinson"], &items);
    }
}

/// Nodes with more rotations than a block takes at a time.
pub fn long_chains<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let n = 280;
    let items = [repeated(&mut Random::new(5), n, T::DTYPE)];
    check_items::<T>(arm, &queue, n, &["repeated"], &items);
}

fn check_items<T: Real>(arm: Arm, queue: &Queue, n: usize, names: &[&str], items: &[Tridiagonal]) {
    let batch = Batched::<T>::new(n, items);
    let exact = reference(&batch);
    for jobz in [Jobz::V, Jobz::N] {
        let solved = arm.solve(queue, "classes", &batch, jobz);
        for (item, name) in names.iter().enumerate() {
            let context = format!("{arm:?} {} {name} n={n} {jobz}", T::DTYPE);
            assert_eq!(solved.status[item], 0, "{context}");
            let w = &solved.w[item * n..(item + 1) * n];
            assert!(w.is_sorted(), "{context}: {w:?}");
            check_values(&context, w, &exact[item * n..(item + 1) * n]);
            check_vectors(&context, &batch.item(item), w, &solved, item);
        }
    }
}

/// Eigenvalues of the same matrices in double precision, by the CPU.
fn reference<T: Real>(batch: &Batched<T>) -> Vec<f64> {
    let cpu = Arm { device: batchlas::Device::Cpu, route: "cpu" };
    cpu.solve(&Queue::cpu(), "reference", &batch.widened(), Jobz::N).w
}

/// Residual, orthogonality and signs of an item, where there are vectors.
fn check_vectors<T: Real>(context: &str, alone: &Batched<T>, w: &[T], solved: &Solved<T>, item: usize) {
    let Some(v) = &solved.v else { return };
    let n = alone.n;
    let matrix = Batch::from_fn(n, n, 1, |item, i, j| alone.get(item, i, j));
    let vectors = Batch::from_fn(n, n, 1, |_, i, j| v.get(item, i, j));
    let quality = quality_of(&matrix, Uplo::Lower, w, &vectors).unwrap();
    assert!(quality.is_ok(), "{context}: {quality:?} is above {LIMIT}");
    for k in 0..n {
        let column = v.column(item, k);
        let largest = column.iter().fold(column[0], |best, x| if x.abs() > best.abs() { *x } else { best });
        assert!(largest > T::zero(), "{context} vector {k}: {column:?}");
    }
}

pub fn a_power_of_two_changes_nothing_but_the_scale<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    if arm.route == "cpu" {
        return;
    }
    let n = 50;
    let one = Batched::<T>::new(n, &[random(&mut Random::new(7), n)]);
    let plain = arm.solve(&queue, "plain", &one, Jobz::V);
    let exponent = if T::DTYPE == Dtype::F32 { 100 } else { 900 };
    for scale in [2f64.powi(exponent), 2f64.powi(-exponent)] {
        let scale = T::round_from(scale);
        let other = arm.solve(&queue, "scaled", &one.scaled(scale), Jobz::V);
        let back: Vec<T> = other.w.iter().map(|x| *x / scale).collect();
        assert_eq!(plain.w, back, "{arm:?} {scale}");
        assert_eq!(plain.v.as_ref().unwrap().as_slice(), other.v.unwrap().as_slice(), "{arm:?} {scale}");
    }
}
