//! `stedc_values`: eigenvalues on the scale of the item, and its status.

use crate::fields::{Fields, WordField};
use cuda_std::prelude::*;

/// Threads a block.
pub const THREADS: u32 = 128;

/// Brings the values back to the scale of the item and tells what became of it.
///
/// # Layout and shapes
/// `values`: `n` an item, `values_stride` apart; `scale`: what the item was multiplied by; `leaf_status`: one a leaf,
/// `2^levels` an item. `words`: [`Fields`], of which `Failed` is read. `w`: `batch * n` values. `status`: -1 stays; else 0, or
/// the number of couplings and roots that did not converge. Where it is not 0 the values are NaN.
///
/// # Lanes
/// A warp an item.
///
/// # Shared memory
/// None.
///
/// # Synchronisation
/// Shuffles of the warp.
///
/// # Numerics
/// One product by a power of two.
///
/// # Safety
/// The views cover the items; blocks are whole warps.
///
/// # Source
/// Ours.
#[kernel(T = [f32, f64], launch_bounds(128))]
pub unsafe fn stedc_values<T: Real>(
    values: Global<T>,
    scale: Global<T>,
    leaf_status: Global<i32>,
    reals: GlobalMut<T>,
    words: GlobalMut<u32>,
    w: GlobalMut<T>,
    status: GlobalMut<i32>,
    n: u32,
    batch: u64,
    values_stride: u64,
    levels: u32,
) {
    let tile = tiled_partition::<32>();
    let item = (thread::index_1d() / 32) as u64;
    if item >= batch {
        return;
    }
    let failed = Fields::new(reals, words, n, batch).item_words(WordField::Failed, item);
    let mut sum = 0u32;
    let mut i = tile.rank();
    while i < n {
        sum += failed.get(i as usize);
        i += 32;
    }
    let leaves = leaf_status.at((item << levels) as usize);
    let mut i = tile.rank();
    while i < 1 << levels {
        sum += leaves.get(i as usize).unsigned_abs();
        i += 32;
    }
    let sum = tile.reduce(sum, |a, b| a + b);
    let bad = status.get(item as usize) != 0;
    let back = scale.get(item as usize).normalizer();
    let (values, w) = (values.at((item * values_stride) as usize), w.at(item as usize * n as usize));
    let mut i = tile.rank();
    while i < n {
        w.set(i as usize, if bad || sum > 0 { T::NAN } else { values.get(i as usize) * back });
        i += 32;
    }
    tile.sync();
    if tile.rank() == 0 && !bad {
        status.set(item as usize, sum as i32);
    }
}
