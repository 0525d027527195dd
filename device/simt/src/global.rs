//! Global memory as one launch sees it: its buffers, and the shadow that each block keeps.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use crate::clocks::Clocks;
use crate::memory::{self, Allocation};
use crate::race::{Accessor, Granule, Tables};
use crate::shared::Verdict;
use crate::{Access, Buffer};

/// Granules a page of shadow memory.
pub(crate) const PAGE: usize = 128;

/// The buffers of a launch by address. Buffers that overlap share a region, hence their shadow.
pub(crate) struct GlobalMap {
    pub(crate) buffers: Vec<MappedBuffer>,
    regions: Vec<Region>,
}

/// A buffer of the launch.
pub(crate) struct MappedBuffer {
    pub(crate) name: String,
    pub(crate) addr: usize,
    pub(crate) bytes: usize,
    pub(crate) elem_bytes: usize,
    pub(crate) writable: bool,
    region: usize,
    /// The registered memory behind it.
    pub(crate) allocation: Option<Arc<Allocation>>,
}

struct Region {
    base: usize,
    end: usize,
    /// A granule is 1 << shift bytes.
    shift: u32,
}

impl GlobalMap {
    pub(crate) fn new(buffers: &[Buffer<'_>]) -> Self {
        let mut order: Vec<&Buffer<'_>> = buffers.iter().filter(|buffer| buffer.bytes > 0).collect();
        order.sort_by_key(|buffer| buffer.addr);
        let mut regions: Vec<Region> = Vec::new();
        for buffer in order {
            let end = buffer.addr + buffer.bytes;
            let shift = match buffer.elem_bytes {
                1 => 0,
                2 => 1,
                _ => 2,
            };
            match regions.last_mut() {
                Some(region) if buffer.addr < region.end => {
                    region.end = region.end.max(end);
                    region.shift = region.shift.min(shift);
                }
                _ => regions.push(Region { base: buffer.addr & !3, end, shift }),
            }
        }
        let map = |buffer: &Buffer<'_>| MappedBuffer {
            name: buffer.name.to_owned(),
            addr: buffer.addr,
            bytes: buffer.bytes,
            elem_bytes: buffer.elem_bytes.max(1),
            writable: buffer.writable,
            region: regions.iter().position(|region| buffer.addr < region.end).unwrap_or(0),
            allocation: memory::find(buffer.addr),
        };
        Self { buffers: buffers.iter().map(map).collect(), regions }
    }

    /// The buffer that holds a range of bytes; where several do, one that may be written if there is any.
    pub(crate) fn find(&self, addr: usize, bytes: usize) -> Option<usize> {
        let mut found = None;
        for (index, buffer) in self.buffers.iter().enumerate() {
            if buffer.contains(addr, bytes) {
                if buffer.writable {
                    return Some(index);
                }
                found = found.or(Some(index));
            }
        }
        found
    }

    /// The buffer that an empty view was most likely cut from, by an offset past its end: the last one before
    /// it, if it is no further than the buffer is long.
    pub(crate) fn cut_off(&self, view_base: usize) -> Option<&MappedBuffer> {
        let before = self.buffers.iter().filter(|buffer| buffer.addr + buffer.bytes <= view_base);
        let last = before.max_by_key(|buffer| buffer.addr + buffer.bytes)?;
        (view_base - last.addr <= 2 * last.bytes).then_some(last)
    }

    /// The buffer behind a view: the one that it spans, or else one that holds its start.
    pub(crate) fn at(&self, addr: usize, bytes: usize) -> Option<&MappedBuffer> {
        let spans = |buffer: &&MappedBuffer| buffer.addr == addr && buffer.bytes == bytes;
        let holds = |buffer: &&MappedBuffer| buffer.contains(addr, 1);
        self.buffers.iter().find(spans).or_else(|| self.buffers.iter().find(holds))
    }

    /// First byte and size of a granule.
    pub(crate) fn granule_range(&self, key: u64, index: usize) -> (usize, usize) {
        let region = &self.regions[(key >> 40) as usize];
        let page = (key & ((1 << 40) - 1)) as usize;
        (region.base + ((page * PAGE + index) << region.shift), 1 << region.shift)
    }
}

