//! Items of a batch: each by itself.

use batchlas::{Device, Real};

use crate::Arm;
use crate::support::bits;
use crate::support::classes::tridiagonal::{CLASSES, random};
use crate::support::random::Random;
use crate::support::tridiagonal::Batched;

/// The same bits alone and at any position of a batch.
pub fn alone_and_in_a_batch<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for n in [20, 40, 70] {
        let items: Vec<_> = (0..5).map(|k| random(&mut Random::new(k), n)).collect();
        let batch = Batched::<T>::new(n, &items);
        let all = arm.solve(&queue, &batch);
        for item in 0..items.len() {
            let alone = arm.solve(&queue, &batch.item(item));
            assert_eq!(bits(&alone.w), bits(&all.w[item * n..(item + 1) * n]), "{arm:?} n={n} item {item}");
        }
    }
}

/// NaN and infinity, first and last, in `d` and in `e`.
pub fn bad_items_touch_no_other<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let n = 34;
    let items: Vec<_> = (0..6).map(|k| random(&mut Random::new(k), n)).collect();
    let mut batch = Batched::<T>::new(n, &items);
    let clean = arm.solve(&queue, &batch);
    let Batched { d, e, .. } = &mut batch;
    d[0] = T::round_from(f64::NAN);
    d[3 * n - 1] = T::infinity();
    e[3 * (n - 1)] = T::neg_infinity();
    e[6 * (n - 1) - 1] = T::round_from(f64::NAN);
    let solved = arm.solve(&queue, &batch);
    assert_eq!(solved.status, [-1, 0, -1, -1, 0, -1], "{arm:?}");
    for item in 0..6 {
        let of = item * n..(item + 1) * n;
        if solved.status[item] == 0 {
            assert_eq!(bits(&solved.w[of.clone()]), bits(&clean.w[of]), "{arm:?} item {item}");
        } else {
            assert!(solved.w[of].iter().all(|x| x.is_nan()), "{arm:?} item {item}");
        }
    }
}

/// An item whose passes do not suffice has a status and no values; one whose interval is narrow at once is solved.
pub fn spent_budgets<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let n = 40;
    let zero = CLASSES.iter().find(|(name, _)| *name == "zero").expect("a class").1;
    let mut random = Random::new(3);
    let items =
        [crate::support::classes::tridiagonal::random(&mut random, n), zero(&mut random, n, T::DTYPE)];
    let solved = arm.solve_within(&queue, &Batched::<T>::new(n, &items), Some(3));
    assert_eq!(solved.status, [n as i32, 0], "{arm:?}");
    assert!(solved.w[..n].iter().all(|x| x.is_nan()) && solved.w[n..].iter().all(|x| x.is_zero()), "{arm:?}");
}

pub fn empty_shapes<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    if matches!(arm.device, Device::Cuda(_)) {
        queue.synchronize().unwrap();
    }
    let none = queue.alloc::<T>(0).unwrap();
    for batch in [0, 3] {
        let mut w = queue.alloc::<T>(0).unwrap();
        let mut status = queue.alloc::<i32>(batch).unwrap();
        let options = batchlas::ops::stebz::Options::default();
        batchlas::ops::stebz::solve(&queue, &none, &none, &mut w, &mut status, &options).unwrap();
        assert_eq!(queue.download(&status).unwrap(), vec![0; batch]);
    }
}
