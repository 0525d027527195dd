//! `stebz_status`: what became of each item.

use cuda_std::prelude::*;

/// Counts the values that were not found, and takes the item's others away.
///
/// # Layout and shapes
/// `w`: `batch * n` eigenvalues, NaN where one was not found; all of an item's become NaN where one is. `status`: one an
/// item; 0 becomes the number of values that were not found.
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
/// None.
///
/// # Safety
/// The views cover the items; blocks are whole warps.
///
/// # Source
/// Ours.
#[kernel(T = [f32, f64], launch_bounds(128))]
pub unsafe fn stebz_status<T: Real>(w: GlobalMut<T>, status: GlobalMut<i32>, n: u32, batch: u64) {
    let tile = tiled_partition::<32>();
    let item = thread::index_1d() / 32;
    let live = (item as u64) < batch;
    let values = w.at(item * n as usize);
    let mut missing = 0u32;
    let mut i = tile.rank();
    while live && i < n {
        let x = values.get(i as usize);
        // An infinity is a value: beyond the range of the type.
        missing += (!x.is_finite() && x.abs() != T::INFINITY) as u32;
        i += 32;
    }
    let missing = tile.reduce(missing, |a, b| a + b);
    if !live || missing == 0 || status.get(item) != 0 {
        return;
    }
    tile.sync();
    let mut i = tile.rank();
    while i < n {
        values.set(i as usize, T::NAN);
        i += 32;
    }
    if tile.rank() == 0 {
        status.set(item, missing as i32);
    }
}
