//! What surrounds an eigensolver that has no conventions of its own, a vendor's or a chain of launches.
//!
//! | kernel | what it does |
//! |---|---|
//! | [`lacp2`] | real matrices as complex ones |
//! | [`lascl`], [`lascl_tridiagonal`](lascl::lascl_tridiagonal()) | scale in place, mark and replace bad items; and back |
//! | [`syev_pack`] | copies the triangle read into packed, scaled matrices; marks and replaces bad items |
//! | [`syev_unpack`] | brings values, vectors and statuses back in this library's conventions |
// Index loops: an iterator by value would put a register array into local memory.
#![allow(clippy::needless_range_loop)]

pub mod lacp2;
pub mod lascl;
pub mod syev_pack;
pub mod syev_unpack;

/// All kernels of this crate.
#[cfg(not(target_os = "cuda"))]
pub static KERNELS: &[&cuda_std::launch::KernelInfo] = &[
    &lacp2::lacp2::KERNEL,
    &lascl::lascl::KERNEL,
    &lascl::lascl_tridiagonal::KERNEL,
    &syev_pack::syev_pack::KERNEL,
    &syev_unpack::syev_unpack::KERNEL,
];

/// Threads of the largest block of the kernels that say nothing else.
pub const MAX_THREADS: u32 = 256;

/// Threads of a block for matrices of order `n`: a warp holds a matrix of up
/// to 8 by 8 in two steps.
pub const fn threads(n: u32) -> u32 {
    if n <= 8 { 32 } else { MAX_THREADS }
}

/// Most threads of a block of [`lascl`] and [`syev_unpack`].
pub const MAX_ITEM_THREADS: u32 = 1024;

/// Threads of a block of [`lascl`] and [`syev_unpack`] where the batch may hold as few items as there are
/// multiprocessors: what one block reads at a time must fill a multiprocessor's share of the memory.
pub const fn item_threads(n: u32) -> u32 {
    if n <= 128 { threads(n) } else { MAX_ITEM_THREADS }
}

/// Bytes of shared memory of a block of [`syev_pack`]: a real number a warp.
pub const fn pack_shared_bytes(threads: u32, real_bytes: u32) -> u32 {
    threads / 32 * real_bytes
}

/// Bytes of shared memory of a block of [`lascl`].
pub const fn lascl_shared_bytes(scalar_bytes: usize) -> usize {
    32 * 33 * scalar_bytes
}
