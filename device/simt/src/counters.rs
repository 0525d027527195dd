//! Counters of a launch: a model of what a GPU would do, not a measurement.

use std::fmt;

/// What one launch did, by the executor's model of a warp. See the crate's documentation for how lane
/// accesses are grouped into warp accesses. `Display` prints a table labelled as a model.
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
    /// The same by source place, ordered by file and line.
    pub lines: Vec<LineCounters>,
}

/// Counters of one source place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineCounters {
    /// Source file, as the compiler names it.
    pub file: &'static str,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// "shared", "global" or "collective".
    pub what: &'static str,
    /// Warp accesses, or collectives.
    pub warp_accesses: u64,
    /// Lanes that took part in them.
    pub lanes: u64,
    /// Extra passes over the banks of shared memory.
    pub bank_conflicts: u64,
    /// Sectors of global memory.
    pub sectors: u64,
}

impl Counters {
    /// Lane slots over active lanes: 1 where every lane takes part in everything; 0 where nothing ran.
    pub fn divergence(&self) -> f64 {
        ratio(self.lane_slots, self.active_lanes)
    }

    /// Sectors a warp access to global memory: 4 for 32 neighbouring f32.
    pub fn sectors_per_access(&self) -> f64 {
        ratio(self.global_sectors, self.global_warp_accesses)
    }

    /// Adds the counters of another block or launch.
    pub fn add(&mut self, other: &Counters) {
        self.collectives += other.collectives;
        self.barriers += other.barriers;
        self.grid_barriers += other.grid_barriers;
        self.shared_accesses += other.shared_accesses;
        self.shared_warp_accesses += other.shared_warp_accesses;
        self.bank_conflicts += other.bank_conflicts;
        self.global_accesses += other.global_accesses;
        self.global_warp_accesses += other.global_warp_accesses;
        self.global_sectors += other.global_sectors;
        self.atomics += other.atomics;
        self.lane_slots += other.lane_slots;
        self.active_lanes += other.active_lanes;
        for line in &other.lines {
            self.add_line(line);
        }
    }

    fn add_line(&mut self, line: &LineCounters) {
        match self.lines.binary_search_by_key(&line.place(), LineCounters::place) {
            Ok(index) => {
                let known = &mut self.lines[index];
                known.warp_accesses += line.warp_accesses;
                known.lanes += line.lanes;
                known.bank_conflicts += line.bank_conflicts;
                known.sectors += line.sectors;
            }
            Err(index) => self.lines.insert(index, line.clone()),
        }
    }
}

impl LineCounters {
    fn place(&self) -> (&'static str, u32, u32, &'static str) {
        (self.file, self.line, self.column, self.what)
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "counters of the CPU executor (a model of a warp, not a measurement)")?;
        writeln!(f, "  warp collectives         {:>14}", self.collectives)?;
        writeln!(f, "  block barriers           {:>14}", self.barriers)?;
        writeln!(f, "  grid barriers            {:>14}", self.grid_barriers)?;
        writeln!(f, "  shared accesses          {:>14} by lanes", self.shared_accesses)?;
        writeln!(f, "                           {:>14} by warps", self.shared_warp_accesses)?;
        writeln!(f, "  bank conflicts           {:>14} extra passes", self.bank_conflicts)?;
        writeln!(f, "  global accesses          {:>14} by lanes", self.global_accesses)?;
        writeln!(f, "                           {:>14} by warps", self.global_warp_accesses)?;
        writeln!(f, "  sectors a global access  {:>14.2}", self.sectors_per_access())?;
        writeln!(f, "  atomics                  {:>14} by lanes", self.atomics)?;
        write!(f, "  divergence               {:>14.2} lane slots over active lanes", self.divergence())
    }
}

fn ratio(numerator: u64, denominator: u64) -> f64 {
    if denominator == 0 { 0.0 } else { numerator as f64 / denominator as f64 }
}
