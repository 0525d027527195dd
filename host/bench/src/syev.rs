//! `syev` as a field of arms: random Hermitian matrices on a device.

use std::cell::RefCell;

use batchlas::measure::Arm;
use batchlas::ops::Target;
use batchlas::ops::syev::{Decided, Problem};
use batchlas::routes::{Kind, Pin};
use batchlas::{Batch, DeviceBatch, DeviceBuffer, Jobz, Queue, Result, Scalar, Uplo};

use crate::cell::{self, Cell, Seen, distinct, looked_at, repeated, seed};
use crate::matrix::Matrix;
use crate::race::{Contender, Entry, Measured, limit};
use crate::random::Random;
use crate::reference;

/// The matrices as they were, and where they are solved.
pub(crate) struct Field<T: Scalar> {
    cell: Cell,
    /// In the cell's layout.
    pristine: DeviceBuffer<T>,
    work: RefCell<Work<T>>,
    /// The items looked at, their input, and their eigenvalues in higher precision.
    items: Vec<usize>,
    sample: Batch<T>,
    exact: Vec<f64>,
    seen: Seen,
}

struct Work<T: Scalar> {
    a: DeviceBatch<T>,
    w: DeviceBuffer<T::Real>,
    status: DeviceBuffer<i32>,
}

impl<T: Scalar> Field<T> {
    pub(crate) fn new(queue: &Queue, cell: &Cell) -> Result<Self> {
        let Cell { n, batch, .. } = *cell;
        let layout = cell.padding.layout(n, batch)?;
        let mut random = Random::new(seed(n));
        let kinds: Vec<Matrix> = (0..distinct(n * n, batch)).map(|_| random.hermitian(n)).collect();
        let few: Batch<T> = rounded(&kinds);
        drop(kinds);
        let whole = Batch::from_col_major(repeated(few.as_slice(), n * n * batch), n, n, batch)?;
        let pristine = DeviceBatch::upload_as(queue, &whole, layout)?.into_buffer();
        drop(whole);
        let items = looked_at(n, batch);
        let sample = Batch::from_fn(n, n, items.len(), |k, i, j| few.get(items[k] % few.batch(), i, j));
        let exact = reference::remembered(&sample)?;
        let work = RefCell::new(Work {
            a: DeviceBatch::alloc(queue, layout)?,
            w: queue.alloc(n * batch)?,
            status: queue.alloc(batch)?,
        });
        Ok(Field { cell: *cell, pristine, work, items, sample, exact, seen: Seen::default() })
    }
}

/// Matrices in a type, both triangles.
pub(crate) fn rounded<T: Scalar>(items: &[Matrix]) -> Batch<T> {
    let n = items.first().map_or(0, |m| m.n);
    Batch::from_fn(n, n, items.len(), |item, i, j| {
        let m = &items[item];
        T::from_f64(m.re[j * n + i], m.im[j * n + i])
    })
}

impl<T: Scalar> cell::Field for Field<T> {
    fn entry(&self, queue: &Queue, pin: &Pin) -> Result<(String, Entry<'_>)> {
        let Cell { n, batch, jobz, .. } = self.cell;
        let problem = Problem { dtype: T::DTYPE, n, batch, jobz, uplo: Uplo::Lower };
        let decided = Decided::new(&problem, &Target::of(queue), Some(pin))?;
        let reached = decided.decision().to_string();
        let limit = limit(decided.decision().route.family().kind == Kind::Vendor);
        Ok((reached, Entry { contender: Box::new(Route { decided, field: self }), limit }))
    }
}

/// One arm.
struct Route<'a, T: Scalar> {
    decided: Decided,
    field: &'a Field<T>,
}

impl<T: Scalar> Arm for Route<'_, T> {
    fn prepare(&mut self, queue: &Queue) -> Result<()> {
        let mut work = self.field.work.borrow_mut();
        // Results that a run does not write must not be those of the arm before.
        queue.fill_bytes(&mut work.w, 0xff)?;
        queue.fill_bytes(&mut work.status, 0xff)?;
        queue.copy(&self.field.pristine, work.a.buffer_mut())
    }

    fn run(&mut self, queue: &Queue) -> Result<()> {
        let work = &mut *self.field.work.borrow_mut();
        self.decided.solve(queue, &mut work.a, &mut work.w, &mut work.status)
    }
}

impl<T: Scalar> Contender for Route<'_, T> {
    fn measured(&self, queue: &Queue) -> Result<Measured> {
        let (field, work) = (self.field, self.field.work.borrow());
        let n = field.cell.n;
        let (w, status) = (queue.download(&work.w)?, queue.download(&work.status)?);
        let failed = status.iter().filter(|s| **s != 0).count();
        let few = |k: usize| &w[field.items[k] * n..(field.items[k] + 1) * n];
        let values: Vec<T::Real> = (0..field.items.len()).flat_map(few).copied().collect();
        let value_error = reference::worst(T::DTYPE, n, &values, &field.exact);
        if field.cell.jobz == Jobz::N || failed > 0 {
            return Ok(Measured { failed, value_error, ..Measured::default() });
        }
        let vectors = cell::items_of(queue, &work.a, &field.items)?;
        let quality = field.seen.quality(&field.sample, &values, &vectors)?;
        Ok(Measured {
            failed,
            residual: Some(quality.max_residual),
            orthogonality: Some(quality.max_orthogonality),
            value_error,
        })
    }
}
