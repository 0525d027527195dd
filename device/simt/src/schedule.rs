//! Runs the lanes of one block: warp by warp, each lane until it waits, then completes what can be.

use std::cell::Cell;

use crate::Barrier;
use crate::Collective;
use crate::block::{Block, Context, Warp};
use crate::clocks::lanes;
use crate::collective::{self, Inputs};
use crate::counters::Counters;
use crate::finding_set::{FindingSet, Report};
use crate::grid_race::BlockTouches;
use crate::lane::{self, Call, Current, Exit, LaneCoroutine, Request};
use crate::panics;
use crate::seed::Random;
use crate::stack::Stacks;

/// Accesses that a lane may do in a row; a little less at random, so that a loop's period cannot hide
/// from the check for loops that change nothing.
const SLICE: u32 = 1024;

/// Why a block gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All lanes have left the kernel.
    Finished,
    /// All lanes wait at a grid barrier.
    GridBarrier,
    /// A finding ends the block.
    Failed,
    /// In the last round lanes only went round in circles. `moved`: before it, something else happened.
    Idle { weight: u32, moved: bool },
}

/// A block with its coroutines.
pub(crate) struct Runner<'l> {
    // Dropped before the block that they point to.
    coroutines: Vec<LaneCoroutine>,
    stacks: Stacks,
    block: Box<Block<'l>>,
    random: Random,
    /// Reports of lanes that were cut off, which may have held the checker.
    late: Vec<Report>,
}

/// What is left of a block that has run.
pub(crate) struct Outcome {
    pub(crate) findings: FindingSet,
    pub(crate) counters: Counters,
    pub(crate) touches: BlockTouches,
}

impl<'l> Runner<'l> {
    /// A block with a coroutine a lane, none of which has started, on as many stacks.
    pub(crate) fn new(context: &'l Context<'l>, index: u32, mut stacks: Stacks) -> Self {
        let block = Box::new(Block::new(context, index));
        let coroutines =
            (0..context.launch.block).map(|thread| lane::coroutine(&block, thread, stacks.pop())).collect();
        let random = Random::new(context.launch.seed, u64::from(index));
        Self { coroutines, stacks, block, random, late: Vec::new() }
    }

