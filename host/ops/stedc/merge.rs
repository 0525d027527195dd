//! The merges of the family `levels`, level by level.

use cuda_std::launch::{Call, NoEntry};
use cuda_std::{Global, GlobalMut};
use kernels_stedc::tree::{self, Blocks};
use kernels_stedc::{stedc_apply, stedc_deflate, stedc_norms, stedc_rotate, stedc_secular, stedc_weights};

use crate::error::{Error, Result};
use crate::ops::steqr::cta::Basis;
use crate::ops::tiles::{self, KernelReal};
use crate::queue::Queue;

/// Vectors of a level's nodes, or their first and last rows: node by node, a column a value.
#[derive(Clone, Copy)]
pub(super) struct Vectors<T> {
    pub(super) elements: GlobalMut<T>,
    pub(super) ld: usize,
    /// Elements from an item to the next.
    pub(super) stride: usize,
}

/// What a level has come to.
#[derive(Clone, Copy)]
pub(super) struct Below<T> {
    pub(super) values: Global<T>,
    /// Elements from an item to the next.
    pub(super) values_stride: usize,
    pub(super) vectors: Vectors<T>,
}

/// The merges of a batch.
pub(super) struct Merges<'q, T> {
    pub(super) queue: &'q Queue,
    pub(super) n: usize,
    pub(super) batch: usize,
    pub(super) levels: u32,
    /// Columns of a leaf.
    pub(super) leaf: usize,
    /// Rows that a thread of the products takes at most.
    pub(super) rows: u32,
    pub(super) reals: GlobalMut<T>,
    pub(super) words: GlobalMut<u32>,
    /// Vectors of every other level, or twice first and last rows.
    pub(super) between: GlobalMut<T>,
    /// The vectors of the whole, where they are wanted; those of every other level before.
    pub(super) q: Option<Basis<T>>,
}

/// What the kernels of a level share.
#[derive(Clone, Copy)]
struct Level {
    level: u32,
    /// Columns of a leaf where the children are leaves, else 0.
    leaf: u32,
    /// Rows of the largest node.
    largest: usize,
    /// Nodes of the batch.
    nodes: u64,
}

