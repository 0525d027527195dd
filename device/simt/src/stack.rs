//! Lane stacks: mapped once, guarded by a page below, handed out again and again.

use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

use corosensei::stack::{DefaultStack, Stack, StackPointer};

/// Bytes of stack that a lane has. The page below is a guard: a lane that runs into it ends with a
/// stack-overflow finding.
pub const STACK_BYTES: usize = 1 << 20;

/// The executor's own functions want this much of it; a lane that calls them with less left is stopped
/// before they start.
const RESERVE: usize = 32 << 10;

/// Stacks whose tops lie at the same place within their pages push each other out of the first-level
/// cache, so the tops are spread over this many places.
const COLOURS: usize = 32;
const COLOUR_BYTES: usize = 128;

/// A mapped stack, used from a little below its top.
pub(crate) struct LaneStack {
    mapped: DefaultStack,
    top: StackPointer,
}

impl LaneStack {
    fn new(colour: usize) -> std::io::Result<Self> {
        let mapped = DefaultStack::new(STACK_BYTES + COLOURS * COLOUR_BYTES)?;
        let top = mapped.base().get() - colour % COLOURS * COLOUR_BYTES;
        Ok(Self { top: StackPointer::new(top).expect("an address"), mapped })
    }
}

// SAFETY: the stack is a part of one that corosensei has mapped, with the same guard page below.
unsafe impl Stack for LaneStack {
    fn base(&self) -> StackPointer {
        self.top
    }

    fn limit(&self) -> StackPointer {
        self.mapped.limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> corosensei::stack::StackTebFields {
        self.mapped.teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.mapped.update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}

struct Pool {
    free: Vec<LaneStack>,
    in_use: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { free: Vec::new(), in_use: 0 });
static RETURNED: Condvar = Condvar::new();

/// Most lanes that can be in flight in the process. A stack takes two mappings, its guard page is one, and
/// the kernel limits the mappings of a process.
pub(crate) fn most_lanes() -> usize {
    static LIMIT: OnceLock<usize> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let maps = std::fs::read_to_string("/proc/sys/vm/max_map_count")
            .ok()
            .and_then(|text| text.trim().parse::<usize>().ok())
            .unwrap_or(65_530);
        (maps / 2).saturating_sub(8_000).clamp(2_048, 24_000)
    })
}

/// Stacks of lanes; they return to the pool on drop.
pub(crate) struct Stacks(Vec<LaneStack>);

impl Stacks {
    /// `count` stacks; waits while other blocks hold too many. `count` is at most [`most_lanes`].
    ///
    /// # Errors
    /// Where the system maps no more memory.
    pub(crate) fn take(count: usize) -> std::io::Result<Self> {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        while pool.in_use > 0 && pool.in_use + count > most_lanes() {
            pool = RETURNED.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
        pool.in_use += count;
        let from = pool.free.len().saturating_sub(count);
        let mut stacks = Self(pool.free.split_off(from));
        drop(pool);
        let mut failure = None;
        while stacks.0.len() < count && failure.is_none() {
            match LaneStack::new(stacks.0.len()) {
                Ok(stack) => stacks.0.push(stack),
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            None => Ok(stacks),
            Some(error) => {
                let missing = count - stacks.0.len();
                POOL.lock().unwrap_or_else(PoisonError::into_inner).in_use -= missing;
                Err(error)
            }
        }
    }

    /// Takes `count` of them off.
    pub(crate) fn split(&mut self, count: usize) -> Self {
        Self(self.0.split_off(self.0.len() - count))
    }

    pub(crate) fn pop(&mut self) -> LaneStack {
        self.0.pop().expect("one stack a lane")
    }

    pub(crate) fn push(&mut self, stack: LaneStack) {
        self.0.push(stack);
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        pool.in_use -= self.0.len();
        pool.free.append(&mut self.0);
        drop(pool);
        RETURNED.notify_all();
    }
}

/// The lowest address at which a lane may still call the executor.
pub(crate) fn floor(stack: &LaneStack) -> usize {
    stack.mapped.base().get() - STACK_BYTES - COLOURS * COLOUR_BYTES + RESERVE
}

/// Whether an address is in the guard below the stack with that [`floor`]. Pages have up to 64 KiB.
pub(crate) fn guards(floor: usize, addr: usize) -> bool {
    let lowest = floor - RESERVE;
    addr < lowest && lowest - addr <= 64 << 10
}

/// About the stack pointer of the caller.
#[inline]
pub(crate) fn pointer() -> usize {
    let here = 0_u8;
    std::hint::black_box(&raw const here).addr()
}
