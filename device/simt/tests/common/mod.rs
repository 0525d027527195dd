//! Thin kernel-side helpers over the executor's calls, and checks of findings by line.
#![allow(dead_code)]

use std::sync::atomic::{AtomicU32, Ordering};

use simt::{Access, Barrier, Buffer, Collective, Counters, FindingKind, Launch, LaunchError};

pub const FULL: u32 = u32::MAX;

/// A line of a test kernel, recorded when the kernel passes it.
#[derive(Default)]
pub struct Line(AtomicU32);

impl Line {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn set(&self, line: u32) {
        self.0.store(line, Ordering::Relaxed);
    }

    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Records the line of a call and does the call.
#[macro_export]
macro_rules! mark {
    ($line:expr, $call:expr) => {{
        $line.set(line!());
        $call
    }};
}

pub fn thread() -> u32 {
    simt::thread_idx()
}

#[track_caller]
pub fn sync() {
    simt::barrier(Barrier::Sync, true);
}

#[track_caller]
pub fn grid_sync() {
    simt::barrier(Barrier::Grid, true);
}

#[track_caller]
pub fn sync_warp(mask: u32) {
    simt::warp_collective(Collective::SyncWarp, mask, 0, 0, 32);
}

#[track_caller]
pub fn shuffle_xor(mask: u32, value: u64, lane: u32) -> u64 {
    simt::warp_collective(Collective::ShuffleXor, mask, value, lane, 32)
}

#[track_caller]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    simt::warp_collective(Collective::Ballot, mask, u64::from(predicate), 0, 32) as u32
}

/// Element `index` of shared memory as f32.
#[track_caller]
pub fn s_get(index: u32) -> f32 {
    let at = simt::shared_access(index as usize * 4, 4, 4, Access::Read).cast::<f32>();
    // SAFETY: the executor has checked the access.
    unsafe { *at }
}

#[track_caller]
pub fn s_set(index: u32, value: f32) {
    let at = simt::shared_access(index as usize * 4, 4, 4, Access::Write).cast::<f32>();
    // SAFETY: the executor has checked the access.
    unsafe { *at = value }
}

/// Byte `index` of shared memory.
#[track_caller]
pub fn s_get_byte(index: u32) -> u8 {
    let at = simt::shared_access(index as usize, 1, 1, Access::Read);
    // SAFETY: the executor has checked the access.
    unsafe { *at }
}

#[track_caller]
pub fn s_set_byte(index: u32, value: u8) {
    let at = simt::shared_access(index as usize, 1, 1, Access::Write);
    // SAFETY: the executor has checked the access.
    unsafe { *at = value }
}

/// Global memory of u32, as a kernel parameter.
#[derive(Clone, Copy)]
pub struct View {
    addr: usize,
    len: usize,
}

impl View {
    #[track_caller]
    fn check(&self, index: usize, access: Access) -> *mut u32 {
        let base = std::ptr::without_provenance::<u8>(self.addr);
        let at = self.addr.wrapping_add(index.wrapping_mul(4));
        simt::global_access(base, self.len * 4, std::ptr::without_provenance(at), 4, 4, access);
        std::ptr::with_exposed_provenance_mut(at)
    }

    #[track_caller]
    pub fn get(&self, index: u32) -> u32 {
        let at = self.check(index as usize, Access::Read);
        // SAFETY: the executor has checked the access.
        unsafe { at.read_volatile() }
    }

    #[track_caller]
    pub fn set(&self, index: u32, value: u32) {
        let at = self.check(index as usize, Access::Write);
        // SAFETY: the executor has checked the access.
        unsafe { at.write_volatile(value) }
    }

    #[track_caller]
    pub fn atomic(&self, index: u32) -> &AtomicU32 {
        let at = self.check(index as usize, Access::Atomic);
        // SAFETY: the executor has checked the access, and the memory outlives the launch.
        unsafe { AtomicU32::from_ptr(at) }
    }

