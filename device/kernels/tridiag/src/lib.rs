//! Tridiagonal eigensolver kernels: `steqr` for n <= 32, one module a form, and a block of threads a matrix above.

// Index loops: an iterator by value would put a register array into local memory.
#![allow(clippy::needless_range_loop)]

mod arguments;
mod block;
mod front;
mod lane;
pub mod steqr_cta_decoupled;
pub mod steqr_cta_flat;
pub mod steqr_cta_lockstep;
pub mod steqr_cta_nested;
pub mod steqr_wg;
mod tile;
mod train;

/// All kernels of this crate.
#[cfg(not(target_os = "cuda"))]
pub static KERNELS: &[&cuda_std::launch::KernelInfo] = &[
    &steqr_cta_nested::steqr_cta_nested::KERNEL,
    &steqr_cta_flat::steqr_cta_flat::KERNEL,
    &steqr_cta_lockstep::steqr_cta_lockstep::KERNEL,
    &steqr_cta_decoupled::steqr_cta_decoupled::KERNEL,
    &steqr_wg::steqr_wg::KERNEL,
];
