//! Eigenvalues of symmetric tridiagonal matrices of any order by bisection.
//!
//! | module | what it does |
//! |---|---|
//! | [`stebz_bisect`] | bisection, several values a lane |
//! | [`stebz_status`] | what became of each item |
//! | [`shape`] | which warp takes which values |
// Index loops: an iterator by value would put a register array into local memory.
#![allow(clippy::needless_range_loop)]

pub mod shape;
pub mod stebz_bisect;
pub mod stebz_status;

/// All kernels of this crate.
#[cfg(not(target_os = "cuda"))]
pub static KERNELS: &[&cuda_std::launch::KernelInfo] =
    &[&stebz_bisect::stebz_bisect::KERNEL, &stebz_status::stebz_status::KERNEL];
