//! Registry of global memory: which bytes exist and which have been written. It outlives launches.
//!
//! The owner of device memory registers each allocation, marks what it copies in from the host, and
//! unregisters on release. Kernels mark what they write. A buffer of a launch that nobody registered is
//! taken as written throughout.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// One registered allocation.
pub(crate) struct Allocation {
    pub(crate) name: String,
    addr: usize,
    bytes: usize,
    /// One bit a byte: written.
    written: Box<[AtomicU64]>,
}

static REGISTRY: RwLock<BTreeMap<usize, Arc<Allocation>>> = RwLock::new(BTreeMap::new());

/// Registers `bytes` bytes at `addr` under `name`, in place of what was registered at the same address;
/// nothing of it counts as written. Costs one bit a byte.
pub fn register(addr: usize, bytes: usize, name: &str) {
    let written = (0..bytes.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
    let allocation = Arc::new(Allocation { name: name.to_owned(), addr, bytes, written });
    REGISTRY.write().unwrap_or_else(PoisonError::into_inner).insert(addr, allocation);
}

/// Forgets the memory that was registered at `addr`; does nothing where there is none.
pub fn unregister(addr: usize) {
    REGISTRY.write().unwrap_or_else(PoisonError::into_inner).remove(&addr);
}

/// Marks `bytes` bytes at `addr` as written, as a copy from the host does. What lies outside the
/// allocation that holds `addr` is ignored.
pub fn mark_written(addr: usize, bytes: usize) {
    if let Some(allocation) = find(addr) {
        allocation.mark(addr, bytes, true);
    }
}

/// Marks `bytes` bytes at `addr` as not written: an arena calls it when it hands memory out again.
pub fn mark_unwritten(addr: usize, bytes: usize) {
    if let Some(allocation) = find(addr) {
        allocation.mark(addr, bytes, false);
    }
}

/// The allocation that holds `addr`.
pub(crate) fn find(addr: usize) -> Option<Arc<Allocation>> {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    let (_, allocation) = registry.range(..=addr).next_back()?;
    (addr - allocation.addr < allocation.bytes).then(|| allocation.clone())
}

impl Allocation {
    /// Marks the part of a range that lies in the allocation.
    pub(crate) fn mark(&self, addr: usize, bytes: usize, written: bool) {
        let start = addr.max(self.addr) - self.addr;
        let end = (addr.saturating_add(bytes)).min(self.addr + self.bytes).saturating_sub(self.addr);
        let mut at = start;
        while at < end {
            let bit = at % 64;
            let count = (64 - bit).min(end - at);
            let mask = (u64::MAX >> (64 - count)) << bit;
            let word = &self.written[at / 64];
            if written {
                word.fetch_or(mask, Ordering::Relaxed);
            } else {
                word.fetch_and(!mask, Ordering::Relaxed);
            }
            at += count;
        }
    }

    /// Whether all of a range, which lies in the allocation, has been written.
    #[inline]
    pub(crate) fn is_written(&self, addr: usize, bytes: usize) -> bool {
        let at = addr.wrapping_sub(self.addr);
        let bit = at % 64;
        if bytes == 0 || at >= self.bytes {
            return true;
        }
        if bit + bytes > 64 {
            let first = 64 - bit;
            return self.is_written(addr, first) && self.is_written(addr + first, bytes - first);
        }
        let mask = (u64::MAX >> (64 - bytes)) << bit;
        self.written[at / 64].load(Ordering::Relaxed) & mask == mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Addresses that no allocator hands out: the registry never looks behind them.
    const BASE: usize = 0x1000;

    #[test]
    fn marks_reach_exactly_their_bytes() {
        register(BASE, 1000, "marks");
        mark_written(BASE + 60, 200);
        let allocation = find(BASE + 999).expect("registered");
        assert!(allocation.is_written(BASE + 60, 200));
        assert!(!allocation.is_written(BASE + 59, 1));
        assert!(!allocation.is_written(BASE + 260, 1));
        mark_unwritten(BASE + 128, 64);
        assert!(allocation.is_written(BASE + 127, 1));
        assert!(!allocation.is_written(BASE + 120, 16));
        assert!(allocation.is_written(BASE + 192, 8));
        mark_written(BASE + 990, 1 << 20);
        assert!(allocation.is_written(BASE + 990, 10));
        unregister(BASE);
        assert!(find(BASE).is_none());
    }

    #[test]
    fn an_address_past_an_allocation_is_in_none() {
        register(0x10_0000, 16, "end");
        assert!(find(0x10_000F).is_some());
        assert!(find(0x10_0010).is_none());
        unregister(0x10_0000);
    }
}
