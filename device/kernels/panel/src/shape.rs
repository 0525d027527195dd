//! Threads, tiles and shared memory of the launches.

/// Most threads of a block of `latrd`.
pub const LATRD_THREADS: u32 = 512;

/// Most threads of a block of `latrd_grid`, of which a multiprocessor has one.
pub const LATRD_GRID_THREADS: u32 = 256;

/// Threads of a block of the tiled kernels.
pub const TILE_THREADS: u32 = 256;

/// Columns of a panel of reflectors that `larft` and `ormqr` take at a time.
pub const REFLECTORS: usize = 32;

/// Columns of V and W that `syr2k` stages at a time: a whole panel, but for 16-byte scalars.
pub const fn syr2k_staged(scalar_bytes: usize) -> u32 {
    if scalar_bytes > 8 { 16 } else { MAX_PANEL as u32 }
}

/// Rows that `ormqr` stages at a time.
pub const ROWS: usize = 64;

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

/// Where the parts of a `latrd` block lie in shared memory, in bytes; those of known length come first.
#[derive(Clone, Copy, Debug)]
pub struct Latrd {
    /// `V` and `W` in the row of the next column.
    pub row: usize,
    /// `W^H v` and `V^H v`.
    pub dots: usize,
    /// A scalar a warp, and the pivot.
    pub sums: usize,
    /// A real number a warp.
    pub squares: usize,
    /// The reflector's vector, and behind it the parts of the product, one a warp.
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
        Latrd { row: 0, dots, sums, squares, v: squares + aligned(warps * scalar_bytes) }
    }

    /// Bytes in all, for `rows` rows from the first multiple of 32 not above the panel's first.
    pub const fn bytes(scalar_bytes: usize, rows: usize, warps: usize) -> usize {
        Latrd::new(scalar_bytes).v + (warps + 1) * (rows.div_ceil(32) * 32) * scalar_bytes
    }
}

/// A block of `syr2k`.
#[derive(Clone, Copy, Debug)]
pub struct Syr2k {
    /// Threads: a warp for 32 columns and half of the rows in single precision, for 32 by 32 elements (complex: 16
    /// columns) in double precision.
    pub threads: u32,
    /// Elements from a line of a staged panel to the next: on the tensor cores four lines are read at once, in banks
    /// that differ by this.
    pub line: u32,
    /// Bytes of shared memory: V and W at the tile's rows, and at its columns.
    pub bytes: usize,
}

impl Syr2k {
    /// For a square tile and a scalar type.
    pub const fn new(tile: u32, scalar_bytes: usize, real_bytes: usize) -> Self {
        let (rows, columns, padding) = match (real_bytes, scalar_bytes) {
            (4, _) => (tile / 2, 32, 0),
            (_, 8) => (32, 32, 4),
            _ => (32, 16, 2),
        };
        let line = tile + padding;
        Syr2k {
            threads: 32 * (tile / rows) * (tile / columns),
            line,
            bytes: (4 * syr2k_staged(scalar_bytes) * line) as usize * scalar_bytes,
        }
    }
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
