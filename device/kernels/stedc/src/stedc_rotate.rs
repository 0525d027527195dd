//! `stedc_rotate`: the rotations that deflation logged.

use crate::fields::{Fields, NONE, RealField, WordField};
use crate::tree::{Kept, Node};
use cuda_std::prelude::*;

pub use crate::tree::THREADS;

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
/// None.
///
/// # Synchronisation
/// None: a row's numbers meet in its thread only.
///
/// # Numerics
/// A column lies in one half of the node until a rotation mixes it with one of the other half: then what is carried on
/// has both, each in a column of the chain that is no more needed.
///
/// # Safety
/// The views cover the items.
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
    let mut row = chunk * THREADS + thread::thread_idx_x();
    let (in_top, in_bottom) = (kept.half(node, 0).0, kept.half(node, 1).0);
    if counts.rotations == 0 || row >= in_top + in_bottom {
        return;
    }
    let half = (row >= in_top) as u32;
    row -= if half == 1 { in_top } else { 0 };
    let vectors = vectors.at((node.item * stride) as usize + (kept.half(node, half).1 + row) as usize);
    let place = |column: u32| column as usize * ld as usize;
    // The element of a logged column in this row: 0 in the other half.
    let element = |log: u32| if (log >> 1) & 1 == half { vectors.get(place(log >> 2)) } else { T::ZERO };
    let merged = merged.at((node.item * merged_stride) as usize);
    let merged = merged.at((kept.first_of_half(node, half) + row) as usize);

    let word = |field| fields.words(field, node);
    let (firsts, nexts) = (word(WordField::LogFirst), word(WordField::LogNext));
    let (deflated, ranks) = (word(WordField::LogDeflated), word(WordField::Rank));
    let ends = word(if half == 0 { WordField::LogTop } else { WordField::LogBottom });
    let (cosine, sine) = (fields.reals(RealField::Cosine, node), fields.reals(RealField::Sine, node));
    let mut carried = T::ZERO;
    for r in 0..counts.rotations as usize {
        let (first, log) = (firsts.get(r), nexts.get(r));
        if first != 0 {
            carried = element(first);
        }
        let (c, s, next) = (cosine.get(r), sine.get(r), element(log));
        let rank = ranks.get((counts.poles + deflated.get(r)) as usize);
        merged.set((node.start + rank) as usize * merged_ld as usize, c.mul_add(carried, s * next));
        carried = c.mul_add(next, -(s * carried));
        if log & 1 == 1 {
            let end = ends.get(r);
            if end != NONE {
                vectors.set(place(end), carried);
            }
        }
    }
}
