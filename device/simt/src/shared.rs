//! Dynamic shared memory of one block, and its shadow.

use crate::Access;
use crate::clocks::Clocks;
use crate::race::{Accessor, Conflict, Granule, Tables};

/// Dynamic shared memory starts at a multiple of this, as on a GPU.
const ALIGNMENT: usize = 128;

#[repr(C, align(128))]
#[derive(Clone, Copy)]
struct Line([u8; ALIGNMENT]);

/// The bytes of a block's shared memory with one granule for every 4 bytes, or for every byte once the
/// block has used smaller accesses.
pub(crate) struct SharedMemory {
    lines: Box<[Line]>,
    bytes: usize,
    granules: Vec<Granule>,
    shift: u32,
}

/// What the shadow says about an access.
#[derive(Clone, Copy, Default)]
pub(crate) struct Verdict {
    /// An earlier access that races with this one.
    pub(crate) conflict: Option<Conflict>,
    /// Something is read here that nothing wrote.
    pub(crate) uninitialized: bool,
}

impl SharedMemory {
    /// Memory filled with a pattern that is a NaN in every float type, so that garbage shows.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            lines: vec![Line([0xFF; ALIGNMENT]); bytes.div_ceil(ALIGNMENT)].into_boxed_slice(),
            bytes,
            granules: vec![Granule::default(); bytes.div_ceil(4)],
            shift: 2,
        }
    }

    /// Address of a byte, which lies within the memory.
    #[inline]
    pub(crate) fn address(&mut self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.bytes);
        self.lines.as_mut_ptr().cast::<u8>().wrapping_add(offset)
    }

    /// Records an access that lies within the memory.
    #[inline]
    pub(crate) fn access(
        &mut self,
        offset: usize,
        bytes: usize,
        access: Access,
        by: Accessor,
        clocks: &Clocks,
        tables: &mut Tables,
    ) -> Verdict {
        if self.shift != 0 && (offset | bytes) & 3 != 0 {
            self.refine(tables);
        }
        let first = offset >> self.shift;
        let last = (offset + bytes - 1) >> self.shift;
        let mut verdict = Verdict::default();
        for granule in &mut self.granules[first..=last] {
            let fresh = verdict.record(granule, access, by, clocks, tables);
            verdict.uninitialized |= fresh && access != Access::Write;
        }
        verdict
    }

    /// From one granule for 4 bytes to one for each byte. Tables of several lanes cannot be shared by
    /// granules, so each byte gets its own.
    #[cold]
    fn refine(&mut self, tables: &mut Tables) {
        self.shift = 0;
        self.granules = (0..self.bytes).map(|byte| self.granules[byte / 4].duplicate(tables)).collect();
    }
}

impl Verdict {
    /// Records an access to one granule; says whether nothing had been written there by the block.
    #[inline]
    pub(crate) fn record(
        &mut self,
        granule: &mut Granule,
        access: Access,
        by: Accessor,
        clocks: &Clocks,
        tables: &mut Tables,
    ) -> bool {
        let fresh = !granule.written();
        let conflict = granule.access(access, by, clocks, tables);
        if self.conflict.is_none() {
            self.conflict = conflict;
        }
        fresh
    }
}
