//! Batched dense linear algebra whose GPU kernels are written in Rust:
//! symmetric and Hermitian eigenproblems first.

pub mod error;
pub mod ops;
pub mod routes;

mod batch;
mod scalar;
mod status;

pub use batch::{Batch, BatchMut, BatchRef, Layout};
pub use error::{Error, Result};
pub use num_complex::Complex;
pub use ops::{Jobz, Uplo};
pub use scalar::{Dtype, Real, Scalar};
pub use status::Status;
