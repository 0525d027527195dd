//! One block as its lanes see it. Everything is behind shared references with cells: lanes and scheduler
//! take turns on one thread.

use std::cell::{Cell, RefCell};
use std::sync::atomic::AtomicUsize;

use crate::Launch;
use crate::clocks::Clocks;
use crate::finding::FindingKind;
use crate::finding_set::{FindingSet, Place, Report};
use crate::global::{GlobalMap, GlobalShadow};
use crate::lane::{self, Call, Lane, Request};
use crate::model::{Model, Space};
use crate::race::Tables;
use crate::shared::SharedMemory;
use crate::site::{Site, SiteCache, SiteTable};
use crate::{Barrier, Collective, STACK_BYTES};

/// What all blocks of a launch share.
pub(crate) struct Context<'l> {
    pub(crate) launch: &'l Launch<'l>,
    pub(crate) lane: &'l (dyn Fn() + Sync),
    pub(crate) map: GlobalMap,
    pub(crate) sites: SiteTable,
    /// Blocks that are running now.
    pub(crate) running: AtomicUsize,
}

/// Lanes of a warp by what they do, as masks.
#[derive(Default)]
pub(crate) struct Warp {
    pub(crate) exists: u32,
    pub(crate) ready: Cell<u32>,
    pub(crate) collective: Cell<u32>,
    pub(crate) active_mask: Cell<u32>,
    pub(crate) barrier: Cell<u32>,
    /// Returned from the kernel.
    pub(crate) left: Cell<u32>,
    /// Stopped by a fault.
    pub(crate) dead: Cell<u32>,
}

/// Everything that accesses are checked against and counted in.
pub(crate) struct Checker {
    pub(crate) sites: SiteCache,
    pub(crate) clocks: Clocks,
    pub(crate) tables: Tables,
    pub(crate) shared: SharedMemory,
    pub(crate) global: GlobalShadow,
    pub(crate) model: Model,
    pub(crate) findings: FindingSet,
}

/// A running block.
pub(crate) struct Block<'l> {
    pub(crate) context: &'l Context<'l>,
    pub(crate) index: u32,
    pub(crate) lanes: Box<[Lane]>,
    pub(crate) warps: Box<[Warp]>,
    pub(crate) checker: RefCell<Checker>,
    /// The running lane, or `NO_LANE`.
    running: Cell<u32>,
    /// Accesses that the running lane may do before it has to give way.
    pub(crate) budget: Cell<u32>,
    /// Not 0 if the lane that ran last gave way in a loop that changes nothing: the more accesses, the more.
    pub(crate) spun: Cell<u32>,
    /// A lane has met a fault that ends the block.
    pub(crate) failed: Cell<bool>,
    ticks: Cell<u64>,
}

const NO_LANE: u32 = u32::MAX;

impl<'l> Block<'l> {
    pub(crate) fn new(context: &'l Context<'l>, index: u32) -> Self {
        let threads = context.launch.block;
        let warp = |first: u32| {
            let exists = u32::MAX >> (32 - (threads - first).min(32));
            Warp { exists, ready: Cell::new(exists), ..Warp::default() }
        };
        let warps: Box<[Warp]> = (0..threads).step_by(32).map(warp).collect();
        let checker = Checker {
            sites: SiteCache::new(),
            clocks: Clocks::new(warps.len()),
            tables: Tables::default(),
            shared: SharedMemory::new(context.launch.shared_bytes),
            global: GlobalShadow::new(),
            model: Model::default(),
            findings: FindingSet::default(),
        };
        Self {
            context,
            index,
            lanes: (0..threads).map(|_| Lane::new()).collect(),
            warps,
            checker: RefCell::new(checker),
            running: Cell::new(NO_LANE),
            budget: Cell::new(0),
            spun: Cell::new(0),
            failed: Cell::new(false),
            ticks: Cell::new(0),
        }
    }

    /// Says which lane runs from now on, None for the scheduler.
    pub(crate) fn set_running(&self, thread: Option<u32>) {
        self.running.set(thread.unwrap_or(NO_LANE));
    }

    pub(crate) fn runs_lane(&self) -> bool {
        self.running.get() != NO_LANE
    }

    pub(crate) fn running_lane(&self) -> Option<&Lane> {
        self.lanes.get(self.running.get() as usize)
    }

    /// Index of the running lane.
    #[inline]
    pub(crate) fn thread(&self) -> u32 {
        let thread = self.running.get();
        if thread == NO_LANE { lane::outside() } else { thread }
    }

    /// A counter that grows with everything that the block does.
    pub(crate) fn tick(&self) -> u64 {
        let ticks = self.ticks.get() + 1;
        self.ticks.set(ticks);
        ticks
    }

    /// The running lane calls the executor at `site`.
    #[inline]
    pub(crate) fn enter(&self, site: Site) -> (u32, &Lane) {
        let thread = self.thread();
        let lane = &self.lanes[thread as usize];
        if lane.stack_is_used_up() {
            self.stack_overflow(site);
        }
        lane.last_site.set(Some(site));
        (thread, lane)
    }

