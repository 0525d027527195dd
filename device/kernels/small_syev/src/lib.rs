//! Symmetric and Hermitian eigensolver kernels for n <= 32.
//!
//! | kernel | what it does |
//! |---|---|
//! | [`syev_jacobi`] | solves one matrix a tile by Jacobi, accurate on graded positive definite input |
//! | [`syev_thread`] | solves one tiny matrix a thread by Jacobi |
//! | [`sytrd_cta`] | reduces each matrix to tridiagonal form, in place |
//! | [`syev_cta_fused`] | does all of it in one launch |
//! | [`syev_cta`] | solves the tridiagonal problem that `sytrd_cta` left, and transforms back, in place |
// Index loops: an iterator by value would put a register array into local memory.
#![allow(clippy::needless_range_loop)]

pub mod resident;
pub mod syev_cta;
pub mod syev_cta_fused;
pub mod syev_jacobi;
pub mod syev_thread;
pub mod sytrd_cta;

/// All kernels of this crate.
#[cfg(not(target_os = "cuda"))]
pub static KERNELS: &[&cuda_std::launch::KernelInfo] = &[
    &syev_cta::syev_cta::KERNEL,
    &syev_cta_fused::syev_cta_fused::KERNEL,
    &syev_jacobi::syev_jacobi::KERNEL,
    &syev_thread::syev_thread::KERNEL,
    &sytrd_cta::sytrd_cta::KERNEL,
];
