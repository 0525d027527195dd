//! Orders and input classes.

use batchlas::{Jobz, Real, Scalar, Uplo};

use crate::arms::Arm;
use crate::checks::check_items;
use crate::support::classes::CLASSES;
use crate::support::random::Random;
use crate::support::{Matrix, bits, poisoned};

/// Random matrices of every order of the house list, either triangle, the other one poisoned.
pub fn every_order<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for n in arm.orders(T::DTYPE) {
        let mut random = Random::new(n as u64);
        let items: Vec<Matrix> = (0..arm.items(7)).map(|_| random.hermitian(n)).collect();
        for uplo in [Uplo::Lower, Uplo::Upper] {
            check_items::<T>(arm, &queue, "random", &items, uplo);
        }
    }
}

pub fn every_class_lower<T: Scalar>(arm: Arm) {
    every_class::<T>(arm, Uplo::Lower);
}

pub fn every_class_upper<T: Scalar>(arm: Arm) {
    every_class::<T>(arm, Uplo::Upper);
}

/// Two items of every class, the classes of one order in one batch.
fn every_class<T: Scalar>(arm: Arm, uplo: Uplo) {
    let Some(queue) = arm.queue() else { return };
    for n in arm.class_orders(T::DTYPE, uplo) {
        let mut random = Random::new(1000 + n as u64);
        for (name, make) in CLASSES {
            let items: Vec<Matrix> = (0..arm.items(2).min(if n > 64 { 1 } else { 2 }))
                .map(|_| make(&mut random, n, T::DTYPE))
                .collect();
            check_items::<T>(arm, &queue, name, &items, uplo);
        }
    }
}

/// s A has the values of A times s and the very vectors of A.
pub fn a_power_of_two_changes_nothing_but_the_scale<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    if !arm.keeps_bits() {
        return;
    }
    for n in [3, 6, 12, 32, 130].into_iter().filter(|n| *n <= arm.max_n(T::DTYPE)) {
        let item = Random::new(5).hermitian(n);
        let plain =
            arm.solve(&queue, &poisoned::<T>(std::slice::from_ref(&item), Uplo::Lower), Uplo::Lower, Jobz::V);
        // Far from the ends of the range, where a family may scale or not.
        for exponent in [-30, -3, 3, 30] {
            let s = 2f64.powi(exponent);
            let scaled = poisoned::<T>(&[item.clone().scaled(s)], Uplo::Lower);
            let scaled = arm.solve(&queue, &scaled, Uplo::Lower, Jobz::V);
            let expected: Vec<T::Real> =
                plain.values.iter().map(|x| T::Real::round_from(x.widen() * s)).collect();
            assert_eq!(bits(&scaled.values), bits(&expected), "{arm:?} {} n={n} 2^{exponent}", T::DTYPE);
            let (x, y) = (scaled.vectors.unwrap(), plain.vectors.as_ref().unwrap());
            assert_eq!(bits(x.as_slice()), bits(y.as_slice()), "{arm:?} {} n={n} 2^{exponent}", T::DTYPE);
        }
    }
}
