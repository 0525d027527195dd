//! A batch in parts, so that a person at a terminal sees the solve go on: the same for every command that solves.

use std::time::{Duration, Instant};

use batchlas::check::Quality;
use batchlas::error::Error;
use batchlas::linalg::Eigh;
use batchlas::ops::{Decision, Target};
use batchlas::routes::{Kind, Operation, Pin, RouteError, coverage, effective};
use batchlas::{Device, Jobz, LaunchRecord, Queue, Scalar};

use crate::args::{DeviceChoice, SolveArgs};
use crate::failure::Failure;
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
    /// The pin of `--route`.
    pub route: Option<Pin>,
    /// Whether the CPU stands in where the GPU has no family for the shape.
    pub or_cpu: bool,
    /// Whether residual and orthogonality are measured.
    pub check: bool,
}

impl Settings {
    /// Reads the pin and opens the device, before any large file is read. `complete` adds to the pin what other
    /// options say of it.
    pub fn open(
        operation: &'static Operation,
        args: &SolveArgs,
        complete: impl FnOnce(Option<Pin>) -> batchlas::Result<Option<Pin>>,
    ) -> Result<Self, Failure> {
        if args.counters && args.device != DeviceChoice::Exact(Device::Simt) {
            return Err(Failure::new("--counters needs --device simt: only the executor counts"));
        }
        let route = args.route.as_deref().map(|text| Pin::parse(operation, text)).transpose();
        let route = complete(route.map_err(|e| Failure::new(e.to_string()))?)?;
        let (device, or_cpu) = match args.device {
            DeviceChoice::Exact(device) => (device, false),
            DeviceChoice::Auto => (automatic(operation, route.as_ref())?, true),
        };
        let queue = Queue::new(device)?;
        let jobz = if args.values_only { Jobz::N } else { Jobz::V };
        Ok(Settings { queue, jobz, route, or_cpu, check: args.check })
    }
}

/// The GPU where there is one, unless a family of the CPU is pinned.
fn automatic(operation: &'static Operation, route: Option<&Pin>) -> Result<Device, Failure> {
    let pinned = effective(operation, route)?;
    let to_cpu = pinned.is_some_and(|p| matches!(p.pin, Pin::Family(c) if c.family().kind == Kind::Cpu));
    Ok(if to_cpu { Device::Cpu } else { Device::auto() })
}

/// A batch of problems of one operation.
pub trait Job<T: Scalar> {
    /// The library's problem.
    type Problem;
    /// Some of the items, as the library takes them.
    type Part;

    /// Number of items.
    fn batch(&self) -> usize;
    /// Order of each.
    fn n(&self) -> usize;
    /// The decision for the whole batch.
    fn decide(&self, target: &Target, route: Option<&Pin>) -> batchlas::Result<Decision<Self::Problem>>;
    /// `count` items from `first` on.
    fn part(&self, first: usize, count: usize) -> Result<Self::Part, Failure>;
    /// Solves a part.
    fn solve(
        &self,
        queue: &Queue,
        part: &Self::Part,
        route: Option<&Pin>,
        or_cpu: bool,
    ) -> batchlas::Result<Eigh<T, Self::Problem>>;
    /// Measures a part's results.
    fn quality(&self, part: &Self::Part, solved: &Eigh<T, Self::Problem>) -> batchlas::Result<Quality>;
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
    /// The operation that solved.
    pub operation: &'static str,
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

/// An empty vector with room for an array of this shape.
fn with_room<T>(shape: [usize; 3]) -> Result<Vec<T>, Failure> {
    let mut out = Vec::new();
    out.try_reserve_exact(shape.into_iter().fold(1, usize::saturating_mul)).map_err(|_| {
        let [items, rows, columns] = shape;
        let less = if columns > 1 { ": --values-only needs fewer" } else { "" };
        let bytes = shape.map(|size| size as f64).iter().product::<f64>() * size_of::<T>() as f64;
        Failure::new(format!(
            "out of memory: {bytes} bytes needed for {items}x{rows}x{columns} results{less}"
        ))
    })?;
    Ok(out)
}

/// Solves all items.
pub fn solve<T: Scalar, J: Job<T>>(settings: &Settings, job: &J) -> Result<Solved<T>, Failure> {
    let (batch, n) = (job.batch(), job.n());
    let mut solved = Solved {
        batch,
        n,
        w: with_room([batch, n, 1])?,
        v: (settings.jobz == Jobz::V).then(|| with_room([batch, n, n])).transpose()?,
        status: with_room([batch, 1, 1])?,
        device: settings.queue.device(),
        operation: "",
        route: String::new(),
        note: None,
        time: Duration::ZERO,
        quality: settings.check.then(Quality::default),
        launches: Vec::new(),
    };
    let part = part_items::<T>(settings.queue.device(), n);
    let cpu = Queue::cpu();
    let (mut queue, mut route) = (&settings.queue, settings.route.clone());
    let in_parts = batch > part;
    if in_parts {
        // The route is the whole batch's: a part alone might lie in another row of the table.
        let shared = decide(settings, job)?;
        if shared.device == Device::Cpu {
            queue = &cpu;
        }
        route = Some(shared.pin);
        solved.note = shared.note;
    }
    let bar = progress::bar(batch, "solving", "matrices");
    let mut first = 0;
    // An empty batch goes through once too: its route and its errors are those of any other.
    while first < batch || first == 0 {
        let count = part.min(batch - first);
        let items = job.part(first, count)?;
        let start = Instant::now();
        let solve = || job.solve(queue, &items, route.as_ref(), settings.or_cpu);
        // The decision is the whole batch's, and recorded as that.
        let part = if in_parts { coverage::paused(solve) } else { solve() }?;
        solved.time += start.elapsed();
        if let Some(quality) = &mut solved.quality {
            merge(quality, job.quality(&items, &part)?);
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
fn decide<T: Scalar, J: Job<T>>(settings: &Settings, job: &J) -> Result<Shared, Failure> {
    let device = settings.queue.device();
    let here = job.decide(&Target::of(&settings.queue), settings.route.as_ref());
    let (device, decision, note) = match here {
        Err(Error::Route(RouteError::None { shape, .. })) if settings.or_cpu && device != Device::Cpu => {
            let note = format!("no family can run {shape} on {device}: the CPU solves it");
            (Device::Cpu, job.decide(&Target::CPU, None)?, Some(note))
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
    fn append<P>(&mut self, part: Eigh<T, P>, asked: Device) {
        self.w.extend_from_slice(&part.values);
        if let (Some(all), Some(vectors)) = (&mut self.v, &part.vectors) {
            all.append(&mut vectors.to_row_major());
        }
        self.status.extend(part.status.iter().map(|s| s.code()));
        self.note = self.note.take().or(part.route.note.clone());
        let on_cpu = part.route.route.family().kind == Kind::Cpu;
        self.device = if on_cpu { Device::Cpu } else { asked };
        self.operation = part.route.operation;
        self.route = part.route.to_string();
    }
}