    pub(crate) fn block(&self) -> &Block<'l> {
        &self.block
    }

    /// Runs the block until it cannot go on by itself.
    pub(crate) fn advance(&mut self) -> Stop {
        let _current = Current::set(&self.block);
        let mut moved = false;
        loop {
            let round = self.sweep();
            if self.block.failed.get() {
                return Stop::Failed;
            }
            if !round.moved && round.spun > 0 {
                return Stop::Idle { weight: round.spun, moved };
            }
            moved = true;
            if !round.moved
                && let Some(stop) = self.finish_round()
            {
                return stop;
            }
        }
    }

    /// One round over the warps. Each goes on until its lanes wait for more than the warp can give, or for a
    /// number of steps that the seed decides, so that warps interleave in many ways.
    fn sweep(&mut self) -> Progress {
        let warps = self.block.warps.len();
        let first = self.random.below(warps as u32) as usize;
        let mut round = Progress::default();
        for step in 0..warps {
            let warp = (first + step) % warps;
            for _ in 0..1 + self.random.below(4) {
                let progress = self.run_ready(warp);
                round.moved |= progress.moved;
                round.spun = round.spun.max(progress.spun);
                if progress.cut_off {
                    return round;
                }
                if self.block.failed.get() || !self.complete(warp) {
                    break;
                }
                round.moved = true;
            }
        }
        round
    }

    /// No lane can run: the block has finished, or a barrier is complete, or something is wrong.
    fn finish_round(&mut self) -> Option<Stop> {
        if self.block.warps.iter().all(|warp| warp.left.get() == warp.exists) {
            return Some(Stop::Finished);
        }
        match self.common_barrier() {
            Some(Barrier::Grid) => Some(Stop::GridBarrier),
            Some(kind) => {
                self.release_barrier(kind);
                None
            }
            None => {
                self.block.diagnose();
                Some(Stop::Failed)
            }
        }
    }

    /// Resumes every ready lane of a warp once, in an order that the seed decides.
    fn run_ready(&mut self, warp: usize) -> Progress {
        let ready = self.block.warps[warp].ready.get();
        let mut progress = Progress::default();
        if ready == 0 {
            return progress;
        }
        let draw = self.random.next();
        let (factor, shift) = (draw as u32 | 1, (draw >> 32) as u32);
        for step in 0..32_u32 {
            let lane = step.wrapping_mul(factor).wrapping_add(shift) & 31;
            if ready >> lane & 1 == 0 {
                continue;
            }
            let thread = warp as u32 * 32 + lane;
            let cut_off = self.resume(thread, SLICE - (draw >> 40) as u32 % 64);
            if cut_off {
                return Progress { cut_off, ..progress };
            }
            match self.block.spun.take() {
                0 => progress.moved = true,
                weight => progress.spun = progress.spun.max(weight),
            }
        }
        self.block.checker.borrow_mut().model.finish_segment();
        progress
    }

    /// Runs a lane until it gives way; says whether the block must stop at once.
    fn resume(&mut self, thread: u32, budget: u32) -> bool {
        let block = &*self.block;
        block.checker.borrow_mut().model.start_lane();
        block.budget.set(budget);
        block.set_running(Some(thread));
        let result = self.coroutines[thread as usize].resume(());
        block.set_running(None);
        match result.as_return() {
            None => false,
            Some(exit) => self.lane_ended(thread, exit),
        }
    }

    /// A lane has ended; says whether it was cut off in the middle of anything.
    fn lane_ended(&mut self, thread: u32, exit: Exit) -> bool {
        let (warp, bit) = self.block.warp_of(thread);
        warp.ready.set(warp.ready.get() & !bit);
        let (report, cut_off) = match exit {
            Exit::Returned => {
                warp.left.set(warp.left.get() | bit);
                return false;
            }
            Exit::Panicked => (self.block.panic_report(thread, panics::take()), false),
            Exit::Trapped(address) => (self.block.trap_report(thread, address), true),
        };
        warp.dead.set(warp.dead.get() | bit);
        self.block.failed.set(true);
        self.late.push(report);
        cut_off
    }

    /// Completes every collective of a warp whose lanes have all arrived.
    fn complete(&self, warp: usize) -> bool {
        let state = &self.block.warps[warp];
        let mut completed = false;
        let mut todo = state.collective.get();
        while todo != 0 {
            let lane = todo.trailing_zeros() as usize;
            todo &= todo - 1;
            let request = self.request(warp, lane);
            if self.arrived(warp, &request) {
                todo &= !request.mask;
                self.complete_one(warp, &request);
                completed = true;
            }
        }
        completed || (state.ready.get() == 0 && self.complete_active_masks(warp))
    }

    fn request(&self, warp: usize, lane: usize) -> Request {
        self.block.lanes[warp * 32 + lane].request.get().expect("a waiting lane has a request")
    }

    /// Whether all lanes of a request's mask wait for the same.
    fn arrived(&self, warp: usize, request: &Request) -> bool {
        request.mask & !self.block.warps[warp].collective.get() == 0
            && lanes(request.mask).all(|lane| {
                let other = self.request(warp, lane);
                other.mask == request.mask && other.call == request.call
            })
    }

    fn complete_one(&self, warp: usize, request: &Request) {
        let Call::Collective(kind) = request.call else { return };
        let state = &self.block.warps[warp];
        let checker = &mut *self.block.checker.borrow_mut();
        checker.model.counters.collectives += 1;
        if kind == Collective::SyncWarp {
            let all = request.mask == state.exists;
            checker.clocks.sync_warp(warp, request.mask, all);
            for lane in lanes(request.mask) {
                self.block.lanes[warp * 32 + lane].result.set(0);
            }
        } else {
            let mut inputs = Inputs { values: [0; 32], args: [0; 32], widths: [32; 32] };
            for lane in lanes(request.mask) {
                let Request { value, arg, width, .. } = self.request(warp, lane);
                (inputs.values[lane], inputs.args[lane], inputs.widths[lane]) = (value, arg, width);
            }
            let outputs = collective::evaluate(kind, request.mask, &inputs);
            if let Some((lane, source)) = outputs.stray {
                checker.findings.add(self.block.stray_report(warp, lane, source));
            }
            for lane in lanes(request.mask) {
                self.block.lanes[warp * 32 + lane].result.set(outputs.values[lane]);
            }
        }
        release(state, &state.collective, request.mask);
    }

    /// Lanes that ask for the active mask at one place run together from there on.
    fn complete_active_masks(&self, warp: usize) -> bool {
        let state = &self.block.warps[warp];
        let waiting = state.active_mask.get();
        if waiting == 0 {
            return false;
        }
        let site = self.request(warp, waiting.trailing_zeros() as usize).site;
        let together = lanes(waiting)
            .filter(|&lane| self.request(warp, lane).site == site)
            .fold(0, |all, lane| all | 1 << lane);
        for lane in lanes(together) {
            self.block.lanes[warp * 32 + lane].result.set(u64::from(together));
        }
        release(state, &state.active_mask, together);
        true
    }

    /// The barrier at which all lanes of the block wait, if there is one.
    fn common_barrier(&self) -> Option<Barrier> {
        let waits = |warp: &Warp| warp.barrier.get() == warp.exists;
        if !self.block.warps.iter().all(waits) {
            return None;
        }
        let first = self.block.lanes[0].request.get()?;
        let Call::Barrier(kind) = first.call else { return None };
        let agrees = |(thread, lane): (usize, &crate::lane::Lane)| {
            let witness =
                if kind.between_roles() { &self.block.lanes[thread & !31] } else { &self.block.lanes[0] };
            let (request, other) = (lane.request.get()?, witness.request.get()?);
            Some(request.call == first.call && request.site == other.site)
        };
        self.block.lanes.iter().enumerate().all(|pair| agrees(pair) == Some(true)).then_some(kind)
    }

    /// Lets all lanes go on behind a barrier.
    pub(crate) fn release_barrier(&mut self, kind: Barrier) {
        let predicates = || self.block.lanes.iter().map(|lane| lane.request.get().map_or(0, |all| all.value));
        let result = match kind {
            Barrier::Sync | Barrier::Grid => 0,
            Barrier::Count => predicates().sum(),
            Barrier::And => u64::from(predicates().all(|value| value != 0)),
            Barrier::Or | Barrier::RolesOr => u64::from(predicates().any(|value| value != 0)),
        };
        for lane in &self.block.lanes {
            lane.result.set(result);
        }
        for warp in &self.block.warps {
            release(warp, &warp.barrier, warp.exists);
        }
        let checker = &mut *self.block.checker.borrow_mut();
        checker.clocks.barrier();
        if kind == Barrier::Grid {
            checker.global.clear();
        } else {
            checker.model.counters.barriers += 1;
        }
    }

    /// What the block has done to global memory since the last grid barrier.
    pub(crate) fn touches(&self) -> BlockTouches {
        let checker = self.block.checker.borrow();
        BlockTouches::new(self.block.index, &checker.global, &checker.tables)
    }

    /// Ends the block, whatever its lanes do.
    pub(crate) fn into_outcome(mut self) -> Outcome {
        let context = self.block.context;
        let checker = self.block.checker.get_mut();
        let touches = BlockTouches::new(self.block.index, &checker.global, &checker.tables);
        let mut findings = std::mem::take(&mut checker.findings);
        self.late.drain(..).for_each(|report| findings.add(report));
        let counters = std::mem::take(&mut checker.model).into_counters(&context.sites);
        Outcome { findings, counters, touches }
    }
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        for mut coroutine in self.coroutines.drain(..) {
            // SAFETY: what a suspended lane has on its stack belongs to kernel code, which owns nothing
            // but device memory, and to the executor's frames below it, which hold no lock or cell there.
            unsafe { coroutine.force_reset() };
            self.stacks.push(coroutine.into_stack());
        }
    }
}

#[derive(Default)]
struct Progress {
    /// A lane did something.
    moved: bool,
    /// A lane went round in a circle; how much that weighs.
    spun: u32,
    /// A lane was cut off in the middle of anything: no other lane may run.
    cut_off: bool,
}

fn release(warp: &Warp, queue: &Cell<u32>, mask: u32) {
    queue.set(queue.get() & !mask);
    warp.ready.set(warp.ready.get() | mask);
}
