//! Eigenvalues and vectors of symmetric tridiagonal matrices by divide and conquer: every node of a level, and every item
//! of a batch, in one launch.
//!
//! | module | what it does |
//! |---|---|
//! | [`stedc_divide`] | scales, and cuts into leaves, which `steqr` solves |
//! | [`stedc_deflate`] | sets up the secular equations of a level, deflates |
//! | [`stedc_secular`] | finds their roots |
//! | [`stedc_weights`] | recomputes the rank-one vectors from the roots |
//! | [`stedc_norms`] | norms of the vectors, order of the values |
//! | [`stedc_rotate`] | rotations that deflation asks for |
//! | [`stedc_apply`] | the product with the vectors of the level below |
//! | [`stedc_values`], [`stedc_vectors`] | scale, statuses, signs |
//! | [`tree`], [`fields`] | where things lie |
//! | [`secular`], `deflate` | the numerics of a root and of deflation |
//! | [`units`] | multiply-adds, or the tensor cores |
// Index loops: an iterator by value would put a register array into local memory.
#![allow(clippy::needless_range_loop)]

mod deflate;
pub mod fields;
pub mod secular;
pub mod stedc_apply;
pub mod stedc_deflate;
pub mod stedc_divide;
pub mod stedc_norms;
pub mod stedc_rotate;
pub mod stedc_secular;
pub mod stedc_values;
pub mod stedc_vectors;
pub mod stedc_weights;
pub mod tree;
pub mod units;

/// All kernels of this crate.
#[cfg(not(target_os = "cuda"))]
pub static KERNELS: &[&cuda_std::launch::KernelInfo] = &[
    &stedc_divide::stedc_divide::KERNEL,
    &stedc_deflate::stedc_deflate::KERNEL,
    &stedc_secular::stedc_secular::KERNEL,
    &stedc_weights::stedc_weights::KERNEL,
    &stedc_norms::stedc_norms::KERNEL,
    &stedc_rotate::stedc_rotate::KERNEL,
    &stedc_apply::stedc_apply::KERNEL,
    &stedc_values::stedc_values::KERNEL,
    &stedc_vectors::stedc_vectors::KERNEL,
];
