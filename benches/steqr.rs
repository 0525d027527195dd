//! Forms of `steqr` against each other, on a GPU: one JSON line an arm and shape, kernels alone.
//!
//! `cargo bench --features cuda --bench steqr -- --dtype f32,f64 --n 4,8,16,32 --jobz V,N
//! --routes cta:nested,cta:flat,cta:lockstep,cta:decoupled`. Routes are separated by commas, their parameters by
//! plus signs: `cta:nested+pg+warps=2`. Diagonals and off-diagonals are normal random numbers. The batch is 65536
//! up to n = 8 and 32768 above, unless `--batch` says otherwise. Arms are checked before they are timed (residual
//! and orthogonality of a sample); one that fails gives a line with its reason and no time.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use batchlas::check::{self, Quality};
use batchlas::linalg::{EighTridiagonalOptions, eigh_tridiagonal_with};
use batchlas::measure::{Arm, SPREAD_LIMIT, interleaved};
use batchlas::ops::Target;
use batchlas::ops::steqr::{Decided, OPERATION, Options, Problem, Shift};
use batchlas::routes::Pin;
use batchlas::{Device, DeviceBatch, DeviceBuffer, Jobz, Layout, Queue, Real};
use serde_json::{Value, json};

/// Items of the sample that is checked.
const SAMPLE: usize = 64;
/// Distinct matrices; the batch repeats them.
const DISTINCT: usize = 4096;

struct Grid {
    dtypes: Vec<String>,
    n: Vec<usize>,
    /// Empty: by n.
    batch: Vec<usize>,
    jobz: Vec<Jobz>,
    routes: Vec<String>,
    shift: Shift,
    rounds: usize,
    seconds: f64,
}

fn main() {
    let grid = arguments();
    let queue = match Queue::new(Device::Cuda(0)) {
        Ok(queue) => queue,
        Err(error) => {
            eprintln!("skipped: {error}");
            return;
        }
    };
    eprintln!("{}", queue.device_name());
    for dtype in &grid.dtypes {
        match dtype.as_str() {
            "f32" => cells::<f32>(&queue, &grid),
            "f64" => cells::<f64>(&queue, &grid),
            other => panic!("no such type: {other}"),
        }
    }
}

fn arguments() -> Grid {
    let forms = ["cta", "cta:nested", "cta:flat", "cta:lockstep", "cta:decoupled"];
    let mut grid = Grid {
        dtypes: vec!["f32".into()],
        n: vec![4, 8, 16, 32],
        batch: vec![],
        jobz: vec![Jobz::V],
        routes: forms.map(str::to_owned).to_vec(),
        shift: Shift::Lapack,
        rounds: 9,
        seconds: 1.0,
    };
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
        let words = || value.split(',').map(str::to_owned).collect::<Vec<_>>();
        let number = |x: &str| x.parse::<usize>().unwrap_or_else(|_| panic!("{name}: '{x}' is no number"));
        let numbers = || value.split(',').map(number).collect::<Vec<_>>();
        match name.as_str() {
            "--dtype" => grid.dtypes = words(),
            "--n" => grid.n = numbers(),
            "--batch" => grid.batch = numbers(),
            "--jobz" => grid.jobz = words().iter().map(|w| w.parse().expect("V or N")).collect(),
            "--routes" => grid.routes = words().iter().map(|w| w.replace('+', ",")).collect(),
            "--shift" => grid.shift = value.parse().expect("lapack or wilkinson"),
            "--rounds" => grid.rounds = number(&value),
            "--seconds" => grid.seconds = value.parse().expect("a number of seconds"),
            other => panic!("unknown option {other}"),
        }
    }
    grid
}

fn cells<T: Real>(queue: &Queue, grid: &Grid) {
    for &n in &grid.n {
        let batches = if grid.batch.is_empty() { vec![default_batch(n)] } else { grid.batch.clone() };
        for batch in batches {
            for &jobz in &grid.jobz {
                let cell = Cell { grid, problem: Problem { dtype: T::DTYPE, n, batch, jobz } };
                if let Err(error) = cell.run::<T>(queue) {
                    eprintln!("{} n={n} batch={batch}: {error}", T::DTYPE);
                }
            }
        }
    }
}

fn default_batch(n: usize) -> usize {
    if n <= 8 { 65_536 } else { 32_768 }
}

/// Normal random diagonals and off-diagonals.
struct Distinct<T> {
    d: Vec<T>,
    e: Vec<T>,
}

impl<T: Real> Distinct<T> {
    fn new(n: usize, items: usize) -> Self {
        let mut state = 0x9E37_79B9_7F4A_7C15u64 ^ n as u64;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        };
        // Box and Muller.
        let mut normal = || {
            let (radius, angle) = ((-2.0 * uniform().ln()).sqrt(), std::f64::consts::TAU * uniform());
            T::round_from(radius * angle.cos())
        };
        let d = (0..n * items).map(|_| normal()).collect();
        let e = (0..n.saturating_sub(1) * items).map(|_| normal()).collect();
        Distinct { d, e }
    }
}

