//! Orders, input classes, shifts, bases.

use batchlas::ops::steqr::{Options, Shift, solve};
use batchlas::{Batch, DeviceBatch, Jobz, Queue, Real};

use crate::arms::{Arm, Solved};
use crate::checks::{check_items, check_sign};
use crate::support::bits;
use crate::support::classes::tridiagonal::{CLASSES, Tridiagonal, random};
use crate::support::random::Random;
use crate::support::tridiagonal::Batched;

/// Normal random matrices of every order of the house list.
pub fn every_order<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for n in arm.orders() {
        let mut r = Random::new(n as u64);
        let items: Vec<Tridiagonal> = (0..arm.items(7)).map(|_| random(&mut r, n)).collect();
        check_items::<T>(arm, &queue, "random", &Batched::new(n, &items), Shift::Lapack);
    }
}

/// Every class, in orders on both sides of each number of lanes.
pub fn every_class<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for (n, shift) in [
        (2, Shift::Lapack),
        (3, Shift::Wilkinson),
        (6, Shift::Lapack),
        (8, Shift::Wilkinson),
        (16, Shift::Lapack),
        (29, Shift::Wilkinson),
        (32, Shift::Lapack),
        (46, Shift::Wilkinson),
        (130, Shift::Lapack),
    ] {
        if n > arm.max_n() {
            continue;
        }
        let mut r = Random::new(1000 + n as u64);
        for (name, make) in CLASSES {
            let count = if n > 16 { arm.items(2).min(1) } else { arm.items(2) };
            let items: Vec<Tridiagonal> = (0..count).map(|_| make(&mut r, n, T::DTYPE)).collect();
            check_items::<T>(arm, &queue, name, &Batched::new(n, &items), shift);
        }
    }
}

/// The two formulas name the same number: values agree within the contract, whatever the bits.
pub fn both_shifts<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for n in [4, 11, 24, 65].into_iter().filter(|n| *n <= arm.max_n()) {
        let mut r = Random::new(7 + n as u64);
        let items: Vec<Tridiagonal> = (0..arm.items(9)).map(|_| random(&mut r, n)).collect();
        let batch = Batched::<T>::new(n, &items);
        for shift in [Shift::Lapack, Shift::Wilkinson] {
            check_items(arm, &queue, "both shifts", &batch, shift);
        }
    }
}

/// s T has the values of T times s and the very vectors of T.
pub fn a_power_of_two_changes_nothing_but_the_scale<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for n in [3, 6, 12, 32, 130].into_iter().filter(|n| *n <= arm.max_n()) {
        let item = random(&mut Random::new(5), n);
        let plain = Batched::<T>::new(n, std::slice::from_ref(&item));
        let plain = arm.solve(&queue, "plain", &plain, Jobz::V);
        for exponent in [-30, -3, 3, 30] {
            let s = 2f64.powi(exponent);
            let scaled = Batched::<T>::new(n, &[item.clone().scaled(s)]);
            let scaled = arm.solve(&queue, "scaled", &scaled, Jobz::V);
            let expected: Vec<T> = plain.values.iter().map(|x| T::round_from(x.widen() * s)).collect();
            let context = format!("{arm:?} {} n={n} 2^{exponent}", T::DTYPE);
            assert_eq!(bits(&scaled.values), bits(&expected), "{context}");
            assert_eq!(bits_of(&scaled), bits_of(&plain), "{context}");
        }
    }
}

fn bits_of<T: Real>(solved: &Solved<T>) -> Vec<(u64, u64)> {
    bits(solved.vectors.as_ref().expect("vectors").as_slice())
}

