//! Symmetric and Hermitian eigensolver kernels for n <= 128: one launch, a block of threads a matrix.
//!
//! | module | what it does |
//! |---|---|
//! | [`syev_block`] | the kernel |
//! | [`shape`] | threads, shared memory and its parts |
//! | `reduce` | reduction to tridiagonal form, the matrix in registers |
//! | `bisect` | values only: Sturm counts, a lane a value |
//! | `chase`, `apply` | implicit QL: one warp chases, the others rotate the basis |
//! | `back` | back-transform, sorting, signs |
// Index loops: an iterator by value would put a register array into local memory.
#![allow(clippy::needless_range_loop)]

mod apply;
mod back;
mod bisect;
mod chase;
mod reduce;
pub mod shape;
pub mod syev_block;

/// All kernels of this crate.
#[cfg(not(target_os = "cuda"))]
pub static KERNELS: &[&cuda_std::launch::KernelInfo] = &[&syev_block::syev_block::KERNEL];
