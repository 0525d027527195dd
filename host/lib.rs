//! Batched dense linear algebra whose GPU kernels are written in Rust:
//! symmetric and Hermitian eigenproblems first.
//!
//! [`linalg::eigh`] solves a [`Batch`] in host memory on the device of a
//! [`Queue`]; [`ops::syev`] does so in place on device memory, without waiting.
//! [`routes`] says which family of solver runs a shape and why,
//! [`check::quality`] how good a result is.
//!
//! Features: `cuda` (NVIDIA GPUs), `vendor` (cuSOLVER, opened at run time),
//! `simt` (the CPU executor of kernels), `ndarray` (views of arrays). Without
//! any of them the library is plain Rust and runs on CPUs.

pub mod check;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod error;
pub mod linalg;
pub mod measure;
pub mod ops;
pub mod routes;
pub mod trace;
#[cfg(feature = "vendor")]
pub mod vendor;

mod batch;
mod device;
#[cfg(feature = "kernels")]
mod launch;
mod memory;
#[cfg(feature = "ndarray")]
mod ndarray;
mod queue;
mod scalar;
#[cfg(feature = "simt")]
mod simt_device;
mod status;

pub use batch::{Batch, BatchMut, BatchRef, Layout};
pub use device::{Arch, Device, DeviceInfo, Limits};
pub use error::{Error, Result};
pub use memory::{DeviceBatch, DeviceBuffer, DeviceElement, MemoryUse, PinnedBuffer};
pub use num_complex::Complex;
pub use ops::{Jobz, Uplo};
pub use queue::{Event, MemoryInfo, Queue, Workspace, workspace_bytes};
pub use scalar::{Dtype, Real, Scalar};
#[cfg(feature = "simt")]
pub use simt_device::LaunchRecord;
pub use status::Status;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
