//! Counters of a launch: a model of what a GPU would do, not a measurement.

/// What one launch did, by the executor's model of a warp. See the crate's documentation for how lane
/// accesses are grouped into warp accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Warp collectives completed (one a group of lanes that take part in it).
    pub collectives: u64,
    /// Block barriers completed (one a block).
    pub barriers: u64,
    /// Grid barriers completed.
    pub grid_barriers: u64,
    /// Accesses of single lanes to shared memory.
    pub shared_accesses: u64,
    /// The same, grouped into warp accesses.
    pub shared_warp_accesses: u64,
    /// Passes over the banks beyond the first that warp accesses to shared memory need.
    pub bank_conflicts: u64,
    /// Accesses of single lanes to global memory.
    pub global_accesses: u64,
    /// The same, grouped into warp accesses.
    pub global_warp_accesses: u64,
    /// 32-byte sectors that warp accesses to global memory touch.
    pub global_sectors: u64,
    /// Atomic accesses of single lanes, to either memory.
    pub atomics: u64,
    /// Lane slots: 32 for every warp access and collective.
    pub lane_slots: u64,
    /// Lanes that took part in them.
    pub active_lanes: u64,
}

impl Counters {
    /// Lane slots over active lanes: 1 where every lane takes part in everything.
    pub fn divergence(&self) -> f64 {
        ratio(self.lane_slots, self.active_lanes)
    }

    /// Sectors a warp access to global memory: 4 for 32 neighbouring f32.
    pub fn sectors_per_access(&self) -> f64 {
        ratio(self.global_sectors, self.global_warp_accesses)
    }
}

fn ratio(numerator: u64, denominator: u64) -> f64 {
    if denominator == 0 { 0.0 } else { numerator as f64 / denominator as f64 }
}
