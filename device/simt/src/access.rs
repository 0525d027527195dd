//! Checks of single accesses to shared and global memory.

use crate::Access;
use crate::block::{Block, Checker};
use crate::finding::FindingKind;
use crate::finding_set::Report;
use crate::global::MappedBuffer;
use crate::lane::Lane;
use crate::model::Space;
use crate::race::{Accessor, Conflict};
use crate::shared::Verdict;
use crate::site::Site;

/// What an atomic costs of a lane's budget. Loops that wait for another lane use atomics, and an early
/// change of lanes shortens the wait.
const ATOMIC_COST: u32 = 16;

/// An access to global memory as a view sees it.
#[derive(Clone, Copy)]
pub(crate) struct GlobalAccess {
    pub(crate) view_base: usize,
    pub(crate) view_bytes: usize,
    pub(crate) addr: usize,
    pub(crate) bytes: usize,
    pub(crate) align: usize,
    pub(crate) access: Access,
}

pub(crate) fn noun(access: Access) -> &'static str {
    match access {
        Access::Read => "Read access",
        Access::Write => "Write access",
        Access::Atomic => "Atomic access",
    }
}

pub(crate) fn verb(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Atomic => "atomic",
    }
}

impl Block<'_> {
    /// Checks an access of the running lane to shared memory; returns its address.
    #[inline]
    pub(crate) fn shared_access(
        &self,
        offset: usize,
        bytes: usize,
        align: usize,
        access: Access,
        site: Site,
    ) -> *mut u8 {
        let (thread, lane) = self.enter(site);
        self.spend(lane, access, offset, site);
        let len = self.context.launch.shared_bytes;
        if offset > len || bytes > len - offset {
            self.shared_out_of_bounds(offset, bytes, access, site);
        }
        if offset & (align - 1) != 0 {
            self.shared_misaligned(offset, bytes, align, access, site);
        }
        let checker = &mut *self.checker.borrow_mut();
        if bytes == 0 {
            return checker.shared.address(offset);
        }
        let site_id = checker.sites.id(site, &self.context.sites);
        let by = Accessor { thread, time: checker.clocks.now(thread), site: site_id };
        let Checker { clocks, tables, shared, model, .. } = checker;
        model.access(Space::Shared, site_id, thread & 31, (offset / 4) as u32, bytes as u32);
        model.counters.atomics += u64::from(access == Access::Atomic);
        let verdict = shared.access(offset, bytes, access, by, clocks, tables);
        let address = shared.address(offset);
        if verdict.conflict.is_some() || verdict.uninitialized {
            self.report_shared(checker, offset, bytes, access, thread, site, verdict);
        }
        address
    }

    /// Checks an access of the running lane to global memory.
    #[inline]
    pub(crate) fn global_access(&self, request: GlobalAccess, site: Site) {
        let GlobalAccess { view_base, view_bytes, addr, bytes, align, access } = request;
        let (thread, lane) = self.enter(site);
        self.spend(lane, access, addr, site);
        let at = addr.wrapping_sub(view_base);
        if at > view_bytes || bytes > view_bytes - at {
            self.global_out_of_bounds(&request, site);
        }
        if addr & (align - 1) != 0 {
            self.global_misaligned(&request, site);
        }
        if bytes == 0 {
            return;
        }
        let map = &self.context.map;
        let mut checker = self.checker.borrow_mut();
        let found = checker.global.find_buffer(map, addr, bytes, access);
        let Some(buffer) = found.filter(|&index| access == Access::Read || map.buffers[index].writable)
        else {
            drop(checker);
            self.global_denied(&request, found.map(|index| &map.buffers[index]), site);
        };
        let checker = &mut *checker;
        let site_id = checker.sites.id(site, &self.context.sites);
        let by = Accessor { thread, time: checker.clocks.now(thread), site: site_id };
        let Checker { clocks, tables, global, model, .. } = checker;
        model.access(Space::Global, site_id, thread & 31, (addr >> 5) as u32, bytes as u32);
        model.counters.atomics += u64::from(access == Access::Atomic);
        let verdict = global.access(map, buffer, addr, bytes, access, by, clocks, tables);
        if verdict.conflict.is_some() || verdict.uninitialized {
            self.report_global(checker, buffer, &request, thread, site, verdict);
        }
    }

    /// Takes an access off the running lane's budget; where nothing is left, other lanes run first.
    #[inline]
    fn spend(&self, lane: &Lane, access: Access, addr: usize, site: Site) {
        self.tick();
        let cost = if access == Access::Atomic { ATOMIC_COST } else { 1 };
        match self.budget.get().checked_sub(cost) {
            Some(left) => self.budget.set(left),
            None => self.give_way(lane, access, addr, site),
        }
    }

    #[cold]
    fn give_way(&self, lane: &Lane, access: Access, addr: usize, site: Site) {
        let weight = if access == Access::Atomic { 1 } else { ATOMIC_COST };
        self.spun.set(if lane.spins(site, addr, access == Access::Write) { weight } else { 0 });
        lane.suspend();
    }

    #[cold]
    fn report_shared(
        &self,
        checker: &mut Checker,
        offset: usize,
        bytes: usize,
        access: Access,
        thread: u32,
        site: Site,
        verdict: Verdict,
    ) {
        if verdict.uninitialized {
            let message = format!(
                "Uninitialized __shared__ memory {} of size {bytes} bytes at byte {offset}",
                verb(access)
            );
            self.report_uninitialized(checker, message, String::new(), access, thread, site);
        }
        if let Some(conflict) = verdict.conflict {
            let kind = FindingKind::SharedRace;
            let at = format!("__shared__ bytes {offset}..{}", offset + bytes);
            self.report_race(checker, kind, &at, "", conflict, access, thread, site);
        }
    }

    #[cold]
    fn report_global(
        &self,
        checker: &mut Checker,
        buffer: usize,
        request: &GlobalAccess,
        thread: u32,
        site: Site,
        verdict: Verdict,
    ) {
        let GlobalAccess { addr, bytes, access, .. } = *request;
        let buffer = &self.context.map.buffers[buffer];
        let at = format!("{} of {}", element(buffer, addr), buffer.describe());
        if verdict.uninitialized {
            let message =
                format!("Uninitialized __global__ memory {} of size {bytes} bytes at {at}", verb(access));
            self.report_uninitialized(checker, message, buffer.name.clone(), access, thread, site);
        }
        if let Some(conflict) = verdict.conflict {
            let at = format!("__global__ {at}");
            let kind = FindingKind::GlobalRace;
            self.report_race(checker, kind, &at, &buffer.name, conflict, access, thread, site);
        }
    }

    fn report_uninitialized(
        &self,
        checker: &mut Checker,
        message: String,
        subject: String,
        access: Access,
        thread: u32,
        site: Site,
    ) {
        checker.findings.add(Report {
            kind: FindingKind::UninitializedRead,
            message,
            subject,
            places: vec![self.place(noun(access), thread, Some(site))],
        });
    }

    fn report_race(
        &self,
        checker: &mut Checker,
        kind: FindingKind,
        at: &str,
        subject: &str,
        conflict: Conflict,
        access: Access,
        thread: u32,
        site: Site,
    ) {
        let earlier = self.context.sites.get(conflict.site);
        if checker.findings.repeat(kind, [Some(site), Some(earlier)], subject) {
            return;
        }
        let (now, before) = (noun(access), noun(conflict.access));
        checker.findings.add(Report {
            kind,
            message: format!("Error: Race reported between {now} and {before} at {at}"),
            subject: subject.to_owned(),
            places: vec![
                self.place(now, thread, Some(site)),
                self.place(before, u32::from(conflict.thread), Some(earlier)),
            ],
        });
    }
}

/// A byte of a buffer by the element that holds it.
fn element(buffer: &MappedBuffer, addr: usize) -> String {
    let offset = addr - buffer.addr;
    let (index, rest) = (offset / buffer.elem_bytes, offset % buffer.elem_bytes);
    if rest == 0 { format!("element {index}") } else { format!("byte {rest} of element {index}") }
}