    /// The same memory from byte `bytes` on, whatever that does to alignment.
    pub fn shifted(&self, bytes: usize) -> Self {
        Self { addr: self.addr + bytes, len: self.len - bytes.div_ceil(4) }
    }

    /// A view of a part.
    pub fn part(&self, first: usize, len: usize) -> Self {
        Self { addr: self.addr + 4 * first, len }
    }

    /// A view that claims `len` elements.
    pub fn of_len(&self, len: usize) -> Self {
        Self { addr: self.addr, len }
    }

    pub fn addr(&self) -> usize {
        self.addr
    }
}

/// Memory for a test: registered, and written or not.
pub struct Memory {
    words: Vec<u32>,
}

impl Memory {
    pub fn written(len: usize) -> Self {
        let memory = Self::unwritten(len);
        simt::memory::mark_written(memory.view().addr, 4 * len);
        memory
    }

    pub fn unwritten(len: usize) -> Self {
        let mut words = vec![0_u32; len];
        simt::memory::register(words.as_mut_ptr().expose_provenance(), 4 * len, "test memory");
        Self { words }
    }

    pub fn view(&self) -> View {
        View { addr: self.words.as_ptr().expose_provenance(), len: self.words.len() }
    }

    pub fn buffer<'a>(&self, name: &'a str) -> Buffer<'a> {
        let view = self.view();
        Buffer { name, addr: view.addr, bytes: view.len * 4, elem_bytes: 4, writable: true }
    }

    pub fn read_only<'a>(&self, name: &'a str) -> Buffer<'a> {
        Buffer { writable: false, ..self.buffer(name) }
    }

    /// What kernels wrote.
    pub fn words(&self) -> Vec<u32> {
        let words = self.words.as_ptr();
        // SAFETY: in bounds; volatile because kernels write behind the vector's back.
        (0..self.words.len()).map(|index| unsafe { words.add(index).read_volatile() }).collect()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        simt::memory::unregister(self.view().addr);
    }
}

pub fn launch<'a>(grid: u32, block: u32, shared_bytes: usize, buffers: &'a [Buffer<'a>]) -> Launch<'a> {
    let (kernel, entry) = ("test_kernel", "test_kernel_f32");
    let seed = simt::seed_from_env().expect("seed");
    Launch { kernel, entry, grid, block, shared_bytes, cooperative: false, buffers, seed }
}

/// Runs a launch without global memory.
pub fn run(grid: u32, block: u32, shared: usize, lane: impl Fn() + Sync) -> Result<Counters, LaunchError> {
    simt::run(&launch(grid, block, shared, &[]), &lane)
}

/// The one finding of a launch, of that kind, with its sides at those lines of this file.
#[track_caller]
pub fn expect_one(
    result: Result<Counters, LaunchError>,
    kind: FindingKind,
    lines: &[&Line],
) -> simt::Finding {
    let error = result.expect_err("a finding");
    assert_eq!(error.findings.len(), 1, "{error}");
    expect_among(&error, kind, lines)
}

/// The first finding of that kind among others.
#[track_caller]
pub fn expect_among(error: &LaunchError, kind: FindingKind, lines: &[&Line]) -> simt::Finding {
    let finding = error.findings.iter().find(|finding| finding.kind == kind);
    let finding = finding.unwrap_or_else(|| panic!("no {kind:?} in {error}"));
    let found: Vec<u32> = finding.sides.iter().map(|side| side.line).collect();
    let expected: Vec<u32> = lines.iter().map(|line| line.get()).collect();
    let (mut sorted_found, mut sorted_expected) = (found.clone(), expected.clone());
    sorted_found.sort_unstable();
    sorted_expected.sort_unstable();
    assert_eq!(sorted_found, sorted_expected, "lines of {finding}");
    assert!(finding.sides.iter().all(|side| side.file.ends_with(".rs")), "{finding}");
    assert_eq!((finding.kernel.as_str(), finding.entry.as_str()), ("test_kernel", "test_kernel_f32"));
    finding.clone()
}
