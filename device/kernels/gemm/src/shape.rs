//! Tiles, threads and shared memory of each family: what the host plans and the kernels assume.

/// The most rows of C that a thread holds.
pub const ROWS: usize = 8;
/// The most columns of C that it holds.
pub const COLUMNS: usize = 8;
/// Lanes of a warp along the rows of C; the other 4 go along the columns.
pub const LANES_M: u32 = 8;
/// Elements that a thread moves at most from global to shared memory between two steps.
pub const STAGED: usize = 16;

/// Padding of a line in shared memory, in elements: it moves the next line on by 16 bytes, so that eight lines apart
/// in k do not share a bank, and lines stay aligned to 16 bytes.
pub const fn pad(bytes: usize) -> u32 {
    (16 / bytes) as u32
}

/// Elements of one line of `rows` in shared memory.
pub const fn line(rows: u32, bytes: usize) -> u32 {
    rows + pad(bytes)
}

/// Rows and columns of C that a thread of the register families holds: as many as registers allow.
pub const fn micro(m: u32, n: u32, bytes: usize) -> (usize, usize) {
    match (m, n, bytes) {
        (128, 64, 16) => (8, 4),
        (_, _, 16) => (4, 4),
        (128, 128, _) => (8, 8),
        _ => (8, 4),
    }
}

/// Threads of a block of the register families.
pub const fn reg_threads(m: u32, n: u32, bytes: usize) -> u32 {
    let (rows, columns) = micro(m, n, bytes);
    m * n / (rows * columns) as u32
}

/// Bytes of shared memory of a block of the register families: two buffers for lines of both sides.
pub const fn reg_shared_bytes(m: u32, n: u32, k: u32, bytes: usize) -> usize {
    (2 * k * (line(m, bytes) + line(n, bytes))) as usize * bytes
}

/// Elements of one line in shared memory of `gemm_wide`: two threads that store along k meet in no bank.
pub const fn wide_line(rows: u32) -> u32 {
    rows + 4
}

/// Bytes of shared memory of a block of `gemm_wide`.
pub const fn wide_shared_bytes(m: u32, n: u32, k: u32, bytes: usize) -> usize {
    (2 * k * (wide_line(m) + wide_line(n))) as usize * bytes
}

/// Warps along the rows and along the columns of a block on the tensor cores: of 64 x 64, 128 x 64 or 128 x 128 elements.
pub const fn mma_warps(n: u32, complex: bool) -> (u32, u32) {
    if n == 128 || complex { (2, 4) } else { (2, 2) }
}

/// Elements of one line in shared memory of a block on the tensor cores: lanes that are four lines and four elements apart
/// read other banks, whether a line runs along the rows or along k.
pub const fn mma_line(elements: u32, bytes: usize) -> u32 {
    elements + if bytes == 8 { 4 } else { 2 }
}

/// Slabs of K of k that a block on the tensor cores has in shared memory: as many as leave room for the blocks that
/// registers allow (one of 128 x 128 or of complex numbers, two of 128 x 64, three of 64 x 64).
pub const fn mma_slabs(n: u32, complex: bool) -> u32 {
    if n == 128 || complex { 4 } else { 3 }
}

/// Bytes of shared memory of a block on the tensor cores, however its slabs lie: 8-byte elements take more along k.
pub const fn mma_shared_bytes(m: u32, n: u32, k: u32, bytes: usize) -> usize {
    let complex = bytes == 16;
    let slab =
        if complex { k * (mma_line(m, bytes) + mma_line(n, bytes)) } else { (m + n) * mma_line(k, bytes) };
    (mma_slabs(n, complex) * slab) as usize * bytes
}

/// Rows and columns of the tile of `gemm_tiled`.
pub const TILED: u32 = 32;
/// Its depth.
pub const TILED_K: u32 = 16;
/// Its threads.
pub const TILED_THREADS: u32 = 256;

/// Bytes of shared memory of a block of `gemm_tiled`.
pub const fn tiled_shared_bytes(bytes: usize) -> usize {
    (2 * TILED_K * line(TILED, bytes)) as usize * bytes
}

/// Threads of a block of `gemm_small`.
pub const SMALL_THREADS: u32 = 128;
/// Depth of what it holds in shared memory at a time, for products of up to so many rows and columns.
pub const fn small_k(order: u32) -> u32 {
    if order == 8 { 8 } else { 16 }
}

/// Rows and columns of C that a thread of `gemm_small` holds, for products of up to 8, 16, 32 or 64 rows and columns.
pub const fn small_micro(order: u32) -> (usize, usize) {
    match order {
        8 => (4, 1),
        16 => (4, 2),
        32 => (4, 4),
        _ => (8, 4),
    }
}

/// Threads that share a product of `gemm_small`.
pub const fn small_group(order: u32) -> u32 {
    let (rows, columns) = small_micro(order);
    order * order / (rows * columns) as u32
}

/// Products a block of `gemm_small`.
pub const fn small_items(order: u32) -> u32 {
    SMALL_THREADS / small_group(order)
}

/// Bytes of shared memory of a block of `gemm_small`.
pub const fn small_shared_bytes(order: u32, bytes: usize) -> usize {
    (small_items(order) * 2 * small_k(order) * line(order, bytes)) as usize * bytes
}

/// Threads of a block of `gemm_direct`.
pub const DIRECT_THREADS: u32 = 128;
/// Columns of C that a thread of `gemm_direct` holds.
pub const DIRECT_COLUMNS: usize = 4;
