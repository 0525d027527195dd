//! The model behind the counters: lane accesses become warp accesses.
//!
//! The lanes of a warp run one after another between two scheduling points. The k-th access of each lane
//! from the same source place since the last scheduling point counts as one warp access: lanes that took
//! the same path meet in it as they would in lockstep, lanes that diverged do not.

use crate::counters::{Counters, LineCounters};
use crate::site::{SiteId, SiteTable};

/// What a warp access does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Shared,
    Global,
    Collective,
}

const SPACES: [Space; 3] = [Space::Shared, Space::Global, Space::Collective];

/// One warp access while its lanes arrive.
#[derive(Clone)]
struct Group {
    mask: u32,
    bytes: u32,
    /// By lane: the 4-byte word of shared memory, or the 32-byte sector of global memory.
    units: [u32; 32],
}

#[derive(Default)]
struct SiteState {
    segment: u32,
    run: u32,
    occurrence: usize,
    used: usize,
    groups: Vec<Group>,
    totals: Totals,
}

#[derive(Default, Clone, Copy)]
struct Totals {
    warp_accesses: u64,
    lanes: u64,
    conflicts: u64,
    sectors: u64,
}

/// Groups of the running segment, and the totals of a block.
pub(crate) struct Model {
    /// By source place and space.
    sites: Vec<SiteState>,
    touched: Vec<u32>,
    segment: u32,
    run: u32,
    pub(crate) counters: Counters,
}

impl Default for Model {
    fn default() -> Self {
        // Stamps start above those of a fresh `SiteState`.
        Self { sites: Vec::new(), touched: Vec::new(), segment: 1, run: 0, counters: Counters::default() }
    }
}

impl Model {
    /// A lane is resumed: its accesses are counted from the first again.
    #[inline]
    pub(crate) fn start_lane(&mut self) {
        self.run = self.run.wrapping_add(1);
    }

    /// One access of a lane. `unit` is a word of shared memory or a sector of global memory.
    #[inline]
    pub(crate) fn access(&mut self, space: Space, site: SiteId, lane: u32, unit: u32, bytes: u32) {
        let key = usize::from(site) * SPACES.len() + space as usize;
        if key >= self.sites.len() {
            self.sites.resize_with(key + SPACES.len(), SiteState::default);
        }
        let state = &mut self.sites[key];
        if state.segment != self.segment {
            state.segment = self.segment;
            state.used = 0;
            self.touched.push(key as u32);
        }
        if state.run != self.run {
            state.run = self.run;
            state.occurrence = 0;
        }
        let index = state.occurrence;
        state.occurrence += 1;
        if index == state.used {
            state.used += 1;
            if index == state.groups.len() {
                state.groups.push(Group { mask: 0, bytes, units: [0; 32] });
            }
            let group = &mut state.groups[index];
            group.mask = 0;
            group.bytes = bytes;
        }
        let group = &mut state.groups[index];
        group.mask |= 1 << lane;
        group.units[lane as usize] = unit;
    }

    /// The lanes of the warp have run: its groups are complete.
    pub(crate) fn finish_segment(&mut self) {
        for key in self.touched.drain(..) {
            let state = &mut self.sites[key as usize];
            for group in &state.groups[..state.used] {
                count(group, SPACES[key as usize % SPACES.len()], &mut state.totals, &mut self.counters);
            }
        }
        self.segment = self.segment.wrapping_add(1);
    }

    /// The counters of the block, with a line for every source place.
    pub(crate) fn into_counters(mut self, table: &SiteTable) -> Counters {
        for (key, state) in self.sites.iter().enumerate() {
            if state.totals.warp_accesses > 0 {
                let site = table.get((key / SPACES.len()) as SiteId);
                self.counters.lines.push(line(site, SPACES[key % SPACES.len()], &state.totals));
            }
        }
        self.counters
    }
}

fn line(site: crate::site::Site, space: Space, totals: &Totals) -> LineCounters {
    LineCounters {
        file: site.file(),
        line: site.line(),
        column: site.column(),
        what: match space {
            Space::Shared => "shared",
            Space::Global => "global",
            Space::Collective => "collective",
        },
        warp_accesses: totals.warp_accesses,
        lanes: totals.lanes,
        bank_conflicts: totals.conflicts,
        sectors: totals.sectors,
    }
}

