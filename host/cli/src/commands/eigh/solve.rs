//! The solve itself, in parts, so that a person at a terminal sees it go on.

use std::time::{Duration, Instant};

use batchlas::check::{self, Quality};
use batchlas::error::Error;
use batchlas::linalg::{Eigh, EighOptions, eigh_with};
use batchlas::ops::Target;
use batchlas::ops::syev::{self, Problem};
use batchlas::routes::{Kind, Pin, RouteError};
use batchlas::{Device, Jobz, LaunchRecord, Queue, Scalar, Uplo};

use crate::failure::Failure;
use crate::input::Items;
use crate::progress;

/// Bytes of matrices of one part: enough to keep a GPU busy beside the transfers.
const GPU_PART_BYTES: usize = 256 << 20;
/// Fewest items of a part on a GPU.
const GPU_LEAST_ITEMS: usize = 256;
/// Bytes of matrices of one part on the host's cores.
const CPU_PART_BYTES: usize = 16 << 20;
/// Fewest items of a part on the host's cores, for each of them.
const CPU_LEAST_ITEMS: usize = 4;
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
    let cpu = Queue::cpu();
    let mut queue = &settings.queue;
    if batch > part {
        // The route is the whole batch's: a part alone might lie in another row of the table.
        let problem = Problem { dtype: T::DTYPE, n, batch, jobz: settings.jobz, uplo: settings.uplo };
        let decision = decide(settings, &problem)?;
        if decision.device == Device::Cpu {
            queue = &cpu;
        }
        options.route = Some(decision.pin);
        solved.note = decision.note;
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
        solved.append(part, queue.device());
        bar.inc(count as u64);
        first += count.max(1);
    }
    bar.finish_and_clear();
    solved.launches = queue.take_launches();
    Ok(solved)
}

/// What all parts of a batch share.
struct Shared {
    device: Device,
    pin: Pin,
    note: Option<String>,
}

/// Decides for the whole batch, as the library does for a batch in one part.
fn decide(settings: &Settings, problem: &Problem) -> Result<Shared, Failure> {
    let device = settings.queue.device();
    let here = syev::plan(problem, &Target::of(&settings.queue), settings.route.as_ref());
    let (device, (decision, _), note) = match here {
        Err(Error::Route(RouteError::None { shape, .. })) if settings.or_cpu && device != Device::Cpu => {
            let note = format!("no family can run {shape} on {device}: the CPU solves it");
            (Device::Cpu, syev::plan(problem, &Target::CPU, None)?, Some(note))
        }
        other => (device, other?, None),
    };
    Ok(Shared { device, pin: Pin::Family(decision.route), note: note.or(decision.note) })
}

/// Items of a part.
fn part_items<T>(device: Device, n: usize) -> usize {
    let item = (n * n * size_of::<T>()).max(1);
    match device {
        Device::Simt => SIMT_ITEMS,
        Device::Cuda(_) => (GPU_PART_BYTES / item).max(GPU_LEAST_ITEMS),
        Device::Cpu => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            (CPU_PART_BYTES / item).max(CPU_LEAST_ITEMS * cores)
        }
    }
}

fn merge(all: &mut Quality, part: Quality) {
    // A NaN must not be lost: f64::max drops it.
    let worse = |x: f64, y: f64| if x.is_nan() || x >= y { x } else { y };
    all.max_residual = worse(all.max_residual, part.max_residual);
    all.max_orthogonality = worse(all.max_orthogonality, part.max_orthogonality);
    all.checked_items += part.checked_items;
    all.failed_items += part.failed_items;
}

impl<T: Scalar> Solved<T> {
    fn append(&mut self, part: Eigh<T>, asked: Device) {
        self.w.extend_from_slice(&part.values);
        if let (Some(all), Some(vectors)) = (&mut self.v, &part.vectors) {
            all.append(&mut vectors.to_row_major());
        }
        self.status.extend(part.status.iter().map(|s| s.code()));
        self.note = self.note.take().or(part.route.note.clone());
        let on_cpu = part.route.route.family().kind == Kind::Cpu;
        self.device = if on_cpu { Device::Cpu } else { asked };
        self.route = part.route.to_string();
    }
}
