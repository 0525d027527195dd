//! Runs a launch: blocks in parallel, or all at once on one thread where they synchronise.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::block::Context;
use crate::counters::Counters;
use crate::finding::{FindingKind, LaunchError};
use crate::finding_set::{FindingSet, Place, Report};
use crate::global::GlobalMap;
use crate::grid_race::GridTouches;
use crate::schedule::{Outcome, Runner, Stop};
use crate::seed::Random;
use crate::site::SiteTable;
use crate::stack::Stacks;
use crate::{Launch, grid, lane, panics, stack, trap};

/// Most threads a block, as on every NVIDIA GPU.
pub const MAX_BLOCK: u32 = 1024;

/// Most bytes of dynamic shared memory a block: sm_90's.
pub const MAX_SHARED_BYTES: usize = 227 << 10;

/// After a finding, the blocks up to the next multiple of this in launch order still run, so that a
/// launch always reports the same blocks however many threads run it.
const WAVE: usize = 64;

/// Rounds in which lanes only go in circles before that is a deadlock.
const IDLE_ROUNDS: u32 = 16_384;

/// The same while other blocks run, which may be what a block waits for.
const IDLE_TIME: Duration = Duration::from_secs(10);

/// Runs every lane of a launch and checks it.
///
/// Blocks run on the rayon pool of the caller; the call returns when all have ended. In a cooperative
/// launch all lanes of the grid are in flight at once, on the calling thread.
///
/// # Errors
/// What the checker found. The launch has then run in part, and the content of its buffers is of no use.
///
/// # Panics
/// If a lane calls it.
pub fn run(launch: &Launch<'_>, lane: &(dyn Fn() + Sync)) -> Result<Counters, LaunchError> {
    assert!(!lane::in_lane(), "a kernel cannot launch a kernel");
    if let Some(problem) = impossible(launch) {
        return Err(invalid(launch, problem));
    }
    trap::install();
    panics::install_hook();
    let context = Context {
        launch,
        lane,
        map: GlobalMap::new(launch.buffers),
        sites: SiteTable::default(),
        running: AtomicUsize::new(0),
    };
    let commit = if launch.cooperative { grid::run(&context) } else { run_blocks(&context) };
    commit.grid.mark_written(&context.map);
    match commit.findings.into_error(launch.kernel, launch.entry) {
        None => Ok(commit.counters),
        Some(error) => Err(error),
    }
}

fn impossible(launch: &Launch<'_>) -> Option<String> {
    let lanes = launch.grid as usize * launch.block as usize;
    if launch.grid == 0 || launch.block == 0 {
        Some(format!("a grid of {} blocks of {} threads", launch.grid, launch.block))
    } else if launch.block > MAX_BLOCK {
        Some(format!("{} threads a block, at most {MAX_BLOCK} are possible", launch.block))
    } else if launch.shared_bytes > MAX_SHARED_BYTES {
        let bytes = launch.shared_bytes;
        Some(format!("{bytes} bytes of shared memory a block, at most {MAX_SHARED_BYTES} are possible"))
    } else if launch.cooperative && lanes > stack::most_lanes() {
        let most = stack::most_lanes();
        Some(format!("a cooperative launch of {lanes} threads, at most {most} can be resident at once"))
    } else {
        None
    }
}

fn invalid(launch: &Launch<'_>, problem: String) -> LaunchError {
    let mut findings = FindingSet::default();
    findings.add(invalid_report(problem));
    findings.into_error(launch.kernel, launch.entry).expect("one finding")
}

pub(crate) fn invalid_report(problem: String) -> Report {
    let message = format!("Invalid launch configuration: {problem}");
    Report { kind: FindingKind::InvalidLaunch, message, subject: String::new(), places: Vec::<Place>::new() }
}

/// What blocks left behind, put together in launch order.
pub(crate) struct Commit {
    next: usize,
    waiting: BTreeMap<usize, Outcome>,
    failed_wave: usize,
    pub(crate) grid: GridTouches,
    pub(crate) findings: FindingSet,
    pub(crate) counters: Counters,
}

