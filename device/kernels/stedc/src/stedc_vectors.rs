//! `stedc_vectors`: the sign convention, and no vectors for an item without values.

use cuda_std::prelude::*;
use device_linalg::output::is_turned;

/// Threads a block.
pub const THREADS: u32 = 256;

/// Turns each vector so that its component of largest modulus, the first of equals, is positive; NaN where the item's
/// status is not 0.
///
/// # Layout and shapes
/// `q`: `n` by `n` an item, leading dimension `ld`, items `stride` apart. `status`: one an item. `turn` 0 leaves signs as
/// they are.
///
/// # Lanes
/// A warp a column.
///
/// # Shared memory
/// None.
///
/// # Synchronisation
/// Shuffles of the warp.
///
/// # Numerics
/// Signs only.
///
/// # Safety
/// The views cover the items; blocks are whole warps.
///
/// # Source
/// Ours.
#[kernel(T = [f32, f64], launch_bounds(256))]
pub unsafe fn stedc_vectors<T: Real>(
    q: GlobalMut<T>,
    status: Global<i32>,
    n: u32,
    ld: u32,
    stride: u64,
    batch: u64,
    turn: u32,
) {
    let tile = tiled_partition::<32>();
    let column = (thread::index_1d() / 32) as u64;
    if column >= batch * n as u64 {
        return;
    }
    let item = column.checked_div(n as u64).unwrap_or(0);
    let bad = status.get(item as usize) != 0;
    if turn == 0 && !bad {
        return;
    }
    let q = q.at((item * stride + (column - item * n as u64) * ld as u64) as usize);
    let negative = is_turned(tile, q, n, !bad);
    if !bad && !negative {
        return;
    }
    let mut i = tile.rank();
    while i < n {
        q.set(i as usize, if bad { T::NAN } else { -q.get(i as usize) });
        i += 32;
    }
}
