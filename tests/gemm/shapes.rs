//! Right on every shape: sizes around each boundary, all pairs of ops, gaps between columns.

use batchlas::Scalar;
use batchlas::ops::gemm::Op;

use crate::arms::Arm;
use crate::data::{Case, Inputs, pairs};
use crate::reference::check;

/// Sizes around the boundaries of tiles, vectors and unrolled loops.
const SIZES: [usize; 17] = [0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65];

fn run<T: Scalar>(arm: Arm, queue: &batchlas::Queue, case: Case) {
    let inputs = Inputs::<T>::new(&case, (case.m * 31 + case.n * 7 + case.k) as u64);
    let result = arm.multiply(queue, &case, &inputs);
    check(&arm, &case, &inputs, &result);
}

/// Every size as m, as n and as k, ops, batches and gaps going round.
pub fn every_size<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let pairs = pairs();
    let rounds = if arm.is_slow() { 1 } else { 4 };
    for round in 0..rounds {
        for (at, m) in SIZES.into_iter().enumerate() {
            let (n, k) =
                (SIZES[(5 * at + 3 + round) % SIZES.len()], SIZES[(7 * at + 1 + 2 * round) % SIZES.len()]);
            // The executor is slow: complex numbers take every second case there.
            let is_left_out = arm.is_slow() && T::DTYPE.is_complex() && at % 2 == 1;
            if m.max(n) > arm.max_order() || is_left_out {
                continue;
            }
            let (ops, batch) = (pairs[(at + round) % pairs.len()], [1, 3, 1, 2][at % 4]);
            // Without a gap, with one that leaves columns aligned to 16 bytes where sizes are, and with one that does not.
            run::<T>(arm, &queue, Case::new(ops, m, n, k, batch, [3, 0, 4][(at + round) % 3]));
        }
    }
}

/// All nine pairs, with columns that are aligned to 16 bytes and without.
pub fn every_pair_of_ops<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for (at, ops) in pairs().into_iter().enumerate() {
        // The executor is slow: there the two take turns.
        if !arm.is_slow() || at % 2 == 0 {
            run::<T>(arm, &queue, Case::new(ops, 12, 20, 28, 2, 4));
        }
        if !arm.is_slow() || at % 2 == 1 || at == 0 {
            run::<T>(arm, &queue, Case::new(ops, 19, 11, 18, 1, 1));
        }
    }
}

/// One more than a tile of 128 by 128, or than the largest product of the family.
pub fn edges_of_tiles<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    if arm.max_order() < 128 {
        return run::<T>(arm, &queue, Case::new((Op::T, Op::N), 64, 64, 100, 1, 0));
    }
    run::<T>(arm, &queue, Case::new((Op::N, Op::T), 129, 130, 9, 1, 2));
    run::<T>(arm, &queue, Case::new((Op::C, Op::N), 132, 32, 36, 1, 0));
    if !arm.is_slow() {
        for (m, n, k) in [(127, 255, 300), (256, 128, 64), (33, 400, 129), (400, 33, 65), (500, 500, 500)] {
            run::<T>(arm, &queue, Case::new((Op::N, Op::N), m, n, k, 2, 0));
            run::<T>(arm, &queue, Case::new((Op::T, Op::C), m, n, k, 2, 1));
        }
    }
}

/// Each way that memory can run, over more steps of k than any family has buffers.
pub fn many_steps_in_k<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for ops in [(Op::N, Op::N), (Op::N, Op::T), (Op::T, Op::N), (Op::C, Op::C)] {
        run::<T>(arm, &queue, Case::new(ops, 20, 12, 148, 1, 0));
    }
}
