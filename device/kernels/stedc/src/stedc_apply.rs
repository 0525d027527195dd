//! `stedc_apply`: the vectors of a level from those of the level below.

use crate::fields::{Fields, ROTATED, RealField, WordField};
use crate::tree::{Kept, Node};
use crate::units::{SLAB, Units, WIDTH, pitch};
use cuda_std::prelude::*;

pub use crate::units::{COLUMNS, tile_rows};

/// Threads a block.
pub const THREADS: u32 = 256;

/// Bytes of shared memory of a block.
pub const fn shared_bytes(rows: usize, real_bytes: usize) -> usize {
    let lines = pitch(tile_rows(rows), real_bytes) + pitch(COLUMNS, real_bytes);
    (SLAB * lines) as usize * real_bytes
}

/// Multiplies the children's vectors by the secular equation's, which are never stored.
///
/// # Layout and shapes
/// `vectors`: the children's, or their first and last rows (`whole` 0), leading dimension `ld`, items `stride` apart.
/// `merged`: the node's, by `merged_ld` and `merged_stride`, in ascending order of their values: all columns but those that
/// `stedc_rotate` wrote. `reals`, `words`: [`Fields`], read.
///
/// # Lanes
/// `2 row_tiles column_tiles` blocks a node: the halves of a node take turns, then tiles of rows, then of columns. A thread
/// holds `4 ROWS` sums of a tile of `16 ROWS` by 64, as the type's [`Units`] have it.
///
/// # Shared memory
/// [`shared_bytes`]: 16 columns of the children's vectors, and 16 rows of those of the secular equation.
///
/// # Synchronisation
/// Two block barriers for every 16 slots.
///
/// # Numerics
/// Component `i` of vector `j` is `z_i / ((d_i - origin_j) - tau_j)`; sums are multiplied by its reciprocal norm. The top half of the node takes the
/// slots that have one, the bottom half those that have one. f64 runs on the tensor cores, which round sums of products
/// as they do.
///
/// # Safety
/// The views cover the items; the launch gives the blocks and [`shared_bytes`].
///
/// # Source
/// LAPACK's `dlaed3`; `docs/algorithms/stedc.md`.
#[kernel(
    group(T = [f32, f64], ROWS = [2, 4], launch_bounds(256, 2)),
    group(T = [f32], ROWS = [8], launch_bounds(256, 2))
)]
pub unsafe fn stedc_apply<T: Units, const ROWS: usize>(
    vectors: Global<T>,
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
    row_tiles: u32,
    column_tiles: u32,
) {
    let tiles = 2 * row_tiles * column_tiles;
    let index = thread::block_idx_x().checked_div(tiles).unwrap_or(0);
    let tile = thread::block_idx_x() - index * tiles;
    let half = tile % 2;
    let column_tile = (tile / 2).checked_div(row_tiles).unwrap_or(0);
    let first_row = (tile / 2 - column_tile * row_tiles) * tile_rows(ROWS);
    let first_column = column_tile * COLUMNS;

    let node = Node::new(index as u64, n, level, leaf);
    let kept = Kept { whole: whole != 0, leaves: leaf > 0 };
    let (half_rows, source_row) = kept.half(node, half);
    if first_row >= half_rows || first_column >= node.rows() {
        return;
    }
    let vectors = vectors.at((node.item * stride) as usize + source_row as usize + first_row as usize);
    let target = kept.first_of_half(node, half) + first_row;
    let merged = merged.at((node.item * merged_stride) as usize + target as usize);
    let tile = ApplyTile {
        fields: Fields::new(reals, words, n, batch),
        node,
        half,
        rows: half_rows - first_row,
        first_column,
        vectors,
        ld,
        merged,
        merged_ld,
    };
    let poles = tile.fields.counts(node).poles;
    if first_column < poles {
        tile.multiply::<ROWS>(poles);
    }
    if first_column + COLUMNS > poles {
        tile.copy_deflated::<ROWS>(poles);
    }
}

/// What a block works on.
#[derive(Clone, Copy)]
struct ApplyTile<T> {
    fields: Fields<T>,
    node: Node,
    half: u32,
    /// Rows from the tile's first on.
    rows: u32,
    first_column: u32,
    /// The children's vectors from the tile's first row on.
    vectors: Global<T>,
    ld: u32,
    /// The node's vectors from the tile's first row on.
    merged: GlobalMut<T>,
    merged_ld: u32,
}

/// The root of a thread's column of the secular vectors.
#[derive(Clone, Copy)]
struct Column<T> {
    origin: T,
    tau: T,
}

impl<T: Units> ApplyTile<T> {
    /// Where a column of the node's vectors begins.
    #[inline(always)]
    fn place(self, rank: u32) -> usize {
        (self.node.start + rank) as usize * self.merged_ld as usize
    }