    #[cold]
    fn stack_overflow(&self, site: Site) -> ! {
        self.fail(Report {
            kind: FindingKind::StackOverflow,
            message: format!("Stack overflow: the lane stack of {STACK_BYTES} bytes is used up"),
            subject: String::new(),
            places: vec![self.place("Stack overflow", self.thread(), Some(site))],
        })
    }

    /// Reports a fault of the running lane and ends the lane.
    #[cold]
    pub(crate) fn fail(&self, report: Report) -> ! {
        let thread = self.thread();
        self.checker.borrow_mut().findings.add(report);
        self.failed.set(true);
        let (warp, bit) = self.warp_of(thread);
        warp.ready.set(warp.ready.get() & !bit);
        warp.dead.set(warp.dead.get() | bit);
        self.lanes[thread as usize].stop()
    }

    pub(crate) fn place(&self, what: &str, thread: u32, site: Option<Site>) -> Place {
        Place { what: what.to_owned(), block: self.index, thread, site, source: None }
    }

    #[inline]
    pub(crate) fn warp_of(&self, thread: u32) -> (&Warp, u32) {
        (&self.warps[(thread >> 5) as usize], 1 << (thread & 31))
    }

    /// The running lane takes part in a warp collective and waits for its result.
    #[inline]
    pub(crate) fn collective(
        &self,
        kind: Collective,
        mask: u32,
        value: u64,
        arg: u32,
        width: u32,
        site: Site,
    ) -> u64 {
        let (thread, _) = self.enter(site);
        self.check_arguments(kind, mask, width, thread, site);
        let call = Call::Collective(kind);
        self.wait(thread, Request { call, mask, value, arg, width, site }, |warp| &warp.collective)
    }

    /// The running lane asks which lanes run with it.
    pub(crate) fn active_mask(&self, site: Site) -> u32 {
        let (thread, _) = self.enter(site);
        let request = Request { call: Call::ActiveMask, mask: 0, value: 0, arg: 0, width: 32, site };
        self.wait(thread, request, |warp| &warp.active_mask) as u32
    }

    /// The running lane waits at a barrier.
    pub(crate) fn barrier(&self, kind: Barrier, predicate: bool, site: Site) -> u32 {
        let (thread, _) = self.enter(site);
        if kind == Barrier::Grid && !self.context.launch.cooperative {
            self.invalid_argument(thread, site, "grid barrier in a launch that is not cooperative");
        }
        let value = u64::from(predicate);
        let request = Request { call: Call::Barrier(kind), mask: 0, value, arg: 0, width: 32, site };
        self.wait(thread, request, |warp| &warp.barrier) as u32
    }

    #[inline]
    fn wait(&self, thread: u32, request: Request, queue: fn(&Warp) -> &Cell<u32>) -> u64 {
        let lane = &self.lanes[thread as usize];
        self.tick();
        {
            let checker = &mut *self.checker.borrow_mut();
            let site = checker.sites.id(request.site, &self.context.sites);
            checker.model.access(Space::Collective, site, thread & 31, 0, 0);
        }
        lane.request.set(Some(request));
        lane.progressed();
        let (warp, bit) = self.warp_of(thread);
        warp.ready.set(warp.ready.get() & !bit);
        queue(warp).set(queue(warp).get() | bit);
        lane.suspend();
        lane.result.get()
    }

    #[inline]
    fn check_arguments(&self, kind: Collective, mask: u32, width: u32, thread: u32, site: Site) {
        let (warp, bit) = self.warp_of(thread);
        if mask & bit == 0 {
            self.invalid_argument(thread, site, &format!("mask {mask:#010x} does not name the calling lane"));
        }
        if mask & !warp.exists != 0 {
            let lane = (mask & !warp.exists).trailing_zeros();
            let text = format!(
                "mask {mask:#010x} names lane {lane}, which a block of {} threads does not have",
                self.context.launch.block
            );
            self.invalid_argument(thread, site, &text);
        }
        let shuffles = matches!(
            kind,
            Collective::ShuffleXor | Collective::ShuffleUp | Collective::ShuffleDown | Collective::ShuffleIdx
        );
        if shuffles && (!width.is_power_of_two() || width > 32) {
            let text = format!("width {width} of a shuffle is no power of two up to 32");
            self.invalid_argument(thread, site, &text);
        }
    }

    #[cold]
    fn invalid_argument(&self, thread: u32, site: Site, text: &str) -> ! {
        self.fail(Report {
            kind: FindingKind::InvalidArguments,
            message: format!("Barrier error detected. Invalid arguments: {text}"),
            subject: String::new(),
            places: vec![self.place("Call", thread, Some(site))],
        })
    }

    /// Where the first lane of the block waits.
    pub(crate) fn barrier_site(&self) -> Option<Site> {
        self.lanes[0].request.get().map(|request| request.site)
    }

    /// A `gpu_assert!` of the running lane failed.
    pub(crate) fn assert_failed(&self, message: &str, site: Site) -> ! {
        let thread = self.thread();
        self.fail(Report {
            kind: FindingKind::Assertion,
            message: format!("Assertion failed: {message}"),
            subject: message.to_owned(),
            places: vec![self.place("Assertion", thread, Some(site))],
        })
    }
}
