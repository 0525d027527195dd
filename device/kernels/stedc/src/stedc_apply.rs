//! `stedc_apply`: the vectors of a level from those of the level below.

use crate::fields::{Fields, ROTATED, RealField, WordField};
use crate::tree::{Kept, Node};
use cuda_std::prelude::*;

/// Threads a block: 16 by 16.
pub const THREADS: u32 = 256;

/// Columns of a block's tile.
pub const COLUMNS: u32 = 64;

/// Slots that the block takes at a time.
const SLAB: u32 = 16;

/// Columns a thread.
const WIDTH: usize = 4;

/// Rows of a block's tile, `rows` rows a thread.
pub const fn tile_rows(rows: usize) -> u32 {
    16 * rows as u32
}

/// Bytes of shared memory of a block.
pub const fn shared_bytes(rows: usize, real_bytes: usize) -> usize {
    SLAB as usize * (tile_rows(rows) + COLUMNS) as usize * real_bytes
}

/// Rows or columns of a thread that lie side by side: what one load of 16 bytes takes, or all of them.
const fn together(count: usize, real_bytes: usize) -> usize {
    let wide = 16 / real_bytes;
    if count < wide { count } else { wide }
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
/// holds `ROWS` rows by 4 columns of a tile of `16 ROWS` by 64.
///
/// # Shared memory
/// [`shared_bytes`]: 16 columns of the children's vectors, and 16 rows of those of the secular equation.
///
/// # Synchronisation
/// Two block barriers for every 16 slots.
///
/// # Numerics
/// Component `i` of vector `j` is `z_i / ((d_i - origin_j) - tau_j)` over its norm. The top half of the node takes the
/// slots that have one, the bottom half those that have one.
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
pub unsafe fn stedc_apply<T: Real, const ROWS: usize>(
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

/// A thread's share of the next slab.
#[derive(Clone, Copy)]
struct Ahead<T, const ROWS: usize> {
    vectors: [T; ROWS],
    secular: [T; WIDTH],
}

/// The root of a thread's column of the secular vectors.
#[derive(Clone, Copy)]
struct Column<T> {
    origin: T,
    tau: T,
    /// The reciprocal norm; 0 where there is no such root.
    norm: T,
}

impl<T: Real> ApplyTile<T> {
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
        let tile_rows = tile_rows(ROWS);
        // SAFETY: the launch gives shared_bytes(ROWS); the two parts are disjoint and aligned to 16 bytes.
        let (left, right) = unsafe {
            let elements = (SLAB * tile_rows) as usize;
            (
                dynamic_shared_mem::<T>(0, elements),
                dynamic_shared_mem::<T>(elements * size_of::<T>(), (SLAB * COLUMNS) as usize),
            )
        };
        let thread = thread::thread_idx_x();
        let column = self.column(self.first_column + thread % COLUMNS, poles);
        let (x, y) = (thread % 16, thread / 16);
        let mut sums = [[T::ZERO; ROWS]; WIDTH];
        let mut ahead = self.fetch::<ROWS>(from, to, column);
        let mut slot = from;
        while slot < to {
            for r in 0..ROWS {
                left.set(thread + THREADS * r as u32, ahead.vectors[r]);
            }
            for c in 0..WIDTH {
                right.set(thread + THREADS * c as u32, ahead.secular[c]);
            }
            thread::sync_threads();
            slot += SLAB;
            if slot < to {
                ahead = self.fetch::<ROWS>(slot, to, column);
            }
            for s in 0..SLAB {
                let a = load::<T, ROWS>(left.at(s * tile_rows), x);
                let b = load::<T, WIDTH>(right.at(s * COLUMNS), y);
                for c in 0..WIDTH {
                    for r in 0..ROWS {
                        sums[c][r] = a[r].mul_add(b[c], sums[c][r]);
                    }
                }
            }
            thread::sync_threads();
        }
        let ranks = self.fields.words(WordField::Rank, self.node);
        for c in 0..WIDTH {
            let j = self.first_column + spread::<WIDTH>(size_of::<T>(), c, y);
            if j < poles {
                let merged = self.merged.at(self.place(ranks.get(j as usize)));
                for r in 0..ROWS {
                    let row = spread::<ROWS>(size_of::<T>(), r, x);
                    if row < self.rows {
                        merged.set(row as usize, sums[c][r]);
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
            return Column { origin: T::MAX, tau: T::ZERO, norm: T::ZERO };
        }
        let from = |field| self.fields.reals(field, self.node).get(j as usize);
        Column { origin: from(RealField::Origin), tau: from(RealField::Tau), norm: from(RealField::Norm) }
    }

    /// Loads this thread's share of the slots from `slot` on, and computes that of the secular vectors.
    #[inline(always)]
    fn fetch<const ROWS: usize>(self, slot: u32, to: u32, column: Column<T>) -> Ahead<T, ROWS> {
        let thread = thread::thread_idx_x();
        let columns =
            self.fields.words(if self.half == 0 { WordField::Top } else { WordField::Bottom }, self.node);
        let (poles, weights) = (
            self.fields.reals(RealField::SlotPole, self.node),
            self.fields.reals(RealField::SlotWeight, self.node),
        );
        let mut ahead = Ahead { vectors: [T::ZERO; ROWS], secular: [T::ZERO; WIDTH] };
        for r in 0..ROWS {
            let element = thread + THREADS * r as u32;
            let (row, s) = (element % tile_rows(ROWS), slot + element / tile_rows(ROWS));
            if s < to && row < self.rows {
                let column = columns.get(s as usize) as usize;
                ahead.vectors[r] = self.vectors.get(column * self.ld as usize + row as usize);
            }
        }
        for c in 0..WIDTH {
            let s = slot + (thread + THREADS * c as u32) / COLUMNS;
            if s < to {
                let (pole, weight) = (poles.get(s as usize), weights.get(s as usize));
                let inverse = ((pole - column.origin) - column.tau).recip_approx();
                ahead.secular[c] = weight * inverse * column.norm;
            }
        }
        ahead
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

/// Row or column of element `i` of `N` of lane `x` of 16: neighbours as far as one load goes, so that the lanes' loads
/// meet different banks.
#[inline(always)]
fn spread<const N: usize>(real_bytes: usize, i: usize, x: u32) -> u32 {
    let side = together(N, real_bytes);
    ((i / side) * 16 * side + i % side) as u32 + x * side as u32
}

/// The `N` elements of lane `x`, as [`spread`] has them.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn load<T: Real, const N: usize>(row: Shared<T>, x: u32) -> [T; N] {
    let mut elements = [T::ZERO; N];
    let side = together(N, size_of::<T>());
    for start in (0..N).step_by(side) {
        let at = spread::<N>(size_of::<T>(), start, x);
        if side == 4 {
            let four = row.get_array::<4>(at);
            for i in 0..4 {
                elements[(start + i) % N] = four[i];
            }
        } else {
            let two: [T; 2] = row.as_pairs().get(at / 2).into();
            for i in 0..2 {
                elements[(start + i) % N] = two[i];
            }
        }
    }
    elements
}
