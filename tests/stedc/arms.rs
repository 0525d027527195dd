//! Where and how the suite solves.

use batchlas::ops::stedc::{OPERATION, Options, solve};
use batchlas::routes::Pin;
use batchlas::{Batch, Device, DeviceBatch, Jobz, Layout, Queue, Real};

use crate::support::{self, tridiagonal::Batched};

/// One device and one way.
#[derive(Clone, Copy, Debug)]
pub struct Arm {
    pub device: Device,
    pub route: &'static str,
}

/// What came out.
pub struct Solved<T: Real> {
    pub w: Vec<T>,
    pub v: Option<Batch<T>>,
    pub status: Vec<i32>,
}

impl Arm {
    /// A queue; `None`, with the reason on stderr, where there is no such device.
    pub fn queue(&self) -> Option<Queue> {
        support::queue(self.device)
    }

    /// Orders at which every class is solved.
    pub fn orders(&self) -> &'static [usize] {
        match self.device {
            Device::Simt => &[48],
            Device::Cpu => &[33, 100],
            Device::Cuda(_) => &[64, 100, 257, 512, 1024],
        }
    }

    /// Orders at which a few classes are solved: around every change of the tree.
    pub fn more_orders(&self) -> &'static [usize] {
        match self.device {
            Device::Simt => &[1, 2, 31, 32, 33, 65, 130],
            Device::Cpu => &[1, 2, 31, 32, 33, 65, 130],
            Device::Cuda(_) => &[1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130, 255, 256, 300, 777, 2048],
        }
    }

    pub fn options(&self) -> Options {
        Options { route: Some(Pin::parse(&OPERATION, self.route).expect("a route")) }
    }

    /// Solves packed items.
    pub fn solve<T: Real>(&self, queue: &Queue, what: &str, batch: &Batched<T>, jobz: Jobz) -> Solved<T> {
        let layout = Layout::packed(batch.n, batch.n, batch.items());
        self.solve_as(queue, what, batch, jobz, layout)
    }

    /// Solves into vectors of a layout.
    pub fn solve_as<T: Real>(
        &self,
        queue: &Queue,
        what: &str,
        batch: &Batched<T>,
        jobz: Jobz,
        layout: Layout,
    ) -> Solved<T> {
        let Batched { n, ref d, ref e } = *batch;
        let items = batch.items();
        let (d, e) = (queue.upload(d).unwrap(), queue.upload(e).unwrap());
        let mut w = queue.alloc::<T>(n * items).unwrap();
        let mut status = queue.alloc::<i32>(items).unwrap();
        let mut q = (jobz == Jobz::V).then(|| DeviceBatch::<T>::alloc(queue, layout).unwrap());
        solve(queue, &d, &e, &mut w, q.as_mut(), &mut status, &self.options()).unwrap_or_else(|error| {
            panic!("{self:?} {} {what} n={n} batch={items} {jobz}: {error}", T::DTYPE)
        });
        Solved {
            w: queue.download(&w).unwrap(),
            v: q.map(|q| q.download(queue).unwrap()),
            status: queue.download(&status).unwrap(),
        }
    }
}
