//! CPU executor of GPU kernels: coroutines for lanes, and a checker

mod counters;
mod finding;
pub mod memory;
mod seed;

pub use counters::Counters;
pub use finding::{Finding, FindingKind, LaunchError, MAX_FINDINGS, Side};
pub use seed::{DEFAULT_SEED, SEED_VARIABLE, SeedError, seed_from_env, seeds};

/// Reductions over the lanes of a mask, as `__reduce_*_sync`: on the low 32 bits of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ReduceOp {
    Add,
    MinU32,
    MaxU32,
    MinI32,
    MaxI32,
    And,
    Or,
    Xor,
}

/// Warp collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Collective {
    ShuffleXor,
    ShuffleUp,
    ShuffleDown,
    ShuffleIdx,
    VoteAll,
    VoteAny,
    Ballot,
    MatchAny,
    MatchAll,
    SyncWarp,
    Reduce(ReduceOp),
}

/// Barriers of a block, and of a cooperative grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Barrier {
    Sync,
    Count,
    And,
    Or,
    Grid,
}

/// How an access uses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Access {
    Read,
    Write,
    Atomic,
}

/// A kernel launch: grid x block lanes.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Launch<'a> {
    pub kernel: &'a str,
    pub entry: &'a str,
    pub grid: u32,
    pub block: u32,
    pub shared_bytes: usize,
    pub cooperative: bool,
    pub buffers: &'a [Buffer<'a>],
    pub seed: u64,
}

/// A buffer that a launch may reach.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Buffer<'a> {
    pub name: &'a str,
    pub addr: usize,
    pub bytes: usize,
    pub elem_bytes: usize,
    pub writable: bool,
}

/// Index of the calling lane within its block.
pub fn thread_idx() -> u32 {
    unimplemented!()
}
/// Index of the block.
pub fn block_idx() -> u32 {
    unimplemented!()
}
/// Lanes a block.
pub fn block_dim() -> u32 {
    unimplemented!()
}
/// Blocks of the launch.
pub fn grid_dim() -> u32 {
    unimplemented!()
}
/// A deterministic counter that only grows.
pub fn clock() -> u64 {
    unimplemented!()
}
/// One warp collective.
#[track_caller]
pub fn warp_collective(kind: Collective, mask: u32, value: u64, arg: u32, width: u32) -> u64 {
    let _ = (kind, mask, value, arg, width);
    unimplemented!()
}
/// The lanes that run together with the caller.
#[track_caller]
pub fn active_mask() -> u32 {
    unimplemented!()
}
/// One barrier.
#[track_caller]
pub fn barrier(kind: Barrier, predicate: bool) -> u32 {
    let _ = (kind, predicate);
    unimplemented!()
}
/// Checks one access to global memory.
#[track_caller]
pub fn global_access(
    view_base: *const u8,
    view_bytes: usize,
    ptr: *const u8,
    bytes: usize,
    align: usize,
    access: Access,
) {
    let _ = (view_base, view_bytes, ptr, bytes, align, access);
    unimplemented!()
}
/// Checks one access to shared memory and gives its address.
#[track_caller]
pub fn shared_access(offset: usize, bytes: usize, align: usize, access: Access) -> *mut u8 {
    let _ = (offset, bytes, align, access);
    unimplemented!()
}
/// Bytes of dynamic shared memory of the block.
pub fn shared_len() -> usize {
    unimplemented!()
}
/// Reports a failed assertion and ends the lane.
#[track_caller]
pub fn assert_failed(msg: &str) -> ! {
    let _ = msg;
    unimplemented!()
}
/// Runs a launch.
///
/// # Errors
/// The findings, where there are any.
pub fn run(launch: &Launch<'_>, lane: &(dyn Fn() + Sync)) -> Result<Counters, LaunchError> {
    let _ = (launch, lane);
    unimplemented!()
}
