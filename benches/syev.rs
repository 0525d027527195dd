//! `syev` families against each other and the vendor, on a GPU: one JSON line an arm and shape.
//!
//! `cargo bench --features cuda,vendor --bench syev -- --dtype f32,f64 --n 8,16,32 --batch 16384 --jobz V
//! --routes thread,cta,cta_fused,vendor:xsyev,vendor:syevj`. Arms are checked before they are timed (residual
//! and orthogonality of a sample); one that fails gives a line with its reason and no time.

use std::time::Duration;

use batchlas::check;
use batchlas::linalg::{EighOptions, eigh_with};
use batchlas::measure::{Arm, SPREAD_LIMIT, interleaved};
use batchlas::ops::syev::{Decided, OPERATION, Problem, Target};
use batchlas::routes::Pin;
use batchlas::{Batch, Complex, Device, DeviceBatch, DeviceBuffer, Jobz, Layout, Queue, Scalar, Uplo};
use serde_json::json;

/// Items of the sample that is checked.
const SAMPLE: usize = 64;
/// Distinct matrices; the batch repeats them.
const DISTINCT: usize = 4096;

struct Grid {
    dtypes: Vec<String>,
    n: Vec<usize>,
    batch: Vec<usize>,
    jobz: Vec<Jobz>,
    routes: Vec<String>,
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
            "f32" => cells::<f32>(&queue, &grid, |x, _| x as f32),
            "f64" => cells::<f64>(&queue, &grid, |x, _| x),
            "c32" => cells::<Complex<f32>>(&queue, &grid, |x, y| Complex::new(x as f32, y as f32)),
            "c64" => cells::<Complex<f64>>(&queue, &grid, Complex::new),
            other => eprintln!("no such type: {other}"),
        }
    }
}

fn arguments() -> Grid {
    let mut grid = Grid {
        dtypes: vec!["f32".into()],
        n: vec![16],
        batch: vec![16384],
        jobz: vec![Jobz::V],
        routes: vec!["cta".into(), "vendor:xsyev".into(), "vendor:syevj".into()],
        rounds: 9,
        seconds: 1.0,
    };
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        let words = || value.split(',').map(str::to_owned).collect::<Vec<_>>();
        let numbers = || value.split(',').filter_map(|x| x.parse().ok()).collect::<Vec<usize>>();
        match name.as_str() {
            "--dtype" => grid.dtypes = words(),
            "--n" => grid.n = numbers(),
            "--batch" => grid.batch = numbers(),
            "--jobz" => {
                grid.jobz = words().iter().map(|w| if w == "N" { Jobz::N } else { Jobz::V }).collect()
            }
            "--routes" => grid.routes = words(),
            "--rounds" => grid.rounds = numbers()[0],
            "--seconds" => grid.seconds = value.parse().unwrap_or(1.0),
            other => panic!("unknown option {other}"),
        }
    }
    grid
}

fn cells<T: Scalar>(queue: &Queue, grid: &Grid, make: fn(f64, f64) -> T) {
    for &n in &grid.n {
        for &batch in &grid.batch {
            for &jobz in &grid.jobz {
                if let Err(error) = cell(queue, grid, n, batch, jobz, make) {
                    eprintln!("{} n={n} batch={batch}: {error}", T::DTYPE);
                }
            }
        }
    }
}

/// A route's arm: the matrices as they were, and where they are solved.
struct Route<'a, T: Scalar> {
    decided: Decided,
    pristine: &'a DeviceBuffer<T>,
    work: std::rc::Rc<std::cell::RefCell<Work<T>>>,
}

struct Work<T: Scalar> {
    a: DeviceBatch<T>,
    w: DeviceBuffer<T::Real>,
    status: DeviceBuffer<i32>,
}

impl<T: Scalar> Arm for Route<'_, T> {
    fn prepare(&mut self, queue: &Queue) -> batchlas::Result<()> {
        queue.copy(self.pristine, self.work.borrow_mut().a.buffer_mut())
    }

    fn run(&mut self, queue: &Queue) -> batchlas::Result<()> {
        let work = &mut *self.work.borrow_mut();
        self.decided.solve(queue, &mut work.a, &mut work.w, &mut work.status)
    }
}

