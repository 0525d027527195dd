//! Threads, tiles and shared memory of the launches.

/// Most threads of a block of `latrd`.
pub const LATRD_THREADS: u32 = 512;

/// Most threads of a block of `latrd_grid`, of which a multiprocessor has one.
pub const LATRD_GRID_THREADS: u32 = 256;

/// Threads of a block of `larft`.
pub const LARFT_THREADS: u32 = 128;

/// Columns of C that a block of `ormqr` has.
pub const STRIP: usize = 64;

/// Columns of V and W that `syr2k` stages at a time: a whole panel, but for 16-byte scalars.
pub const fn syr2k_staged(scalar_bytes: usize) -> u32 {
    if scalar_bytes > 8 { 16 } else { MAX_PANEL as u32 }
}

/// Rows that `larft` and `ormqr` stage at a time for inner products, of panels of `reflectors`.
pub const fn depth(reflectors: usize) -> usize {
    reflectors / 2
}

/// Elements that lie between columns in shared memory, against bank conflicts: a word of 16 bytes; for the fragments of the
/// tensor cores, which reach over four columns at a time, 32 bytes.
const fn gap(scalar_bytes: usize, complex: bool) -> usize {
    if scalar_bytes == 8 && !complex { 4 } else { 16 / scalar_bytes }
}

/// From a column to the next of what is staged for inner products.
pub const fn staged_ld(reflectors: usize, scalar_bytes: usize, complex: bool) -> usize {
    depth(reflectors) + gap(scalar_bytes, complex)
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

/// Where the parts of a `larft` block lie in shared memory, in elements.
#[derive(Clone, Copy, Debug)]
pub struct Larft {
    /// From one of the two staged chunks, which begin the memory, to the other. In their place later what becomes the factor.
    pub buffer: usize,
    /// The `tau`.
    pub tau: usize,
    /// Elements in all.
    pub end: usize,
}

impl Larft {
    /// For panels of `reflectors` and a scalar type.
    pub const fn new(reflectors: usize, scalar_bytes: usize, complex: bool) -> Self {
        let buffer = reflectors * staged_ld(reflectors, scalar_bytes, complex);
        let factor = reflectors * Larft::line(reflectors, scalar_bytes);
        let tau = if 2 * buffer > factor { 2 * buffer } else { factor };
        Larft { buffer, tau, end: tau + reflectors }
    }

    /// From a row of the factor to the next: an odd number of 16 bytes, so that lanes read rows of their own without bank
    /// conflicts.
    pub const fn line(reflectors: usize, scalar_bytes: usize) -> usize {
        reflectors + 16 / scalar_bytes
    }
}

/// Threads of a block of `ormqr`: of 4-byte scalars 4 warps, whose threads have 8 by 4 sums each.
pub const fn ormqr_threads(scalar_bytes: usize) -> u32 {
    if scalar_bytes == 4 { 128 } else { 256 }
}

/// Elements from a column of what `ormqr` stages for inner products to the next: words of 16 bytes lie an odd number of
/// words apart; of the tensor cores' fragments, of 4 elements in each column, those of two columns (16-byte scalars) or
/// four lie in different banks.
pub const fn inner_ld(reflectors: usize, scalar_bytes: usize, complex: bool) -> u32 {
    (depth(reflectors) + if scalar_bytes == 16 { 4 } else { gap(scalar_bytes, complex) }) as u32
}

/// Elements from a column of V, or of T, to the next for the other products of `ormqr`.
pub const fn rows_ld(reflectors: usize, scalar_bytes: usize, complex: bool) -> u32 {
    (reflectors + product_gap(scalar_bytes, complex)) as u32
}

/// Elements from a row of `V^H C` to the next in `ormqr`.
pub const fn factor_ld(scalar_bytes: usize, complex: bool) -> u32 {
    (STRIP + product_gap(scalar_bytes, complex)) as u32
}

/// Of the fragments' 2 elements in each of 4 columns (16-byte scalars) all lie in different banks.
const fn product_gap(scalar_bytes: usize, complex: bool) -> usize {
    if scalar_bytes == 16 { 2 } else { gap(scalar_bytes, complex) }
}

/// Where the parts of an `ormqr` block lie in shared memory, in elements.
#[derive(Clone, Copy, Debug)]
pub struct Ormqr {
    /// From one of two chunks of V and C, which begin the memory, to the other.
    pub chunk: usize,
    /// From V to C in a chunk.
    pub c: usize,
    /// From one of two chunks of V for the update, in the same place, to the other.
    pub rows: usize,
    /// `V^H C`, then `T V^H C`.
    pub product: usize,
    /// Elements in all.
    pub end: usize,
}

impl Ormqr {
    /// For panels of `reflectors` and a scalar type.
    pub const fn new(reflectors: usize, scalar_bytes: usize, complex: bool) -> Self {
        let ld = inner_ld(reflectors, scalar_bytes, complex) as usize;
        let (c, chunk) = (reflectors * ld, (reflectors + STRIP) * ld);
        let rows = reflectors * rows_ld(reflectors, scalar_bytes, complex) as usize;
        let product = if chunk > rows { 2 * chunk } else { 2 * rows };
        let end = product + reflectors * factor_ld(scalar_bytes, complex) as usize;
        Ormqr { chunk, c, rows, product, end }
    }

    /// Bytes of a block.
    pub const fn bytes(reflectors: usize, scalar_bytes: usize, complex: bool) -> usize {
        Ormqr::new(reflectors, scalar_bytes, complex).end * scalar_bytes
    }
}
