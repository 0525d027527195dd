//! CPU executor of GPU kernels: every lane is a coroutine, and a checker watches what lanes do.
//!
//! A kernel's host build calls the functions of this crate (through `cuda_std`) wherever the device build
//! has an instruction: [`warp_collective`], [`barrier`], [`global_access`], [`shared_access`]. [`run`]
//! runs the lanes of a launch and returns either [`Counters`] or the [`Finding`]s of the checker.
//!
//! # Semantics
//! CUDA's with independent thread scheduling. A lane runs until it waits in a collective or at a barrier;
//! the order of lanes, warps and blocks follows a seed, and the same seed gives the same run.
//! - A **collective** completes when all lanes of its mask wait in the same collective with the same mask;
//!   the source lines may differ, as `__shfl_sync` allows. A mask must name the calling lane and only lanes
//!   that exist and have not left the kernel. Shuffles follow `shfl.sync`: a source outside the segment
//!   gives the lane its own value; a source that the mask does not name is a finding.
//! - A **block barrier** completes when every lane of the block waits at it, at one source line. A lane
//!   that has left the kernel while others wait is a finding, as for compute-sanitizer's synccheck.
//! - A **grid barrier** needs a cooperative launch and every lane of the grid.
//! - An **asynchronous copy** to shared memory ([`copy_async`]) reads its source when it begins and writes when its lane waits
//!   for it ([`copy_wait`]); that write is ordered as any other. A copy that nobody waits for is never seen.
//! - [`active_mask`] gives the lanes that ask for it at the same line while nothing else can run.
//! - Lanes that wait for each other in a loop give way at their accesses. Where lanes only go round in
//!   circles for about a million accesses, that is a deadlock.
//!
//! # Order of memory accesses
//! Two accesses of different lanes to the same bytes, of which one is a plain write, or one is atomic and
//! the other is not, race unless they are ordered by: `SyncWarp` over a mask that names both lanes, a block
//! barrier, a grid barrier, or a chain of these. Shuffles, votes and atomics order nothing. Blocks are
//! ordered by grid barriers only. Memory is watched in granules of 4 bytes (of 1 or 2 where a buffer's
//! elements are smaller; of 1 in shared memory once the block accesses less than 4 bytes).
//!
//! # Findings
//! An access that cannot be done (out of bounds, misaligned, read-only), a failed assertion, a panic and a
//! stack overflow end their lane, and then the block: other lanes run until they wait. Races and reads of
//! memory that nothing wrote let the block go on. After a finding, no more than the 64 blocks that started
//! together still run. Equal faults at equal lines count once; [`LaunchError`] lists at most
//! [`MAX_FINDINGS`] of them. A lane that is cut off drops nothing: what it owned on the heap is leaked.
//!
//! # Counters
//! A model. Between two scheduling points of a warp, the k-th call of each lane from the same source line
//! makes one warp access. Shared memory has 32 banks of 4 bytes; global memory moves in 32-byte sectors.
//!
//! # Limits
//! Atomics of any scope are taken as relaxed: a block that waits for another block's data through a flag
//! is reported as a race. A loop that never calls the executor cannot be stopped. Float atomics of several
//! blocks happen in any order. Lanes have [`STACK_BYTES`] bytes of stack.

mod access;
mod block;
mod clocks;
mod collective;
mod copy;
mod counters;
mod diagnose;
mod fault;
mod finding;
mod finding_set;
mod global;
mod grid;
mod grid_race;
mod lane;
mod launch;
mod matrix;
pub mod memory;
mod model;
mod panics;
mod race;
mod schedule;
mod seed;
mod shared;
mod site;
mod stack;
mod trap;

use std::panic::Location;

pub use copy::{copy_async, copy_commit, copy_wait};
pub use counters::{Counters, LineCounters};
pub use finding::{Finding, FindingKind, LaunchError, MAX_FINDINGS, Side};
pub use launch::{MAX_BLOCK, MAX_SHARED_BYTES, run};
pub use matrix::{Fragments, warp_matrix_product};
pub use seed::{DEFAULT_SEED, SEED_VARIABLE, SeedError, seed_from_env, seeds};
pub use stack::STACK_BYTES;

