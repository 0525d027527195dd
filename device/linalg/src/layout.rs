//! Where a tile finds its matrix and its shared memory.

use cuda_std::prelude::*;

/// The batch that a launch works on: column-major items of order `n`.
#[derive(Clone, Copy, Debug)]
pub struct Items {
    /// Order of each matrix.
    pub n: u32,
    /// Distance between columns.
    pub ld: u32,
    /// Distance between items.
    pub stride: u64,
    /// Number of items.
    pub batch: u64,
}

/// The item of a block: a matrix and its place.
#[derive(Clone, Copy, Debug)]
pub struct Item<T> {
    /// Its matrix.
    pub matrix: GlobalMut<T>,
    /// Order.
    pub n: u32,
    /// Distance between columns.
    pub ld: u32,
}

impl<T: Copy> Item<T> {
    /// Column `k`.
    #[inline(always)]
    pub fn column(self, k: u32) -> GlobalMut<T> {
        self.matrix.at(k as usize * self.ld as usize)
    }
}

/// Index of the item of this tile, `lanes` threads an item.
#[inline(always)]
pub fn item_index(lanes: u32) -> u64 {
    let tiles_per_block = thread::block_dim_x() / lanes;
    thread::block_idx_x() as u64 * tiles_per_block as u64 + (thread::thread_idx_x() / lanes) as u64
}

/// First element of this tile's share of shared memory, `elements` a tile.
#[inline(always)]
pub fn tile_offset(lanes: u32, elements: usize) -> u32 {
    thread::thread_idx_x() / lanes * elements as u32
}

/// Shared elements a tile of `sytrd_cta`: the staging of the load, and a vector twice.
pub const fn sytrd_elements(lanes: usize) -> usize {
    crate::load::staging_elements(lanes) + 2 * lanes
}

/// Shared elements a tile of the `steqr_cta` kernels with vectors: the basis.
pub const fn steqr_elements(lanes: usize) -> usize {
    lanes * lanes
}
