//! The suite of `steqr`: every form, update and partition on every device, one list.
//!
//! Without a GPU the tests of `cuda` say why they are skipped;
//! `BATCHLAS_REQUIRE_GPU=1` makes that a failure.

#[path = "../support/mod.rs"]
mod support;

mod arms;
#[cfg(any(feature = "cuda", feature = "simt"))]
mod bitwise;
mod checks;
mod contract;
mod gauss;
mod graded;
mod items;
mod precise;
mod routes;

use batchlas::Device;

/// One module an arm and type, with every test of the contract in it.
macro_rules! arm {
    ($name:ident, $device:expr, $route:literal, [$($dtype:ident),*]) => {
        mod $name {
            use super::*;
            const ARM: arms::Arm = arms::Arm { device: $device, route: $route };
            $(arm!(@tests $dtype);)*
        }
    };
    (@tests $dtype:ident) => {
        mod $dtype {
            use super::*;
            arm!(@each $dtype: contract::{
                every_order, every_class, a_power_of_two_changes_nothing_but_the_scale, both_shifts,
                a_basis_turns_along, the_order_may_stay
            });
            arm!(@each $dtype: items::{
                alone_and_in_a_batch, bad_items_touch_no_other, spent_budgets, gaps_and_guards_stay,
                empty_shapes, one_by_one, many_items, large_batches
            });
            arm!(@each $dtype: gauss::{legendre, hermite});
            arm!(@each $dtype: graded::{as_good_as_lapack});
        }
    };
    (@each $t:ty: $module:ident::{$($test:ident),*}) => {
        $(#[test] fn $test() { $module::$test::<$t>(ARM); })*
    };
}

/// Both types.
macro_rules! arms {
    ($($(#[$meta:meta])* $name:ident: $device:expr, $route:literal;)*) => {
        $($(#[$meta])* arm!($name, $device, $route, [f32, f64]);)*
    };
}

arms! {
    cpu: Device::Cpu, "cpu";
    #[cfg(feature = "simt")]
    simt_nested: Device::Simt, "cta:nested,exp,native";
    #[cfg(feature = "simt")]
    simt_nested_pg: Device::Simt, "cta:nested,pg";
    #[cfg(feature = "simt")]
    simt_flat: Device::Simt, "cta:flat,exp";
    #[cfg(feature = "simt")]
    simt_flat_pg: Device::Simt, "cta:flat,pg";
    #[cfg(feature = "simt")]
    simt_lockstep: Device::Simt, "cta:lockstep,exp";
    #[cfg(feature = "simt")]
    simt_lockstep_pg: Device::Simt, "cta:lockstep,pg";
    #[cfg(feature = "simt")]
    simt_decoupled: Device::Simt, "cta:decoupled";
    #[cfg(feature = "simt")]
    simt_wg: Device::Simt, "wg";
    #[cfg(feature = "cuda")]
    cuda_cta: Device::Cuda(0), "cta";
    #[cfg(feature = "cuda")]
    cuda_nested: Device::Cuda(0), "cta:nested,exp,native";
    #[cfg(feature = "cuda")]
    cuda_nested_pg: Device::Cuda(0), "cta:nested,pg";
    #[cfg(feature = "cuda")]
    cuda_flat: Device::Cuda(0), "cta:flat,exp";
    #[cfg(feature = "cuda")]
    cuda_flat_pg: Device::Cuda(0), "cta:flat,pg";
    #[cfg(feature = "cuda")]
    cuda_lockstep: Device::Cuda(0), "cta:lockstep,exp";
    #[cfg(feature = "cuda")]
    cuda_lockstep_pg: Device::Cuda(0), "cta:lockstep,pg";
    #[cfg(feature = "cuda")]
    cuda_decoupled: Device::Cuda(0), "cta:decoupled";
    #[cfg(feature = "cuda")]
    cuda_wg: Device::Cuda(0), "wg";
}
