//! `gemm` as a field of arms: random matrices on a device, C = op(A) op(B).

use std::cell::RefCell;

use batchlas::measure::Arm;
use batchlas::ops::Target;
use batchlas::ops::gemm::{Decided, Op};
use batchlas::routes::{Kind, Pin};
use batchlas::{Batch, DeviceBatch, Layout, Queue, Real, Result, Scalar};

use faer::fx128;
use rayon::prelude::*;

use crate::cell::{self, Cell, Padding, distinct, looked_at, repeated, seed};
use crate::race::{Contender, Entry, Measured, limit};
use crate::random::Random;

/// The factors, and where their product goes.
pub(crate) struct Field<T: Scalar> {
    cell: Cell,
    a: DeviceBatch<T>,
    b: DeviceBatch<T>,
    c: RefCell<DeviceBatch<T>>,
    /// The items looked at, and their factors.
    items: Vec<usize>,
    left: Batch<T>,
    right: Batch<T>,
}

/// Elements of C that are looked at, of an item.
const ELEMENTS: usize = 64;

impl<T: Scalar> Field<T> {
    pub(crate) fn new(queue: &Queue, cell: &Cell) -> Result<Self> {
        let problem = cell.product();
        let (m, n, k, batch) = (problem.m, problem.n, problem.k, problem.batch);
        let mut random = Random::new(seed(m * n + k));
        let stored =
            |op: Op, rows: usize, cols: usize| if op.transposes() { (cols, rows) } else { (rows, cols) };
        let items = looked_at(m.max(n).max(k), batch);
        let mut factor = |(rows, cols): (usize, usize)| -> Result<(DeviceBatch<T>, Batch<T>)> {
            let item = rows * cols;
            let distinct = distinct(item, batch);
            let numbers: Vec<T> =
                (0..distinct * item).map(|_| T::from_f64(random.symmetric(), random.symmetric())).collect();
            let sample = Batch::from_fn(rows, cols, items.len(), |at, i, j| {
                numbers[items[at] % distinct * item + j * rows + i]
            });
            let whole = Batch::from_col_major(repeated(&numbers, item * batch), rows, cols, batch)?;
            Ok((DeviceBatch::upload_as(queue, &whole, layout(cell.padding, rows, cols, batch)?)?, sample))
        };
        let (a, left) = factor(stored(problem.op_a, m, k))?;
        let (b, right) = factor(stored(problem.op_b, k, n))?;
        let c = RefCell::new(DeviceBatch::alloc(queue, layout(cell.padding, m, n, batch)?)?);
        Ok(Field { cell: *cell, a, b, c, items, left, right })
    }
}

fn layout(padding: Padding, rows: usize, cols: usize, batch: usize) -> Result<Layout> {
    let ld = rows + if padding == Padding::Padded { 3 } else { 0 };
    Layout::new(rows, cols, ld, ld * cols, batch)
}

impl<T: Scalar> cell::Field for Field<T> {
    fn entry(&self, queue: &Queue, pin: &Pin) -> Result<(String, Entry<'_>)> {
        let decided = Decided::new(&self.cell.product(), &Target::of(queue), Some(pin))?;
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
        // NaN: the product of the arm before must not pass for this one's.
        queue.fill_bytes(self.field.c.borrow_mut().buffer_mut(), 0xff)
    }

    fn run(&mut self, queue: &Queue) -> Result<()> {
        let Field { a, b, c, .. } = self.field;
        self.decided.gemm(queue, T::one(), a, b, T::zero(), &mut c.borrow_mut())
    }
}

impl<T: Scalar> Contender for Route<'_, T> {
    fn measured(&self, queue: &Queue) -> Result<Measured> {
        let field = self.field;
        let c = cell::items_of(queue, &field.c.borrow(), &field.items)?;
        let factors = Factors { cell: &field.cell, left: &field.left, right: &field.right };
        let of_item = |item: usize| {
            let elements = c.rows() * c.cols();
            let count = elements.min(ELEMENTS);
            let places = (1..=count).map(|part| part * elements / count - 1);
            places.map(|at| factors.error(&c, item, at % c.rows(), at / c.rows())).fold(0.0, worse)
        };
        let worst = (0..c.batch()).into_par_iter().map(of_item).reduce(|| 0.0, worse);
        Ok(Measured { residual: Some(worst), ..Measured::default() })
    }
}

/// The factors of the items that are looked at.
#[derive(Clone, Copy)]
struct Factors<'a, T: Scalar> {
    cell: &'a Cell,
    left: &'a Batch<T>,
    right: &'a Batch<T>,
}

impl<T: Scalar> Factors<'_, T> {
    /// The error of an element over (k + 1) eps times the product of moduli.
    fn error(&self, c: &Batch<T>, item: usize, i: usize, j: usize) -> f64 {
        let problem = self.cell.product();
        let zero = fx128::from(0.0);
        let (mut re, mut im, mut moduli) = (zero, zero, 0.0);
        for k in 0..problem.k {
            let (x, x_im) = element(self.left, problem.op_a, item, i, k);
            let (y, y_im) = element(self.right, problem.op_b, item, k, j);
            let [x, x_im, y, y_im] = [x, x_im, y, y_im].map(fx128::from);
            re = re + x * y - x_im * y_im;
            im = im + x * y_im + x_im * y;
            moduli += (x.0.abs() + x_im.0.abs()) * (y.0.abs() + y_im.0.abs());
        }
        let got = c.get(item, i, j);
        let error = |got: f64, wanted: fx128| (fx128::from(got) - wanted).0.abs();
        let error = error(got.re().widen(), re) + error(got.im().widen(), im);
        if error == 0.0 { 0.0 } else { error / ((problem.k + 1) as f64 * T::DTYPE.epsilon() * moduli) }
    }
}

/// The larger error; a NaN is the worst.
fn worse(worst: f64, error: f64) -> f64 {
    if worst.is_nan() || error <= worst { worst } else { error }
}

/// Element (row, column) of op(X), in parts.
fn element<T: Scalar>(x: &Batch<T>, op: Op, item: usize, row: usize, column: usize) -> (f64, f64) {
    let x = if op.transposes() { x.get(item, column, row) } else { x.get(item, row, column) };
    let im = x.im().widen();
    (x.re().widen(), if op == Op::C { -im } else { im })
}
