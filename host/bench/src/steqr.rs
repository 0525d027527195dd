//! `steqr`, `stedc` and `stebz` as fields of arms: random tridiagonal matrices on a device.

use std::cell::RefCell;

use batchlas::measure::Arm;
use batchlas::ops::{Target, stebz, stedc, steqr};
use batchlas::routes::{Candidate, Kind, Pin};
use batchlas::{Batch, DeviceBatch, DeviceBuffer, Dtype, Jobz, Queue, Real, Result};

use crate::cell::{self, Cell, DISTINCT, Op, Seen, looked_at, repeated, seed};
use crate::classes::tridiagonal::{self, Tridiagonal};
use crate::race::{Contender, Entry, Measured, limit};
use crate::random::Random;
use crate::reference;

/// The diagonals as they were, and where they are solved.
pub(crate) struct Field<T: Real> {
    cell: Cell,
    diagonals: DeviceBuffer<T>,
    couplings: DeviceBuffer<T>,
    work: RefCell<Work<T>>,
    /// The items looked at, their input, and their eigenvalues in higher precision.
    items: Vec<usize>,
    sample: Batch<T>,
    exact: Vec<f64>,
    seen: Seen,
}

struct Work<T> {
    /// The eigenvalues; for `steqr` the diagonals before.
    d: DeviceBuffer<T>,
    q: Option<DeviceBatch<T>>,
    status: DeviceBuffer<i32>,
}

impl<T: Real> Field<T> {
    pub(crate) fn new(queue: &Queue, cell: &Cell) -> Result<Self> {
        let Cell { n, batch, jobz, .. } = *cell;
        let layout = cell.padding.layout(n, batch)?;
        let mut random = Random::new(seed(n));
        let kinds: Vec<Tridiagonal> =
            (0..batch.min(DISTINCT)).map(|_| tridiagonal::random(&mut random, n)).collect();
        let (d, e) = rounded(kinds.iter());
        let width = n.saturating_sub(1);
        let diagonals = queue.upload(&repeated(&d, n * batch))?;
        let couplings = queue.upload(&repeated(&e, width * batch))?;
        let items = looked_at(n, batch);
        let (d, e) = rounded::<T>(items.iter().map(|item| &kinds[item % kinds.len()]));
        let exact = reference::tridiagonal_in_double(n, &d, &e)?;
        let sample = Batch::from_fn(n, n, items.len(), |item, i, j| element(n, &d, &e, item, i, j));
        let vectors = || DeviceBatch::alloc(queue, layout);
        let work = RefCell::new(Work {
            d: queue.alloc(n * batch)?,
            q: (jobz == Jobz::V).then(vectors).transpose()?,
            status: queue.alloc(batch)?,
        });
        Ok(Field { cell: *cell, diagonals, couplings, work, items, sample, exact, seen: Seen::default() })
    }
}

/// Diagonals and off-diagonals in a type, item after item.
pub(crate) fn rounded<'a, T: Real>(items: impl Iterator<Item = &'a Tridiagonal>) -> (Vec<T>, Vec<T>) {
    let (mut d, mut e) = (vec![], vec![]);
    for item in items {
        d.extend(item.d.iter().map(|x| T::round_from(*x)));
        e.extend(item.e.iter().map(|x| T::round_from(*x)));
    }
    (d, e)
}

/// Element (i, j) of an item.
pub(crate) fn element<T: Real>(n: usize, d: &[T], e: &[T], item: usize, i: usize, j: usize) -> T {
    match i.abs_diff(j) {
        0 => d[item * n + i],
        1 => e[item * (n - 1) + i.min(j)],
        _ => T::zero(),
    }
}

impl<T: Real> cell::Field for Field<T> {
    fn entry(&self, queue: &Queue, pin: &Pin) -> Result<(String, Entry<'_>)> {
        let decided = Decided::new(&self.cell, T::DTYPE, &Target::of(queue), pin.clone())?;
        let route = decided.route();
        let limit = limit(route.family().kind == Kind::Vendor);
        Ok((route.to_string(), Entry { contender: Box::new(Route { decided, field: self }), limit }))
    }
}