fn count(group: &Group, space: Space, totals: &mut Totals, counters: &mut Counters) {
    let lanes = u64::from(group.mask.count_ones());
    totals.warp_accesses += 1;
    totals.lanes += lanes;
    counters.lane_slots += 32;
    counters.active_lanes += lanes;
    match space {
        Space::Shared => {
            let conflicts = u64::from(bank_conflicts(group));
            counters.shared_accesses += lanes;
            counters.shared_warp_accesses += 1;
            counters.bank_conflicts += conflicts;
            totals.conflicts += conflicts;
        }
        Space::Global => {
            let sectors = u64::from(sectors(group));
            counters.global_accesses += lanes;
            counters.global_warp_accesses += 1;
            counters.global_sectors += sectors;
            totals.sectors += sectors;
        }
        Space::Collective => {}
    }
}

/// Passes beyond the first over 32 banks of 4 bytes. Accesses of 8 bytes go by half warps and accesses of
/// 16 bytes by quarter warps, as the hardware does; a word that several lanes read counts once.
fn bank_conflicts(group: &Group) -> u32 {
    let words = (group.bytes / 4).max(1);
    let lanes_a_pass = (32 / words).max(1);
    let mut conflicts = 0;
    let mut first = 0;
    while first < 32 {
        let lanes = (group.mask >> first) & (u32::MAX >> (32 - lanes_a_pass));
        if lanes != 0 {
            conflicts += degree(group, lanes << first, words).saturating_sub(1);
        }
        first += lanes_a_pass;
    }
    conflicts
}

/// The most different words that one bank has to give.
fn degree(group: &Group, lanes: u32, words: u32) -> u32 {
    let mut seen = [u32::MAX; 32];
    let mut clash = false;
    for lane in crate::clocks::lanes(lanes) {
        for word in group.units[lane]..group.units[lane] + words {
            let bank = &mut seen[(word & 31) as usize];
            clash |= *bank != u32::MAX && *bank != word;
            *bank = word;
        }
    }
    if clash { slow_degree(group, lanes, words) } else { 1 }
}

#[cold]
fn slow_degree(group: &Group, lanes: u32, words: u32) -> u32 {
    let mut all: Vec<u32> =
        crate::clocks::lanes(lanes).flat_map(|lane| group.units[lane]..group.units[lane] + words).collect();
    all.sort_unstable();
    all.dedup();
    let mut counts = [0; 32];
    for word in all {
        counts[(word & 31) as usize] += 1;
    }
    counts.into_iter().max().unwrap_or(1)
}

/// Different sectors of 32 bytes.
fn sectors(group: &Group) -> u32 {
    let mut distinct = [0_u32; 32];
    let mut count = 0;
    for lane in crate::clocks::lanes(group.mask) {
        let sector = group.units[lane];
        if count > 0 && distinct[count - 1] == sector || distinct[..count].contains(&sector) {
            continue;
        }
        distinct[count] = sector;
        count += 1;
    }
    count as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(bytes: u32, unit: impl Fn(u32) -> u32) -> Group {
        Group { mask: u32::MAX, bytes, units: std::array::from_fn(|lane| unit(lane as u32)) }
    }

    #[test]
    fn conflicts_of_known_strides() {
        let conflicts = |bytes, unit: fn(u32) -> u32| bank_conflicts(&group(bytes, unit));
        assert_eq!(conflicts(4, |lane| lane), 0);
        assert_eq!(conflicts(4, |_| 7), 0);
        assert_eq!(conflicts(4, |lane| 2 * lane), 1);
        assert_eq!(conflicts(4, |lane| 32 * lane), 31);
        assert_eq!(conflicts(4, |lane| 33 * lane), 0);
        assert_eq!(conflicts(8, |lane| 2 * lane), 0);
        assert_eq!(conflicts(8, |lane| 4 * lane), 2);
        assert_eq!(conflicts(16, |lane| 4 * lane), 0);
    }

    #[test]
    fn sectors_of_known_strides() {
        let count = |unit: fn(u32) -> u32| sectors(&group(4, unit));
        assert_eq!(count(|lane| lane / 8), 4);
        assert_eq!(count(|lane| lane), 32);
        assert_eq!(count(|_| 3), 1);
        assert_eq!(count(|lane| lane % 2), 2);
    }
}