/// Reductions over the lanes of a mask, as `__reduce_*_sync`: on the low 32 bits of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// Wrapping sum, signed or not.
    Add,
    /// Least unsigned value.
    MinU32,
    /// Greatest unsigned value.
    MaxU32,
    /// Least signed value.
    MinI32,
    /// Greatest signed value.
    MaxI32,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// Warp collectives; each gives the calling lane the value in the second sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// `__shfl_xor_sync`. The value of lane `lane ^ arg`.
    ShuffleXor,
    /// `__shfl_up_sync`. The value of lane `lane - arg`.
    ShuffleUp,
    /// `__shfl_down_sync`. The value of lane `lane + arg`.
    ShuffleDown,
    /// `__shfl_sync`. The value of lane `arg` of the segment.
    ShuffleIdx,
    /// `__all_sync`. 1 if no value is 0.
    VoteAll,
    /// `__any_sync`. 1 if a value is not 0.
    VoteAny,
    /// `__ballot_sync`. The mask of lanes whose value is not 0.
    Ballot,
    /// `__match_any_sync`. The mask of lanes with the caller's value.
    MatchAny,
    /// `__match_all_sync`. The mask if all values are equal, else 0.
    MatchAll,
    /// `__syncwarp`. 0; orders memory accesses of the lanes of the mask.
    SyncWarp,
    /// `__reduce_*_sync`. The reduction.
    Reduce(ReduceOp),
    /// `mma.sync`, through [`warp_matrix_product`] alone. 0; the lanes' fragments hold the sums.
    MatrixProduct {
        /// Rows of A and C.
        rows: u8,
        /// Columns of A, rows of B.
        depth: u8,
    },
}

/// Barriers of a block, and of a cooperative grid; each gives every lane the value in the second sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Barrier {
    /// `__syncthreads`. 0.
    Sync,
    /// `__syncthreads_count`. The number of lanes whose predicate holds.
    Count,
    /// `__syncthreads_and`. 1 if every predicate holds.
    And,
    /// `__syncthreads_or`. 1 if a predicate holds.
    Or,
    /// A barrier that warps of different roles reach at different places; the lanes of a warp, at one. 1 if a predicate
    /// holds.
    RolesOr,
    /// `grid.sync()`. 0.
    Grid,
}

impl Barrier {
    /// Whether warps may wait for each other at different places of the program.
    pub(crate) fn between_roles(self) -> bool {
        self == Barrier::RolesOr
    }
}

/// How an access uses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// A plain load.
    Read,
    /// A plain store.
    Write,
    /// An atomic read-modify-write, load or store. It must find the memory written.
    Atomic,
}

/// A kernel launch: `grid` blocks of `block` lanes.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Name of the kernel function, for findings.
    pub kernel: &'a str,
    /// Name of the compiled entry, for findings.
    pub entry: &'a str,
    /// Blocks.
    pub grid: u32,
    /// Lanes a block, at most [`MAX_BLOCK`].
    pub block: u32,
    /// Bytes of dynamic shared memory a block, at most [`MAX_SHARED_BYTES`].
    pub shared_bytes: usize,
    /// Whether lanes may use [`Barrier::Grid`]; all lanes of the grid are then in flight at once.
    pub cooperative: bool,
    /// The global memory that the launch may reach.
    pub buffers: &'a [Buffer<'a>],
    /// Seed of the order of lanes, warps and blocks.
    pub seed: u64,
}

/// A buffer that a launch may reach. Its memory must stay valid during the launch.
#[derive(Clone, Copy, Debug)]
pub struct Buffer<'a> {
    /// Name of the kernel's parameter.
    pub name: &'a str,
    /// First byte.
    pub addr: usize,
    /// Bytes.
    pub bytes: usize,
    /// Bytes an element, for findings and for the granules of the race detector.
    pub elem_bytes: usize,
    /// Whether lanes may write to it.
    pub writable: bool,
}

