//! Which warp takes which values.

/// Warps a block.
pub const WARPS: u32 = 4;
/// Threads a block.
pub const THREADS: u32 = 32 * WARPS;

/// How the items of a batch lie on the blocks.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Items of a block.
    pub items: u32,
    /// Blocks that share an item.
    pub blocks: u32,
}

impl Shape {
    /// For matrices of order `n`, `values` values a lane.
    #[inline(always)]
    pub const fn new(n: u32, values: u32) -> Self {
        let warps = n.div_ceil(32 * values);
        match warps {
            0 | 1 => Shape { items: WARPS, blocks: 1 },
            2 => Shape { items: WARPS / 2, blocks: 1 },
            _ => Shape { items: 1, blocks: warps.div_ceil(WARPS) },
        }
    }

    /// Warps of a block that an item has.
    #[inline(always)]
    pub const fn warps(self) -> u32 {
        // Without a division: `items` is 1, 2 or 4.
        WARPS >> self.items.trailing_zeros()
    }

    /// Bytes of shared memory of a block where the matrices lie there.
    pub const fn shared_bytes(self, n: usize, real_bytes: usize) -> usize {
        2 * n * real_bytes * self.items as usize
    }
}
