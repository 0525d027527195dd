//! A cell of a grid: one problem, and the arms that solve it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use batchlas::check::{self, Quality};
use batchlas::error::{Error, Result};
use batchlas::ops::steqr::Shift;
use batchlas::ops::{Target, gemm, stebz, stedc, steqr, syev};
use batchlas::routes::{Params, Pin, ShapeKey};
use batchlas::{Batch, Complex, Device, DeviceBatch, Dtype, Jobz, Layout, Queue, Scalar, Uplo};

pub use crate::axes::{Op, Padding, Sides};
use crate::hash;
use crate::provenance::Provenance;
use crate::race::{Effort, Entry, Outcome, race};
use crate::routes::Asked;
use crate::row::Row;

/// A family with every parameter that a plan fixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Its name.
    pub family: &'static str,
    /// Its parameters.
    pub params: Params,
}

/// As routes are written.
impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reached { family, params } = self;
        if params.is_empty() { f.write_str(family) } else { write!(f, "{family}:{params}") }
    }
}

/// One problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The operation.
    pub op: Op,
    /// The element type.
    pub dtype: Dtype,
    /// The order; the columns of C, of a product.
    pub n: usize,
    /// The number of items.
    pub batch: usize,
    /// Whether vectors are wanted; a product has none.
    pub jobz: Jobz,
    /// The sides of a product; `gemm` alone has them.
    pub sides: Sides,
    /// How matrices lie in memory.
    pub padding: Padding,
    /// The formula of the shift; `steqr` alone has it.
    pub shift: Shift,
}

impl Default for Cell {
    fn default() -> Self {
        Cell {
            op: Op::Syev,
            dtype: Dtype::F32,
            n: 1,
            batch: 1,
            jobz: Jobz::V,
            sides: Sides::default(),
            padding: Padding::Packed,
            shift: Shift::default(),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { op, dtype, batch, padding, .. } = self;
        write!(f, "{op} {dtype} {} {} batch={batch} {padding}", self.kind(), self.shape())
    }
}

impl Cell {
    pub(crate) fn shift_word(&self) -> Option<String> {
        (self.op == Op::Steqr).then(|| self.shift.to_string())
    }

    /// `V` or `N`; of a product its ops.
    pub fn kind(&self) -> String {
        if self.op == Op::Gemm { self.sides.to_string() } else { self.jobz.to_string() }
    }

    /// `n=8`, or `m=8 n=4 k=2` where these differ.
    pub fn shape(&self) -> String {
        let (m, n, k) = (self.sides.m.unwrap_or(self.n), self.n, self.sides.k.unwrap_or(self.n));
        if (m, k) == (n, n) { format!("n={n}") } else { format!("m={m} n={n} k={k}") }
    }

    /// The product that the cell is, whatever its operation.
    pub fn product(&self) -> gemm::Problem {
        let Cell { dtype, n, batch, sides: Sides { op_a, op_b, m, k }, .. } = *self;
        gemm::Problem { dtype, op_a, op_b, m: m.unwrap_or(n), n, k: k.unwrap_or(n), batch }
    }

    /// The cell's place in a route table.
    pub fn key(&self) -> ShapeKey {
        if self.op == Op::Gemm {
            return self.product().key();
        }
        let sizes = vec![self.n as u64, self.batch as u64];
        let words = match self.op {
            Op::Stebz => vec![self.dtype.name()],
            _ => vec![self.dtype.name(), self.jobz.word()],
        };
        ShapeKey { words, sizes }
    }

    /// What a route comes to on a target, with every parameter that the plan fixes.
    ///
    /// # Errors
    /// [`Error::Route`] where it cannot run the cell or is none, and malformed settings of the environment.
    pub fn reached(&self, target: &Target, route: &str) -> Result<Reached> {
        let Cell { dtype, n, batch, jobz, shift, .. } = *self;
        let pin = Pin::parse(self.op.operation(), route)?;
        let (family, params) = match self.op {
            Op::Syev => {
                let problem = syev::Problem { dtype, n, batch, jobz, uplo: Uplo::Lower };
                let plan = syev::plan(&problem, target, Some(&pin))?.1;
                (plan.family, plan.params)
            }
            Op::Steqr => {
                let options = steqr::Options { shift, route: Some(pin), ..steqr::Options::default() };
                let plan = steqr::plan(&steqr::Problem { dtype, n, batch, jobz }, target, &options)?.1;
                (plan.family, plan.params)
            }
            Op::Stedc => {
                let options = stedc::Options { route: Some(pin) };
                let plan = stedc::plan(&stedc::Problem { dtype, n, batch, jobz }, target, &options)?.1;
                (plan.family, plan.params)
            }
            Op::Stebz => {
                let options = stebz::Options { route: Some(pin), ..stebz::Options::default() };
                let plan = stebz::plan(&stebz::Problem { dtype, n, batch }, target, &options)?.1;
                (plan.family, plan.params)
            }
            Op::Gemm => {
                let plan = gemm::plan(&self.product(), target, Some(&pin))?.1;
                (plan.family, plan.params)
            }
        };
        Ok(Reached { family, params })
    }

