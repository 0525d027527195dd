//! Says why a block or a lane cannot go on.

use crate::block::Block;
use crate::clocks::lanes;
use crate::finding::FindingKind;
use crate::finding_set::{Place, Report};
use crate::lane::{Call, Request};
use crate::panics::PanicReport;
use crate::stack::STACK_BYTES;

/// What a lane that another one waits for is doing.
enum State {
    Waits(Request),
    Left,
    Runs,
}

impl Block<'_> {
    /// Reports what keeps the lanes of the block from going on. No lane is ready.
    pub(crate) fn diagnose(&self) {
        let mut reports: Vec<Report> = Vec::new();
        for warp in 0..self.warps.len() {
            for lane in lanes(self.warps[warp].collective.get()) {
                reports.extend(self.diagnose_collective((warp * 32 + lane) as u32));
            }
        }
        if reports.is_empty() {
            reports.extend(self.diagnose_barrier());
        }
        let checker = &mut *self.checker.borrow_mut();
        for report in reports {
            checker.findings.add(report);
        }
    }

    /// No lane makes progress: some go round in circles, some wait.
    pub(crate) fn diagnose_deadlock(&self) {
        let threads = 0..self.lanes.len() as u32;
        let ready = |&thread: &u32| {
            let (warp, bit) = self.warp_of(thread);
            warp.ready.get() & bit != 0
        };
        let spinning = threads.clone().find(ready);
        let waiting = threads.clone().find(|&thread| matches!(self.state(thread), State::Waits(_)));
        let mut places = Vec::new();
        if let Some(thread) = spinning {
            let site = self.lanes[thread as usize].last_site.get();
            places.push(self.place("Loop without progress", thread, site));
        }
        if let Some(thread) = waiting {
            places.push(self.describe(thread));
        }
        self.checker.borrow_mut().findings.add(Report {
            kind: FindingKind::Deadlock,
            message: "Deadlock: no thread makes progress".to_owned(),
            subject: String::new(),
            places,
        });
    }

    fn state(&self, thread: u32) -> State {
        let (warp, bit) = self.warp_of(thread);
        if warp.left.get() & bit != 0 {
            return State::Left;
        }
        let waits = warp.collective.get() | warp.barrier.get() | warp.active_mask.get();
        match self.lanes[thread as usize].request.get() {
            Some(request) if waits & bit != 0 => State::Waits(request),
            _ => State::Runs,
        }
    }

    /// Why the collective for which `thread` waits is not complete; None where another lane's report
    /// covers it.
    fn diagnose_collective(&self, thread: u32) -> Option<Report> {
        let State::Waits(request) = self.state(thread) else { return None };
        let base = thread & !31;
        let differs = |other: &u32| match self.state(*other) {
            State::Waits(theirs) => theirs.mask != request.mask || theirs.call != request.call,
            State::Left | State::Runs => true,
        };
        let other = lanes(request.mask).map(|lane| base + lane as u32).find(differs)?;
        let (kind, message) = match self.state(other) {
            State::Waits(theirs) if theirs.mask == request.mask && is_collective(theirs.call) => {
                // Two lanes see the same difference; the lower one reports it.
                if other < thread {
                    return None;
                }
                (
                    FindingKind::CollectiveKind,
                    "Barrier error detected. Threads named in one mask wait in different collectives"
                        .to_owned(),
                )
            }
            State::Left => (
                FindingKind::CollectiveMask,
                format!(
                    "Barrier error detected. Divergent thread(s) in warp: mask {:#010x} names thread {other}, \
                     which has left the kernel",
                    request.mask
                ),
            ),
            State::Waits(_) | State::Runs => (
                FindingKind::CollectiveMask,
                format!(
                    "Barrier error detected. Divergent thread(s) in warp: mask {:#010x} names thread {other}, \
                     which does not take part",
                    request.mask
                ),
            ),
        };
        let places = vec![self.describe(thread), self.describe(other)];
        Some(Report { kind, message, subject: String::new(), places })
    }

    /// Why the barrier at which lanes wait is not complete.
    fn diagnose_barrier(&self) -> Option<Report> {
        let mut threads = 0..self.lanes.len() as u32;
        let (thread, request) = threads.clone().find_map(|thread| match self.state(thread) {
            State::Waits(request) => Some((thread, request)),
            _ => None,
        })?;
        let between_roles = matches!(request.call, Call::Barrier(kind) if kind.between_roles());
        let differs = |other: &u32| match self.state(*other) {
            State::Waits(theirs) => {
                let elsewhere = theirs.site != request.site;
                theirs.call != request.call || (elsewhere && !(between_roles && *other / 32 != thread / 32))
            }
            State::Left | State::Runs => true,
        };
        // A lane of the same warp is the clearer witness.
        let same_warp = (thread & !31)..(thread | 31).saturating_add(1).min(threads.end);
        let other = same_warp.clone().find(differs).or_else(|| threads.find(differs))?;
        let scope = if same_warp.contains(&other) { "warp" } else { "block" };
        Some(Report {
            kind: FindingKind::DivergentBarrier,
            message: format!("Barrier error detected. Divergent thread(s) in {scope}"),
            subject: String::new(),
            places: vec![self.describe(thread), self.describe(other)],
        })
    }

    /// What a lane does, and where.
    pub(crate) fn describe(&self, thread: u32) -> Place {
        match self.state(thread) {
            State::Waits(request) => self.place(&name(&request), thread, Some(request.site)),
            State::Left => {
                let last = self.lanes[thread as usize].last_site.get();
                let what = if last.is_some() {
                    "Exit of the kernel after the last call"
                } else {
                    "Exit of the kernel"
                };
                self.place(what, thread, last)
            }
            State::Runs => self.place("Last call", thread, self.lanes[thread as usize].last_site.get()),
        }
    }
}

