//! Races between blocks, found after the blocks have run.
//!
//! Nothing orders the blocks of a launch except a grid barrier. So it is enough to know of each block
//! which granules of global memory it wrote, read and accessed atomically since the last grid barrier.
//! Blocks are merged in a fixed order whatever order they ran in: the findings are the same every time.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::Access;
use crate::access;
use crate::finding::FindingKind;
use crate::finding_set::{FindingSet, Place, Report};
use crate::global::{GlobalMap, GlobalShadow, KeyHasher, PAGE};
use crate::race::{Granule, Tables};
use crate::site::{SiteId, SiteTable};

/// One access by a block; `block` counts from 1, 0 means none.
#[derive(Clone, Copy, Default)]
struct Touch {
    block: u32,
    thread: u16,
    site: SiteId,
}

/// What one block, or all blocks so far, did to a granule.
#[derive(Clone, Copy, Default)]
struct Touches {
    write: Touch,
    read: Touch,
    atomic: Touch,
}

/// The touched pages of one block, in the order in which it touched them.
#[derive(Default)]
pub(crate) struct BlockTouches {
    pages: Vec<(u64, Box<[Touches; PAGE]>)>,
}

/// The touches of all blocks that have been merged.
#[derive(Default)]
pub(crate) struct GridTouches {
    pages: HashMap<u64, Box<[Touches; PAGE]>, BuildHasherDefault<KeyHasher>>,
}

impl BlockTouches {
    pub(crate) fn new(block: u32, shadow: &GlobalShadow, tables: &Tables) -> Self {
        let page = |granules: &[Granule; PAGE]| {
            let mut touches = Box::new([Touches::default(); PAGE]);
            for (touch, granule) in touches.iter_mut().zip(granules) {
                *touch = Touches::new(block + 1, granule, tables);
            }
            touches
        };
        Self { pages: shadow.pages().map(|(key, granules)| (key, page(granules))).collect() }
    }
}

impl Touches {
    fn new(block: u32, granule: &Granule, tables: &Tables) -> Self {
        let touch = |lane: Option<(u16, SiteId)>| {
            lane.map_or_else(Touch::default, |(thread, site)| Touch { block, thread, site })
        };
        let write = granule.write;
        Self {
            write: touch((write.time != 0).then_some((write.thread, write.site))),
            read: touch(granule.reads.any(tables)),
            atomic: touch(granule.atomics.any(tables)),
        }
    }

    /// A pair of accesses of two blocks that race: the earlier block's, then the later block's.
    fn conflict(&self, later: &Touches) -> Option<((Access, Touch), (Access, Touch))> {
        use Access::{Atomic, Read, Write};
        let pairs = [
            ((Write, self.write), (Write, later.write)),
            ((Write, self.write), (Read, later.read)),
            ((Write, self.write), (Atomic, later.atomic)),
            ((Read, self.read), (Write, later.write)),
            ((Atomic, self.atomic), (Write, later.write)),
            ((Read, self.read), (Atomic, later.atomic)),
            ((Atomic, self.atomic), (Read, later.read)),
        ];
        pairs.into_iter().find(|((_, a), (_, b))| a.block != 0 && b.block != 0)
    }

    fn add(&mut self, later: &Touches) {
        for (mine, theirs) in
            [(&mut self.write, later.write), (&mut self.read, later.read), (&mut self.atomic, later.atomic)]
        {
            if mine.block == 0 {
                *mine = theirs;
            }
        }
    }
}

impl GridTouches {
    /// Adds the touches of the next block and reports its races with the blocks before.
    pub(crate) fn merge(
        &mut self,
        block: BlockTouches,
        map: &GlobalMap,
        sites: &SiteTable,
        findings: &mut FindingSet,
    ) {
        for (key, page) in block.pages {
            let Some(merged) = self.pages.get_mut(&key) else {
                self.pages.insert(key, page);
                continue;
            };
            for (index, (mine, theirs)) in merged.iter_mut().zip(page.iter()).enumerate() {
                if let Some((earlier, later)) = mine.conflict(theirs) {
                    let (addr, bytes) = map.granule_range(key, index);
                    findings.add(report(addr, bytes, earlier, later, map, sites));
                }
                mine.add(theirs);
            }
        }
    }

    /// Marks what the blocks wrote in the registry of memory.
    pub(crate) fn mark_written(&self, map: &GlobalMap) {
        for (&key, page) in &self.pages {
            for (index, touches) in page.iter().enumerate() {
                if touches.write.block == 0 && touches.atomic.block == 0 {
                    continue;
                }
                let (addr, bytes) = map.granule_range(key, index);
                let buffer = map.find(addr, 1).map(|index| &map.buffers[index]);
                if let Some(allocation) = buffer.and_then(|buffer| buffer.allocation.as_ref()) {
                    allocation.mark(addr, bytes, true);
                }
            }
        }
    }

    /// Forgets everything: a grid barrier orders what came before it.
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
    }
}

fn report(
    addr: usize,
    bytes: usize,
    earlier: (Access, Touch),
    later: (Access, Touch),
    map: &GlobalMap,
    sites: &SiteTable,
) -> Report {
    let buffer = map.find(addr, 1).map(|index| &map.buffers[index]);
    let subject = buffer.map_or_else(|| "no buffer".to_owned(), |buffer| buffer.name.clone());
    let offset = buffer.map_or(0, |buffer| addr - buffer.addr);
    let place = |(access, touch): (Access, Touch)| Place {
        what: access::noun(access).to_owned(),
        block: touch.block - 1,
        thread: u32::from(touch.thread),
        site: Some(sites.get(touch.site)),
        source: None,
    };
    Report {
        kind: FindingKind::GlobalRace,
        message: format!(
            "Error: Race reported between {} and {} of two blocks at __global__ bytes {offset}..{} of {}",
            access::noun(earlier.0),
            access::noun(later.0),
            offset + bytes,
            buffer.map_or_else(|| subject.clone(), |buffer| buffer.describe()),
        ),
        subject,
        places: vec![place(later), place(earlier)],
    }
}
