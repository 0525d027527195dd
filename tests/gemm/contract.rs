//! What is read and what is not, empty shapes, bits, numbers that are none.

use batchlas::ops::gemm::Op;
use batchlas::{Queue, Scalar};

use crate::arms::Arm;
use crate::data::{Case, Inputs, each};
use crate::reference::check;
use crate::support::bits;

/// Shapes within a tile and past its edge.
fn shapes(arm: Arm) -> Vec<Case> {
    let case = |m, n, k, gap| Case::new((Op::N, Op::T), m, n, k, 2, gap);
    let mut cases = vec![case(9, 6, 5, 1), case(36, 40, 20, 0)];
    if !arm.is_slow() {
        cases.push(case(200, 150, 70, 0));
    }
    cases.retain(|case| case.m.max(case.n) <= arm.max_order());
    cases
}

fn run<T: Scalar>(arm: Arm, queue: &Queue, case: &Case, inputs: &Inputs<T>) {
    let result = arm.multiply(queue, case, inputs);
    check(&arm, case, inputs, &result);
}

/// With beta = 0 NaN in C does not matter.
pub fn c_is_not_read_without_beta<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for case in shapes(arm) {
        let mut inputs = Inputs::<T>::new(&case, 3);
        inputs.beta = T::zero();
        inputs.c.fill(T::nan());
        run(arm, &queue, &case, &inputs);
        inputs.alpha = T::one();
        run(arm, &queue, &case, &inputs);
    }
}

/// With alpha = 0 NaN in A and B does not matter, and C becomes beta C.
pub fn factors_are_not_read_without_alpha<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for case in shapes(arm) {
        let mut inputs = Inputs::<T>::new(&case, 4);
        inputs.alpha = T::zero();
        inputs.a.fill(T::nan());
        inputs.b.fill(T::nan());
        run(arm, &queue, &case, &inputs);
        inputs.beta = T::zero();
        inputs.c.fill(T::nan());
        run(arm, &queue, &case, &inputs);
    }
}

/// k = 0: C becomes beta C, also where alpha is no number.
pub fn no_depth<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for ops in [(Op::N, Op::N), (Op::C, Op::T)] {
        let case = Case::new(ops, 17, 34, 0, 2, 1);
        let mut inputs = Inputs::<T>::new(&case, 5);
        run(arm, &queue, &case, &inputs);
        let scaled = arm.multiply(&queue, &case, &inputs);
        inputs.alpha = T::nan();
        assert_eq!(bits(&arm.multiply(&queue, &case, &inputs)), bits(&scaled), "{arm:?}");
    }
}

/// No rows, no columns, no items.
pub fn empty_shapes<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for (m, n, k, batch) in [(0, 3, 4, 2), (3, 0, 4, 2), (3, 4, 5, 0), (0, 0, 0, 1), (0, 0, 0, 0)] {
        let case = Case::new((Op::N, Op::C), m, n, k, batch, 1);
        run(arm, &queue, &case, &Inputs::<T>::new(&case, 6));
    }
}

/// An item has the same bits alone, at any position of a batch, and in every run.
pub fn same_bits_at_every_position<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    // The vendor's library may split a sum as it likes.
    if arm.route == "vendor" {
        return;
    }
    let cases = shapes(arm);
    // The executor is slow: one shape there.
    let first = if arm.is_slow() { cases.len() - 1 } else { 0 };
    for case in cases.into_iter().skip(first) {
        let batch = if arm.is_slow() { 3 } else { 37 };
        let case = Case { batch, ..case };
        let inputs = Inputs::<T>::new(&case, 7);
        let all = arm.multiply(&queue, &case, &inputs);
        assert_eq!(bits(&all), bits(&arm.multiply(&queue, &case, &inputs)), "{arm:?} {case:?}: another run");
        let single = Case { batch: 1, ..case };
        for item in [0, 1, batch - 1] {
            let mut alone = Inputs::<T>::new(&single, 7);
            (alone.alpha, alone.beta) = (inputs.alpha, inputs.beta);
            let part =
                |all: &[T], stride: usize, len: usize| all[item * stride..item * stride + len].to_vec();
            alone.a = part(&inputs.a, inputs.layout_a.stride(), alone.layout_a.len());
            alone.b = part(&inputs.b, inputs.layout_b.stride(), alone.layout_b.len());
            alone.c = part(&inputs.c, inputs.layout_c.stride(), alone.layout_c.len());
            let alone_c = arm.multiply(&queue, &single, &alone);
            let in_batch = part(&all, inputs.layout_c.stride(), alone.layout_c.len());
            assert_eq!(bits(&in_batch), bits(&alone_c), "{arm:?} {} {case:?} item {item}", T::DTYPE);
        }
    }
}

/// Whether words of 16 bytes begin lines or not changes how an item is read, and none of its bits.
pub fn same_bits_in_every_layout<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    // Libraries may split a sum as they like.
    if ["vendor", "cpu"].contains(&arm.route) {
        return;
    }
    for ops in [(Op::N, Op::N), (Op::T, Op::N), (Op::N, Op::C), (Op::C, Op::T)] {
        let of = |gap: usize| {
            let case = Case::new(ops, 36, 40, 20, 1, gap);
            let inputs = Inputs::<T>::new(&case, 8);
            let result = arm.multiply(&queue, &case, &inputs);
            let mut elements = Vec::new();
            each(inputs.layout_c, |_, _, _, at| elements.push(result[at]));
            bits(&elements)
        };
        let packed = of(0);
        for gap in [1, 4] {
            assert_eq!(of(gap), packed, "{arm:?} {} {ops:?} gap {gap}", T::DTYPE);
        }
    }
}

/// NaN and infinities go where arithmetic takes them, and to no other row, column or item.
pub fn values_that_are_no_numbers<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let case = Case::new((Op::T, Op::N), 21, 18, 11, 2, 1);
    let clean = Inputs::<T>::new(&case, 8);
    let good = arm.multiply(&queue, &case, &clean);
    let mut inputs = clean.clone();
    // Row 4 of op(A) in item 1, and column 2 of B in item 0.
    inputs.a[inputs.layout_a.offset(1, 3, 4)] = T::nan();
    inputs.b[inputs.layout_b.offset(0, 10, 2)] = T::from_f64(f64::INFINITY, 0.0);
    let bad = arm.multiply(&queue, &case, &inputs);
    each(inputs.layout_c, |item, i, j, at| {
        if (item, i) == (1, 4) || (item, j) == (0, 2) {
            assert!(!bad[at].is_finite(), "{arm:?}: ({i}, {j}) of item {item}");
        } else {
            let same = bits(&bad[at..=at]) == bits(&good[at..=at]);
            assert!(same, "{arm:?}: ({i}, {j}) of item {item} changed");
        }
    });
}
