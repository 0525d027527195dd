//! How much memory a queue's buffers hold, and the most that they held.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Device memory that the buffers of a queue hold, its workspace among them, in bytes as they were asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Held now.
    pub live: u64,
    /// The most that was held at once since the queue was made, or since
    /// [`Queue::reset_memory_peak`](crate::Queue::reset_memory_peak).
    pub peak: u64,
}

/// The count of one queue.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    live: AtomicU64,
    peak: AtomicU64,
}

impl Meter {
    pub(crate) fn usage(&self) -> MemoryUse {
        MemoryUse { live: self.live.load(Ordering::Relaxed), peak: self.peak.load(Ordering::Relaxed) }
    }

    pub(crate) fn reset_peak(&self) {
        self.peak.store(self.live.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// One buffer's part of the count, given back on drop.
pub(super) struct Share {
    meter: Arc<Meter>,
    bytes: u64,
}

impl Share {
    pub(super) fn new(meter: &Arc<Meter>, bytes: usize) -> Self {
        let bytes = bytes as u64;
        let live = meter.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        meter.peak.fetch_max(live, Ordering::Relaxed);
        Share { meter: meter.clone(), bytes }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.meter.live.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryUse;
    use crate::queue::Queue;

    #[test]
    fn the_peak_outlives_the_buffers_and_counts_the_workspace() {
        let queue = Queue::cpu();
        let first = queue.alloc::<f64>(10).unwrap();
        drop(queue.alloc::<u8>(7).unwrap());
        assert_eq!(queue.memory_use(), MemoryUse { live: 80, peak: 87 });
        drop(queue.workspace(1000).unwrap());
        assert_eq!(queue.memory_use(), MemoryUse { live: 1080, peak: 1080 });
        // The smaller workspace goes before the larger one comes.
        drop(queue.workspace(2000).unwrap());
        drop(first);
        assert_eq!(queue.memory_use(), MemoryUse { live: 2000, peak: 2080 });
        queue.reset_memory_peak();
        assert_eq!(queue.memory_use().peak, 2000);
    }
}
