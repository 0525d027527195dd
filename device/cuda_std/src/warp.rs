//! Collectives of a warp. Every lane named in `mask` must reach the call, with the same mask.
//!
//! A collective exchanges registers and orders no memory: only [`sync_warp`] and block barriers do.

use crate::shuffle::{Shuffle, Source};
use crate::thread;

/// Lanes a warp.
pub const WARP_SIZE: u32 = 32;
/// The mask of a whole warp.
pub const FULL_MASK: u32 = u32::MAX;

#[cfg(target_os = "cuda")]
#[allow(missing_docs)] // documented where it is re-exported
mod imp {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.bar.warp.sync"]
        fn bar_warp_sync(mask: u32);
        #[link_name = "llvm.nvvm.vote.all.sync"]
        fn vote_all(mask: u32, predicate: bool) -> bool;
        #[link_name = "llvm.nvvm.vote.any.sync"]
        fn vote_any(mask: u32, predicate: bool) -> bool;
        #[link_name = "llvm.nvvm.vote.ballot.sync"]
        fn vote_ballot(mask: u32, predicate: bool) -> u32;
        #[link_name = "llvm.nvvm.match.any.sync.i32"]
        fn match_any_32(mask: u32, value: u32) -> u32;
        #[link_name = "llvm.nvvm.match.any.sync.i64"]
        fn match_any_64(mask: u32, value: u64) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.add"]
        fn redux_add(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.umin"]
        fn redux_min(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.umax"]
        fn redux_max(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.and"]
        fn redux_and(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.or"]
        fn redux_or(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.xor"]
        fn redux_xor(value: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.activemask"]
        fn activemask_() -> u32;
        #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
        fn laneid() -> u32;
    }
    #[inline(always)]
    pub fn lane_id() -> u32 {
        // SAFETY: reads a special register.
        unsafe { laneid() }
    }
    #[inline(always)]
    pub fn activemask() -> u32 {
        // SAFETY: reads the convergence state.
        unsafe { activemask_() }
    }
    #[inline(always)]
    pub fn sync_warp(mask: u32) {
        // SAFETY: the lanes of `mask` reach it together; the executor checks it.
        unsafe { bar_warp_sync(mask) }
    }
    #[inline(always)]
    pub fn warp_vote_all(mask: u32, predicate: bool) -> bool {
        // SAFETY: as for sync_warp.
        unsafe { vote_all(mask, predicate) }
    }
    #[inline(always)]
    pub fn warp_vote_any(mask: u32, predicate: bool) -> bool {
        // SAFETY: as for sync_warp.
        unsafe { vote_any(mask, predicate) }
    }
    #[inline(always)]
    pub fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
        // SAFETY: as for sync_warp.
        unsafe { vote_ballot(mask, predicate) }
    }
    #[inline(always)]
    pub fn match_any(mask: u32, value: u64, wide: bool) -> u32 {
        // SAFETY: as for sync_warp.
        unsafe { if wide { match_any_64(mask, value) } else { match_any_32(mask, value as u32) } }
    }
    #[inline(always)]
    pub fn warp_reduce(mask: u32, op: super::ReduceOp, value: u32) -> u32 {
        use super::ReduceOp::*;
        // SAFETY: as for sync_warp; sm_80 has redux.
        unsafe {
            match op {
                Add => redux_add(value, mask),
                Min => redux_min(value, mask),
                Max => redux_max(value, mask),
                And => redux_and(value, mask),
                Or => redux_or(value, mask),
                Xor => redux_xor(value, mask),
            }
        }
    }
}

#[cfg(not(target_os = "cuda"))]
#[allow(missing_docs)] // documented where it is re-exported
mod imp {
    use simt::{Collective, warp_collective};
    pub fn lane_id() -> u32 {
        simt::thread_idx() % 32
    }
    #[track_caller]
    pub fn activemask() -> u32 {
        simt::active_mask()
    }
    #[track_caller]
    pub fn sync_warp(mask: u32) {
        warp_collective(Collective::SyncWarp, mask, 0, 0, 32);
    }
    #[track_caller]
    pub fn warp_vote_all(mask: u32, predicate: bool) -> bool {
        warp_collective(Collective::VoteAll, mask, predicate as u64, 0, 32) != 0
    }
    #[track_caller]
    pub fn warp_vote_any(mask: u32, predicate: bool) -> bool {
        warp_collective(Collective::VoteAny, mask, predicate as u64, 0, 32) != 0
    }
    #[track_caller]
    pub fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
        warp_collective(Collective::Ballot, mask, predicate as u64, 0, 32) as u32
    }
    #[track_caller]
    pub fn match_any(mask: u32, value: u64, _wide: bool) -> u32 {
        warp_collective(Collective::MatchAny, mask, value, 0, 32) as u32
    }
    #[track_caller]
    pub fn warp_reduce(mask: u32, op: super::ReduceOp, value: u32) -> u32 {
        let op = match op {
            super::ReduceOp::Add => simt::ReduceOp::Add,
            super::ReduceOp::Min => simt::ReduceOp::MinU32,
            super::ReduceOp::Max => simt::ReduceOp::MaxU32,
            super::ReduceOp::And => simt::ReduceOp::And,
            super::ReduceOp::Or => simt::ReduceOp::Or,
            super::ReduceOp::Xor => simt::ReduceOp::Xor,
        };
        warp_collective(Collective::Reduce(op), mask, value as u64, 0, 32) as u32
    }
}

/// Operations of [`warp_reduce`], on unsigned 32-bit integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReduceOp {
    /// Sum, wrapping.
    Add,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// Index of the lane in its warp.
pub use imp::lane_id;

/// Lanes that happen to be converged here; a hint, never a mask for a collective that must be complete.
pub use imp::activemask;

/// Waits for the lanes of `mask` and orders shared and global memory among them.
pub use imp::sync_warp;

/// Whether `predicate` holds on every lane of `mask`.
pub use imp::warp_vote_all;

/// Whether `predicate` holds on any lane of `mask`.
pub use imp::warp_vote_any;

/// The lanes of `mask` on which `predicate` holds.
pub use imp::warp_vote_ballot;

/// Reduces `value` over the lanes of `mask` in hardware.
pub use imp::warp_reduce;

/// Index of the warp in its block.
#[inline(always)]
pub fn warp_id() -> u32 {
    thread::thread_idx_x() / WARP_SIZE
}

/// The lanes of `mask` that hold the same `value`.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn warp_match_any(mask: u32, value: u32) -> u32 {
    imp::match_any(mask, value as u64, false)
}

/// `mask` where all its lanes hold the same `value`, else 0.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn warp_match_all(mask: u32, value: u32) -> u32 {
    if imp::match_any(mask, value as u64, false) == mask { mask } else { 0 }
}

macro_rules! shuffles {
    ($($(#[$doc:meta])* $name:ident, $source:ident;)*) => { $(
        $(#[$doc])*
        /// `width` (4, 8, 16 or 32) cuts the warp into segments that do not see each other.
        #[inline(always)]
        #[cfg_attr(not(target_os = "cuda"), track_caller)]
        pub fn $name<T: Shuffle>(mask: u32, value: T, lane: u32, width: u32) -> T {
            value.shuffle(Source::$source, mask, lane, width)
        }
    )* };
}
shuffles! {
    /// The value of the lane whose index is the own one xor `lane`.
    warp_shuffle_xor, Xor;
    /// The value of the lane `lane` below, or the own one where there is none in the segment.
    warp_shuffle_up, Up;
    /// The value of the lane `lane` above, or the own one where there is none in the segment.
    warp_shuffle_down, Down;
    /// The value of lane `lane` of the segment (modulo the width).
    warp_shuffle_idx, Idx;
}
