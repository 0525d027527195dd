//! `stedc_weights`: the rank-one vectors of which the computed roots are the exact ones.

use crate::fields::{Fields, Place, RealField, WordField};
use crate::tree::{Blocks, pitch};
use cuda_std::prelude::*;

pub use crate::tree::THREADS;

/// Bytes of shared memory of a block for nodes of at most `rows` rows.
pub const fn shared_bytes(rows: usize, real_bytes: usize) -> usize {
    3 * pitch(rows as u32) as usize * real_bytes * Blocks::new(rows as u32).nodes() as usize
}

/// Recomputes the weights from the roots.
///
/// # Layout and shapes
/// `reals`, `words`: [`Fields`]: poles, weights (their signs), roots and slots are read; `SlotPole` and `SlotWeight` written.
///
/// # Lanes
/// A thread a pole, [`Blocks`].
///
/// # Shared memory
/// [`shared_bytes`]: poles and roots of each node of the block.
///
/// # Synchronisation
/// One block barrier.
///
/// # Numerics
/// Loewner's product `prod_j (d_i - x_j) / (d_i - d_j)`, without the factor `1 / rho` that all have in common. Vectors
/// computed from it are orthogonal however close the roots are. Two factors share a reciprocal.
///
/// # Safety
/// The views cover the items; the launch gives the blocks and [`shared_bytes`].
///
/// # Source
/// Gu and Eisenstat, 1994 and 1995; LAPACK's `dlaed3`.
#[kernel(T = [f32, f64], launch_bounds(128))]
pub unsafe fn stedc_weights<T: Real>(
    reals: GlobalMut<T>,
    words: GlobalMut<u32>,
    n: u32,
    batch: u64,
    level: u32,
    leaf: u32,
    largest: u32,
) {
    let fields = Fields::new(reals, words, n, batch);
    let Place { blocks, node, value: own, slot, poles: k, .. } = fields.place(level, leaf, largest);
    let rows = pitch(largest) as usize;
    let part = |p: usize| {
        // SAFETY: the launch gives shared_bytes(largest); the parts are disjoint.
        unsafe { dynamic_shared_mem::<T>((slot as usize * 3 + p) * rows * size_of::<T>(), rows) }
    };
    let (poles, origins, taus) = (part(0), part(1), part(2));
    let from = |field| fields.reals(field, node);
    let (pole, origin, tau) = (from(RealField::Pole), from(RealField::Origin), from(RealField::Tau));
    let mut i = blocks.rank();
    while i < k {
        poles.set(i, pole.get(i as usize));
        origins.set(i, origin.get(i as usize));
        taus.set(i, tau.get(i as usize));
        i += blocks.width;
    }
    thread::sync_threads();
    if own >= k {
        return;
    }
    let d = poles.get(own);
    let above = |j: u32| (d - origins.get(j)) - taus.get(j);
    let below = |j: u32| if j == own { T::ONE } else { d - poles.get(j) };
    let mut product = T::ONE;
    let mut j = 0;
    while j + 1 < k {
        let inverse = (below(j) * below(j + 1)).recip_approx();
        product *= (above(j) * above(j + 1)) * inverse;
        j += 2;
    }
    if j < k {
        product *= above(j) * below(j).recip_approx();
    }
    // Its sign is that of the one factor without a denominator, which is negative.
    let square = product.abs().max(T::SAFE_MIN);
    let size = square.rsqrt().times(square);
    let at = fields.words(WordField::Slot, node).get(own as usize) as usize;
    let old = fields.reals(RealField::Weight, node).get(own as usize);
    fields.reals(RealField::SlotPole, node).set(at, d);
    fields.reals(RealField::SlotWeight, node).set(at, size.copysign(old));
}