fn is_collective(call: Call) -> bool {
    matches!(call, Call::Collective(_))
}

fn name(request: &Request) -> String {
    match request.call {
        Call::Collective(kind) => format!("{kind:?} with mask {:#010x}", request.mask),
        Call::ActiveMask => "Active mask".to_owned(),
        Call::Barrier(kind) => format!("Barrier ({kind:?})"),
    }
}

/// Reports of lanes that ended in a fault.
impl Block<'_> {
    pub(crate) fn panic_report(&self, thread: u32, panic: PanicReport) -> Report {
        let message = format!("Kernel panicked: {}", panic.message);
        let subject = format!("{message} {:?}", panic.place);
        let place = match panic.place {
            Some(source) => Place { source: Some(source), ..self.place("Panic", thread, None) },
            None => {
                let last = self.lanes[thread as usize].last_site.get();
                self.place("Panic after the last call", thread, last)
            }
        };
        Report { kind: FindingKind::Panic, message, subject, places: vec![place] }
    }

    pub(crate) fn trap_report(&self, thread: u32, address: usize) -> Report {
        let lane = &self.lanes[thread as usize];
        let last = lane.last_site.get();
        if lane.guards(address) {
            Report {
                kind: FindingKind::StackOverflow,
                message: format!("Stack overflow: the lane stack of {STACK_BYTES} bytes is used up"),
                subject: String::new(),
                places: vec![self.place("Stack overflow after the last call", thread, last)],
            }
        } else {
            Report {
                kind: FindingKind::OutOfBounds,
                message: format!(
                    "Invalid memory access past the checker (a raw pointer): the system refused address \
                     {address:#x}"
                ),
                subject: String::new(),
                places: vec![self.place("Fault after the last call", thread, last)],
            }
        }
    }

    pub(crate) fn stray_report(&self, warp: usize, lane: usize, source: usize) -> Report {
        let thread = (warp * 32 + lane) as u32;
        let request = self.lanes[thread as usize].request.get();
        let mask = request.map_or(0, |request| request.mask);
        Report {
            kind: FindingKind::InvalidArguments,
            message: format!(
                "Barrier error detected. Invalid arguments: lane {lane} of a shuffle reads lane {source}, which \
                 mask {mask:#010x} does not name"
            ),
            subject: String::new(),
            places: vec![self.place("Shuffle", thread, request.map(|request| request.site))],
        }
    }
}
