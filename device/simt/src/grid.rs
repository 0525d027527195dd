//! Cooperative launches: all blocks are in flight on one thread and meet at grid barriers.

use crate::Barrier;
use crate::block::Context;
use crate::finding::FindingKind;
use crate::finding_set::Report;
use crate::launch::{Commit, Idle, invalid_report};
use crate::schedule::{Runner, Stop};
use crate::seed::Random;
use crate::stack::Stacks;

/// Runs a cooperative launch.
pub(crate) fn run(context: &Context<'_>) -> Commit {
    let mut commit = Commit::new();
    // All at once: two launches that each waited for the rest of theirs would wait for ever.
    let block = context.launch.block as usize;
    let mut stacks = match Stacks::take(context.launch.grid as usize * block) {
        Ok(stacks) => stacks,
        Err(error) => {
            commit.findings.add(invalid_report(format!("no memory for the stacks of the grid: {error}")));
            return commit;
        }
    };
    let mut runners: Vec<_> =
        (0..context.launch.grid).map(|index| Runner::new(context, index, stacks.split(block))).collect();
    let mut random = Random::new(context.launch.seed, u64::MAX);
    let mut idle = Idle::default();
    loop {
        let first = random.below(context.launch.grid) as usize;
        match advance(&mut runners, first, &mut idle) {
            Phase::Idle => continue,
            Phase::Ended => break,
            Phase::Barrier => pass_barrier(&mut runners, &mut commit, context),
            Phase::Diverged(report) => {
                commit.findings.add(report);
                break;
            }
        }
    }
    for (position, runner) in runners.into_iter().enumerate() {
        commit.add(position, runner.into_outcome(), context);
    }
    commit
}

enum Phase {
    /// Some blocks wait in a loop for others; another round may help.
    Idle,
    /// All blocks have finished, or one has failed.
    Ended,
    /// All blocks wait at the grid barrier.
    Barrier,
    /// Some blocks wait at a grid barrier that others do not reach.
    Diverged(Report),
}

/// Runs every block until it stops.
fn advance(runners: &mut [Runner<'_>], first: usize, idle: &mut Idle) -> Phase {
    let count = runners.len();
    let (mut finished, mut at_barrier, mut moved) = (None, None, false);
    let mut spinning = None;
    for index in (0..count).map(|step| (first + step) % count) {
        match runners[index].advance() {
            Stop::Failed => return Phase::Ended,
            Stop::Finished => finished = Some(index),
            Stop::GridBarrier => at_barrier = Some(index),
            Stop::Idle { weight, moved: before } => {
                moved |= before;
                spinning = Some((index, weight));
            }
        }
    }
    if let Some((index, weight)) = spinning {
        if !idle.is_deadlock(weight, moved, false) {
            return Phase::Idle;
        }
        runners[index].block().diagnose_deadlock();
        return Phase::Ended;
    }
    match (at_barrier, finished) {
        (None, _) => Phase::Ended,
        (Some(waits), Some(left)) => Phase::Diverged(diverged(&runners[waits], &runners[left])),
        (Some(waits), None) => {
            let site = runners[waits].block().barrier_site();
            match runners.iter().find(|runner| runner.block().barrier_site() != site) {
                Some(other) => Phase::Diverged(diverged(&runners[waits], other)),
                None => Phase::Barrier,
            }
        }
    }
}

fn diverged(waits: &Runner<'_>, other: &Runner<'_>) -> Report {
    Report {
        kind: FindingKind::DivergentBarrier,
        message: "Barrier error detected. Divergent block(s) in grid".to_owned(),
        subject: String::new(),
        places: vec![waits.block().describe(0), other.block().describe(0)],
    }
}

/// All blocks go on; what they did before is ordered before what they do from now on.
fn pass_barrier(runners: &mut [Runner<'_>], commit: &mut Commit, context: &Context<'_>) {
    for runner in &*runners {
        commit.grid.merge(runner.touches(), &context.map, &context.sites, &mut commit.findings);
    }
    commit.grid.mark_written(&context.map);
    commit.grid.clear();
    commit.counters.grid_barriers += 1;
    for runner in runners {
        runner.release_barrier(Barrier::Grid);
    }
}
