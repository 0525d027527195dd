//! Race detection on one granule of memory (4 bytes, or fewer where elements are smaller).
//!
//! A granule remembers its last plain write, the lanes that read it and the lanes that accessed it
//! atomically since. That is enough to find every race of two accesses of which the later one is seen
//! first to be unordered: an access that is ordered before a later one of the same kind may be forgotten.

use crate::Access;
use crate::clocks::{Clocks, Time, lanes};
use crate::site::SiteId;

/// One access; time 0 means none.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mark {
    pub(crate) time: Time,
    pub(crate) thread: u16,
    pub(crate) site: SiteId,
}

/// Accesses of one kind by several lanes, of which none need be ordered: lanes of one warp at one time
/// and place, or a table for everything else.
#[derive(Clone, Copy, Default)]
pub(crate) struct Marks {
    /// Lanes of `warp`; 0 means no access.
    mask: u32,
    /// Time of all of them, or the number of the table.
    time_or_table: u32,
    site: SiteId,
    warp: u8,
    spilled: bool,
}

/// What the checker knows about one granule.
#[derive(Clone, Copy, Default)]
pub(crate) struct Granule {
    pub(crate) write: Mark,
    pub(crate) reads: Marks,
    pub(crate) atomics: Marks,
}

/// Accesses of one warp at several times and places, and one of another warp.
#[derive(Clone)]
struct Table {
    warp: u8,
    mask: u32,
    latest: Time,
    times: [Time; 32],
    sites: [SiteId; 32],
    other: Mark,
}

/// The tables of a block.
#[derive(Default)]
pub(crate) struct Tables {
    tables: Vec<Table>,
    free: Vec<u32>,
}

/// Who accesses memory, when and where.
#[derive(Clone, Copy)]
pub(crate) struct Accessor {
    pub(crate) thread: u32,
    pub(crate) time: Time,
    pub(crate) site: SiteId,
}

/// The earlier access of a race.
#[derive(Clone, Copy)]
pub(crate) struct Conflict {
    pub(crate) access: Access,
    pub(crate) thread: u16,
    pub(crate) site: SiteId,
}

impl Granule {
    /// Whether anything was written here.
    #[inline]
    pub(crate) fn written(&self) -> bool {
        (self.write.time | self.atomics.mask) != 0
    }

    /// A copy with tables of its own.
    pub(crate) fn duplicate(&self, tables: &mut Tables) -> Self {
        Self {
            write: self.write,
            reads: self.reads.duplicate(tables),
            atomics: self.atomics.duplicate(tables),
        }
    }

    /// Records an access and returns an earlier one that races with it.
    #[inline]
    pub(crate) fn access(
        &mut self,
        access: Access,
        by: Accessor,
        clocks: &Clocks,
        tables: &mut Tables,
    ) -> Option<Conflict> {
        let mut conflict = None;
        let writer = u32::from(self.write.thread);
        if self.write.time != 0 && writer != by.thread && !clocks.ordered(writer, self.write.time, by.thread)
        {
            conflict =
                Some(Conflict { access: Access::Write, thread: self.write.thread, site: self.write.site });
        }
        if access != Access::Read && conflict.is_none() {
            conflict = self.reads.unordered(Access::Read, by.thread, clocks, tables);
        }
        if access != Access::Atomic && conflict.is_none() {
            conflict = self.atomics.unordered(Access::Atomic, by.thread, clocks, tables);
        }
        match access {
            Access::Read => self.reads.add(by, clocks, tables),
            Access::Atomic => self.atomics.add(by, clocks, tables),
            Access::Write => {
                self.reads.clear(tables);
                self.atomics.clear(tables);
                self.write = Mark { time: by.time, thread: by.thread as u16, site: by.site };
            }
        }
        conflict
    }
}

impl Marks {
    fn one(by: Accessor) -> Self {
        Self {
            mask: 1 << (by.thread & 31),
            time_or_table: by.time,
            site: by.site,
            warp: (by.thread >> 5) as u8,
            spilled: false,
        }
    }

    fn duplicate(mut self, tables: &mut Tables) -> Self {
        if self.spilled {
            let copy = tables.tables[self.time_or_table as usize].clone();
            self.time_or_table = tables.insert(copy);
        }
        self
    }

    #[inline]
    fn clear(&mut self, tables: &mut Tables) {
        if self.spilled {
            tables.free.push(self.time_or_table);
        }
        *self = Self::default();
    }

    /// One of the accesses, for a report that spans blocks.
    #[inline]
    pub(crate) fn any(&self, tables: &Tables) -> Option<(u16, SiteId)> {
        if self.mask == 0 {
            return None;
        }
        let lane = self.mask.trailing_zeros();
        let site = if self.spilled {
            tables.tables[self.time_or_table as usize].sites[lane as usize]
        } else {
            self.site
        };
        Some((u16::from(self.warp) * 32 + lane as u16, site))
    }

