//! Householder panels: blocked reduction to tridiagonal form and blocked application of reflectors, any order.
//!
//! | module | what it holds |
//! |---|---|
//! | [`latrd`] | a panel of the reduction, a block of threads a matrix |
//! | [`latrd_grid`] | the same by several blocks a matrix, for batches that do not fill a GPU |
//! | [`syr2k`] | the update of what lies right of the panel |
//! | [`larft`] | the triangular factors of compact WY |
//! | [`ormqr`] | reflectors applied to a matrix, a block a strip of columns |
//! | [`gram`] | multiply-adds or tensor cores for `larft` |
//! | [`apply`] | multiply-adds or tensor cores for `ormqr` |
//! | [`shape`] | threads, tiles and shared memory |
// Index loops: an iterator by value would put a register array into local memory.
#![allow(clippy::needless_range_loop)]

pub mod apply;
mod factors;
pub mod gram;
pub mod larft;
pub mod latrd;
pub mod latrd_grid;
pub mod ormqr;
pub mod shape;
mod symv;
pub mod syr2k;
mod vectors;

/// All kernels of this crate.
#[cfg(not(target_os = "cuda"))]
pub static KERNELS: &[&cuda_std::launch::KernelInfo] = &[
    &larft::larft::KERNEL,
    &latrd::latrd::KERNEL,
    &latrd_grid::latrd_grid::KERNEL,
    &latrd_grid::latrd_clear::KERNEL,
    &ormqr::ormqr::KERNEL,
    &syr2k::syr2k::KERNEL,
];
