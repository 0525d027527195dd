//! Indices of the running lane, block barriers, the clock.
//!
//! Launches are one-dimensional: batches are.

#[cfg(target_os = "cuda")]
#[allow(missing_docs)] // documented where it is re-exported
mod imp {
    use core::arch::nvptx;

    unsafe extern "C" {
        #[link_name = "llvm.nvvm.barrier.cta.red.popc.aligned.all"]
        fn barrier_popc(barrier: u32, predicate: bool) -> u32;
        #[link_name = "llvm.nvvm.barrier.cta.red.and.aligned.all"]
        fn barrier_and(barrier: u32, predicate: bool) -> bool;
        #[link_name = "llvm.nvvm.barrier.cta.red.or.aligned.all"]
        fn barrier_or(barrier: u32, predicate: bool) -> bool;
        #[link_name = "llvm.nvvm.read.ptx.sreg.clock64"]
        fn clock64() -> u64;
    }

    #[inline(always)]
    pub fn thread_idx_x() -> u32 {
        // SAFETY: reads a special register.
        unsafe { nvptx::_thread_idx_x() as u32 }
    }
    #[inline(always)]
    pub fn block_idx_x() -> u32 {
        // SAFETY: reads a special register.
        unsafe { nvptx::_block_idx_x() as u32 }
    }
    #[inline(always)]
    pub fn block_dim_x() -> u32 {
        // SAFETY: reads a special register.
        unsafe { nvptx::_block_dim_x() as u32 }
    }
    #[inline(always)]
    pub fn grid_dim_x() -> u32 {
        // SAFETY: reads a special register.
        unsafe { nvptx::_grid_dim_x() as u32 }
    }
    #[inline(always)]
    pub fn sync_threads() {
        // SAFETY: a barrier has no operands; that all threads of the block reach it is the kernel's duty,
        // which the executor checks.
        unsafe { nvptx::_syncthreads() }
    }
    #[inline(always)]
    pub fn sync_threads_count(predicate: bool) -> u32 {
        // SAFETY: barrier 0 exists in every block.
        unsafe { barrier_popc(0, predicate) }
    }
    #[inline(always)]
    pub fn sync_threads_and(predicate: bool) -> bool {
        // SAFETY: barrier 0 exists in every block.
        unsafe { barrier_and(0, predicate) }
    }
    #[inline(always)]
    pub fn sync_threads_or(predicate: bool) -> bool {
        // SAFETY: barrier 0 exists in every block.
        unsafe { barrier_or(0, predicate) }
    }
    #[inline(always)]
    pub fn sync_roles_or(predicate: bool) -> bool {
        // SAFETY: barrier 1 exists in every block; the hardware counts warps, not places.
        unsafe { barrier_or(1, predicate) }
    }
    #[inline(always)]
    pub fn clock() -> u64 {
        // SAFETY: reads a special register.
        unsafe { clock64() }
    }
    #[inline(always)]
    pub fn trap() -> ! {
        // SAFETY: ends the launch with an error that the host sees at its next call.
        unsafe { nvptx::trap() }
    }
    #[inline(always)]
    pub fn check(condition: bool, _message: &str) {
        if !condition {
            trap()
        }
    }
}

#[cfg(not(target_os = "cuda"))]
#[allow(missing_docs)] // documented where it is re-exported
mod imp {
    use simt::Barrier;

    pub fn thread_idx_x() -> u32 {
        simt::thread_idx()
    }
    pub fn block_idx_x() -> u32 {
        simt::block_idx()
    }
    pub fn block_dim_x() -> u32 {
        simt::block_dim()
    }
    pub fn grid_dim_x() -> u32 {
        simt::grid_dim()
    }
    #[track_caller]
    pub fn sync_threads() {
        simt::barrier(Barrier::Sync, false);
    }
    #[track_caller]
    pub fn sync_threads_count(predicate: bool) -> u32 {
        simt::barrier(Barrier::Count, predicate)
    }
    #[track_caller]
    pub fn sync_threads_and(predicate: bool) -> bool {
        simt::barrier(Barrier::And, predicate) != 0
    }
    #[track_caller]
    pub fn sync_threads_or(predicate: bool) -> bool {
        simt::barrier(Barrier::Or, predicate) != 0
    }
    #[track_caller]
    pub fn sync_roles_or(predicate: bool) -> bool {
        simt::barrier(Barrier::RolesOr, predicate) != 0
    }
    pub fn clock() -> u64 {
        simt::clock()
    }
    #[track_caller]
    pub fn trap() -> ! {
        simt::assert_failed("trap")
    }
    #[track_caller]
    pub fn check(condition: bool, message: &str) {
        if !condition {
            simt::assert_failed(message)
        }
    }
}

/// Index of the thread in its block.
pub use imp::thread_idx_x;

/// Index of the block in the grid.
pub use imp::block_idx_x;

/// Threads a block.
pub use imp::block_dim_x;

/// Blocks in the grid.
pub use imp::grid_dim_x;

/// Block barrier; orders shared and global memory among the threads of the block. Every thread must reach it.
pub use imp::sync_threads;

/// Block barrier that returns how many threads passed `true`.
pub use imp::sync_threads_count;

/// Block barrier that returns whether every thread passed `true`.
pub use imp::sync_threads_and;

/// Block barrier that returns whether any thread passed `true`.
pub use imp::sync_threads_or;

/// Block barrier for warps of different roles: each warp, as a whole, may reach it at a place of its own. Returns
/// whether any thread passed `true`.
///
/// So the code of a role holds only the registers of that role.
pub use imp::sync_roles_or;

/// Clock of the multiprocessor, in cycles; a counter of its own under the executor.
pub use imp::clock;

/// Ends the launch with an error.
pub use imp::trap;

/// What [`gpu_assert!`](crate::gpu_assert) calls: traps with `message` unless `condition` holds.
pub use imp::check;

/// Global index of the thread in a one-dimensional launch, 64 bits wide.
#[inline(always)]
pub fn index_1d() -> usize {
    block_idx_x() as usize * block_dim_x() as usize + thread_idx_x() as usize
}