    /// An access that is not ordered before what `me` does now.
    #[inline]
    fn unordered(&self, access: Access, me: u32, clocks: &Clocks, tables: &Tables) -> Option<Conflict> {
        let only_me = !self.spilled && self.mask == 1 << (me & 31) && u32::from(self.warp) == me >> 5;
        if self.mask == 0 || only_me {
            return None;
        }
        self.unordered_among_several(access, me, clocks, tables)
    }

    fn unordered_among_several(
        &self,
        access: Access,
        me: u32,
        clocks: &Clocks,
        tables: &Tables,
    ) -> Option<Conflict> {
        if self.spilled {
            return tables.tables[self.time_or_table as usize].unordered(access, me, clocks);
        }
        let warp = u32::from(self.warp);
        if self.time_or_table < clocks.barrier_of(warp) {
            return None;
        }
        let mut others = self.mask;
        if warp == me >> 5 {
            others &= !(1 << (me & 31));
            if self.time_or_table < clocks.full_of(warp) {
                return None;
            }
        }
        let thread = lanes(others)
            .map(|lane| warp * 32 + lane as u32)
            .find(|&thread| !clocks.ordered(thread, self.time_or_table, me))?;
        Some(Conflict { access, thread: thread as u16, site: self.site })
    }

    #[inline]
    fn add(&mut self, by: Accessor, clocks: &Clocks, tables: &mut Tables) {
        if self.spilled {
            return self.add_to_table(by, clocks, tables);
        }
        let (warp, bit) = (u32::from(self.warp), 1 << (by.thread & 31));
        let same_warp = warp == by.thread >> 5;
        if self.mask != 0 && same_warp && self.time_or_table == by.time && self.site == by.site {
            self.mask |= bit;
            return;
        }
        let replaceable = self.mask == 0
            || self.time_or_table < clocks.barrier_of(warp)
            || (same_warp && (self.mask & !bit == 0 || self.time_or_table < clocks.full_of(warp)));
        if replaceable {
            *self = Self::one(by);
        } else {
            self.spill(by, clocks, tables);
        }
    }

    #[cold]
    fn spill(&mut self, by: Accessor, clocks: &Clocks, tables: &mut Tables) {
        let time = self.time_or_table;
        let mut table = Table {
            warp: self.warp,
            mask: self.mask,
            latest: time,
            times: [0; 32],
            sites: [0; 32],
            other: Mark::default(),
        };
        for lane in lanes(self.mask) {
            table.times[lane] = time;
            table.sites[lane] = self.site;
        }
        self.time_or_table = tables.insert(table);
        self.spilled = true;
        self.add_to_table(by, clocks, tables);
    }

    fn add_to_table(&mut self, by: Accessor, clocks: &Clocks, tables: &mut Tables) {
        let table = &mut tables.tables[self.time_or_table as usize];
        let warp = u32::from(table.warp);
        let same_warp = warp == by.thread >> 5;
        let past = if same_warp { clocks.full_of(warp) } else { clocks.barrier_of(warp) };
        let other_warp = u32::from(table.other.thread) >> 5;
        let other_is_past = table.other.time == 0 || table.other.time < clocks.barrier_of(other_warp);
        if table.latest < past && other_is_past {
            self.clear(tables);
            *self = Self::one(by);
        } else if same_warp {
            table.set(by);
            self.mask = table.mask;
        } else if other_is_past {
            // One lane of a second warp is enough: no later write is ordered after both warps' accesses.
            table.other = Mark { time: by.time, thread: by.thread as u16, site: by.site };
        }
    }
}

impl Table {
    fn set(&mut self, by: Accessor) {
        let lane = (by.thread & 31) as usize;
        self.mask |= 1 << lane;
        self.times[lane] = by.time;
        self.sites[lane] = by.site;
        self.latest = by.time;
    }

    fn unordered(&self, access: Access, me: u32, clocks: &Clocks) -> Option<Conflict> {
        let other = self.other;
        if other.time != 0 && !clocks.ordered(u32::from(other.thread), other.time, me) {
            return Some(Conflict { access, thread: other.thread, site: other.site });
        }
        let warp = u32::from(self.warp);
        if self.latest < clocks.barrier_of(warp) || (warp == me >> 5 && self.latest < clocks.full_of(warp)) {
            return None;
        }
        let lane =
            lanes(self.mask).find(|&lane| !clocks.ordered(warp * 32 + lane as u32, self.times[lane], me))?;
        Some(Conflict { access, thread: u16::from(self.warp) * 32 + lane as u16, site: self.sites[lane] })
    }
}

impl Tables {
    fn insert(&mut self, table: Table) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.tables[index as usize] = table;
                index
            }
            None => {
                self.tables.push(table);
                (self.tables.len() - 1) as u32
            }
        }
    }
}