impl<T: KernelReal> Merges<'_, T> {
    /// Merges up to the whole matrix.
    pub(super) fn run(&self, leaves: Below<T>) -> Result<Below<T>> {
        let mut below = leaves;
        for level in (0..self.levels).rev() {
            let nodes = (self.batch as u64).checked_mul(1 << level);
            let level = Level {
                level,
                leaf: if level + 1 == self.levels { self.leaf as u32 } else { 0 },
                largest: tree::largest(self.n, level),
                nodes: nodes.ok_or_else(|| Error::argument("the batch is too large"))?,
            };
            below = self.merge(&level, &below)?;
        }
        Ok(below)
    }

    /// Where the vectors of a level go: what the level below wrote stays.
    fn place(&self, level: u32) -> Vectors<T> {
        match self.q {
            Some(q) if level.is_multiple_of(2) => {
                Vectors { elements: q.elements, ld: q.ld, stride: q.stride }
            }
            Some(_) => {
                let ld = self.n.div_ceil(2);
                Vectors { elements: self.between, ld, stride: ld * self.n }
            }
            None => {
                let half = if level.is_multiple_of(2) { 0 } else { self.between.len() / 2 };
                Vectors { elements: self.between.at(half), ld: 2, stride: 2 * self.n }
            }
        }
    }

    fn merge(&self, level: &Level, below: &Below<T>) -> Result<Below<T>> {
        self.deflate(level, below)?;
        // The three steps that give a thread a value take the same arguments.
        macro_rules! per_value {
            ($($kernel:ident)*) => { $(
                self.per_value(level, $kernel::shared_bytes, |largest| {
                    $kernel::$kernel::call::<T>(
                        self.reals,
                        self.words,
                        self.n as u32,
                        self.batch as u64,
                        level.level,
                        level.leaf,
                        largest,
                    )
                })?;
            )* };
        }
        per_value!(stedc_secular stedc_weights stedc_norms);
        let merged = self.place(level.level);
        // Nobody asks for the first and the last row of the whole.
        if self.q.is_some() || level.level > 0 {
            self.rotate(level, below, &merged)?;
            self.apply(level, below, &merged)?;
        }
        // The first array of the reals holds the values.
        Ok(Below { values: self.reals.as_global(), values_stride: self.n, vectors: merged })
    }

    fn whole(&self) -> u32 {
        u32::from(self.q.is_some())
    }

    fn deflate(&self, level: &Level, below: &Below<T>) -> Result<()> {
        let Vectors { elements, ld, stride } = below.vectors;
        let call = stedc_deflate::stedc_deflate::call::<T>(
            below.values,
            elements.as_global(),
            self.reals,
            self.words,
            self.n as u32,
            self.batch as u64,
            level.level,
            level.leaf,
            self.whole(),
            below.values_stride as u64,
            tiles::leading_dimension(ld)?,
            stride as u64,
            level.largest as u32,
        );
        let bytes = stedc_deflate::shared_bytes(level.largest, size_of::<T>());
        tiles::submit(self.queue, tiles::config(level.nodes, 1, stedc_deflate::THREADS, bytes)?, call)
    }

    /// Submits a kernel that gives a thread a value.
    fn per_value(
        &self,
        level: &Level,
        shared_bytes: impl Fn(usize, usize) -> usize,
        call: impl FnOnce(u32) -> std::result::Result<Call, NoEntry>,
    ) -> Result<()> {
        let grid = Blocks::new(level.largest as u32).grid(level.nodes);
        let bytes = shared_bytes(level.largest, size_of::<T>());
        let config = tiles::config(grid, 1, tree::THREADS, bytes)?;
        tiles::submit(self.queue, config, call(level.largest as u32))
    }

    fn rotate(&self, level: &Level, below: &Below<T>, merged: &Vectors<T>) -> Result<()> {
        let rows = if self.q.is_some() { level.largest } else { 2 };
        let chunks = rows.div_ceil(stedc_rotate::THREADS as usize) as u32;
        let call = stedc_rotate::stedc_rotate::call::<T>(
            below.vectors.elements,
            merged.elements,
            self.reals,
            self.words,
            self.n as u32,
            self.batch as u64,
            level.level,
            level.leaf,
            self.whole(),
            tiles::leading_dimension(below.vectors.ld)?,
            below.vectors.stride as u64,
            tiles::leading_dimension(merged.ld)?,
            merged.stride as u64,
            chunks,
        );
        let grid = level.nodes.saturating_mul(chunks as u64);
        tiles::submit(
            self.queue,
            tiles::config(grid, 1, stedc_rotate::THREADS, stedc_rotate::shared_bytes(size_of::<T>()))?,
            call,
        )
    }

    fn apply(&self, level: &Level, below: &Below<T>, merged: &Vectors<T>) -> Result<()> {
        let half = if self.q.is_some() { tree::largest(self.n, level.level + 1) } else { 1 };
        // Tiles no taller than the half of a node.
        let rows = match half {
            0..=32 => 2,
            33..=64 => self.rows.min(4),
            _ => self.rows,
        };
        let row_tiles = half.div_ceil(stedc_apply::tile_rows(rows as usize) as usize) as u32;
        let column_tiles = level.largest.div_ceil(stedc_apply::COLUMNS as usize) as u32;
        let (below_ld, merged_ld) =
            (tiles::leading_dimension(below.vectors.ld)?, tiles::leading_dimension(merged.ld)?);
        macro_rules! pack {
            ($rows:literal) => {
                stedc_apply::stedc_apply::call::<T, $rows>(
                    below.vectors.elements.as_global(),
                    merged.elements,
                    self.reals,
                    self.words,
                    self.n as u32,
                    self.batch as u64,
                    level.level,
                    level.leaf,
                    self.whole(),
                    below_ld,
                    below.vectors.stride as u64,
                    merged_ld,
                    merged.stride as u64,
                    row_tiles,
                    column_tiles,
                )
            };
        }
        let call = match rows {
            2 => pack!(2),
            4 => pack!(4),
            _ => pack!(8),
        };
        let grid = level.nodes.saturating_mul(2 * row_tiles as u64 * column_tiles as u64);
        let bytes = stedc_apply::shared_bytes(rows as usize, size_of::<T>());
        tiles::submit(self.queue, tiles::config(grid, 1, stedc_apply::THREADS, bytes)?, call)
    }
}