/// A route's arm: the diagonals as they were, and where they are solved.
struct Route<'a, T> {
    decided: Decided,
    diagonals: &'a DeviceBuffer<T>,
    couplings: &'a DeviceBuffer<T>,
    work: Rc<RefCell<Work<T>>>,
}

struct Work<T> {
    d: DeviceBuffer<T>,
    q: Option<DeviceBatch<T>>,
    status: DeviceBuffer<i32>,
}

impl<T: Real> Arm for Route<'_, T> {
    fn prepare(&mut self, queue: &Queue) -> batchlas::Result<()> {
        queue.copy(self.diagonals, &mut self.work.borrow_mut().d)
    }

    fn run(&mut self, queue: &Queue) -> batchlas::Result<()> {
        let Work { d, q, status } = &mut *self.work.borrow_mut();
        self.decided.solve(queue, d, self.couplings, q.as_mut(), status)
    }
}

struct Cell<'a> {
    grid: &'a Grid,
    problem: Problem,
}

impl Cell<'_> {
    fn run<T: Real>(&self, queue: &Queue) -> batchlas::Result<()> {
        let Problem { n, batch, jobz, .. } = self.problem;
        let distinct = Distinct::<T>::new(n, batch.min(DISTINCT));
        let repeated =
            |few: &[T], width: usize| -> Vec<T> { few.iter().copied().cycle().take(width * batch).collect() };
        let diagonals = queue.upload(&repeated(&distinct.d, n))?;
        let couplings = queue.upload(&repeated(&distinct.e, n.saturating_sub(1)))?;
        let vectors = || DeviceBatch::alloc(queue, Layout::packed(n, n, batch));
        let work = Rc::new(RefCell::new(Work {
            d: queue.alloc(n * batch)?,
            q: (jobz == Jobz::V).then(vectors).transpose()?,
            status: queue.alloc(batch)?,
        }));
        let mut arms = vec![];
        for name in &self.grid.routes {
            match self.checked(queue, &distinct, name) {
                Ok((options, quality)) => {
                    let decided = Decided::new(&self.problem, &Target::of(queue), &options)?;
                    let (diagonals, couplings, work) = (&diagonals, &couplings, work.clone());
                    arms.push((name, quality, Route { decided, diagonals, couplings, work }));
                }
                Err(reason) => self.line(queue, name, json!({ "error": reason })),
            }
        }
        let mut refs: Vec<&mut dyn Arm> = arms.iter_mut().map(|(_, _, arm)| arm as &mut dyn Arm).collect();
        let limit = Duration::from_secs_f64(self.grid.seconds);
        let times = interleaved(queue, &mut refs, self.grid.rounds, limit)?;
        for ((name, quality, arm), times) in arms.iter().zip(&times) {
            let row = json!({
                "reached": arm.decided.decision().to_string(),
                "ns": (times.median() * 1e12 / batch as f64).round() / 1e3,
                "ms": times.median() * 1e3, "spread": (times.spread() * 1e4).round() / 1e4,
                "samples": times.samples.len(), "trusted": times.spread() <= SPREAD_LIMIT,
                "residual": quality.max_residual, "orthogonality": quality.max_orthogonality,
            });
            self.line(queue, name, row);
        }
        Ok(())
    }

    /// The options of a route that gives right results on a sample, with its quality.
    fn checked<T: Real>(
        &self,
        queue: &Queue,
        distinct: &Distinct<T>,
        name: &str,
    ) -> Result<(Options, Quality), String> {
        let Problem { n, batch, jobz, .. } = self.problem;
        let route = Some(Pin::parse(&OPERATION, name).map_err(|e| e.to_string())?);
        let wanted = EighTridiagonalOptions { jobz, shift: self.grid.shift, route, ..Default::default() };
        let sample = SAMPLE.min(batch);
        let (d, e) = (&distinct.d[..sample * n], &distinct.e[..sample * n.saturating_sub(1)]);
        let solved = eigh_tridiagonal_with(queue, d, e, n, &wanted).map_err(|e| e.to_string())?;
        if solved.failed() > 0 {
            return Err(format!("{} items failed", solved.failed()));
        }
        if jobz == Jobz::N {
            return Ok((wanted.in_place(), Quality::default()));
        }
        let quality = check::quality_tridiagonal(d, e, n, &solved).map_err(|e| e.to_string())?;
        if quality.is_ok() {
            Ok((wanted.in_place(), quality))
        } else {
            Err(format!("wrong result: {quality:?}"))
        }
    }

    fn line(&self, queue: &Queue, route: &str, rest: Value) {
        let Problem { dtype, n, batch, jobz } = self.problem;
        let mut row = json!({
            "op": "steqr", "dtype": dtype.to_string(), "n": n, "batch": batch, "jobz": jobz.to_string(),
            "shift": self.grid.shift.to_string(), "route": route, "device": queue.device_name(),
        });
        if let (Some(row), Some(rest)) = (row.as_object_mut(), rest.as_object()) {
            row.extend(rest.clone());
        }
        println!("{row}");
    }
}