/// In place on device memory, from a basis: `q` times the vectors from the identity, up to rounding and signs.
pub fn a_basis_turns_along<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for n in [1, 2, 5, 8, 13, 32, 40].into_iter().filter(|n| *n <= arm.max_n()) {
        let mut r = Random::new(60 + n as u64);
        let count = arm.items(3);
        let items: Vec<Tridiagonal> = (0..count).map(|_| random(&mut r, n)).collect();
        let batch = Batched::<T>::new(n, &items);
        let plain = arm.solve(&queue, "from the identity", &batch, Jobz::V);
        // Any numbers will do for a basis, also ones that are not orthonormal.
        let basis = Batch::<T>::from_fn(n, n, count, |_, _, _| T::round_from(r.symmetric()));
        let mut q = DeviceBatch::upload(&queue, &basis).unwrap();
        let options = Options { back_transform: true, route: Some(arm.pin()), ..Options::default() };
        let (w, status) = in_place(&queue, &batch, Some(&mut q), &options);
        assert!(status.iter().all(|s| *s == 0));
        let context = format!("{arm:?} {} n={n}", T::DTYPE);
        assert_eq!(bits(&w), bits(&plain.values), "{context}: a basis does not touch the values");
        let turned = q.download(&queue).unwrap();
        let vectors = plain.vectors.as_ref().unwrap();
        for (item, k) in (0..count).flat_map(|item| (0..n).map(move |k| (item, k))) {
            let column = turned.column(item, k);
            check_sign(&context, column);
            let product: Vec<f64> = (0..n)
                .map(|i| (0..n).map(|j| (basis.get(item, i, j) * vectors.get(item, j, k)).widen()).sum())
                .collect();
            let near = |sign: f64| {
                let off = |i: usize| (column[i].widen() - sign * product[i]).abs();
                (0..n).map(off).fold(0.0, f64::max) <= 40.0 * n as f64 * T::DTYPE.epsilon()
            };
            assert!(near(1.0) || near(-1.0), "{context} item {item} vector {k}: {column:?} {product:?}");
        }
    }
}

/// Without sorting the same pairs come out, in the order in which they were found.
pub fn the_order_may_stay<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for n in [1, 4, 7, 16, 32, 40].into_iter().filter(|n| *n <= arm.max_n()) {
        let mut r = Random::new(80 + n as u64);
        let count = arm.items(3);
        let items: Vec<Tridiagonal> = (0..count).map(|_| random(&mut r, n)).collect();
        let batch = Batched::<T>::new(n, &items);
        let sorted = arm.solve(&queue, "sorted", &batch, Jobz::V);
        let options = Options { sort: false, route: Some(arm.pin()), ..Options::default() };
        let layout = batchlas::Layout::packed(n, n, count);
        let mut q = DeviceBatch::alloc(&queue, layout).unwrap();
        let (w, _) = in_place(&queue, &batch, Some(&mut q), &options);
        let q = q.download(&queue).unwrap();
        for item in 0..count {
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|x, y| w[item * n + x].widen().total_cmp(&w[item * n + y].widen()));
            for (k, from) in order.into_iter().enumerate() {
                assert_eq!(w[item * n + from], sorted.values_of(item)[k], "{arm:?} n={n}");
                let (x, y) = (q.column(item, from), sorted.vectors.as_ref().unwrap().column(item, k));
                assert_eq!(bits(x), bits(y), "{arm:?} n={n} item {item} vector {k}");
            }
        }
    }
}

/// Solves on device memory; values and statuses.
pub fn in_place<T: Real>(
    queue: &Queue,
    batch: &Batched<T>,
    q: Option<&mut DeviceBatch<T>>,
    options: &Options,
) -> (Vec<T>, Vec<i32>) {
    let mut d = queue.upload(&batch.d).unwrap();
    let e = queue.upload(&batch.e).unwrap();
    let mut status = queue.upload(&vec![99i32; batch.items()]).unwrap();
    solve(queue, &mut d, &e, q, &mut status, options).unwrap_or_else(|error| panic!("{options:?}: {error}"));
    assert_eq!(bits(&queue.download(&e).unwrap()), bits(&batch.e), "off-diagonals are only read");
    (queue.download(&d).unwrap(), queue.download(&status).unwrap())
}
