//! Tridiagonal eigensolver kernels.

/// All kernels of this crate.
#[cfg(not(target_os = "cuda"))]
pub static KERNELS: &[&cuda_std::launch::KernelInfo] = &[];