impl Commit {
    pub(crate) fn new() -> Self {
        Self {
            next: 0,
            waiting: BTreeMap::new(),
            failed_wave: usize::MAX,
            grid: GridTouches::default(),
            findings: FindingSet::default(),
            counters: Counters::default(),
        }
    }

    /// Takes the outcome of the block at `position` of the launch order, and merges all that are next.
    pub(crate) fn add(&mut self, position: usize, outcome: Outcome, context: &Context<'_>) {
        self.waiting.insert(position, outcome);
        while let Some(outcome) = self.waiting.remove(&self.next) {
            let wave = self.next / WAVE;
            self.next += 1;
            if wave > self.failed_wave {
                continue;
            }
            self.counters.add(&outcome.counters);
            self.findings.append(outcome.findings);
            self.grid.merge(outcome.touches, &context.map, &context.sites, &mut self.findings);
            if !self.findings.is_empty() {
                self.failed_wave = self.failed_wave.min(wave);
            }
        }
    }
}

fn run_blocks(context: &Context<'_>) -> Commit {
    let grid = context.launch.grid as usize;
    let order = launch_order(context.launch);
    let next = AtomicUsize::new(0);
    let failed_wave = AtomicUsize::new(usize::MAX);
    let commit = Mutex::new(Commit::new());
    let worker = || {
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            if position >= grid || position / WAVE > failed_wave.load(Ordering::Relaxed) {
                return;
            }
            let outcome = run_block(context, order[position]);
            let mut commit = commit.lock().unwrap_or_else(PoisonError::into_inner);
            if !outcome.findings.is_empty() {
                failed_wave.fetch_min(position / WAVE, Ordering::Relaxed);
            }
            commit.add(position, outcome, context);
            failed_wave.fetch_min(commit.failed_wave, Ordering::Relaxed);
        }
    };
    let threads = rayon::current_num_threads().min(grid);
    if threads <= 1 {
        worker();
    } else {
        rayon::scope(|scope| (0..threads).for_each(|_| scope.spawn(|_| worker())));
    }
    commit.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The blocks in the order in which they start: a permutation that the seed decides.
fn launch_order(launch: &Launch<'_>) -> Vec<u32> {
    let mut order: Vec<u32> = (0..launch.grid).collect();
    let mut random = Random::new(launch.seed, u64::MAX - 1);
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last as u32 + 1) as usize);
    }
    order
}

fn run_block(context: &Context<'_>, index: u32) -> Outcome {
    let mut runner = match Stacks::take(context.launch.block as usize) {
        Ok(stacks) => Runner::new(context, index, stacks),
        Err(error) => return no_stacks(&error),
    };
    trap::install();
    context.running.fetch_add(1, Ordering::Relaxed);
    let mut idle = Idle::default();
    loop {
        match runner.advance() {
            Stop::Finished | Stop::Failed => break,
            Stop::Idle { weight, moved } => {
                let others = context.running.load(Ordering::Relaxed) > 1;
                if idle.is_deadlock(weight, moved, others) {
                    runner.block().diagnose_deadlock();
                    break;
                }
            }
            Stop::GridBarrier => unreachable!("refused at the call: the launch is not cooperative"),
        }
    }
    context.running.fetch_sub(1, Ordering::Relaxed);
    runner.into_outcome()
}

fn no_stacks(error: &std::io::Error) -> Outcome {
    let mut outcome = Outcome {
        findings: FindingSet::default(),
        counters: Counters::default(),
        touches: crate::grid_race::BlockTouches::default(),
    };
    outcome.findings.add(invalid_report(format!("no memory for the stacks of a block: {error}")));
    outcome
}

/// Tells a deadlock from a wait.
#[derive(Default)]
pub(crate) struct Idle {
    rounds: u32,
    since: Option<Instant>,
}

impl Idle {
    /// One more round in which lanes only went round in circles.
    pub(crate) fn is_deadlock(&mut self, weight: u32, moved: bool, others_run: bool) -> bool {
        if moved {
            *self = Self::default();
        }
        self.rounds = self.rounds.saturating_add(weight);
        if self.rounds < IDLE_ROUNDS {
            return false;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if others_run && since.elapsed() < IDLE_TIME {
            std::thread::sleep(Duration::from_millis(1));
            return false;
        }
        true
    }
}
