//! Where and how the suite multiplies.

use batchlas::ops::Target;
use batchlas::ops::gemm::{Decided, OPERATION, Op, Problem};
use batchlas::routes::Pin;
use batchlas::{Device, DeviceBatch, Dtype, Queue, Scalar};

use crate::data::{Case, Inputs};
use crate::support;

/// One device and one way.
#[derive(Clone, Copy, Debug)]
pub struct Arm {
    pub device: Device,
    pub route: &'static str,
}

impl Arm {
    /// A queue; `None`, with the reason on stderr, where there is no such device, or no such library of the vendor.
    /// The environment can make that a failure.
    pub fn queue(&self) -> Option<Queue> {
        let queue = support::queue(self.device)?;
        if self.route == "vendor" && !support::required("BATCHLAS_REQUIRE_VENDOR") {
            let problem = Problem { dtype: Dtype::F32, op_a: Op::N, op_b: Op::N, m: 1, n: 1, k: 1, batch: 1 };
            if let Err(error) = Decided::new(&problem, &Target::of(&queue), Some(&self.pin())) {
                eprintln!("skipped: {error}");
                return None;
            }
        }
        Some(queue)
    }

    pub fn pin(&self) -> Pin {
        Pin::parse(&OPERATION, self.route).expect("a family of gemm")
    }

    /// The most rows and columns that the family takes.
    pub fn max_order(&self) -> usize {
        if self.route == "small" { 64 } else { usize::MAX }
    }

    /// Whether a case costs so much that a few are enough.
    pub fn is_slow(&self) -> bool {
        self.device == Device::Simt
    }

    /// Runs a case in place of `inputs.c`, all of whose buffer comes back.
    pub fn multiply<T: Scalar>(&self, queue: &Queue, case: &Case, inputs: &Inputs<T>) -> Vec<T> {
        let side = |data: &[T], layout| {
            let buffer = queue.upload(data).expect("memory");
            DeviceBatch::from_buffer(buffer, layout).expect("a buffer that fits")
        };
        let (a, b) = (side(&inputs.a, inputs.layout_a), side(&inputs.b, inputs.layout_b));
        let mut c = side(&inputs.c, inputs.layout_c);
        let problem = case.problem(T::DTYPE);
        let mut run = || {
            let decided = Decided::new(&problem, &Target::of(queue), Some(&self.pin()))?;
            decided.gemm(queue, inputs.alpha, &a, &b, inputs.beta, &mut c)?;
            queue.download(c.buffer())
        };
        let result: batchlas::Result<Vec<T>> = run();
        result.unwrap_or_else(|error| panic!("{self:?} {} {case:?}: {error}", T::DTYPE))
    }
}
