//! The suite of `gemm`: every family and tile on every device, one list.
//!
//! Without a GPU the tests of `cuda` say why they are skipped;
//! `BATCHLAS_REQUIRE_GPU=1` makes that a failure.

#[path = "../support/mod.rs"]
mod support;

mod arms;
mod contract;
mod data;
#[cfg(feature = "cuda")]
mod large;
mod reference;
mod routes;
mod shapes;

use batchlas::{Complex, Device};

type C32 = Complex<f32>;
type C64 = Complex<f64>;

/// One module an arm and type, with every test of the contract in it.
macro_rules! arm {
    ($name:ident, $device:expr, $route:literal, [$($dtype:ident: $t:ty),*]) => {
        mod $name {
            use super::*;
            const ARM: arms::Arm = arms::Arm { device: $device, route: $route };
            $(mod $dtype {
                use super::*;
                arm!(@each $t: shapes::{every_size, every_pair_of_ops, edges_of_tiles, many_steps_in_k});
                arm!(@each $t: contract::{
                    c_is_not_read_without_beta, factors_are_not_read_without_alpha, no_depth, empty_shapes,
                    same_bits_at_every_position, same_bits_in_every_layout, values_that_are_no_numbers
                });
            })*
        }
    };
    (@each $t:ty: $module:ident::{$($test:ident),*}) => {
        $(#[test] fn $test() { $module::$test::<$t>(ARM); })*
    };
}

/// All types, or those named.
macro_rules! arms {
    ($($(#[$meta:meta])* $name:ident: $device:expr, $route:literal $([$($dtype:ident: $t:ty),*])?;)*) => {
        $(arms!(@one $(#[$meta])* $name: $device, $route $([$($dtype: $t),*])?);)*
    };
    (@one $(#[$meta:meta])* $name:ident: $device:expr, $route:literal) => {
        $(#[$meta])* arm!($name, $device, $route, [real32: f32, real64: f64, complex32: C32, complex64: C64]);
    };
    (@one $(#[$meta:meta])* $name:ident: $device:expr, $route:literal [$($dtype:ident: $t:ty),*]) => {
        $(#[$meta])* arm!($name, $device, $route, [$($dtype: $t),*]);
    };
}

arms! {
    cpu: Device::Cpu, "cpu";
    #[cfg(feature = "simt")]
    simt_direct: Device::Simt, "direct";
    #[cfg(feature = "simt")]
    simt_small: Device::Simt, "small";
    #[cfg(feature = "simt")]
    simt_tiled: Device::Simt, "tiled";
    #[cfg(feature = "simt")]
    simt_reg_64: Device::Simt, "reg:64x64x16";
    #[cfg(feature = "simt")]
    simt_reg_64_by_16: Device::Simt, "reg:64x64x16,unroll=16" [real32: f32, real64: f64];
    #[cfg(feature = "simt")]
    simt_reg_128: Device::Simt, "reg:128x128x8" [real32: f32, real64: f64, complex32: C32];
    #[cfg(feature = "simt")]
    simt_reg_128_64: Device::Simt, "reg:128x64x32";
    #[cfg(feature = "simt")]
    simt_reg_128_64_by_16: Device::Simt, "reg:128x64x32,unroll=16" [real32: f32, real64: f64];
    #[cfg(feature = "simt")]
    simt_reg_128_32: Device::Simt, "reg:128x32x32";
    #[cfg(feature = "simt")]
    simt_reg_128_32_by_16: Device::Simt, "reg:128x32x32,unroll=16" [real32: f32, real64: f64];
    #[cfg(feature = "simt")]
    simt_wide_64: Device::Simt, "wide:64x64x16";
    #[cfg(feature = "simt")]
    simt_wide_128: Device::Simt, "wide:128x128x8" [real32: f32];
    #[cfg(feature = "simt")]
    simt_wide_128_mma: Device::Simt, "wide:128x128x16" [real64: f64];
    #[cfg(feature = "simt")]
    simt_wide_128_64_mma: Device::Simt, "wide:128x64x16" [real64: f64];
    #[cfg(feature = "cuda")]
    cuda_direct: Device::Cuda(0), "direct";
    #[cfg(feature = "cuda")]
    cuda_small: Device::Cuda(0), "small";
    #[cfg(feature = "cuda")]
    cuda_tiled: Device::Cuda(0), "tiled";
    #[cfg(feature = "cuda")]
    cuda_reg_64: Device::Cuda(0), "reg:64x64x16";
    #[cfg(feature = "cuda")]
    cuda_reg_64_by_16: Device::Cuda(0), "reg:64x64x16,unroll=16" [real32: f32, real64: f64];
    #[cfg(feature = "cuda")]
    cuda_reg_128: Device::Cuda(0), "reg:128x128x8" [real32: f32, real64: f64, complex32: C32];
    #[cfg(feature = "cuda")]
    cuda_reg_128_64: Device::Cuda(0), "reg:128x64x32";
    #[cfg(feature = "cuda")]
    cuda_reg_128_64_by_16: Device::Cuda(0), "reg:128x64x32,unroll=16" [real32: f32, real64: f64];
    #[cfg(feature = "cuda")]
    cuda_reg_128_32: Device::Cuda(0), "reg:128x32x32";
    #[cfg(feature = "cuda")]
    cuda_reg_128_32_by_16: Device::Cuda(0), "reg:128x32x32,unroll=16" [real32: f32, real64: f64];
    #[cfg(feature = "cuda")]
    cuda_wide_64: Device::Cuda(0), "wide:64x64x16";
    #[cfg(feature = "cuda")]
    cuda_wide_128: Device::Cuda(0), "wide:128x128x8" [real32: f32];
    #[cfg(feature = "cuda")]
    cuda_wide_128_mma: Device::Cuda(0), "wide:128x128x16" [real64: f64];
    #[cfg(feature = "cuda")]
    cuda_wide_128_64_mma: Device::Cuda(0), "wide:128x64x16" [real64: f64];
    #[cfg(feature = "vendor")]
    cuda_vendor: Device::Cuda(0), "vendor";
}
