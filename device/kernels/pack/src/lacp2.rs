//! `lacp2`: real matrices as complex ones.

use cuda_std::prelude::*;

/// Copies real numbers to complex ones with imaginary part 0.
///
/// # Layout and shapes
/// `from`, `to`: `elements` numbers.
///
/// # Lanes
/// A thread takes four elements, a block's threads apart.
///
/// # Shared memory
/// None.
///
/// # Synchronisation
/// None.
///
/// # Numerics
/// Exact.
///
/// # Safety
/// The views hold the elements and do not overlap.
///
/// # Source
/// LAPACK's `zlacp2`.
#[kernel(T = [c32, c64], launch_bounds(256))]
pub unsafe fn lacp2<T: Scalar>(from: Global<T::Real>, to: GlobalMut<T>, elements: u64) {
    let threads = thread::block_dim_x() as usize;
    let mut at = thread::block_idx_x() as usize * (LACP2_ELEMENTS as usize * threads);
    at += thread::thread_idx_x() as usize;
    for _ in 0..LACP2_ELEMENTS {
        if at < elements as usize {
            to.set(at, T::from_real(from.get(at)));
        }
        at += threads;
    }
}

/// Elements of a thread.
pub const LACP2_ELEMENTS: u32 = 4;
