//! Kernels of batched matrix products, C = alpha op(A) op(B) + beta C.
//!
//! | module | what it does |
//! |---|---|
//! | [`gemm_direct`] | no staging: a thread reads what it needs |
//! | [`gemm_small`] | products of up to 64 rows and columns, several a block |
//! | [`gemm_tiled`] | a plain tile in shared memory, any shape |
//! | [`gemm_reg`] | micro-tiles in registers, two buffers in shared memory |
//! | [`gemm_wide`] | the same with wide loads |
//! | [`gemm_wide_mma`] | the same in f64 on the tensor cores |
//! | [`shape`] | threads, shared memory and its parts |
//! | [`operand`] | the matrices as kernels see them |
//! | `stage`, `micro` | from global to shared memory, from there to registers |
//! | `pipeline` | from global to shared memory by asynchronous copies |
//!
//! All kernels take the same parameters: the views of A, B and C from the launch's first item on; `m`, `n`, `k`; `flags`
//! ([`operand`]); leading dimensions and strides in elements; alpha and beta as real and imaginary parts, which are
//! numbers of the element type; two numbers that say how blocks follow each other. Where `k` is 0, A and B are not read;
//! where beta is 0, C is not.
// Index loops: an iterator by value would put a register array into local memory.
#![allow(clippy::needless_range_loop, clippy::manual_memcpy)]

pub mod gemm_direct;
pub mod gemm_reg;
pub mod gemm_small;
pub mod gemm_tiled;
pub mod gemm_wide;
pub mod gemm_wide_mma;
mod micro;
pub mod operand;
mod pipeline;
pub mod shape;
mod stage;

/// All kernels of this crate.
#[cfg(not(target_os = "cuda"))]
pub static KERNELS: &[&cuda_std::launch::KernelInfo] = &[
    &gemm_direct::gemm_direct::KERNEL,
    &gemm_reg::gemm_reg::KERNEL,
    &gemm_small::gemm_small::KERNEL,
    &gemm_tiled::gemm_tiled::KERNEL,
    &gemm_wide::gemm_wide::KERNEL,
    &gemm_wide_mma::gemm_wide_mma::KERNEL,
];