/// The decision of one of the operations.
enum Decided {
    Steqr(steqr::Decided),
    Stedc(stedc::Decided),
    Stebz(stebz::Decided),
}

impl Decided {
    fn new(cell: &Cell, dtype: Dtype, target: &Target, pin: Pin) -> Result<Self> {
        let Cell { n, batch, jobz, shift, .. } = *cell;
        let route = Some(pin);
        match cell.op {
            Op::Stedc => {
                let problem = stedc::Problem { dtype, n, batch, jobz };
                stedc::Decided::new(&problem, target, &stedc::Options { route }).map(Decided::Stedc)
            }
            Op::Stebz => {
                let options = stebz::Options { route, ..stebz::Options::default() };
                stebz::Decided::new(&stebz::Problem { dtype, n, batch }, target, &options).map(Decided::Stebz)
            }
            Op::Steqr | Op::Syev | Op::Gemm => {
                let options = steqr::Options { shift, route, ..steqr::Options::default() };
                let problem = steqr::Problem { dtype, n, batch, jobz };
                steqr::Decided::new(&problem, target, &options).map(Decided::Steqr)
            }
        }
    }

    fn route(&self) -> &Candidate {
        match self {
            Decided::Steqr(decided) => &decided.decision().route,
            Decided::Stedc(decided) => &decided.decision().route,
            Decided::Stebz(decided) => &decided.decision().route,
        }
    }
}

/// One arm.
struct Route<'a, T: Real> {
    decided: Decided,
    field: &'a Field<T>,
}

impl<T: Real> Arm for Route<'_, T> {
    fn prepare(&mut self, queue: &Queue) -> Result<()> {
        let Work { d, q, status } = &mut *self.field.work.borrow_mut();
        // Results that a run does not write must not be those of the arm before.
        queue.fill_bytes(status, 0xff)?;
        q.as_mut().map_or(Ok(()), |q| queue.fill_bytes(q.buffer_mut(), 0xff))?;
        match self.decided {
            Decided::Steqr(_) => queue.copy(&self.field.diagonals, d),
            _ => queue.fill_bytes(d, 0xff),
        }
    }

    fn run(&mut self, queue: &Queue) -> Result<()> {
        let Work { d, q, status } = &mut *self.field.work.borrow_mut();
        let (diagonals, couplings) = (&self.field.diagonals, &self.field.couplings);
        match &self.decided {
            Decided::Steqr(decided) => decided.solve(queue, d, couplings, q.as_mut(), status),
            Decided::Stedc(decided) => decided.solve(queue, diagonals, couplings, d, q.as_mut(), status),
            Decided::Stebz(decided) => decided.solve(queue, diagonals, couplings, d, status),
        }
    }
}

impl<T: Real> Contender for Route<'_, T> {
    fn measured(&self, queue: &Queue) -> Result<Measured> {
        let (field, work) = (self.field, self.field.work.borrow());
        let n = field.cell.n;
        let (w, status) = (queue.download(&work.d)?, queue.download(&work.status)?);
        let failed = status.iter().filter(|s| **s != 0).count();
        let few = |k: usize| &w[field.items[k] * n..(field.items[k] + 1) * n];
        let values: Vec<T> = (0..field.items.len()).flat_map(few).copied().collect();
        let value_error = reference::worst(T::DTYPE, n, &values, &field.exact);
        let Some(q) = work.q.as_ref().filter(|_| failed == 0) else {
            return Ok(Measured { failed, value_error, ..Measured::default() });
        };
        let vectors = cell::items_of(queue, q, &field.items)?;
        let quality = field.seen.quality(&field.sample, &values, &vectors)?;
        Ok(Measured {
            failed,
            residual: Some(quality.max_residual),
            orthogonality: Some(quality.max_orthogonality),
            value_error,
        })
    }
}