impl MappedBuffer {
    #[inline]
    pub(crate) fn contains(&self, addr: usize, bytes: usize) -> bool {
        let at = addr.wrapping_sub(self.addr);
        at < self.bytes && bytes <= self.bytes - at
    }

    /// How findings call the buffer.
    pub(crate) fn describe(&self) -> String {
        match &self.allocation {
            Some(allocation) if allocation.name != self.name => {
                format!("buffer `{}` (allocation `{}`)", self.name, allocation.name)
            }
            _ => format!("buffer `{}`", self.name),
        }
    }
}

/// A page of shadow memory.
pub(crate) type Page = Box<[Granule; PAGE]>;

/// The shadow of what one block touched, in pages.
pub(crate) struct GlobalShadow {
    pages: Vec<Page>,
    keys: Vec<u64>,
    index: HashMap<u64, u32, BuildHasherDefault<KeyHasher>>,
    recent: Box<[(u64, u32); 64]>,
    /// The buffer of the last access.
    last: usize,
}

const NO_KEY: u64 = u64::MAX;

impl GlobalShadow {
    pub(crate) fn new() -> Self {
        Self {
            pages: Vec::new(),
            keys: Vec::new(),
            index: HashMap::default(),
            recent: Box::new([(NO_KEY, 0); 64]),
            last: 0,
        }
    }

    /// The buffer that holds an access, with the last one tried first.
    #[inline]
    pub(crate) fn find_buffer(
        &mut self,
        map: &GlobalMap,
        addr: usize,
        bytes: usize,
        access: Access,
    ) -> Option<usize> {
        match map.buffers.get(self.last) {
            Some(buffer) if buffer.contains(addr, bytes) && (buffer.writable || access == Access::Read) => {
                Some(self.last)
            }
            _ => {
                let found = map.find(addr, bytes);
                self.last = found.unwrap_or(self.last);
                found
            }
        }
    }

    /// Records an access that lies within a buffer.
    #[inline]
    pub(crate) fn access(
        &mut self,
        map: &GlobalMap,
        buffer: usize,
        addr: usize,
        bytes: usize,
        access: Access,
        by: Accessor,
        clocks: &Clocks,
        tables: &mut Tables,
    ) -> Verdict {
        let buffer = &map.buffers[buffer];
        let region = &map.regions[buffer.region];
        let first = (addr - region.base) >> region.shift;
        let last = (addr + bytes - 1 - region.base) >> region.shift;
        let mut verdict = Verdict::default();
        for granule in first..=last {
            let key = (buffer.region as u64) << 40 | (granule / PAGE) as u64;
            let page = self.page(key);
            let fresh = verdict.record(&mut page[granule % PAGE], access, by, clocks, tables);
            if fresh && access != Access::Write {
                let start = addr.max(region.base + (granule << region.shift));
                let end = (addr + bytes).min(region.base + ((granule + 1) << region.shift));
                verdict.uninitialized |= buffer
                    .allocation
                    .as_ref()
                    .is_some_and(|allocation| !allocation.is_written(start, end - start));
            }
        }
        verdict
    }

    #[inline]
    fn page(&mut self, key: u64) -> &mut Page {
        let slot = (key & 63) as usize;
        let (cached, index) = self.recent[slot];
        let index = if cached == key { index } else { self.find_page(key, slot) };
        &mut self.pages[index as usize]
    }

    fn find_page(&mut self, key: u64, slot: usize) -> u32 {
        let next = self.pages.len() as u32;
        let index = *self.index.entry(key).or_insert(next);
        if index == next {
            self.pages.push(Box::new([Granule::default(); PAGE]));
            self.keys.push(key);
        }
        self.recent[slot] = (key, index);
        index
    }

    /// The pages with their keys, in the order in which they were first touched.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (u64, &Page)> {
        self.keys.iter().copied().zip(&self.pages)
    }

    /// Forgets everything: a grid barrier orders what came before it.
    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }
}

/// Hash of page keys: one multiplication.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = (self.0 ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}
