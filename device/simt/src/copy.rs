//! Asynchronous copies to shared memory: each is done when its lane waits for it, not before.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::Location;

use crate::block::Block;
use crate::site::Site;
use crate::{Access, lane};

/// Most bytes of a copy.
const BYTES: usize = 16;

/// A copy that its lane has not waited for. What is copied was read when the copy began.
struct Pending {
    offset: usize,
    bytes: [u8; BYTES],
    len: usize,
    site: Site,
}

/// The copies of a lane.
#[derive(Default)]
pub(crate) struct Copies {
    /// Not in a group yet.
    begun: RefCell<Vec<Pending>>,
    /// The oldest first.
    groups: RefCell<VecDeque<Vec<Pending>>>,
}

/// Begins to copy `source` (4, 8 or 16 bytes that the lane has just read) to byte `offset` of the block's shared memory,
/// through a view of `view_bytes` bytes from byte `view_offset` on.
#[track_caller]
pub fn copy_async(view_offset: usize, view_bytes: usize, offset: usize, source: &[u8]) {
    let (block, site) = (lane::current(), Location::caller());
    let (at, len) = (offset.wrapping_sub(view_offset), source.len());
    if at > view_bytes || len > view_bytes - at {
        block.shared_past_view(view_offset, view_bytes, offset, len, Access::Write, site);
    }
    let mut bytes = [0; BYTES];
    bytes[..len].copy_from_slice(source);
    let (_, lane) = block.enter(site);
    lane.copies.begun.borrow_mut().push(Pending { offset, bytes, len, site });
}

/// Makes a group of the copies that the lane has begun since its last group.
#[track_caller]
pub fn copy_commit() {
    let (_, lane) = lane::current().enter(Location::caller());
    let group = lane.copies.begun.take();
    lane.copies.groups.borrow_mut().push_back(group);
}

/// Waits for all of the lane's groups of copies but the latest `pending`.
#[track_caller]
pub fn copy_wait(pending: usize) {
    let block = lane::current();
    let (_, lane) = block.enter(Location::caller());
    loop {
        let group = {
            let mut groups = lane.copies.groups.borrow_mut();
            if groups.len() <= pending { None } else { groups.pop_front() }
        };
        // No borrow is held here: the lane may give way at an access.
        let Some(group) = group else { return };
        group.iter().for_each(|copy| block.finish(copy));
    }
}

impl Block<'_> {
    fn finish(&self, copy: &Pending) {
        let to = self.shared_access(copy.offset, copy.len, copy.len, Access::Write, copy.site);
        // SAFETY: the access has been checked just above, and nobody else runs in between.
        unsafe { to.copy_from_nonoverlapping(copy.bytes.as_ptr(), copy.len) }
    }
}
