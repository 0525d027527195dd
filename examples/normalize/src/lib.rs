//! A kernel crate: [`normalize()`] scales each vector of a batch to unit length.

#[cfg(not(target_os = "cuda"))]
use cuda_std::launch::{KernelInfo, LaunchConfig};
use cuda_std::prelude::*;

/// All kernels of this crate.
#[cfg(not(target_os = "cuda"))]
pub static KERNELS: &[&KernelInfo] = &[&normalize::KERNEL];

/// Threads a block.
pub const THREADS: u32 = 128;

/// The launch for `batch` vectors by tiles of `lanes` lanes.
#[cfg(not(target_os = "cuda"))]
pub fn config(batch: u32, lanes: u32) -> LaunchConfig {
    LaunchConfig::new(batch.div_ceil(THREADS / lanes), THREADS)
}

/// Scales each vector of a batch to unit length.
///
/// # Layout and shapes
/// `x`: `batch` vectors of `n` elements, back to back, overwritten; a vector of zeros stays as it is. `norms`:
/// the `batch` lengths that they had.
///
/// # Lanes
/// A tile of `P` lanes a vector; a lane takes every `P`-th element.
///
/// # Shared memory
/// None.
///
/// # Synchronisation
/// Shuffles of the tile. A tile past the last vector takes part with nothing.
///
/// # Numerics
/// Operations of IEEE 754 in an order that `n` and `P` fix, so that the executor and a GPU give the same bits.
/// Squares are not guarded against overflow.
///
/// # Safety
/// The views cover the batch; blocks are whole warps.
///
/// # Source
/// Ours.
#[kernel(T = [f32, f64], P = [8, 32], launch_bounds(128))]
pub unsafe fn normalize<T: Real, const P: u32>(x: GlobalMut<T>, norms: GlobalMut<T>, n: u32, batch: u32) {
    let tile = tiled_partition::<P>();
    let item = thread::index_1d() / P as usize;
    let live = item < batch as usize;
    let x = x.at(item * n as usize);

    let mut sum = T::ZERO;
    let mut i = tile.rank();
    while live && i < n {
        let element = x.get(i as usize);
        sum = element.mul_add(element, sum);
        i += P;
    }
    let norm = tile.reduce(sum, |a, b| a + b).sqrt();

    let mut i = tile.rank();
    while norm > T::ZERO && i < n {
        x.set(i as usize, x.get(i as usize) / norm);
        i += P;
    }
    if live && tile.rank() == 0 {
        norms.set(item, norm);
    }
}
