//! What surrounds a vendor's batched eigensolver, so that it keeps this library's promises.
//!
//! | kernel | what it does |
//! |---|---|
//! | [`vendor_pack`] | copies the triangle read into packed, scaled matrices; marks and replaces bad items |
//! | [`vendor_unpack`] | brings values, vectors and statuses back in this library's conventions |

pub mod vendor_pack;
pub mod vendor_unpack;

/// All kernels of this crate.
#[cfg(not(target_os = "cuda"))]
pub static KERNELS: &[&cuda_std::launch::KernelInfo] =
    &[&vendor_pack::vendor_pack::KERNEL, &vendor_unpack::vendor_unpack::KERNEL];

/// Threads of the largest block of either kernel.
pub const MAX_THREADS: u32 = 256;

/// Threads of a block for matrices of order `n`: a warp holds a matrix of up
/// to 8 by 8 in two steps.
pub const fn threads(n: u32) -> u32 {
    if n <= 8 { 32 } else { MAX_THREADS }
}

/// Bytes of shared memory of a block of [`vendor_pack`]: a real number a warp.
pub const fn pack_shared_bytes(threads: u32, real_bytes: u32) -> u32 {
    threads / 32 * real_bytes
}
