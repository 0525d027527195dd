//! What the kernels of a level tell each other: arrays of `n` elements an item, in which a node has the part of its rows.

use crate::tree::{Blocks, Node};
use cuda_std::prelude::*;

/// Arrays of reals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RealField {
    /// Eigenvalues of the level, ascending in each node.
    Value,
    /// The coupling that was cut above a row that begins a leaf.
    Cut,
    /// Poles of the secular equation, ascending: the first `k` of a node.
    Pole,
    /// Components of the rank-one vector at the poles.
    Weight,
    /// The pole that a root is counted from.
    Origin,
    /// The distance of the root from it.
    Tau,
    /// The node's new values: `k` roots, then those that were deflated.
    Listed,
    /// Reciprocal norms of the vectors of the roots.
    Norm,
    /// Poles by slots.
    SlotPole,
    /// Recomputed components by slots.
    SlotWeight,
    /// Cosines of the logged rotations.
    Cosine,
    /// Sines of the logged rotations.
    Sine,
}

/// Number of arrays of reals.
pub const REAL_FIELDS: usize = 12;

/// Arrays of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum WordField {
    /// The slot of a pole: slots hold poles by the halves in which their columns are not zero: top, both, bottom.
    Slot,
    /// The column of a slot's top half.
    Top,
    /// The column of a slot's bottom half.
    Bottom,
    /// Columns of deflated values: [`deflated_column`].
    Deflated,
    /// Where a value of the list stands among the node's values.
    Rank,
    /// Roots at this place that did not converge, of all levels.
    Failed,
    /// [`Counts`], at the first rows of the node.
    Counts,
    /// Log: where a chain begins, its first column, as [`log_column`] with 1; else 0.
    LogFirst,
    /// Log: the next column, as [`log_column`] with 1 where the chain ends.
    LogNext,
    /// Log: which deflated value the rotation leaves behind.
    LogDeflated,
    /// Log, at the end of a chain: the column that takes the top half, or [`NONE`].
    LogTop,
    /// Log, at the end of a chain: the column that takes the bottom half, or [`NONE`].
    LogBottom,
}

/// Number of arrays of words.
pub const WORD_FIELDS: usize = 12;

/// No column.
pub const NONE: u32 = u32::MAX;

/// A deflated value whose vector the rotations wrote.
pub const ROTATED: u32 = 2;

/// A column with the half of the node it belongs to, 0 or 1, or with [`ROTATED`].
#[inline(always)]
pub fn deflated_column(column: u32, kind: u32) -> u32 {
    column << 2 | kind
}

/// A column with its half and a mark.
#[inline(always)]
pub fn log_column(column: u32, half: u32, mark: bool) -> u32 {
    column << 2 | half << 1 | mark as u32
}

/// What a node's deflation came to.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Poles that are left.
    pub poles: u32,
    /// Slots whose columns are in the top half alone.
    pub top: u32,
    /// Slots whose columns have a top half, those included.
    pub with_top: u32,
    /// Rotations.
    pub rotations: u32,
}

/// A thread that has a value of a node.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// How values lie on the blocks.
    pub blocks: Blocks,
    /// The node; any behind the last one.
    pub node: Node,
    /// Index of the value in the node, which may have fewer.
    pub value: u32,
    /// The node's place in the block.
    pub slot: u32,
    /// Poles of the node; none behind the last node.
    pub poles: u32,
    /// Rows of the node; none behind the last node.
    pub rows: u32,
}

/// All arrays of a launch.
#[derive(Clone, Copy)]
pub struct Fields<T> {
    reals: GlobalMut<T>,
    words: GlobalMut<u32>,
    n: u32,
    batch: u64,
}

impl<T: Real> Fields<T> {
    /// Arrays of `REAL_FIELDS * batch * n` and `WORD_FIELDS * batch * n` elements.
    #[inline(always)]
    pub fn new(reals: GlobalMut<T>, words: GlobalMut<u32>, n: u32, batch: u64) -> Self {
        Fields { reals, words, n, batch }
    }

    /// Where this thread is among the values of a level whose largest node has `largest` rows.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn place(self, level: u32, leaf: u32, largest: u32) -> Place {
        let blocks = Blocks::new(largest);
        let (index, value, slot) = blocks.place();
        let live = index < self.batch << level;
        let node = Node::new(if live { index } else { 0 }, self.n, level, leaf);
        let (poles, rows) = if live { (self.counts(node).poles, node.rows()) } else { (0, 0) };
        Place { blocks, node, value, slot, poles, rows }
    }

    /// A node's part of an array, up to the end of all.
    #[inline(always)]
    pub fn reals(self, field: RealField, node: Node) -> GlobalMut<T> {
        self.item_reals(field, node.item).at(node.start as usize)
    }

    /// The array of an item.
    #[inline(always)]
    pub fn item_reals(self, field: RealField, item: u64) -> GlobalMut<T> {
        self.reals.at(((field as u64 * self.batch + item) * self.n as u64) as usize)
    }

    /// A node's part of an array, up to the end of all.
    #[inline(always)]
    pub fn words(self, field: WordField, node: Node) -> GlobalMut<u32> {
        self.item_words(field, node.item).at(node.start as usize)
    }

    /// The array of an item.
    #[inline(always)]
    pub fn item_words(self, field: WordField, item: u64) -> GlobalMut<u32> {
        self.words.at(((field as u64 * self.batch + item) * self.n as u64) as usize)
    }

    /// What the node's deflation came to.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn counts(self, node: Node) -> Counts {
        let at = self.words(WordField::Counts, node);
        Counts { poles: at.get(0), top: at.get(1), with_top: at.get(2), rotations: at.get(3) }
    }

    /// Sets what [`counts`](Self::counts) reads. A node has at least 32 rows.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn set_counts(self, node: Node, counts: Counts) {
        let at = self.words(WordField::Counts, node);
        at.set(0, counts.poles);
        at.set(1, counts.top);
        at.set(2, counts.with_top);
        at.set(3, counts.rotations);
    }
}
