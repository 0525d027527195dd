//! Device library for kernels written in Rust.
//!
//! A kernel crate is a plain library. Compiled for `nvptx64-nvidia-cuda` by `cuda_builder`, it becomes PTX;
//! compiled for the host, the same source runs under the executor of the crate `simt`, lane by lane and checked.
//!
//! | module | what it holds |
//! |---|---|
//! | [`thread`] | indices, block barriers, clock, traps |
//! | [`warp`] | shuffles, votes, matches, reductions, `sync_warp` |
//! | [`partition`] | tiles of 2 to 32 lanes of a warp |
//! | [`shared`] | dynamic shared memory as typed views |
//! | [`global`] | global memory as typed views: the only way in |
//! | [`grid`] | the barrier of a cooperative launch |
//! | [`copy`] | asynchronous copies from global to shared memory |
//! | [`atomic`] | atomics on global and shared elements |
//! | [`matrix`] | products of small matrices by a warp, on the tensor cores |
//! | [`vector`] | accesses of 16 bytes |
//! | [`math`], [`scalar`] | real and complex arithmetic that says what it rounds |
//! | `launch` | host only: calls as inert data |
//!
//! Names follow Rust-CUDA where it has one. Arithmetic is never contracted: a fused multiply-add is written
//! [`math::Real::mul_add`].
#![cfg_attr(
    target_os = "cuda",
    no_std,
    feature(link_llvm_intrinsics, stdarch_nvptx, core_intrinsics, asm_experimental_arch)
)]
#![cfg_attr(target_os = "cuda", allow(internal_features, improper_ctypes))]

pub mod atomic;
pub mod copy;
pub mod export;
pub mod global;
pub mod grid;
#[cfg(not(target_os = "cuda"))]
pub mod launch;
pub mod math;
pub mod matrix;
pub mod partition;
pub mod scalar;
pub mod shared;
mod shuffle;
pub mod thread;
pub mod vector;
pub mod warp;

pub use cuda_std_macros::kernel;
pub use global::{Global, GlobalMut};
pub use num_complex::Complex;
pub use shared::Shared;
pub use shuffle::Shuffle;

/// Complex number of two `f32`, in num-complex's layout.
#[allow(non_camel_case_types)]
pub type c32 = Complex<f32>;
/// Complex number of two `f64`, in num-complex's layout.
#[allow(non_camel_case_types)]
pub type c64 = Complex<f64>;

/// What nearly every kernel imports.
pub mod prelude {
    pub use crate::global::{Global, GlobalMut};
    pub use crate::math::Real;
    pub use crate::partition::{Tile, tiled_partition};
    pub use crate::scalar::Scalar;
    pub use crate::shared::{Shared, dynamic_shared_mem};
    pub use crate::{c32, c64, gpu_assert, kernel, shared_array, thread, warp};
}

/// Panics end the lane with a trap: the launch fails instead of giving a wrong number.
#[cfg(target_os = "cuda")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    thread::trap()
}

/// Checks a condition on the device in every build; the executor reports it with message, file and line.
#[macro_export]
macro_rules! gpu_assert {
    ($condition:expr $(,)?) => {
        $crate::thread::check($condition, concat!("assertion failed: ", stringify!($condition)))
    };
    ($condition:expr, $message:literal $(,)?) => {
        $crate::thread::check($condition, $message)
    };
}
