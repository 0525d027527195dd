//! Registry of global memory: which bytes exist and which have been written. It outlives launches.

/// Registers `bytes` bytes at `addr` under `name`; nothing of it counts as written. Memory that is not
/// registered may be given to a launch, and then counts as written.
pub fn register(addr: usize, bytes: usize, name: &str) {
    let _ = (addr, bytes, name);
}

/// Forgets the memory that was registered at `addr`.
pub fn unregister(addr: usize) {
    let _ = addr;
}

/// Marks `bytes` bytes at `addr` as written, as a copy from the host does.
pub fn mark_written(addr: usize, bytes: usize) {
    let _ = (addr, bytes);
}

/// Marks `bytes` bytes at `addr` as not written: an arena calls it when it hands memory out again.
pub fn mark_unwritten(addr: usize, bytes: usize) {
    let _ = (addr, bytes);
}
