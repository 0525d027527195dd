//! A lane: a coroutine that runs until it has to wait for others.

use std::cell::Cell;

use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, Yielder};

use crate::block::Block;
use crate::copy::Copies;
use crate::panics;
use crate::site::Site;
use crate::stack::{self, LaneStack};
use crate::{Barrier, Collective};

/// How a lane ended.
#[derive(Clone, Copy)]
pub(crate) enum Exit {
    Returned,
    /// [`panics::take`] has the report.
    Panicked,
    /// The address whose access the system refused.
    Trapped(usize),
}

/// What a lane waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Collective(Collective),
    ActiveMask,
    Barrier(Barrier),
}

/// A call for which a lane waits.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) call: Call,
    pub(crate) mask: u32,
    pub(crate) value: u64,
    pub(crate) arg: u32,
    pub(crate) width: u32,
    pub(crate) site: Site,
}

pub(crate) type LaneCoroutine = Coroutine<(), (), Exit, LaneStack>;

/// The executor's side of a lane.
pub(crate) struct Lane {
    yielder: Cell<*const Yielder<(), ()>>,
    trap: Cell<Option<CoroutineTrapHandler<Exit>>>,
    floor: Cell<usize>,
    pub(crate) request: Cell<Option<Request>>,
    pub(crate) result: Cell<u64>,
    /// Where the lane last called the executor.
    pub(crate) last_site: Cell<Option<Site>>,
    spin: Spin,
    pub(crate) copies: Copies,
}

/// Tells whether a lane goes round a few addresses without writing.
#[derive(Default)]
struct Spin {
    seen: Cell<[(usize, usize); 4]>,
    count: Cell<usize>,
}

impl Spin {
    /// A lane gives way at this access; says whether it was there before.
    fn visit(&self, site: Site, addr: usize) -> bool {
        let key = (std::ptr::from_ref(site).addr(), addr);
        let mut seen = self.seen.get();
        let count = self.count.get();
        if seen[..count].contains(&key) {
            return true;
        }
        let at = if count == seen.len() { 0 } else { count };
        seen[at] = key;
        self.seen.set(seen);
        self.count.set(at + 1);
        at != 0 || count == 0
    }

    fn reset(&self) {
        self.count.set(0);
    }
}

thread_local! {
    /// The block whose lanes this thread runs.
    static CURRENT: Cell<*const Block<'static>> = const { Cell::new(std::ptr::null()) };
}

/// Makes a block the current one until the guard is dropped.
pub(crate) struct Current {
    before: *const Block<'static>,
}

impl Current {
    pub(crate) fn set(block: &Block<'_>) -> Self {
        Self { before: CURRENT.replace(std::ptr::from_ref(block).cast()) }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// Whether the caller is a lane.
pub(crate) fn in_lane() -> bool {
    // SAFETY: `CURRENT` points to a block for as long as a `Current` for it lives.
    unsafe { CURRENT.get().as_ref() }.is_some_and(Block::runs_lane)
}

/// The block of the calling lane.
///
/// # Panics
/// Outside a lane.
#[inline]
pub(crate) fn current<'a>() -> &'a Block<'static> {
    let block = CURRENT.get();
    // SAFETY: `CURRENT` points to a block for as long as a `Current` for it lives, and lanes run only
    // while it does; a reference obtained by a lane does not outlive the lane's call into the executor.
    match unsafe { block.as_ref() } {
        Some(block) => block,
        None => outside(),
    }
}

#[cold]
pub(crate) fn outside() -> ! {
    panic!("kernel code called outside the SIMT executor: launch it through a queue of device `simt`")
}

/// The way out of the lane that runs on this thread. Async-signal-safe.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(crate) fn running_trap() -> Option<CoroutineTrapHandler<Exit>> {
    // SAFETY: as in `in_lane`.
    unsafe { CURRENT.get().as_ref() }?.running_lane()?.trap.get()
}

impl Lane {
    pub(crate) fn new() -> Self {
        Self {
            yielder: Cell::new(std::ptr::null()),
            trap: Cell::new(None),
            floor: Cell::new(0),
            request: Cell::new(None),
            result: Cell::new(0),
            last_site: Cell::new(None),
            spin: Spin::default(),
            copies: Copies::default(),
        }
    }

    /// Suspends the lane, which is the running one.
    #[inline]
    pub(crate) fn suspend(&self) {
        // SAFETY: the running lane has set its yielder, which lives on its stack.
        unsafe { (*self.yielder.get()).suspend(()) };
    }

    /// Suspends the lane for ever; its stack is reset later.
    pub(crate) fn stop(&self) -> ! {
        loop {
            self.suspend();
        }
    }

    /// The lane does something that others can see.
    pub(crate) fn progressed(&self) {
        self.spin.reset();
    }

    /// The lane gives way at an access; says whether it merely goes round in circles.
    pub(crate) fn spins(&self, site: Site, addr: usize, writes: bool) -> bool {
        if writes {
            self.spin.reset();
            return false;
        }
        self.spin.visit(site, addr)
    }

    /// Whether an address is in the guard page of the lane's stack.
    pub(crate) fn guards(&self, addr: usize) -> bool {
        stack::guards(self.floor.get(), addr)
    }

    /// Whether too little stack is left to call into the executor.
    #[inline]
    pub(crate) fn stack_is_used_up(&self) -> bool {
        stack::pointer() < self.floor.get()
    }
}

/// The coroutine of thread `thread`.
pub(crate) fn coroutine(block: &Block<'_>, thread: u32, stack: LaneStack) -> LaneCoroutine {
    let lane = &block.lanes[thread as usize];
    lane.floor.set(stack::floor(&stack));
    let (lane_ptr, body) = (std::ptr::from_ref(lane), std::ptr::from_ref(block.context.lane));
    // SAFETY: the block and the launch's closure outlive the coroutine: the runner that owns it drops it
    // before its block, and the closure lives until the launch returns.
    let coroutine = unsafe {
        Coroutine::with_stack_unchecked(stack, move |yielder: &Yielder<(), ()>, ()| {
            (*lane_ptr).yielder.set(yielder);
            if panics::catch(&*body) { Exit::Panicked } else { Exit::Returned }
        })
    };
    lane.trap.set(Some(coroutine.trap_handler()));
    coroutine
}
