//! `stedc_divide`: scaled items, cut into leaves.

use crate::fields::{Fields, RealField, WordField};
use crate::tree::first_row;
use cuda_std::prelude::*;

/// Threads a block.
pub const THREADS: u32 = 128;

/// Bytes of shared memory of a block.
pub const fn shared_bytes(real_bytes: usize) -> usize {
    (THREADS as usize / 32) * real_bytes
}

/// Scales each item and cuts it into leaves.
///
/// # Layout and shapes
/// `d`: `n` diagonal elements an item, items `d_stride` apart; `e`: `n - 1` off-diagonals, `e_stride` apart. Both are only
/// read. `leaf_d`, `leaf_e`: `leaf` and `leaf - 1` elements a leaf, `2^levels` leaves an item: the diagonal less the size of
/// the couplings that are cut, and the couplings within. A smaller leaf ends in a row of its own with the value 16, above
/// its spectrum. `reals`, `words`: [`Fields`], of which `Cut` and `Failed` are set. `scale`: the power of two that an item
/// was multiplied by. `status`: -1 where an element is not finite, with a matrix of zeros in its place, else 0.
///
/// # Lanes
/// A block an item.
///
/// # Shared memory
/// [`shared_bytes`]: the largest element that each warp has seen.
///
/// # Synchronisation
/// One block barrier.
///
/// # Numerics
/// Elements of at most 2 in modulus. `T = diag(T1, T2) + |rho| v v^T` with `v = (0 .. 1, sign(rho) .. 0)`.
///
/// # Safety
/// The views cover the items; the launch gives a block of [`THREADS`] an item.
///
/// # Source
/// Cuppen, 1981; LAPACK's `dlaed0`; `docs/algorithms/stedc.md`.
#[kernel(T = [f32, f64], launch_bounds(128))]
pub unsafe fn stedc_divide<T: Real>(
    d: Global<T>,
    e: Global<T>,
    leaf_d: GlobalMut<T>,
    leaf_e: GlobalMut<T>,
    reals: GlobalMut<T>,
    words: GlobalMut<u32>,
    scale: GlobalMut<T>,
    status: GlobalMut<i32>,
    n: u32,
    d_stride: u64,
    e_stride: u64,
    batch: u64,
    levels: u32,
    leaf: u32,
) {
    let item = thread::block_idx_x() as u64;
    let thread = thread::thread_idx_x();
    let (d, e) = (d.at((item * d_stride) as usize), e.at((item * e_stride) as usize));
    let fields = Fields::new(reals, words, n, batch);

    let (mut largest, mut finite) = (T::ZERO, true);
    let mut i = thread;
    while i < n {
        let x = d.get(i as usize);
        let y = if i + 1 < n { e.get(i as usize) } else { T::ZERO };
        finite &= x.is_finite() && y.is_finite();
        largest = largest.max(x.abs()).max(y.abs());
        i += THREADS;
    }
    let tile = tiled_partition::<32>();
    let largest = tile.reduce(largest, |a, b| a.max(b));
    // SAFETY: the launch gives an element a warp.
    let all = unsafe { dynamic_shared_mem::<T>(0, (THREADS / 32) as usize) };
    if tile.rank() == 0 {
        all.set(thread / 32, largest);
    }
    let finite = thread::sync_threads_and(finite);
    let mut largest = T::ZERO;
    for warp in 0..THREADS / 32 {
        largest = largest.max(all.get(warp));
    }
    let factor = if finite { largest.normalizer() } else { T::ONE };
    let diagonal = |i: u32| if finite { d.get(i as usize) * factor } else { T::ZERO };
    let coupling = |i: u32| if finite { e.get(i as usize) * factor } else { T::ZERO };
    if thread == 0 {
        scale.set(item as usize, factor);
        status.set(item as usize, if finite { 0 } else { -1 });
    }

    let (cuts, failed) =
        (fields.item_reals(RealField::Cut, item), fields.item_words(WordField::Failed, item));
    let mut i = thread;
    while i < n {
        failed.set(i as usize, 0);
        i += THREADS;
    }
    let first = (item << levels) * leaf as u64;
    let (leaf_d, leaf_e) = (leaf_d.at(first as usize), leaf_e.at((first - (item << levels)) as usize));
    let mut at = thread;
    while at < leaf << levels {
        // A plain division by a run-time value holds a panic, which is a call.
        let m = at.checked_div(leaf).unwrap_or(0);
        let row = at - m * leaf;
        let (start, end) = (first_row(n, levels, m), first_row(n, levels, m + 1));
        let i = start + row;
        let mut x = if i < end { diagonal(i) } else { T::from_u32(16) };
        if row == 0 && m > 0 {
            let cut = coupling(i - 1);
            cuts.set(i as usize, cut);
            x -= cut.abs();
        }
        if i + 1 == end && end < n {
            x -= coupling(i).abs();
        }
        leaf_d.set(at as usize, x);
        if row + 1 < leaf {
            leaf_e.set((at - m) as usize, if i + 1 < end { coupling(i) } else { T::ZERO });
        }
        at += THREADS;
    }
}
