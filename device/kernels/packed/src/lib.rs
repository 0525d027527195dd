//! Reduction to tridiagonal form of a matrix, or of what panels leave of it: the lower triangle in registers and shared memory,
//! one launch, a block of threads a matrix.
//!
//! | module | what it does |
//! |---|---|
//! | [`sytd2_packed`] | the kernel |
//! | [`shape`] | forms, threads, what lies where in shared memory |
//! | `triangle` | where elements lie; the way in |
//! | `product` | the pass over the triangle: update and product |
//! | `step` | a column |
// Index loops: an iterator by value would put a register array into local memory.
#![allow(clippy::needless_range_loop)]

mod product;
pub mod shape;
mod step;
pub mod sytd2_packed;
mod triangle;

/// All kernels of this crate.
#[cfg(not(target_os = "cuda"))]
pub static KERNELS: &[&cuda_std::launch::KernelInfo] = &[&sytd2_packed::sytd2_packed::KERNEL];
