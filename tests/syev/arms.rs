//! Where and by which family the suite solves.

use batchlas::linalg::{Eigh, EighOptions, eigh_with};
use batchlas::ops::syev::{OPERATION, Problem, Target, plan};
use batchlas::routes::Pin;
use batchlas::{Batch, Device, Dtype, Jobz, Queue, Scalar, Uplo};

use crate::support::{self, required};

/// One device and one family.
#[derive(Clone, Copy, Debug)]
pub struct Arm {
    pub device: Device,
    pub route: &'static str,
}

impl Arm {
    /// A queue; `None`, with the reason on stderr, where there is no such device
    /// or no vendor's library. The environment can make either a failure.
    pub fn queue(&self) -> Option<Queue> {
        let queue = support::queue(self.device)?;
        let problem = Problem { dtype: Dtype::F32, n: 1, batch: 1, jobz: Jobz::V, uplo: Uplo::Lower };
        match plan(&problem, &Target::of(&queue), Some(&self.pin())) {
            Ok(_) => Some(queue),
            Err(error) if self.is_vendor() && !required("BATCHLAS_REQUIRE_VENDOR") => {
                eprintln!("skipped: {error}");
                None
            }
            Err(error) => panic!("{self:?}: {error}"),
        }
    }

    /// Whether it is a routine of cuSOLVER.
    pub fn is_vendor(&self) -> bool {
        self.route.starts_with("vendor")
    }

    /// Whether the family gives an item the same bits in every batch; the vendor's do not promise it.
    pub fn keeps_bits(&self) -> bool {
        !self.is_vendor()
    }

    /// Whether an eigenvalue that overflows leaves the rest of its item right: the vendor's routines promise nothing.
    pub fn keeps_overflow(&self) -> bool {
        !self.is_vendor()
    }

    /// Whether small eigenvalues of graded positive definite input are accurate relative to themselves.
    pub fn keeps_small_values(&self) -> bool {
        ["jacobi", "thread"].contains(&self.route)
    }

    pub fn pin(&self) -> Pin {
        Pin::parse(&OPERATION, self.route).expect("a family of syev")
    }

    /// The largest order that the family takes, as far as the suite goes.
    pub fn max_n(&self, dtype: Dtype) -> usize {
        match (self.route, dtype) {
            ("cpu" | "vendor" | "vendor:syevj", _) => 150,
            ("thread", Dtype::F32) => 8,
            ("thread", Dtype::F64 | Dtype::C32) => 6,
            ("thread", Dtype::C64) => 4,
            // Larger ones in `contract::every_order` and `named::largest_of_a_block`: the executor is slow.
            ("block" | "blocked", _) if self.device == Device::Simt => 33,
            ("block", _) => 128,
            ("blocked", _) => 1024,
            _ => 32,
        }
    }

    /// The house list of orders, as far as the family goes: around each boundary.
    pub fn orders(&self, dtype: Dtype) -> Vec<usize> {
        let all = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 129];
        let on_gpu = (1..=32).chain([33, 40, 48, 63, 64, 65, 96, 100, 127, 128, 129, 257, 512]);
        match (self.device, self.route) {
            (Device::Simt, "block") => return vec![1, 2, 33, 48, 65],
            (Device::Simt, "blocked") => return vec![1, 2, 33, 48, 65],
            _ => {}
        }
        let orders: Vec<usize> =
            if matches!(self.device, Device::Cuda(_)) { on_gpu.collect() } else { all.to_vec() };
        orders.into_iter().filter(|n| *n <= self.max_n(dtype)).collect()
    }

    /// Orders at which every class of input is tried.
    pub fn class_orders(&self, dtype: Dtype, uplo: Uplo) -> Vec<usize> {
        let orders: &[usize] = match (self.device, self.route, uplo) {
            (Device::Simt, "blocked", Uplo::Lower) => &[7],
            (Device::Simt, "blocked", Uplo::Upper) => &[33],
            (Device::Cuda(_), "blocked", Uplo::Lower) => &[2, 6, 7, 29, 33, 46, 64, 257],
            (Device::Cuda(_), "blocked", Uplo::Upper) => &[3, 8, 16, 32, 100, 130, 512, 1024],
            (.., Uplo::Lower) => &[2, 6, 7, 29, 46],
            (.., Uplo::Upper) => &[3, 8, 16, 32, 130],
        };
        orders.iter().copied().filter(|n| *n <= self.max_n(dtype)).collect()
    }

    /// How many items of a kind are affordable: the executor is slow.
    pub fn items(&self, wanted: usize) -> usize {
        match (self.device, self.route) {
            (Device::Simt, "blocked") if wanted == 2 => 1,
            (Device::Simt, "block" | "blocked") => wanted.min(2),
            (Device::Simt, _) => wanted.min(3),
            _ => wanted,
        }
    }

    /// Solves; an error names the items, so that a finding of the executor can be told apart.
    pub fn solve_named<T: Scalar>(
        &self,
        queue: &Queue,
        what: &str,
        a: &Batch<T>,
        uplo: Uplo,
        jobz: Jobz,
    ) -> Eigh<T> {
        let options = EighOptions { jobz, uplo, route: Some(self.pin()), or_cpu: false };
        eigh_with(queue, a, &options).unwrap_or_else(|e| {
            panic!("{self:?} {} {what} n={} batch={} {jobz} {uplo}: {e}", T::DTYPE, a.rows(), a.batch())
        })
    }

    /// Solves items that need no name.
    pub fn solve<T: Scalar>(&self, queue: &Queue, a: &Batch<T>, uplo: Uplo, jobz: Jobz) -> Eigh<T> {
        self.solve_named(queue, "items", a, uplo, jobz)
    }
}
