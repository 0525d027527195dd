//! `stedc_norms`: norms of the vectors of a level, and the order of its values.

use crate::fields::{Fields, Place, RealField, WordField};
use crate::tree::{Blocks, pitch};
use cuda_std::prelude::*;

pub use crate::tree::THREADS;

/// Bytes of shared memory of a block for nodes of at most `rows` rows.
pub const fn shared_bytes(rows: usize, real_bytes: usize) -> usize {
    3 * pitch(rows as u32) as usize * real_bytes * Blocks::new(rows as u32).nodes() as usize
}

/// Finds the norm of each root's vector, and the place of each value in ascending order.
///
/// # Layout and shapes
/// `reals`, `words`: [`Fields`]: slots, roots and `Listed` are read; `Norm`, `Rank` and `Value` written.
///
/// # Lanes
/// A thread a value, [`Blocks`].
///
/// # Shared memory
/// [`shared_bytes`]: poles and weights of the slots, and the values, of each node of the block.
///
/// # Synchronisation
/// One block barrier.
///
/// # Numerics
/// Roots ascend by construction; a deflated value finds its place among them by bisection, and among its likes by
/// counting. Of equal values roots come first.
///
/// # Safety
/// The views cover the items; the launch gives the blocks and [`shared_bytes`].
///
/// # Source
/// LAPACK's `dlaed3`.
#[kernel(T = [f32, f64], launch_bounds(128))]
pub unsafe fn stedc_norms<T: Real>(
    reals: GlobalMut<T>,
    words: GlobalMut<u32>,
    n: u32,
    batch: u64,
    level: u32,
    leaf: u32,
    largest: u32,
) {
    let fields = Fields::new(reals, words, n, batch);
    let Place { blocks, node, value: j, slot, poles: k, rows } = fields.place(level, leaf, largest);
    let pitch = pitch(largest);
    let first = slot as usize * 3 * pitch as usize * size_of::<T>();
    // SAFETY: the launch gives shared_bytes(largest); the two parts are disjoint.
    let (slots, values) = unsafe {
        (
            dynamic_shared_mem::<T>(first, 2 * pitch as usize).as_pairs(),
            dynamic_shared_mem::<T>(first + 2 * pitch as usize * size_of::<T>(), pitch as usize),
        )
    };
    let from = |field| fields.reals(field, node);
    let (pole, weight, listed) =
        (from(RealField::SlotPole), from(RealField::SlotWeight), from(RealField::Listed));
    let mut i = blocks.rank();
    while i < rows {
        if i < k {
            slots.set(i, [pole.get(i as usize), weight.get(i as usize)].into());
        }
        values.set(i, listed.get(i as usize));
        i += blocks.width;
    }
    thread::sync_threads();
    if j >= rows {
        return;
    }
    let at = j as usize;
    let own = values.get(j);
    let mut rank = j;
    if j < k {
        let (origin, tau) = (from(RealField::Origin).get(at), from(RealField::Tau).get(at));
        let component = |s: u32| {
            let [pole, weight] = slots.get(s).into();
            weight * ((pole - origin) - tau).recip_approx()
        };
        let (mut even, mut odd) = (T::ZERO, T::ZERO);
        let mut s = 0;
        while s + 1 < k {
            let (a, b) = (component(s), component(s + 1));
            even = a.mul_add(a, even);
            odd = b.mul_add(b, odd);
            s += 2;
        }
        if s < k {
            let a = component(s);
            even = a.mul_add(a, even);
        }
        from(RealField::Norm).set(at, (even + odd).rsqrt_approx());
        for t in k..rows {
            rank += (values.get(t) < own) as u32;
        }
    } else {
        let (mut low, mut high) = (0, k);
        while low < high {
            let middle = (low + high) / 2;
            if values.get(middle) <= own {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        rank = low;
        for t in k..rows {
            let other = values.get(t);
            rank += (other < own || (other == own && t < j)) as u32;
        }
    }
    fields.words(WordField::Rank, node).set(at, rank);
    from(RealField::Value).set(rank as usize, own);
}
