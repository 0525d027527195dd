//! The tree of subproblems, and where the data of a node lie.
//!
//! Level 0 is the whole matrix. Node `i` of level `l` covers rows from `floor(i n / 2^l)` to `floor((i + 1) n / 2^l)`; its
//! children are nodes `2 i` and `2 i + 1` of the next level. Leaves differ by one row at most.

use cuda_std::prelude::*;

/// Rows of the largest leaf.
pub const LEAF: u32 = 32;

/// Threads a block of the kernels that give a thread a value.
pub const THREADS: u32 = 128;

/// Levels below the root: the least whose leaves have at most [`LEAF`] rows.
pub const fn levels(n: usize) -> u32 {
    let mut levels = 0;
    while n.div_ceil(1 << levels) > LEAF as usize {
        levels += 1;
    }
    levels
}

/// Rows of the largest node of a level.
pub const fn largest(n: usize, level: u32) -> usize {
    n.div_ceil(1 << level)
}

/// Elements from a node's part of shared memory to the next: pairs stay aligned.
pub const fn pitch(rows: u32) -> u32 {
    rows.next_multiple_of(4)
}

/// First row of node `index` of a level.
#[inline(always)]
pub fn first_row(n: u32, level: u32, index: u32) -> u32 {
    ((index as u64 * n as u64) >> level) as u32
}

/// A node whose children are merged.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The item.
    pub item: u64,
    /// First row, which is also its first column in the level's vectors.
    pub start: u32,
    /// First row of the second child.
    pub middle: u32,
    /// Behind the last row.
    pub end: u32,
    /// First column of each child in the vectors below.
    pub columns: [u32; 2],
}

impl Node {
    /// Node `index` of a level, counted through the items of the batch. `leaf`: rows of a leaf if the children are leaves,
    /// which lie padded to as many columns, else 0.
    #[inline(always)]
    pub fn new(index: u64, n: u32, level: u32, leaf: u32) -> Self {
        let item = index >> level;
        let i = (index - (item << level)) as u32;
        let (start, end) = (first_row(n, level, i), first_row(n, level, i + 1));
        let middle = first_row(n, level + 1, 2 * i + 1);
        let columns = if leaf > 0 { [2 * i * leaf, (2 * i + 1) * leaf] } else { [start, middle] };
        Node { item, start, middle, end, columns }
    }

    /// Rows.
    #[inline(always)]
    pub fn rows(self) -> u32 {
        self.end - self.start
    }

    /// Rows of the first child.
    #[inline(always)]
    pub fn top(self) -> u32 {
        self.middle - self.start
    }

    /// Rows of the second child.
    #[inline(always)]
    pub fn bottom(self) -> u32 {
        self.end - self.middle
    }
}

/// Where the vectors of a level's children lie, or as much of them as is kept.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Whether vectors are kept whole; else their first and last rows only.
    pub whole: bool,
    /// Whether the children are leaves, whose vectors are whole in either case.
    pub leaves: bool,
}

impl Kept {
    /// Rows that are kept of a half of the node, and the first of them in the child's vectors.
    #[inline(always)]
    pub fn half(self, node: Node, half: u32) -> (u32, u32) {
        match (self.whole, half) {
            (true, 0) => (node.top(), 0),
            (true, _) => (node.bottom(), 0),
            (false, 0) => (1, 0),
            (false, _) => (1, if self.leaves { node.bottom() - 1 } else { 1 }),
        }
    }

    /// The first row of a half in the node's own vectors.
    #[inline(always)]
    pub fn first_of_half(self, node: Node, half: u32) -> u32 {
        match (half, self.whole) {
            (0, _) => 0,
            (_, true) => node.top(),
            _ => 1,
        }
    }

    /// The row of the first child's vectors that is next to the second child.
    #[inline(always)]
    pub fn last_of_top(self, node: Node) -> u32 {
        if self.whole || self.leaves { node.top() - 1 } else { 1 }
    }
}

/// How the values of a level's nodes lie on the blocks, a thread a value.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    /// Threads a node.
    pub width: u32,
    /// Blocks a node.
    pub chunks: u32,
}

impl Blocks {
    /// For nodes of at most `rows` rows.
    #[inline(always)]
    pub const fn new(rows: u32) -> Self {
        match rows {
            0..=32 => Blocks { width: 32, chunks: 1 },
            33..=64 => Blocks { width: 64, chunks: 1 },
            _ => Blocks { width: THREADS, chunks: rows.div_ceil(THREADS) },
        }
    }

    /// Nodes a block.
    #[inline(always)]
    pub const fn nodes(self) -> u32 {
        // Widths are 32, 64 and 128.
        THREADS >> self.width.trailing_zeros()
    }

    /// Blocks of a launch over `nodes` nodes.
    pub const fn grid(self, nodes: u64) -> u64 {
        nodes.div_ceil(self.nodes() as u64).saturating_mul(self.chunks as u64)
    }

    /// This thread's node, and the index of its value there. The third number is the node's place in the block.
    #[inline(always)]
    pub fn place(self) -> (u64, u32, u32) {
        let group = thread::block_idx_x().checked_div(self.chunks).unwrap_or(0);
        let chunk = thread::block_idx_x() - group * self.chunks;
        let slot = thread::thread_idx_x() / self.width;
        let index = group as u64 * self.nodes() as u64 + slot as u64;
        (index, chunk * self.width + thread::thread_idx_x() % self.width, slot)
    }

    /// This thread among those of its node.
    #[inline(always)]
    pub fn rank(self) -> u32 {
        thread::thread_idx_x() % self.width
    }
}