    /// The tile's columns that belong to roots.
    #[inline(always)]
    fn multiply<const ROWS: usize>(self, poles: u32) {
        let counts = self.fields.counts(self.node);
        let (from, to) = if self.half == 0 { (0, counts.with_top) } else { (counts.top, poles) };
        let (rows, columns) = (pitch(tile_rows(ROWS), size_of::<T>()), pitch(COLUMNS, size_of::<T>()));
        // SAFETY: the launch gives shared_bytes(ROWS); the two parts are disjoint and aligned to 16 bytes.
        let (left, right) = unsafe {
            let elements = (SLAB * rows) as usize;
            (
                dynamic_shared_mem::<T>(0, elements),
                dynamic_shared_mem::<T>(elements * size_of::<T>(), (SLAB * columns) as usize),
            )
        };
        let thread = thread::thread_idx_x();
        let column = self.column(self.first_column + thread % COLUMNS, poles);
        let mut sums = [[T::ZERO; ROWS]; WIDTH];
        let mut ahead = self.fetch::<ROWS>(from, to);
        let mut slot = from;
        while slot < to {
            for r in 0..ROWS {
                let element = thread + THREADS * r as u32;
                let (row, s) = (element % tile_rows(ROWS), element / tile_rows(ROWS));
                left.set(s * rows + row, ahead[r]);
            }
            self.fill_secular(right, slot, to, column);
            thread::sync_threads();
            slot += SLAB;
            if slot < to {
                ahead = self.fetch::<ROWS>(slot, to);
            }
            T::accumulate::<ROWS>(left, right, &mut sums);
            thread::sync_threads();
        }
        let ranks = self.fields.words(WordField::Rank, self.node);
        let norms = self.fields.reals(RealField::Norm, self.node);
        for c in 0..WIDTH {
            let j = self.first_column + T::column(c);
            if j < poles {
                let merged = self.merged.at(self.place(ranks.get(j as usize)));
                let norm = norms.get(j as usize);
                for r in 0..ROWS {
                    let row = T::row::<ROWS>(r);
                    if row < self.rows {
                        merged.set(row as usize, sums[c][r] * norm);
                    }
                }
            }
        }
    }

    /// The root of column `j`.
    #[inline(always)]
    fn column(self, j: u32, poles: u32) -> Column<T> {
        if j >= poles {
            // Far from every pole, so that nothing is infinite.
            return Column { origin: T::MAX, tau: T::ZERO };
        }
        let from = |field| self.fields.reals(field, self.node).get(j as usize);
        Column { origin: from(RealField::Origin), tau: from(RealField::Tau) }
    }

    /// Loads this thread's share of the children's columns of the slots from `slot` on.
    #[inline(always)]
    fn fetch<const ROWS: usize>(self, slot: u32, to: u32) -> [T; ROWS] {
        let thread = thread::thread_idx_x();
        let half = if self.half == 0 { WordField::Top } else { WordField::Bottom };
        let columns = self.fields.words(half, self.node);
        let mut ahead = [T::ZERO; ROWS];
        for r in 0..ROWS {
            let element = thread + THREADS * r as u32;
            let (row, s) = (element % tile_rows(ROWS), slot + element / tile_rows(ROWS));
            if s < to && row < self.rows {
                let column = columns.get(s as usize) as usize;
                ahead[r] = self.vectors.get(column * self.ld as usize + row as usize);
            }
        }
        ahead
    }

    /// Computes this thread's share of the secular vectors for the slots from `slot` on: here, for the registers that the
    /// product needs.
    #[inline(always)]
    fn fill_secular(self, right: Shared<T>, slot: u32, to: u32, column: Column<T>) {
        let thread = thread::thread_idx_x();
        let poles = self.fields.reals(RealField::SlotPole, self.node);
        let weights = self.fields.reals(RealField::SlotWeight, self.node);
        for c in 0..WIDTH {
            let element = thread + THREADS * c as u32;
            let (s, j) = (element / COLUMNS, element % COLUMNS);
            let mut component = T::ZERO;
            if slot + s < to {
                let at = (slot + s) as usize;
                let inverse = ((poles.get(at) - column.origin) - column.tau).recip_approx();
                component = weights.get(at) * inverse;
            }
            right.set(s * pitch(COLUMNS, size_of::<T>()) + j, component);
        }
    }

    /// The tile's columns that belong to deflated values, a warp a column.
    #[inline(always)]
    fn copy_deflated<const ROWS: usize>(self, poles: u32) {
        let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
        let deflated = self.fields.words(WordField::Deflated, self.node);
        let ranks = self.fields.words(WordField::Rank, self.node);
        let end = (self.first_column + COLUMNS).min(self.node.rows());
        let mut j = self.first_column.max(poles) + warp;
        while j < end {
            let from = deflated.get((j - poles) as usize);
            let kind = from & 3;
            if kind != ROTATED {
                let merged = self.merged.at(self.place(ranks.get(j as usize)));
                let column = self.vectors.at((from >> 2) as usize * self.ld as usize);
                let mut row = lane;
                while row < self.rows && row < tile_rows(ROWS) {
                    let x = if kind == self.half { column.get(row as usize) } else { T::ZERO };
                    merged.set(row as usize, x);
                    row += 32;
                }
            }
            j += THREADS / 32;
        }
    }
}