/// Index of the calling lane within its block.
///
/// # Panics
/// Outside a lane, as all functions that kernels call.
#[inline]
pub fn thread_idx() -> u32 {
    lane::current().thread()
}

/// Index of the calling lane's block.
#[inline]
pub fn block_idx() -> u32 {
    lane::current().index
}

/// Lanes a block.
#[inline]
pub fn block_dim() -> u32 {
    lane::current().context.launch.block
}

/// Blocks of the launch.
#[inline]
pub fn grid_dim() -> u32 {
    lane::current().context.launch.grid
}

/// A counter that grows with everything that the block does. It is the same in every run with the same
/// seed, and is no measure of time.
pub fn clock() -> u64 {
    lane::current().tick()
}

/// Takes part in a warp collective over the lanes of `mask` and returns the caller's result.
///
/// `value` moves as one piece of 64 bits. `arg` is the second operand of a shuffle and `width` its segment
/// (a power of two up to 32); other collectives ignore both. Of a vote, `value` is the predicate.
#[inline]
#[track_caller]
pub fn warp_collective(kind: Collective, mask: u32, value: u64, arg: u32, width: u32) -> u64 {
    lane::current().collective(kind, mask, value, arg, width, Location::caller())
}

/// The lanes of the warp that run together with the caller.
#[track_caller]
pub fn active_mask() -> u32 {
    lane::current().active_mask(Location::caller())
}

/// Waits at a barrier and returns its result; [`Barrier::Sync`] and [`Barrier::Grid`] ignore `predicate`.
#[inline]
#[track_caller]
pub fn barrier(kind: Barrier, predicate: bool) -> u32 {
    lane::current().barrier(kind, predicate, Location::caller())
}

/// Checks and records an access to global memory, which the caller does itself after this returns.
///
/// `view_base` and `view_bytes` are the extent of the view that the access goes through, `ptr` and `bytes`
/// the access, `align` a power of two of which the address must be a multiple. Where the access cannot be
/// done, the lane ends here.
#[inline]
#[track_caller]
pub fn global_access(
    view_base: *const u8,
    view_bytes: usize,
    ptr: *const u8,
    bytes: usize,
    align: usize,
    access: Access,
) {
    let (view_base, addr) = (view_base.addr(), ptr.addr());
    let request = access::GlobalAccess { view_base, view_bytes, addr, bytes, align, access };
    lane::current().global_access(request, Location::caller());
}

/// Checks and records an access to the block's dynamic shared memory and returns its address.
///
/// The address is for this access only. Where the access cannot be done, the lane ends here.
#[inline]
#[track_caller]
pub fn shared_access(offset: usize, bytes: usize, align: usize, access: Access) -> *mut u8 {
    lane::current().shared_access(offset, bytes, align, access, Location::caller())
}

/// [`shared_access`] through a view of `view_bytes` bytes from byte `view_offset` on: an access outside the
/// view is out of bounds even where the block has more shared memory.
#[inline]
#[track_caller]
pub fn shared_view_access(
    view_offset: usize,
    view_bytes: usize,
    offset: usize,
    bytes: usize,
    align: usize,
    access: Access,
) -> *mut u8 {
    let (block, site) = (lane::current(), Location::caller());
    let at = offset.wrapping_sub(view_offset);
    if at > view_bytes || bytes > view_bytes - at {
        block.shared_past_view(view_offset, view_bytes, offset, bytes, access, site);
    }
    block.shared_access(offset, bytes, align, access, site)
}

/// Bytes of dynamic shared memory of the block.
pub fn shared_len() -> usize {
    lane::current().context.launch.shared_bytes
}

/// Reports a failed assertion of the kernel and ends the lane.
#[track_caller]
pub fn assert_failed(msg: &str) -> ! {
    lane::current().assert_failed(msg, Location::caller())
}
