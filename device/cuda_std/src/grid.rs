//! The barrier of a cooperative launch.

/// Waits for all threads of the grid and orders global memory among them.
///
/// Only in a cooperative launch (`LaunchConfig::cooperative`): the driver refuses one that is not co-resident,
/// so the barrier cannot hang. `counter` is one zero-initialised element that only this barrier touches; it
/// survives any number of calls.
#[cfg(target_os = "cuda")]
#[inline(always)]
pub fn sync_grid(counter: crate::GlobalMut<u32>) {
    use crate::{atomic, thread};
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        atomic::fence_device();
        // Block 0 adds what makes the sum of one round exactly 2^31, so that the top bit flips once a round.
        let share = if thread::block_idx_x() == 0 { 0x8000_0000 - (thread::grid_dim_x() - 1) } else { 1 };
        let before = atomic::fetch_add(counter, 0, share);
        while (atomic::load(counter, 0) ^ before) & 0x8000_0000 == 0 {}
        atomic::fence_device();
    }
    thread::sync_threads();
}

/// Waits for all threads of the grid and orders global memory among them.
///
/// Only in a cooperative launch. `counter` is one zero-initialised element that only this barrier touches.
#[cfg(not(target_os = "cuda"))]
#[track_caller]
pub fn sync_grid(_counter: crate::GlobalMut<u32>) {
    simt::barrier(simt::Barrier::Grid, false);
}