    /// Bytes of device memory that the arrays of a cell take, and a workspace as large for the vendor.
    pub fn bytes(&self) -> u64 {
        let (n, width) = (self.n as u64, self.dtype.bytes() as u64);
        let ld = n.saturating_add(if self.padding == Padding::Padded { 3 } else { 0 });
        let elements = match self.op {
            Op::Gemm => self.product_elements(),
            // No matrix.
            Op::Stebz => n.saturating_mul(4),
            _ => ld.saturating_mul(n).saturating_add(n).saturating_mul(3),
        };
        elements.saturating_mul(width).saturating_add(4).saturating_mul(self.batch as u64)
    }

    /// Elements of an item's three matrices.
    fn product_elements(&self) -> u64 {
        let gemm::Problem { m, n, k, .. } = self.product();
        let gap = if self.padding == Padding::Padded { 3 } else { 0 };
        let matrix = |x: usize, y: usize| {
            (x as u64).saturating_add(gap).saturating_mul((y as u64).saturating_add(gap))
        };
        matrix(m, k).saturating_add(matrix(k, n)).saturating_add(matrix(m, n))
    }

    /// Bytes of host memory that the input takes: whole in its type, and its distinct items in double precision.
    fn input_bytes(&self) -> u64 {
        let (n, batch, width) = (self.n as u64, self.batch as u64, self.dtype.bytes() as u64);
        let distinct = batch.min(DISTINCT as u64);
        let elements = match self.op {
            Op::Syev => n.saturating_mul(n),
            Op::Steqr | Op::Stedc | Op::Stebz => n.saturating_mul(2),
            Op::Gemm => self.product_elements(),
        };
        let bytes = batch.saturating_mul(width).saturating_add(distinct.saturating_mul(16));
        elements.saturating_mul(bytes)
    }

    /// Measures the arms on random input: times that take turns, or counts under the executor. An arm of a group
    /// that cannot run the problem is left out; a named one gives a row with the reason.
    ///
    /// # Errors
    /// Faults of the device, and too little memory for the cell.
    pub fn measure(
        &self,
        queue: &Queue,
        asked: &[Asked],
        effort: &Effort,
        provenance: &Provenance,
    ) -> Result<Vec<Row>> {
        check_room(self.input_bytes(), &format!("the input of {self}"))?;
        if !self.op.gives(self.jobz) {
            return Err(Error::argument(format!("{} finds values only: --jobz N", self.op)));
        }
        match (self.op, self.dtype) {
            (Op::Syev, Dtype::F32) => {
                self.race(crate::syev::Field::<f32>::new(queue, self)?, queue, asked, effort, provenance)
            }
            (Op::Syev, Dtype::F64) => {
                self.race(crate::syev::Field::<f64>::new(queue, self)?, queue, asked, effort, provenance)
            }
            (Op::Syev, Dtype::C32) => self.race(
                crate::syev::Field::<Complex<f32>>::new(queue, self)?,
                queue,
                asked,
                effort,
                provenance,
            ),
            (Op::Syev, Dtype::C64) => self.race(
                crate::syev::Field::<Complex<f64>>::new(queue, self)?,
                queue,
                asked,
                effort,
                provenance,
            ),
            (Op::Steqr | Op::Stedc | Op::Stebz, Dtype::F32) => {
                self.race(crate::steqr::Field::<f32>::new(queue, self)?, queue, asked, effort, provenance)
            }
            (Op::Steqr | Op::Stedc | Op::Stebz, Dtype::F64) => {
                self.race(crate::steqr::Field::<f64>::new(queue, self)?, queue, asked, effort, provenance)
            }
            (Op::Gemm, Dtype::F32) => {
                self.race(crate::gemm::Field::<f32>::new(queue, self)?, queue, asked, effort, provenance)
            }
            (Op::Gemm, Dtype::F64) => {
                self.race(crate::gemm::Field::<f64>::new(queue, self)?, queue, asked, effort, provenance)
            }
            (Op::Gemm, Dtype::C32) => self.race(
                crate::gemm::Field::<Complex<f32>>::new(queue, self)?,
                queue,
                asked,
                effort,
                provenance,
            ),
            (Op::Gemm, Dtype::C64) => self.race(
                crate::gemm::Field::<Complex<f64>>::new(queue, self)?,
                queue,
                asked,
                effort,
                provenance,
            ),
            (op, dtype) => Err(Error::argument(format!("{op} is for real types, not for {dtype}"))),
        }
    }

