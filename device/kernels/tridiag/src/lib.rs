//! Tridiagonal eigensolver kernels: `steqr` for n <= 32, one module a form.

// Index loops: an iterator by value would put a register array into local memory.
#![allow(clippy::needless_range_loop)]

mod arguments;
mod block;
mod lane;
pub mod steqr_cta_decoupled;
pub mod steqr_cta_flat;
pub mod steqr_cta_lockstep;
pub mod steqr_cta_nested;
mod tile;

/// All kernels of this crate.
#[cfg(not(target_os = "cuda"))]
pub static KERNELS: &[&cuda_std::launch::KernelInfo] = &[
    &steqr_cta_nested::steqr_cta_nested::KERNEL,
    &steqr_cta_flat::steqr_cta_flat::KERNEL,
    &steqr_cta_lockstep::steqr_cta_lockstep::KERNEL,
    &steqr_cta_decoupled::steqr_cta_decoupled::KERNEL,
];
