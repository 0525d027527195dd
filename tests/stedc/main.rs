//! The suite of `stedc`: divide and conquer on every device.
//!
//! Without a GPU the tests of `cuda` say why they are skipped; `BATCHLAS_REQUIRE_GPU=1` makes that a failure.

#[path = "../support/mod.rs"]
mod support;

mod arms;
mod classes;
mod contract;
mod items;
#[cfg(feature = "kernels")]
mod methods;

use batchlas::Device;

/// One module an arm, with every test for both types.
macro_rules! arms {
    ($($(#[$meta:meta])* $name:ident: $device:expr, $route:literal;)*) => { $(
        $(#[$meta])*
        mod $name {
            use super::Device;
            const ARM: crate::arms::Arm = crate::arms::Arm { device: $device, route: $route };
            arms!(@tests f32 f64);
        }
    )* };
    (@tests $($t:ident)*) => { $(
        mod $t {
            use super::ARM;
            use crate::{contract, items};
            arms!(@each $t: contract::{every_class, every_order, long_chains, a_power_of_two_changes_nothing_but_the_scale});
            arms!(@each $t: items::{
                alone_and_in_a_batch, bad_items_touch_no_other, gaps_and_guards_stay, empty_shapes
            });
        }
    )* };
    (@each $t:ty: $module:ident::{$($test:ident),*}) => {
        $(#[test] fn $test() { $module::$test::<$t>(ARM); })*
    };
}

arms! {
    cpu: Device::Cpu, "cpu";
    #[cfg(feature = "simt")]
    simt: Device::Simt, "levels";
    #[cfg(feature = "cuda")]
    cuda: Device::Cuda(0), "levels";
    #[cfg(feature = "cuda")]
    cuda_of_two: Device::Cuda(0), "levels:rows=2";
}
