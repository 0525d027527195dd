//! The suite of `syev`: every family on every device, one list.
//!
//! Without a GPU the tests of `cuda` say why they are skipped;
//! `BATCHLAS_REQUIRE_GPU=1` makes that a failure.

#[path = "../support/mod.rs"]
mod support;

mod arms;
mod checks;
mod contract;
mod graded;
mod items;
mod molecules;
mod named;
mod packed;
mod precise;
mod reported;

use batchlas::{Complex, Device};

/// One module an arm and type, with every test of the contract in it.
macro_rules! arm {
    ($name:ident, $device:expr, $route:literal, [$($dtype:ident = $t:ty),*]) => {
        mod $name {
            use super::*;
            const ARM: arms::Arm = arms::Arm { device: $device, route: $route };
            $(arm!(@tests $dtype, $t);)*
        }
    };
    (@tests $dtype:ident, $t:ty) => {
        mod $dtype {
            use super::*;
            arm!(@each $t: contract::{
                every_order, every_class_lower, every_class_upper,
                a_power_of_two_changes_nothing_but_the_scale
            });
            arm!(@each $t: items::{
                alone_and_in_a_batch, bad_items_touch_no_other, values_that_overflow_are_infinite,
                gaps_and_guards_stay, empty_shapes, one_by_one, many_items, large_batches
            });
            arm!(@each $t: named::{
                diagonals, small_real, adjacency_of_33, near_singular_in_turns, degenerate_pairs, largest_of_a_block,
                scattered_magnitudes, faint_couplings, nothing_but_subnormals
            });
            arm!(@each $t: reported::{
                graphs_of_20, one_nan_among_many, a_moment_of_the_normal_distribution, batches_beyond_limits,
                no_memory_beside_the_arrays
            });
            arm!(@each $t: graded::{small_values_keep_their_digits});
            arm!(@each $t: molecules::{every_molecule});
        }
    };
    (@each $t:ty: $module:ident::{$($test:ident),*}) => {
        $(#[test] fn $test() { $module::$test::<$t>(ARM); })*
    };
}

/// All four types.
macro_rules! arms {
    ($($(#[$meta:meta])* $name:ident: $device:expr, $route:literal;)*) => {
        $($(#[$meta])* arm!($name, $device, $route,
            [f32 = f32, f64 = f64, c32 = Complex<f32>, c64 = Complex<f64>]);)*
    };
}

arms! {
    cpu: Device::Cpu, "cpu";
    #[cfg(feature = "simt")]
    simt_thread: Device::Simt, "thread";
    #[cfg(feature = "simt")]
    simt_cta: Device::Simt, "cta";
    #[cfg(feature = "simt")]
    simt_cta_fused: Device::Simt, "cta_fused";
    #[cfg(feature = "simt")]
    simt_jacobi: Device::Simt, "jacobi";
    #[cfg(feature = "simt")]
    simt_block: Device::Simt, "block";
    #[cfg(feature = "simt")]
    simt_blocked: Device::Simt, "blocked";
    #[cfg(feature = "cuda")]
    cuda_thread: Device::Cuda(0), "thread";
    #[cfg(feature = "cuda")]
    cuda_cta: Device::Cuda(0), "cta";
    #[cfg(feature = "cuda")]
    cuda_cta_fused: Device::Cuda(0), "cta_fused";
    #[cfg(feature = "cuda")]
    cuda_jacobi: Device::Cuda(0), "jacobi";
    #[cfg(feature = "cuda")]
    cuda_block: Device::Cuda(0), "block";
    #[cfg(feature = "cuda")]
    cuda_blocked: Device::Cuda(0), "blocked";
    #[cfg(feature = "vendor")]
    cuda_vendor: Device::Cuda(0), "vendor";
    #[cfg(feature = "vendor")]
    cuda_vendor_syevj: Device::Cuda(0), "vendor:syevj";
}
