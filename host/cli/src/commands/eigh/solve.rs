//! The solve itself, in parts, so that a person at a terminal sees it go on.

use std::time::{Duration, Instant};

use batchlas::check::{self, Quality};
use batchlas::error::Error;
use batchlas::linalg::{Eigh, EighOptions, eigh_with};
use batchlas::ops::Target;
use batchlas::ops::syev::{self, Problem};
use batchlas::routes::{Pin, RouteError};
use batchlas::{Device, Jobz, LaunchRecord, Queue, Scalar, Uplo};

use crate::failure::{Failure, check_memory};
use crate::input::Items;
use crate::progress;

/// Bytes of matrices of one part: enough to keep any device busy.
const PART_BYTES: usize = 256 << 20;
/// Fewest items of a part on the host's cores, so that every core has some.
const LEAST_ITEMS: usize = 256;
/// Items of a part under the executor, which needs tens of milliseconds for each.
const SIMT_ITEMS: usize = 64;

/// What the arguments ask for.
#[derive(Debug)]
pub struct Settings {
    /// The device.
    pub queue: Queue,
    /// Whether vectors are wanted.
    pub jobz: Jobz,
    /// The triangle that is read.
    pub uplo: Uplo,
    /// The pin of `--route`.
    pub route: Option<Pin>,
    /// Whether the CPU stands in where the GPU has no family for the shape.
    pub or_cpu: bool,
    /// Whether residual and orthogonality are measured.
    pub check: bool,
}

/// Results of the whole batch, in the order of elements that files have.
#[derive(Debug)]
pub struct Solved<T: Scalar> {
    /// Number of items.
    pub batch: usize,
    /// Order of the matrices.
    pub n: usize,
    /// (batch, n)
    pub w: Vec<T::Real>,
    /// (batch, n, n), C order.
    pub v: Option<Vec<T>>,
    /// (batch)
    pub status: Vec<i32>,
    /// Where it ran.
    pub device: Device,
    /// The family and its parameters.
    pub route: String,
    /// What the user should know of the choice.
    pub note: Option<String>,
    /// Time in the solver, transfers included.
    pub time: Duration,
    /// The measures of `--check`.
    pub quality: Option<Quality>,
    /// The executor's records.
    pub launches: Vec<LaunchRecord>,
}

/// Solves all items.
pub fn solve<T: Scalar>(settings: &Settings, items: &Items<T>) -> Result<Solved<T>, Failure> {
    let (batch, n) = (items.batch(), items.n());
    check_memory(batch, size_of::<i32>(), "the statuses")?;
    check_memory(batch * n * n, 2 * size_of::<T>(), "the solve")?;
    let mut solved = Solved {
        batch,
        n,
        w: Vec::with_capacity(batch * n),
        v: (settings.jobz == Jobz::V).then(|| Vec::with_capacity(batch * n * n)),
        status: Vec::with_capacity(batch),
        device: settings.queue.device(),
        route: String::new(),
        note: None,
        time: Duration::ZERO,
        quality: settings.check.then(Quality::default),
        launches: Vec::new(),
    };
    let part = part_items::<T>(settings.queue.device(), n);
    let mut options = EighOptions {
        jobz: settings.jobz,
        uplo: settings.uplo,
        route: settings.route.clone(),
        or_cpu: settings.or_cpu,
    };
    let mut queue = &settings.queue;
    let cpu = Queue::cpu();
    if batch > part {
        // The route is the whole batch's: a part alone might lie in another row of the table.
        let problem = Problem { dtype: T::DTYPE, n, batch, jobz: settings.jobz, uplo: settings.uplo };
        let decided = match syev::plan(&problem, &Target::of(queue), options.route.as_ref()) {
            Err(Error::Route(RouteError::None { shape, .. }))
                if settings.or_cpu && queue.device() != Device::Cpu =>
            {
                solved.note =
                    Some(format!("no family can run {shape} on {}: the CPU solves it", queue.device()));
                queue = &cpu;
                syev::plan(&problem, &Target::CPU, None)
            }
            other => other,
        };
        options.route = Some(Pin::Family(decided?.0.route));
    }
    let bar = progress::bar(batch, "solving", "matrices");
    let mut first = 0;
    // An empty batch goes through once too: its route and its errors are those of any other.
    while first < batch || first == 0 {
        let count = part.min(batch - first);
        let matrices = items.chunk(first, count)?;
        let start = Instant::now();
        let part = eigh_with(queue, &matrices, &options)?;
        solved.time += start.elapsed();
        if let Some(quality) = &mut solved.quality {
            merge(quality, check::quality(&matrices, settings.uplo, &part)?);
        }
        solved.append(part);
        bar.inc(count as u64);
        first += count.max(1);
    }
    bar.finish_and_clear();
    solved.device = queue.device();
    solved.launches = queue.take_launches();
    Ok(solved)
}

/// Items of a part.
fn part_items<T>(device: Device, n: usize) -> usize {
    match device {
        Device::Simt => SIMT_ITEMS,
        _ => (PART_BYTES / (n * n * size_of::<T>()).max(1)).max(LEAST_ITEMS),
    }
}

fn merge(all: &mut Quality, part: Quality) {
    // A NaN must not be lost: f64::max drops it.
    let worse = |x: f64, y: f64| if x.is_nan() || x >= y { x } else { y };
    all.max_residual = worse(all.max_residual, part.max_residual);
    all.max_orthogonality = worse(all.max_orthogonality, part.max_orthogonality);
    all.failed_items += part.failed_items;
}

impl<T: Scalar> Solved<T> {
    fn append(&mut self, part: Eigh<T>) {
        self.w.extend_from_slice(&part.values);
        if let (Some(all), Some(vectors)) = (&mut self.v, &part.vectors) {
            all.append(&mut vectors.to_row_major());
        }
        self.status.extend(part.status.iter().map(|s| s.code()));
        self.note = self.note.take().or(part.route.note.clone());
        self.route = part.route.to_string();
    }
}
