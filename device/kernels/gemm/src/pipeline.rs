//! From global to shared memory without registers: a ring of slabs of a side, each some lines of k, that asynchronous
//! copies fill while products read another.

use crate::operand::Side;
use crate::shape::mma_line;
use cuda_std::prelude::*;

/// A ring of slabs of `ROWS` rows by `DEPTH` of k in shared memory. A slab lies along k where `ALONG_K`, else along the
/// rows; elements that are 4 apart in k and rows that follow each other meet no bank either way.
#[derive(Debug)]
pub struct Ring<T, const ROWS: u32, const DEPTH: u32, const ALONG_K: bool> {
    shared: Shared<T>,
}

impl<T, const ROWS: u32, const DEPTH: u32, const ALONG_K: bool> Clone for Ring<T, ROWS, DEPTH, ALONG_K> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const ROWS: u32, const DEPTH: u32, const ALONG_K: bool> Copy for Ring<T, ROWS, DEPTH, ALONG_K> {}

impl<T: Scalar, const ROWS: u32, const DEPTH: u32, const ALONG_K: bool> Ring<T, ROWS, DEPTH, ALONG_K> {
    /// Elements from a row to the next.
    const ROW: u32 = if ALONG_K { mma_line(DEPTH, size_of::<T>()) } else { 1 };
    /// Elements from a depth to the next.
    const K: u32 = if ALONG_K { 1 } else { mma_line(ROWS, size_of::<T>()) };
    /// Elements of a slab.
    const SLAB: u32 = if ALONG_K { ROWS * Self::ROW } else { DEPTH * Self::K };

    /// `slabs` of them from byte `offset` of the block's shared memory on, and the first byte after them.
    ///
    /// # Safety
    /// As [`cuda_std::shared::dynamic_shared_mem`].
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub unsafe fn new(offset: usize, slabs: u32) -> (Self, usize) {
        let elements = (slabs * Self::SLAB) as usize;
        // SAFETY: as the caller promises.
        let shared = unsafe { shared_array![T; elements, @ offset] };
        (Ring { shared }, offset + elements * size_of::<T>())
    }

    /// The ring, seen from an element of its slabs on.
    #[inline(always)]
    pub fn from(self, row: u32, k: u32) -> Self {
        Ring { shared: self.shared.at(row * Self::ROW + k * Self::K) }
    }

    /// One slab alone.
    #[inline(always)]
    pub fn slab(self, index: u32) -> Self {
        Ring { shared: self.shared.at(index * Self::SLAB) }
    }

    /// An element, by one access.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn get(self, row: u32, k: u32) -> T {
        let at = row * Self::ROW + k * Self::K;
        if T::LANES == 1 { self.shared.get_vector(at).as_ref()[0] } else { self.shared.get(at) }
    }
}

/// What a thread copies of each slab.
///
/// Where `WIDE` and several elements fill 16 bytes, pieces of 16 bytes, as many as any other thread, at equal distances: the
/// side's lines and items begin at multiples of 16 bytes, its lines hold a multiple of that, and the ring lies as the
/// side's memory does. Else elements, of any side, to a ring that lies along the rows.
#[derive(Clone, Copy, Debug)]
pub struct Copies<T, const ROWS: u32, const DEPTH: u32, const WIDE: bool, const ALONG_K: bool> {
    /// The next slab, from the thread's first piece on where there are pieces.
    side: Side<T>,
    ring: Ring<T, ROWS, DEPTH, ALONG_K>,
    /// Depth that is left, likewise.
    depth: u32,
    /// Rows and depths from a piece to the next, one of which is 0.
    step: [u32; 2],
}

impl<T: Scalar, const ROWS: u32, const DEPTH: u32, const WIDE: bool, const ALONG_K: bool>
    Copies<T, ROWS, DEPTH, WIDE, ALONG_K>
{
    /// Whether there are pieces of several elements.
    pub const PIECES: bool = WIDE && T::LANES > 1;

    /// Thread `rank` of `threads`, of a side that is `k` deep.
    #[inline(always)]
    pub fn new(side: Side<T>, ring: Ring<T, ROWS, DEPTH, ALONG_K>, k: u32, threads: u32, rank: u32) -> Self {
        if !Self::PIECES {
            return Copies { side, ring, depth: k, step: [0; 2] };
        }
        let width = (if ALONG_K { DEPTH } else { ROWS }) / T::LANES as u32;
        let (along, across) = (rank % width * T::LANES as u32, rank / width);
        let (row, first) = if ALONG_K { (across, along) } else { (along, across) };
        let step = if ALONG_K { [threads / width, 0] } else { [0, threads / width] };
        let left = side.rows.saturating_sub(row);
        let mut side = side.moved(row, first);
        side.rows = left;
        Copies { side, ring: ring.from(row, first), depth: k.saturating_sub(first), step }
    }

    /// Pieces of a thread.
    #[inline(always)]
    pub const fn pieces(threads: u32) -> usize {
        ROWS as usize * DEPTH as usize / (threads as usize * T::LANES)
    }

    /// Begins to copy a piece of the next slab to slab `index`; zeros past the side's rows and past its depth.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn begin(&self, index: u32, piece: usize) {
        let [rows, depth] = self.step.map(|step| piece as u32 * step);
        let live = rows < self.side.rows && depth < self.depth;
        // Lines of memory, whichever way they run.
        let from = (rows + depth) as usize * self.side.ld;
        let to = self.ring.slab(index).from(rows, depth).shared;
        to.copy_vector_async(0, self.side.view(), from, live);
    }

    /// Begins to copy the next slab to slab `index`, element by element, in a loop that stays one: its bound is known to the
    /// launch alone. For want of registers, which the distances of so many pieces would take.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn begin_elements(&self, index: u32, rank: u32) {
        let slab = self.ring.slab(index);
        let mut at = rank;
        while at < ROWS * DEPTH {
            let (row, k) = if self.side.along_k { (at / DEPTH, at % DEPTH) } else { (at % ROWS, at / ROWS) };
            let live = row < self.side.rows && k < self.depth;
            let (to, from) = (slab.from(row, k).shared, self.side.moved(row, k).view());
            if T::LANES == 1 {
                to.copy_vector_async(0, from, 0, live);
            } else {
                to.copy_async(0, from, 0, live);
            }
            at += thread::block_dim_x();
        }
    }

    /// All pieces have begun: the slab after this one is next.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.side = self.side.moved(0, DEPTH);
        self.depth = self.depth.saturating_sub(DEPTH);
    }
}
