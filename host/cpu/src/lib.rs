//! CPU families of BatchLAS.
//!
//! The entries are not generic, so that this crate holds all their machine
//! code: a workspace that optimises it in dev builds too
//! (`[profile.dev.package.batchlas-cpu] opt-level = 3`) gets solvers at full
//! speed under `cargo test`.
//!
//! Products of matrices are faer's. Of the eigensolvers, small orders (n <= 128) run our own code: Householder reduction, implicit QL
//! or QR with vectors, the square-root-free QL without. Larger ones run faer's
//! blocked reduction and divide and conquer. Eigenvalues of tridiagonal matrices are also bisected: close to the
//! roundoff of the norm at any order. QL and divide and conquer are accurate norm-wise within some n of it:
//! components of a vector far below eps times its norm, as those of tridiagonal
//! matrices with localised vectors, are lost above n = 128. An item gives the same bits
//! alone or in any batch, at any position and on any number of threads.

// One index runs through several planes at once.
#![allow(clippy::needless_range_loop)]

mod apply;
mod batch;
mod bisect;
mod blocks;
mod element;
mod faer_solver;
mod gemm;
mod item;
mod lanes;
mod quality;
mod scale;
mod solver;
mod steqr;
mod sterf;
mod sytrd;
mod tridiagonal;

pub use batch::Items;
pub use bisect::{Bisections, stebz_f32, stebz_f64};
pub use blocks::Shift;
pub use gemm::{Factor, Products, gemm_c32, gemm_c64, gemm_f32, gemm_f64};
pub use quality::{Planes, departure_from_orthonormal, relative_residual};
pub use solver::{syev_c32, syev_c64, syev_f32, syev_f64};
pub use tridiagonal::{Tridiagonals, steqr_f32, steqr_f64};

/// Status of an item that converged.
pub const CONVERGED: i32 = 0;
/// Status of an item whose triangle holds a NaN or an infinity.
pub const NOT_FINITE: i32 = -1;
