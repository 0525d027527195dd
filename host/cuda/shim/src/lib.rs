//! The CUDA driver's functions for a program that links cust and must start
//! where there is no driver.
//!
//! cust links against libcuda. This crate defines every function that cust
//! calls, so that the linker needs no libcuda, opens the driver's library at
//! the first call and forwards to it. Without a driver each function answers
//! `CUDA_ERROR_NO_DEVICE`; a function that an old driver lacks answers
//! `CUDA_ERROR_NOT_FOUND`.
//!
//! A program has to name this crate (`use batchlas_driver_shim as _;` or a
//! call of [`present`]), or the compiler leaves it out.

mod driver;
mod functions;
mod status;

pub use driver::{CANDIDATES, library, present};
pub use functions::*;
