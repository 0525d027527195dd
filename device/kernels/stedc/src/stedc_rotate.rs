//! `stedc_rotate`: the rotations that deflation logged.

use crate::fields::{Fields, NONE, RealField, WordField};
use crate::tree::{Kept, Node};
use cuda_std::prelude::*;

pub use crate::tree::THREADS;

/// Words that a rotation takes in shared memory, beside two reals.
const WORDS: usize = 5;

/// Bytes of shared memory of a block: [`THREADS`] rotations.
pub const fn shared_bytes(real_bytes: usize) -> usize {
    THREADS as usize * (2 * real_bytes + WORDS * 4)
}

/// Rotates the columns of poles that were close to each other.
///
/// # Layout and shapes
/// `vectors`: those of the children, or their first and last rows (`whole` 0), leading dimension `ld`, items `stride`
/// apart; the columns that end a chain are overwritten. `merged`: the node's, by `merged_ld` and `merged_stride`: the
/// columns that are left behind are written. `reals`, `words`: [`Fields`]: the log and the ranks are read.
///
/// # Lanes
/// A thread a row, `chunks` blocks a node.
///
/// # Shared memory
/// [`shared_bytes`]: so many rotations of the log as the block has threads.
///
/// # Synchronisation
/// Two block barriers for so many rotations; a row's numbers meet in its thread only.
///
/// # Numerics
/// A column lies in one half of the node until a rotation mixes it with one of the other half: then what is carried on
/// has both, each in a column of the chain that is no more needed.
///
/// # Safety
/// The views cover the items; the launch gives [`shared_bytes`].
///
/// # Source
/// LAPACK's `dlaed2`.
#[kernel(T = [f32, f64], launch_bounds(128))]
pub unsafe fn stedc_rotate<T: Real>(
    vectors: GlobalMut<T>,
    merged: GlobalMut<T>,
    reals: GlobalMut<T>,
    words: GlobalMut<u32>,
    n: u32,
    batch: u64,
    level: u32,
    leaf: u32,
    whole: u32,
    ld: u32,
    stride: u64,
    merged_ld: u32,
    merged_stride: u64,
    chunks: u32,
) {
    let index = thread::block_idx_x().checked_div(chunks).unwrap_or(0);
    let chunk = thread::block_idx_x() - index * chunks;
    let node = Node::new(index as u64, n, level, leaf);
    let fields = Fields::new(reals, words, n, batch);
    let counts = fields.counts(node);
    let kept = Kept { whole: whole != 0, leaves: leaf > 0 };
    let (in_top, in_bottom) = (kept.half(node, 0).0, kept.half(node, 1).0);
    if counts.rotations == 0 || chunk * THREADS >= in_top + in_bottom {
        return;
    }
    // Threads behind the last row repeat it, and write nothing.
    let row = chunk * THREADS + thread::thread_idx_x();
    let live = row < in_top + in_bottom;
    let row = row.min(in_top + in_bottom - 1);
    let half = (row >= in_top) as u32;
    let row = row - if half == 1 { in_top } else { 0 };
    let target = kept.first_of_half(node, half) + row;
    let rows = Rows {
        vectors: vectors.at((node.item * stride) as usize + (kept.half(node, half).1 + row) as usize),
        ld,
        merged: merged.at((node.item * merged_stride) as usize + target as usize),
        merged_ld,
        half,
        live,
    };
    let log = Log::new();
    let mut carried = T::ZERO;
    let mut start = 0;
    while start < counts.rotations {
        let count = (counts.rotations - start).min(THREADS);
        log.stage(node, fields, start, count, counts.poles);
        thread::sync_threads();
        carried = rows.rotate(log, count, carried);
        thread::sync_threads();
        start += THREADS;
    }
}

/// A part of the log in shared memory.
#[derive(Clone, Copy)]
struct Log<T> {
    cosine: Shared<T>,
    sine: Shared<T>,
    /// The first column of a chain where one begins, else 0.
    first: Shared<u32>,
    /// The next column; marked at the end of a chain.
    next: Shared<u32>,
    /// The column of the node that the rotation leaves behind.
    left: Shared<u32>,
    /// At the end of a chain, columns that take its halves.
    ends: [Shared<u32>; 2],
}

impl<T: Real> Log<T> {
    #[inline(always)]
    fn new() -> Self {
        let count = THREADS as usize;
        let word = |k: usize| {
            // SAFETY: the launch gives shared_bytes; the parts are disjoint and aligned.
            unsafe { dynamic_shared_mem::<u32>((2 * size_of::<T>() + 4 * k) * count, count) }
        };
        // SAFETY: as above.
        let real = |k: usize| unsafe { dynamic_shared_mem::<T>(k * count * size_of::<T>(), count) };
        Log {
            cosine: real(0),
            sine: real(1),
            first: word(0),
            next: word(1),
            left: word(2),
            ends: [word(3), word(4)],
        }
    }

    /// Loads `count` rotations from `start` on, a thread each.
    #[inline(always)]
    fn stage(self, node: Node, fields: Fields<T>, start: u32, count: u32, poles: u32) {
        let i = thread::thread_idx_x();
        if i >= count {
            return;
        }
        let r = (start + i) as usize;
        let word = |field| fields.words(field, node).get(r);
        let next = word(WordField::LogNext);
        self.cosine.set(i, fields.reals(RealField::Cosine, node).get(r));
        self.sine.set(i, fields.reals(RealField::Sine, node).get(r));
        self.first.set(i, word(WordField::LogFirst));
        self.next.set(i, next);
        let rank = fields.words(WordField::Rank, node).get((poles + word(WordField::LogDeflated)) as usize);
        self.left.set(i, node.start + rank);
        if next & 1 == 1 {
            self.ends[0].set(i, word(WordField::LogTop));
            self.ends[1].set(i, word(WordField::LogBottom));
        }
    }
}

/// A thread's row of the vectors.
#[derive(Clone, Copy)]
struct Rows<T> {
    /// The children's, from this row of this half on.
    vectors: GlobalMut<T>,
    ld: u32,
    /// The node's, from this row on.
    merged: GlobalMut<T>,
    merged_ld: u32,
    half: u32,
    /// Whether the thread has a row.
    live: bool,
}

impl<T: Real> Rows<T> {
    /// The element of a logged column in this row: 0 in the other half.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn element(self, log: u32) -> T {
        let here = self.live && (log >> 1) & 1 == self.half;
        if here { self.vectors.get((log >> 2) as usize * self.ld as usize) } else { T::ZERO }
    }

    /// Rotates `count` times, with what the part before carried on; returns what is carried on.
    #[inline(always)]
    fn rotate(self, log: Log<T>, count: u32, mut carried: T) -> T {
        // A step ahead: another chain's columns are other columns.
        let mut ahead = self.element(log.next.get(0));
        for r in 0..count {
            let (first, word, next) = (log.first.get(r), log.next.get(r), ahead);
            if first != 0 {
                carried = self.element(first);
            }
            if r + 1 < count {
                ahead = self.element(log.next.get(r + 1));
            }
            let (c, s) = (log.cosine.get(r), log.sine.get(r));
            let left = log.left.get(r) as usize * self.merged_ld as usize;
            if self.live {
                self.merged.set(left, c.mul_add(carried, s * next));
            }
            carried = c.mul_add(next, -(s * carried));
            if word & 1 == 1 && self.live {
                let end = if self.half == 0 { log.ends[0].get(r) } else { log.ends[1].get(r) };
                if end != NONE {
                    self.vectors.set(end as usize * self.ld as usize, carried);
                }
            }
        }
        carried
    }
}
