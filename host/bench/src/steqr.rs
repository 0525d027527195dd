//! `steqr` as a field of arms: random tridiagonal matrices on a device.

use std::cell::RefCell;

use batchlas::check;
use batchlas::measure::Arm;
use batchlas::ops::Target;
use batchlas::ops::steqr::{Decided, Options, Problem};
use batchlas::routes::{Kind, Pin};
use batchlas::{Batch, DeviceBatch, DeviceBuffer, Jobz, Queue, Real, Result, Uplo};

use crate::cell::{self, Cell, DISTINCT, looked_at, repeated, seed};
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
}

struct Work<T> {
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
        Ok(Field { cell: *cell, diagonals, couplings, work, items, sample, exact })
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
        let Cell { n, batch, jobz, shift, .. } = self.cell;
        let problem = Problem { dtype: T::DTYPE, n, batch, jobz };
        let options = Options { shift, route: Some(pin.clone()), ..Options::default() };
        let decided = Decided::new(&problem, &Target::of(queue), &options)?;
        let reached = decided.decision().to_string();
        let limit = limit(decided.decision().route.family().kind == Kind::Vendor);
        Ok((reached, Entry { contender: Box::new(Route { decided, field: self }), limit }))
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
        queue.copy(&self.field.diagonals, d)
    }

    fn run(&mut self, queue: &Queue) -> Result<()> {
        let Work { d, q, status } = &mut *self.field.work.borrow_mut();
        self.decided.solve(queue, d, &self.field.couplings, q.as_mut(), status)
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
        let quality = check::quality_of(&field.sample, Uplo::Lower, &values, &vectors)?;
        Ok(Measured {
            failed,
            residual: Some(quality.max_residual),
            orthogonality: Some(quality.max_orthogonality),
            value_error,
        })
    }
}
