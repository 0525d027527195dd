//! Forms, threads, and what lies where in shared memory: the same for host and device.

/// One instantiation of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Rows a lane: the largest order is 32 times as much.
    pub rows: usize,
    /// Columns of each block of 32 that a warp has.
    pub columns: usize,
    /// Blocks of 32 columns, the first ones, that lie in shared memory; the others are in registers.
    pub in_shared: usize,
}

const fn form(rows: usize, columns: usize, in_shared: usize) -> Form {
    Form { rows, columns, in_shared }
}

const F32: [Form; 7] = [
    form(2, 32, 0),
    form(3, 32, 1),
    form(4, 16, 1),
    form(5, 8, 1),
    form(6, 8, 2),
    form(8, 8, 3),
    form(10, 4, 3),
];
const F64: [Form; 7] = [
    form(2, 16, 0),
    form(3, 16, 1),
    form(4, 8, 1),
    form(5, 8, 2),
    form(6, 4, 1),
    form(7, 4, 2),
    form(8, 4, 3),
];
const C32: [Form; 7] = [
    form(2, 32, 1),
    form(3, 16, 1),
    form(4, 8, 1),
    form(5, 8, 2),
    form(6, 4, 1),
    form(7, 4, 2),
    form(8, 4, 3),
];
const C64: [Form; 4] = [form(2, 16, 1), form(3, 8, 1), form(4, 4, 1), form(5, 4, 2)];

/// The forms for scalars and reals of so many bytes, the smallest first.
pub const fn forms(bytes: usize, real_bytes: usize) -> &'static [Form] {
    match (bytes, real_bytes) {
        (4, _) => &F32,
        (8, 8) => &F64,
        (8, _) => &C32,
        _ => &C64,
    }
}

/// Columns that are taken together: what shares a load of the vectors, and a sum over the lanes.
pub const fn group(real_bytes: usize) -> usize {
    if real_bytes == 8 { 2 } else { 4 }
}

/// Largest order.
pub const fn padded(rows: usize) -> usize {
    32 * rows
}

/// Warps of a block.
pub const fn warps(columns: usize) -> usize {
    32 / columns
}

/// Threads of a block.
pub const fn threads(columns: usize) -> usize {
    32 * warps(columns)
}

/// Tiles of 32 by 32 in the first `blocks` columns of tiles of the lower triangle.
pub const fn tiles(rows: usize, blocks: usize) -> usize {
    blocks * rows - blocks * blocks.saturating_sub(1) / 2
}

/// Byte offsets of the parts of a block's shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// Two buffers of the warps' parts of the product.
    pub parts: usize,
    /// Two buffers of the column that is next, without the pending update.
    pub column: usize,
    /// Three vectors at all columns: v and w of the pending update, and x.
    pub own: usize,
    /// Two pivots.
    pub pivot: usize,
    /// Two buffers of two real sums a warp.
    pub sums: usize,
    /// Four words of 16 bytes a thread: what rows give to columns.
    pub turned: usize,
    /// The tiles that are not in registers.
    pub tiles: usize,
    /// Bytes in all.
    pub end: usize,
}

impl Offsets {
    /// The parts for a form and a scalar type.
    pub const fn new(form: Form, bytes: usize, real_bytes: usize) -> Self {
        let (padded, warps) = (padded(form.rows), warps(form.columns));
        let parts = 0;
        let column = parts + 2 * warps * padded * bytes;
        let own = column + 2 * padded * bytes;
        let pivot = own + 3 * padded * bytes;
        let sums = (pivot + 2 * bytes).next_multiple_of(16);
        let turned = (sums + 4 * warps * real_bytes).next_multiple_of(16);
        let tiles_at = turned + 2048 * warps;
        let end = tiles_at + tiles(form.rows, form.in_shared) * 1024 * bytes;
        Offsets { parts, column, own, pivot, sums, turned, tiles: tiles_at, end }
    }
}
