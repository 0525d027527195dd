//! `stedc_secular`: the roots of the secular equations of a level.

use crate::fields::{Fields, Place, RealField, WordField};
use crate::secular::{Poles, root};
use crate::tree::{Blocks, pitch};
use cuda_std::prelude::*;

pub use crate::tree::THREADS;

/// Bytes of shared memory of a block for nodes of at most `rows` rows.
pub const fn shared_bytes(rows: usize, real_bytes: usize) -> usize {
    2 * pitch(rows as u32) as usize * real_bytes * Blocks::new(rows as u32).nodes() as usize
}

/// Poles and squared weights in shared memory.
#[derive(Clone, Copy)]
struct Staged<T: Real>(Shared<T::Pair>);

impl<T: Real> Poles<T> for Staged<T> {
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn get(self, i: u32) -> (T, T) {
        let [pole, square] = self.0.get(i).into();
        (pole, square)
    }
}

/// Finds the roots of each node's secular equation.
///
/// # Layout and shapes
/// `reals`, `words`: [`Fields`]: `Cut`, `Pole` and `Weight` are read; `Origin`, `Tau` and the first part of `Listed` written;
/// a root that was not found adds 1 to its place in `Failed`.
///
/// # Lanes
/// A thread a root, [`Blocks`].
///
/// # Shared memory
/// [`shared_bytes`]: poles and squared weights of each node of the block.
///
/// # Synchronisation
/// One block barrier.
///
/// # Numerics
/// Li's iteration from a start by the two poles around the root, in a bracket that shrinks; at most 64 evaluations. A root
/// is within 8 units of roundoff of the sum of the sizes of the terms, or of what rounding lets the sum reach.
///
/// # Safety
/// The views cover the items; the launch gives the blocks and [`shared_bytes`].
///
/// # Source
/// Li, 1993, LAPACK Working Note 89; LAPACK's `dlaed4`; `docs/algorithms/stedc.md`.
#[kernel(T = [f32, f64], launch_bounds(128))]
pub unsafe fn stedc_secular<T: Real>(
    reals: GlobalMut<T>,
    words: GlobalMut<u32>,
    n: u32,
    batch: u64,
    level: u32,
    leaf: u32,
    largest: u32,
) {
    let fields = Fields::new(reals, words, n, batch);
    let Place { blocks, node, value: j, slot, poles: k, .. } = fields.place(level, leaf, largest);
    let pitch = pitch(largest);
    let first = slot as usize * 2 * pitch as usize * size_of::<T>();
    // SAFETY: the launch gives shared_bytes(largest).
    let staged = unsafe { dynamic_shared_mem::<T>(first, 2 * pitch as usize) }.as_pairs();
    let (poles, weights) = (fields.reals(RealField::Pole, node), fields.reals(RealField::Weight, node));
    let mut i = blocks.rank();
    while i < k {
        let weight = weights.get(i as usize);
        staged.set(i, [poles.get(i as usize), weight * weight].into());
        i += blocks.width;
    }
    thread::sync_threads();
    if j >= k {
        return;
    }
    let rho = fields.item_reals(RealField::Cut, node.item).get(node.middle as usize).abs() * T::TWO;
    let root = root(Staged(staged), k, j, rho, thread::block_dim_x() / (THREADS / 32));
    let at = j as usize;
    fields.reals(RealField::Origin, node).set(at, root.origin);
    fields.reals(RealField::Tau, node).set(at, root.tau);
    fields.reals(RealField::Listed, node).set(at, root.origin + root.tau);
    if !root.converged {
        let failed = fields.words(WordField::Failed, node);
        failed.set(at, failed.get(at) + 1);
    }
}
