//! The suite of `stebz`: bisection on every device.
//!
//! Without a GPU the tests of `cuda` say why they are skipped; `BATCHLAS_REQUIRE_GPU=1` makes that a failure.

#[path = "../support/mod.rs"]
mod support;

mod items;
mod values;

use batchlas::ops::stebz::{OPERATION, Options, solve};
use batchlas::routes::Pin;
use batchlas::{Device, Queue, Real};

use support::tridiagonal::Batched;

/// One device and one way.
#[derive(Clone, Copy, Debug)]
pub struct Arm {
    device: Device,
    route: &'static str,
}

/// Values and statuses of a batch.
pub struct Solved<T> {
    w: Vec<T>,
    status: Vec<i32>,
}

impl Arm {
    fn queue(&self) -> Option<Queue> {
        support::queue(self.device)
    }

    /// The orders of the suite: the executor is slow.
    fn orders(&self) -> &'static [usize] {
        match self.device {
            Device::Simt => &[1, 2, 3, 31, 33, 65],
            Device::Cpu => &[1, 2, 3, 31, 33, 65, 130, 300],
            Device::Cuda(_) => &[1, 2, 3, 31, 32, 33, 64, 65, 100, 129, 257, 385, 512, 1024, 2048],
        }
    }

    fn solve_within<T: Real>(&self, queue: &Queue, batch: &Batched<T>, passes: Option<u32>) -> Solved<T> {
        let (n, items) = (batch.n, batch.items());
        let Batched { d, e, .. } = batch;
        let (d, e) = (queue.upload(d).unwrap(), queue.upload(e).unwrap());
        let mut w = queue.alloc::<T>(n * items).unwrap();
        let mut status = queue.alloc::<i32>(items).unwrap();
        let route = Some(Pin::parse(&OPERATION, self.route).unwrap());
        let options = Options { passes, route };
        solve(queue, &d, &e, &mut w, &mut status, &options)
            .unwrap_or_else(|error| panic!("{self:?} {} n={n} batch={items}: {error}", T::DTYPE));
        Solved { w: queue.download(&w).unwrap(), status: queue.download(&status).unwrap() }
    }

    fn solve<T: Real>(&self, queue: &Queue, batch: &Batched<T>) -> Solved<T> {
        self.solve_within(queue, batch, None)
    }
}

/// One module an arm, with every test for both types.
macro_rules! arms {
    ($($(#[$meta:meta])* $name:ident: $device:expr, $route:literal;)*) => { $(
        $(#[$meta])*
        mod $name {
            use super::Device;
            const ARM: super::Arm = super::Arm { device: $device, route: $route };
            arms!(@tests f32 f64);
        }
    )* };
    (@tests $($t:ident)*) => { $(
        mod $t {
            use super::ARM;
            use crate::{items, values};
            arms!(@each $t: values::{every_class, a_power_of_two_changes_nothing_but_the_scale});
            arms!(@each $t: items::{alone_and_in_a_batch, bad_items_touch_no_other, spent_budgets, empty_shapes});
        }
    )* };
    (@each $t:ty: $module:ident::{$($test:ident),*}) => {
        $(#[test] fn $test() { $module::$test::<$t>(ARM); })*
    };
}

arms! {
    cpu: Device::Cpu, "cpu";
    #[cfg(feature = "simt")]
    simt: Device::Simt, "bisect";
    #[cfg(feature = "simt")]
    simt_of_one: Device::Simt, "bisect:values=1";
    #[cfg(feature = "cuda")]
    cuda: Device::Cuda(0), "bisect";
    #[cfg(feature = "cuda")]
    cuda_of_one: Device::Cuda(0), "bisect:values=1";
    #[cfg(feature = "cuda")]
    cuda_of_two: Device::Cuda(0), "bisect:values=2";
}
