//! Threads, tiles and shared memory of the launches.

/// Most threads of a block of `latrd`.
pub const LATRD_THREADS: u32 = 512;

/// Most threads of a block of `latrd_grid`, of which a multiprocessor has one.
pub const LATRD_GRID_THREADS: u32 = 256;

/// Threads of a block of the tiled kernels.
pub const TILE_THREADS: u32 = 256;

/// Columns of a panel of reflectors that `larft` and `ormqr` take at a time.
pub const REFLECTORS: usize = 32;

/// Columns of V and W that `syr2k` stages at a time.
pub const STAGED: usize = 16;

/// Rows that `ormqr` stages at a time.
pub const ROWS: usize = 64;

/// Rows and columns of a tile of `syr2k`.
pub const fn syr2k_tile(scalar_bytes: usize) -> usize {
    if scalar_bytes > 8 { 32 } else { 64 }
}

/// Columns of a strip of `ormqr`.
pub const fn strip(scalar_bytes: usize) -> usize {
    256 / scalar_bytes
}

/// Rows from a column to the next in shared memory: one 16-byte word more than a chunk, against bank conflicts.
pub const fn staged_ld(scalar_bytes: usize) -> usize {
    ROWS + 16 / scalar_bytes
}

const fn aligned(bytes: usize) -> usize {
    bytes.div_ceil(16) * 16
}

/// Most columns of a panel of `latrd`.
pub const MAX_PANEL: usize = 32;

/// Staged columns of a panel of `latrd` come in multiples of this.
pub const LATRD_STAGED: usize = 8;

/// Where the parts of a `latrd` block lie in shared memory, in bytes; those of known length come first.
#[derive(Clone, Copy, Debug)]
pub struct Latrd {
    /// `V` and `W` in the row of the next column, conjugated.
    pub row: usize,
    /// `W^H v` and `V^H v`.
    pub dots: usize,
    /// A scalar a warp, and the pivot.
    pub sums: usize,
    /// A real number a warp.
    pub squares: usize,
    /// Two words: what the block reads again rather than keeping it in registers.
    pub state: usize,
    /// The reflector's vector, behind it the parts of the product, one a warp, and behind them the staged columns of `V`
    /// and of `W`.
    pub v: usize,
}

impl Latrd {
    /// For a scalar type.
    pub const fn new(scalar_bytes: usize) -> Self {
        let warps = LATRD_THREADS as usize / 32;
        let dots = 2 * MAX_PANEL * scalar_bytes;
        let sums = 2 * dots;
        let squares = sums + aligned((warps + 1) * scalar_bytes);
        // Real numbers are no longer than scalars.
        let state = squares + aligned(warps * scalar_bytes);
        Latrd { row: 0, dots, sums, squares, state, v: state + aligned(8) }
    }

    /// Bytes in all, for `rows` rows from the first multiple of 32 not above the panel's first and `staged` columns of `V`
    /// and `W` in shared memory.
    pub const fn bytes(scalar_bytes: usize, rows: usize, warps: usize, staged: usize) -> usize {
        let padded = rows.div_ceil(32) * 32;
        let elements = (warps + 1) * padded + 2 * staged * latrd_staged_ld(padded);
        Latrd::new(scalar_bytes).v + elements * scalar_bytes
    }
}

/// Elements from a staged column of `latrd` to the next: odd, so that a row is read without bank conflicts.
pub const fn latrd_staged_ld(padded: usize) -> usize {
    padded + 1
}

/// Bytes of shared memory of a `syr2k` block: four staged panels, or the tile on its way out.
pub const fn syr2k_bytes(scalar_bytes: usize) -> usize {
    let tile = syr2k_tile(scalar_bytes);
    let (staged, out) = (4 * STAGED * tile, tile * (tile + 1));
    (if staged > out { staged } else { out }) * scalar_bytes
}

/// Bytes of shared memory of a `larft` block.
pub const fn larft_bytes(scalar_bytes: usize) -> usize {
    3 * REFLECTORS * (REFLECTORS + 1) * scalar_bytes
}

/// Where the parts of an `ormqr` block lie in shared memory, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Ormqr {
    /// A chunk of the reflectors.
    pub v: usize,
    /// A chunk of the strip.
    pub c: usize,
    /// `V^H C`.
    pub product: usize,
    /// `T V^H C`.
    pub factor: usize,
    /// `T`.
    pub t: usize,
    /// Bytes in all.
    pub end: usize,
}

impl Ormqr {
    /// For a scalar type.
    pub const fn new(scalar_bytes: usize) -> Self {
        let (ld, strip) = (staged_ld(scalar_bytes), strip(scalar_bytes));
        let v = 0;
        let c = v + REFLECTORS * ld * scalar_bytes;
        let product = c + strip * ld * scalar_bytes;
        let factor = product + REFLECTORS * strip * scalar_bytes;
        let t = factor + REFLECTORS * strip * scalar_bytes;
        Ormqr { v, c, product, factor, t, end: t + REFLECTORS * (REFLECTORS + 1) * scalar_bytes }
    }
}
