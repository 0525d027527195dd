//! Accesses that cannot be done: each is reported and ends its lane.

use crate::Access;
use crate::access::{GlobalAccess, noun, verb};
use crate::block::Block;
use crate::finding::FindingKind;
use crate::finding_set::Report;
use crate::global::MappedBuffer;
use crate::site::Site;

impl Block<'_> {
    fn fault(&self, kind: FindingKind, message: String, subject: &str, access: Access, site: Site) -> ! {
        let places = vec![self.place(noun(access), self.thread(), Some(site))];
        self.fail(Report { kind, message, subject: subject.to_owned(), places })
    }

    #[cold]
    pub(crate) fn shared_out_of_bounds(&self, offset: usize, bytes: usize, access: Access, site: Site) -> ! {
        let len = self.context.launch.shared_bytes;
        let message = format!(
            "Invalid __shared__ {} of size {bytes} bytes: byte {offset} is out of bounds, the block has {len} \
             bytes of shared memory",
            verb(access)
        );
        self.fault(FindingKind::OutOfBounds, message, "", access, site)
    }

    #[cold]
    pub(crate) fn shared_past_view(
        &self,
        view_offset: usize,
        view_bytes: usize,
        offset: usize,
        bytes: usize,
        access: Access,
        site: Site,
    ) -> ! {
        let end = view_offset + view_bytes;
        let message = format!(
            "Invalid __shared__ {} of size {bytes} bytes: byte {offset} is out of bounds of a view of bytes \
             {view_offset}..{end}",
            verb(access)
        );
        self.fault(FindingKind::OutOfBounds, message, "view", access, site)
    }

    #[cold]
    pub(crate) fn shared_misaligned(
        &self,
        offset: usize,
        bytes: usize,
        align: usize,
        access: Access,
        site: Site,
    ) -> ! {
        let message = format!(
            "Invalid __shared__ {} of size {bytes} bytes: byte {offset} is misaligned, it must be a multiple \
             of {align}",
            verb(access)
        );
        self.fault(FindingKind::Misaligned, message, "", access, site)
    }

    #[cold]
    pub(crate) fn global_out_of_bounds(&self, request: &GlobalAccess, site: Site) -> ! {
        let GlobalAccess { view_base, view_bytes, addr, bytes, access, .. } = *request;
        let map = &self.context.map;
        let cut = if view_bytes == 0 { map.cut_off(view_base) } else { None };
        let (view_base, view_bytes) =
            cut.map_or((view_base, view_bytes), |buffer| (buffer.addr, buffer.bytes));
        let distance = if addr < view_base {
            format!("{} bytes before the start", view_base - addr)
        } else {
            let (element, past) =
                ((addr - view_base) / bytes.max(1), addr.saturating_sub(view_base + view_bytes));
            format!("element {element}, {past} bytes past the end")
        };
        let buffer = cut.or_else(|| map.at(view_base, view_bytes));
        let of = match buffer {
            Some(buffer) if buffer.addr == view_base && buffer.bytes == view_bytes => {
                format!("{} of {view_bytes} bytes", buffer.describe())
            }
            Some(buffer) => {
                format!("a view of {view_bytes} bytes into {} of {} bytes", buffer.describe(), buffer.bytes)
            }
            None => format!("a view of {view_bytes} bytes that is in no buffer of the launch"),
        };
        let message = format!(
            "Invalid __global__ {} of size {bytes} bytes: address is out of bounds, {distance} of {of}",
            verb(access)
        );
        let subject = buffer.map_or("", |buffer| &buffer.name);
        self.fault(FindingKind::OutOfBounds, message, subject, access, site)
    }

    #[cold]
    pub(crate) fn global_misaligned(&self, request: &GlobalAccess, site: Site) -> ! {
        let GlobalAccess { view_base, view_bytes, addr, bytes, align, access } = *request;
        let buffer = self.context.map.at(view_base, view_bytes);
        let message = format!(
            "Invalid __global__ {} of size {bytes} bytes: byte {} of {} is misaligned, its address must be a \
             multiple of {align}",
            verb(access),
            addr - buffer.map_or(view_base, |buffer| buffer.addr),
            buffer.map_or_else(|| "a view".to_owned(), MappedBuffer::describe),
        );
        let subject = buffer.map_or("", |buffer| &buffer.name);
        self.fault(FindingKind::Misaligned, message, subject, access, site)
    }

    /// The bytes are in no buffer, or in one that is read-only.
    #[cold]
    pub(crate) fn global_denied(
        &self,
        request: &GlobalAccess,
        buffer: Option<&MappedBuffer>,
        site: Site,
    ) -> ! {
        let GlobalAccess { addr, bytes, access, .. } = *request;
        let what = format!("Invalid __global__ {} of size {bytes} bytes", verb(access));
        match buffer {
            None => {
                let message = format!("{what}: address {addr:#x} is in no buffer of the launch");
                self.fault(FindingKind::OutOfBounds, message, "", access, site)
            }
            Some(buffer) => {
                let message = format!("{what}: {} is read-only in this launch", buffer.describe());
                self.fault(FindingKind::ReadOnlyWrite, message, &buffer.name, access, site)
            }
        }
    }
}
