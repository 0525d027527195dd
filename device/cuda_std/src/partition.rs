//! Tiles: partitions of a warp into groups of 2 to 32 lanes, one problem each.

use crate::shuffle::{Shuffle, Source};
use crate::warp;

/// Lanes of a warp that solve one problem together.
///
/// The number of lanes is an ordinary field that folds to a constant, since everything is inlined; so a kernel
/// can derive it from a const parameter. Collectives name either the lanes of the tile alone (native) or the
/// whole warp: with a constant mask ptxas emits no convergence check, but then every lane of the warp must
/// reach every collective.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    lane: u32,
    lanes: u32,
    whole_warp: bool,
}

/// The tile of `P` lanes of the running lane, with native collectives.
#[inline(always)]
pub fn tiled_partition<const P: u32>() -> Tile {
    Tile::native(P)
}

impl Tile {
    /// A tile of `lanes` (2, 4, 8, 16 or 32) lanes whose collectives name the tile alone.
    #[inline(always)]
    pub fn native(lanes: u32) -> Self {
        Tile { lane: warp::lane_id(), lanes, whole_warp: false }
    }

    /// A tile of `lanes` (2, 4, 8, 16 or 32) lanes whose collectives name the whole warp.
    #[inline(always)]
    pub fn whole_warp(lanes: u32) -> Self {
        Tile { lane: warp::lane_id(), lanes, whole_warp: true }
    }

    /// Lanes in the tile.
    #[inline(always)]
    pub fn lanes(self) -> u32 {
        self.lanes
    }
    /// Mask of the lanes that reach a collective together.
    #[inline(always)]
    pub fn mask(self) -> u32 {
        if self.whole_warp || self.lanes == 32 {
            warp::FULL_MASK
        } else {
            ((1u32 << (self.lanes & 31)) - 1) << self.base()
        }
    }
    /// First lane of the tile in its warp.
    #[inline(always)]
    pub fn base(self) -> u32 {
        self.lane & !(self.lanes - 1)
    }
    /// Index of the lane in the tile.
    #[inline(always)]
    pub fn rank(self) -> u32 {
        self.lane & (self.lanes - 1)
    }
    /// Whether this tile must enter a branch that holds collectives and whose work is due where `due` holds,
    /// which is uniform in the tile.
    ///
    /// A native tile enters where it has work. One that names the whole warp enters where any tile of the warp
    /// has, and masks its own results.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn enters(self, due: bool) -> bool {
        if self.whole_warp && self.lanes < 32 { warp::warp_vote_any(warp::FULL_MASK, due) } else { due }
    }
    /// Waits for the tile (or warp) and orders memory among its lanes.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn sync(self) {
        warp::sync_warp(self.mask());
    }
    /// The value of the lane of rank `rank ^ lane`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn shuffle_xor<T: Shuffle>(self, value: T, lane: u32) -> T {
        value.shuffle(Source::Xor, self.mask(), lane, self.lanes)
    }
    /// The value of the lane of rank `lane`, modulo the size.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn shuffle_idx<T: Shuffle>(self, value: T, lane: u32) -> T {
        value.shuffle(Source::Idx, self.mask(), lane, self.lanes)
    }
    /// The value of the lane `lane` ranks below; the own one below rank 0.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn shuffle_up<T: Shuffle>(self, value: T, lane: u32) -> T {
        value.shuffle(Source::Up, self.mask(), lane, self.lanes)
    }
    /// The value of the lane `lane` ranks above; the own one past the last.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn shuffle_down<T: Shuffle>(self, value: T, lane: u32) -> T {
        value.shuffle(Source::Down, self.mask(), lane, self.lanes)
    }
    /// Bit k is set where `predicate` holds on rank k.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn ballot(self, predicate: bool) -> u32 {
        let bits = warp::warp_vote_ballot(self.mask(), predicate) >> self.base();
        if self.lanes == 32 { bits } else { bits & ((1u32 << (self.lanes & 31)) - 1) }
    }
    /// Whether `predicate` holds on any lane of the tile.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn any(self, predicate: bool) -> bool {
        self.ballot(predicate) != 0
    }
    /// Whether `predicate` holds on every lane of the tile.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn all(self, predicate: bool) -> bool {
        !self.any(!predicate)
    }
    /// Combines the lanes' values by a butterfly; every lane gets the same bits if `op` commutes.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn reduce<T: Shuffle>(self, mut value: T, op: impl Fn(T, T) -> T) -> T {
        let mut step = self.lanes / 2;
        while step > 0 {
            value = op(value, self.shuffle_xor(value, step));
            step /= 2;
        }
        value
    }
}