fn cell<T: Scalar>(
    queue: &Queue,
    grid: &Grid,
    n: usize,
    batch: usize,
    jobz: Jobz,
    make: fn(f64, f64) -> T,
) -> batchlas::Result<()> {
    let distinct = random(n, batch.min(DISTINCT), make);
    let data: Vec<T> = distinct.as_slice().iter().copied().cycle().take(n * n * batch).collect();
    let pristine = queue.upload(&data)?;
    drop(data);
    let work = std::rc::Rc::new(std::cell::RefCell::new(Work {
        a: DeviceBatch::alloc(queue, Layout::packed(n, n, batch))?,
        w: queue.alloc(n * batch)?,
        status: queue.alloc(batch)?,
    }));
    let mut arms = vec![];
    for name in &grid.routes {
        match checked(queue, &distinct, name, jobz) {
            Ok((pin, quality)) => {
                let problem = Problem { dtype: T::DTYPE, n, batch, jobz, uplo: Uplo::Lower };
                let decided = Decided::new(&problem, &Target::of(queue), Some(&pin))?;
                arms.push((
                    name.clone(),
                    quality,
                    Route { decided, pristine: &pristine, work: work.clone() },
                ));
            }
            Err(reason) => line::<T>(queue, n, batch, jobz, name, json!({ "error": reason })),
        }
    }
    let mut refs: Vec<&mut dyn Arm> = arms.iter_mut().map(|(_, _, arm)| arm as &mut dyn Arm).collect();
    let times = interleaved(queue, &mut refs, grid.rounds, Duration::from_secs_f64(grid.seconds))?;
    for ((name, quality, _), times) in arms.iter().zip(&times) {
        let trusted = times.spread() <= SPREAD_LIMIT;
        let row = json!({
            "ns": (times.median() * 1e12 / batch as f64).round() / 1e3,
            "ms": times.median() * 1e3, "spread": (times.spread() * 1e4).round() / 1e4,
            "samples": times.samples.len(), "trusted": trusted,
            "residual": quality.max_residual, "orthogonality": quality.max_orthogonality,
        });
        line::<T>(queue, n, batch, jobz, name, row);
    }
    Ok(())
}

/// The pin of a route that gives right results on a sample, with its quality.
fn checked<T: Scalar>(
    queue: &Queue,
    distinct: &Batch<T>,
    name: &str,
    jobz: Jobz,
) -> Result<(Pin, check::Quality), String> {
    let pin = Pin::parse(&OPERATION, name).map_err(|e| e.to_string())?;
    let n = distinct.rows();
    let sample = Batch::from_fn(n, n, SAMPLE.min(distinct.batch()), |item, i, j| distinct.get(item, i, j));
    let eigh = EighOptions { jobz, uplo: Uplo::Lower, route: Some(pin.clone()), ..Default::default() };
    let solved = eigh_with(queue, &sample, &eigh).map_err(|e| e.to_string())?;
    if solved.failed() > 0 {
        return Err(format!("{} items failed", solved.failed()));
    }
    if jobz == Jobz::N {
        return Ok((pin, check::Quality::default()));
    }
    let quality = check::quality(&sample, Uplo::Lower, &solved).map_err(|e| e.to_string())?;
    if quality.is_ok() { Ok((pin, quality)) } else { Err(format!("wrong result: {quality:?}")) }
}

fn random<T: Scalar>(n: usize, batch: usize, make: fn(f64, f64) -> T) -> Batch<T> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64 ^ n as u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let mut a = Batch::zeros(n, n, batch);
    for item in 0..batch {
        for j in 0..n {
            a.set(item, j, j, make(uniform(), 0.0));
            for i in j + 1..n {
                let (x, y) = (uniform(), uniform());
                a.set(item, i, j, make(x, y));
                a.set(item, j, i, make(x, -y));
            }
        }
    }
    a
}

fn line<T: Scalar>(queue: &Queue, n: usize, batch: usize, jobz: Jobz, route: &str, rest: serde_json::Value) {
    let mut row = json!({
        "op": "syev", "dtype": T::DTYPE.to_string(), "n": n, "batch": batch, "jobz": jobz.to_string(),
        "route": route, "device": queue.device_name(),
    });
    if let (Some(row), Some(rest)) = (row.as_object_mut(), rest.as_object()) {
        row.extend(rest.clone());
    }
    println!("{row}");
}
