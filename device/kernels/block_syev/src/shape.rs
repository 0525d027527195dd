//! Threads, and what lies where in shared memory: the same for host and device.

use device_linalg::train::{SWEEPS, Spans};

/// Reflectors that the back-transform stages at a time.
pub const STAGED: usize = 8;

/// Columns that share a load of the vectors: what leaves registers for the tile.
pub const fn group(bytes: usize) -> usize {
    if bytes == 16 { 2 } else { 4 }
}

/// Columns of a warp's tile that stay in registers; the others lie in shared memory.
pub const fn held(bytes: usize, rows: usize, columns: usize) -> usize {
    if bytes == 16 && rows == 4 { 6 } else { columns }
}

/// Largest order that `rows` rows a lane can hold.
pub const fn padded(rows: usize) -> usize {
    32 * rows
}

/// Warps of a block: each holds `columns` columns of the matrix.
pub const fn warps(rows: usize, columns: usize) -> usize {
    padded(rows) / columns
}

/// Threads of a block.
pub const fn threads(rows: usize, columns: usize) -> usize {
    32 * warps(rows, columns)
}

/// Whether the back-transform takes the columns in parts, which overwrites the matrix while reflectors are still
/// needed: they must lie elsewhere.
pub const fn in_parts(bytes: usize, rows: usize) -> bool {
    bytes == 16 && rows == 4
}

/// Rows a lane's worth of columns that the back-transform takes at a time, [`threads`] over the lanes of a column.
pub const fn parts(bytes: usize, rows: usize) -> usize {
    if in_parts(bytes, rows) { 1 } else { rows }
}

/// How often a pass of the back-transform fills the shared memory for finished columns: complex ones take twice what
/// the real basis takes.
pub const fn chunks(bytes: usize, real_bytes: usize) -> usize {
    bytes / real_bytes
}

/// Columns that leave the back-transform at a time.
pub const fn finished_columns(bytes: usize, real_bytes: usize, rows: usize) -> usize {
    32 * parts(bytes, rows) / chunks(bytes, real_bytes)
}

/// Byte offsets of the parts of a block's shared memory. What begins with `tail`, `basis` and `staged` takes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// Diagonal, then off-diagonal: two of the padded order.
    pub tridiagonal: usize,
    /// Largest element of each warp.
    pub largest: usize,
    /// Words: spans of the log, unconverged couplings, flags.
    pub words: usize,
    /// Columns of the tiles that are not in registers.
    pub tail: usize,
    /// Two buffers of the warps' parts of the product.
    pub partial: usize,
    /// Two buffers of the column that is next.
    pub column: usize,
    /// Three vectors at each warp's columns.
    pub own: usize,
    /// The rotation log: two buffers.
    pub log: usize,
    /// The basis: order by order reals.
    pub basis: usize,
    /// Two buffers of reflectors.
    pub staged: usize,
    /// Their factors.
    pub factors: usize,
    /// Columns on their way out.
    pub finished: usize,
    /// Bytes in all.
    pub end: usize,
}

/// Bits of a row in the spans of the log.
pub const SPAN_BITS: u32 = 8;
const SPANS: usize = Spans::<SPAN_BITS>::WORDS;
/// Words of [`Offsets::words`]: spans of the log, then what follows.
pub const WORDS: usize = SPANS + 3;
/// Word: whether the tridiagonal matrix stands reversed.
pub const REVERSED: u32 = SPANS as u32;
/// Word: the item.
pub const INDEX: u32 = REVERSED + 1;

impl Offsets {
    /// The parts for order `n`.
    pub const fn new(
        rows: usize,
        columns: usize,
        bytes: usize,
        real_bytes: usize,
        n: usize,
        vectors: bool,
    ) -> Self {
        let (p, warps) = (padded(rows), warps(rows, columns));
        let tridiagonal = 0;
        let largest = tridiagonal + 2 * p * real_bytes;
        let words = largest + warps * real_bytes;
        let union = (words + 4 * WORDS).next_multiple_of(16);
        // Reduction.
        let group = group(bytes);
        let used = n.div_ceil(group * warps) * group;
        let held = held(bytes, rows, columns);
        let tail_columns = used.saturating_sub(held);
        let tail = union;
        let partial = tail + tail_columns * rows * threads(rows, columns) * bytes;
        let column = partial + 2 * warps * p * bytes;
        let own = column + 2 * p * bytes;
        let mut end = own + 3 * p * bytes;
        // Chase.
        let log = union;
        let basis = log + 4 * SWEEPS * p * real_bytes;
        // Back-transform.
        let staged = if in_parts(bytes, rows) { basis + n * n * real_bytes } else { union };
        let staged = staged.next_multiple_of(16);
        let factors = staged + 2 * STAGED * p * bytes;
        let finished = staged;
        if vectors {
            let chased = basis + n * n * real_bytes;
            let back = factors + 2 * STAGED * bytes;
            end = if chased > end { chased } else { end };
            end = if back > end { back } else { end };
            let out = finished + finished_columns(bytes, real_bytes, rows) * n * bytes;
            end = if out > end { out } else { end };
        }
        Offsets {
            tridiagonal,
            largest,
            words,
            tail,
            partial,
            column,
            own,
            log,
            basis,
            staged,
            factors,
            finished,
            end,
        }
    }
}