    fn race(
        &self,
        field: impl Field,
        queue: &Queue,
        asked: &[Asked],
        effort: &Effort,
        provenance: &Provenance,
    ) -> Result<Vec<Row>> {
        let (mut rows, mut entries, mut places) = (vec![], vec![], vec![]);
        for Asked { route, of_group } in asked {
            let row = Row::new(self, route, provenance);
            let pin = Pin::parse(self.op.operation(), route)?;
            match field.entry(queue, &pin) {
                Ok((reached, entry)) => {
                    places.push(rows.len());
                    entries.push(entry);
                    rows.push(Row { reached: Some(reached), ..row });
                }
                Err(Error::Route(_)) if *of_group => {}
                Err(error @ Error::Route(_)) => rows.push(row.with_error(error.to_string())),
                Err(other) => return Err(other),
            }
        }
        for (at, outcome) in places.into_iter().zip(outcomes(queue, &mut entries, effort)?) {
            let row = std::mem::take(&mut rows[at]);
            rows[at] = match outcome {
                Outcome::Timed(times, measured) => row.with_measured(&measured).with_times(&times),
                Outcome::Counted(counters, measured) => {
                    Row { counters: Some(counters), ..row.with_measured(&measured) }
                }
                Outcome::Refused(reason) => row.with_error(reason),
            };
        }
        Ok(rows)
    }
}

fn outcomes(queue: &Queue, entries: &mut [Entry<'_>], effort: &Effort) -> Result<Vec<Outcome>> {
    #[cfg(feature = "simt")]
    if queue.device() == Device::Simt {
        return Ok(crate::race::count(queue, entries));
    }
    if queue.device() == Device::Simt {
        return Err(Error::argument(
            "the executor has no times: build with the feature `simt` for its counts",
        ));
    }
    race(queue, entries, effort)
}

/// The arrays of a cell, and its arms.
pub(crate) trait Field {
    /// The arm of a route, with the route reached.
    fn entry(&self, queue: &Queue, pin: &Pin) -> Result<(String, Entry<'_>)>;
}

/// Checks that the host has so many bytes: a shape that no memory holds must be an error, where the allocation of a
/// vector would abort the program.
pub(crate) fn check_room(bytes: u64, what: &str) -> Result<()> {
    let fits = usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok());
    let error = || Error::OutOfMemory { device: Device::Cpu.to_string(), bytes, what: what.to_owned() };
    if fits { Ok(()) } else { Err(error()) }
}

/// Distinct items of a cell's input; the batch repeats them.
pub(crate) const DISTINCT: usize = 4096;

/// n^3 from which on one item is looked at, the last: on 16 cores a check takes half a second an item of n = 2048.
const DEAR: usize = 2_000_000_000;

/// Items of a batch whose results are looked at: at most 64, evenly spread, with the last one. Fewer where the
/// check, of some n^3 multiply-adds an item, would take longer than the solve.
pub(crate) fn looked_at(n: usize, batch: usize) -> Vec<usize> {
    let cube = (n * n * n).max(1);
    let least = if cube > DEAR { 1 } else { 2 };
    let count = (100_000_000 / cube).clamp(least, 64).min(batch);
    (1..=count).map(|k| k * batch / count - 1).collect()
}

/// Elements of the distinct items of an input of matrices, at most: larger ones take longer to make than to solve.
pub(crate) const NUMBERS: usize = 1 << 22;

/// How many matrices of so many elements a batch repeats. An odd number: the items looked at are often all odd.
pub(crate) fn distinct(elements: usize, batch: usize) -> usize {
    let most = (NUMBERS / elements.max(1)).max(2) | 1;
    batch.min(DISTINCT).min(most)
}

/// Measures of results that were looked at before, by their bits. An arm that repeats itself, and forms that differ in
/// nothing but speed, cost a hash in place of some n^3 operations an item.
#[derive(Default)]
pub(crate) struct Seen(RefCell<HashMap<String, Quality>>);

impl Seen {
    /// As [`check::quality_of`] of the lower triangles of `a`, which is the same for all calls.
    pub(crate) fn quality<T: Scalar>(
        &self,
        a: &Batch<T>,
        values: &[T::Real],
        vectors: &Batch<T>,
    ) -> Result<Quality> {
        let bits = hash::of_bytes(&[bytemuck::cast_slice(values), bytemuck::cast_slice(vectors.as_slice())]);
        if let Some(quality) = self.0.borrow().get(&bits) {
            return Ok(*quality);
        }
        let quality = check::quality_of(a, Uplo::Lower, values, vectors)?;
        self.0.borrow_mut().insert(bits, quality);
        Ok(quality)
    }
}

/// A few elements over and over, `len` in all.
pub(crate) fn repeated<T: Copy>(few: &[T], len: usize) -> Vec<T> {
    let mut all = Vec::with_capacity(len);
    while all.len() < len {
        all.extend_from_slice(&few[..few.len().min(len - all.len())]);
    }
    all
}

/// These items of a batch, packed on the host: a whole batch would take longer to fetch than to solve.
pub(crate) fn items_of<T: Scalar>(queue: &Queue, from: &DeviceBatch<T>, items: &[usize]) -> Result<Batch<T>> {
    let layout = from.layout();
    let mut data = vec![T::zero(); layout.item_len() * items.len()];
    for (item, to) in items.iter().zip(data.chunks_exact_mut(layout.item_len().max(1))) {
        queue.download_part(from.buffer(), layout.offset(*item, 0, 0), to)?;
    }
    let few = Layout::new(layout.rows(), layout.cols(), layout.ld(), layout.item_len(), items.len())?;
    Ok(Batch::from_parts(data, few)?.view().to_packed())
}

/// The seed of a cell's input: the same for every batch and layout, and for every arm.
pub(crate) fn seed(n: usize) -> u64 {
    0xBA7C_0000 + n as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_no_memory_holds_is_an_error() {
        for op in Op::ALL {
            for (n, batch) in [(4, 99_999_999_999_999), (1 << 40, 1), (usize::MAX, 2), (4, usize::MAX)] {
                let jobz = if op.gives(Jobz::V) { Jobz::V } else { Jobz::N };
                let cell = Cell { op, n, batch, jobz, ..Cell::default() };
                let error = cell.measure(&Queue::cpu(), &[], &Effort::default(), &Provenance::default());
                assert!(matches!(error, Err(Error::OutOfMemory { .. })), "{cell}: {error:?}");
                assert!(cell.bytes() >= 1 << 40);
            }
        }
    }

    #[test]
    fn large_matrices_are_few_and_odd_in_number() {
        assert_eq!([distinct(64, 16_384), distinct(64, 10)], [4096, 10]);
        assert_eq!([distinct(1024 * 1024, 64), distinct(2048 * 2048, 16), distinct(1 << 40, 16)], [5, 3, 3]);
        assert_eq!(distinct(0, 5), 5);
    }

    #[test]
    fn a_result_with_other_bits_is_looked_at_again() {
        let a = Batch::from_fn(2, 2, 1, |_, i, j| if i == j { 1.0 + i as f64 } else { 0.0 });
        let vectors = |x: f64| Batch::from_fn(2, 2, 1, |_, i, j| if i == j { x } else { 0.0 });
        let seen = Seen::default();
        let of = |values: &[f64], x| {
            let found = seen.quality(&a, values, &vectors(x)).unwrap();
            assert_eq!(found, check::quality_of(&a, Uplo::Lower, values, &vectors(x)).unwrap());
            found
        };
        assert_eq!(of(&[1.0, 2.0], 1.0), of(&[1.0, 2.0], 1.0));
        assert!(of(&[1.0, 2.5], 1.0).max_residual > 1e6 && of(&[1.0, 2.0], 1.1).max_orthogonality > 1e6);
        assert_eq!(seen.0.borrow().len(), 3);
    }

    #[test]
    fn items_looked_at_are_spread_and_hold_the_last() {
        assert_eq!(looked_at(8, 1), [0]);
        assert_eq!(looked_at(8, 3), [0, 1, 2]);
        let many = looked_at(8, 16_384);
        assert_eq!((many.len(), many[0], many[63]), (64, 255, 16_383));
        assert_eq!(looked_at(1024, 100), [49, 99]);
        assert_eq!(looked_at(2048, 16), [15]);
        assert_eq!(looked_at(8, 0), [] as [usize; 0]);
    }
}
