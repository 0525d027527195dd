//! Where and how the suite solves.

use batchlas::linalg::{Eigh, EighTridiagonalOptions, eigh_tridiagonal_with};
use batchlas::ops::steqr::{OPERATION, Problem, Shift};
use batchlas::routes::Pin;
use batchlas::{Device, Jobz, Queue, Real};

use crate::support;
use crate::support::tridiagonal::Batched;

/// Results of a tridiagonal batch.
pub type Solved<T> = Eigh<T, Problem>;

/// One device and one way.
#[derive(Clone, Copy, Debug)]
pub struct Arm {
    pub device: Device,
    pub route: &'static str,
}

impl Arm {
    /// A queue; `None`, with the reason on stderr, where there is no such device.
    /// The environment can make that a failure.
    pub fn queue(&self) -> Option<Queue> {
        support::queue(self.device)
    }

    pub fn pin(&self) -> Pin {
        Pin::parse(&OPERATION, self.route).expect("a family of steqr")
    }

    /// The largest order that the family takes, as far as the suite goes.
    pub fn max_n(&self) -> usize {
        match (self.route, self.device) {
            ("wg", Device::Simt) => 40,
            ("cpu" | "wg", _) => 150,
            _ => 32,
        }
    }

    /// The house list of orders, as far as the family goes: around each boundary.
    pub fn orders(&self) -> Vec<usize> {
        let all = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 129];
        let on_gpu = (1..=32).chain([33, 63, 64, 65, 128, 129]);
        let orders: Vec<usize> =
            if matches!(self.device, Device::Cuda(_)) { on_gpu.collect() } else { all.to_vec() };
        orders.into_iter().filter(|n| *n <= self.max_n()).collect()
    }

    /// How many items of a kind are affordable: the executor is slow.
    pub fn items(&self, wanted: usize) -> usize {
        if self.device == Device::Simt { wanted.min(3) } else { wanted }
    }

    pub fn options(&self, jobz: Jobz) -> EighTridiagonalOptions {
        EighTridiagonalOptions { jobz, route: Some(self.pin()), ..Default::default() }
    }

    /// Solves; an error names the items, so that a finding of the executor can be told apart.
    pub fn solve_with<T: Real>(
        &self,
        queue: &Queue,
        what: &str,
        batch: &Batched<T>,
        options: &EighTridiagonalOptions,
    ) -> Solved<T> {
        let Batched { n, ref d, ref e } = *batch;
        eigh_tridiagonal_with(queue, d, e, n, options).unwrap_or_else(|error| {
            let items = batch.items();
            panic!("{self:?} {} {what} n={n} batch={items} {}: {error}", T::DTYPE, options.jobz)
        })
    }

    pub fn solve<T: Real>(&self, queue: &Queue, what: &str, batch: &Batched<T>, jobz: Jobz) -> Solved<T> {
        self.solve_with(queue, what, batch, &self.options(jobz))
    }

    /// Solves with this shift.
    pub fn solve_shifted<T: Real>(
        &self,
        queue: &Queue,
        what: &str,
        batch: &Batched<T>,
        jobz: Jobz,
        shift: Shift,
    ) -> Solved<T> {
        self.solve_with(
            queue,
            what,
            batch,
            &EighTridiagonalOptions { shift: Some(shift), ..self.options(jobz) },
        )
    }
}
