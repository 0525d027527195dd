//! Source places as small numbers, so that shadow memory stays small.

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Mutex;

/// A source place: where a kernel calls the executor.
pub(crate) type Site = &'static Location<'static>;

/// Number of a [`Site`] within one launch.
pub(crate) type SiteId = u16;

/// The places of one launch, shared by its blocks.
#[derive(Default)]
pub(crate) struct SiteTable {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    ids: HashMap<Site, SiteId>,
    sites: Vec<Site>,
}

impl SiteTable {
    fn intern(&self, site: Site) -> SiteId {
        let mut inner = self.inner.lock().expect("site table");
        if let Some(&id) = inner.ids.get(site) {
            return id;
        }
        let id = SiteId::try_from(inner.sites.len()).expect("a kernel with more than 65536 places");
        inner.sites.push(site);
        inner.ids.insert(site, id);
        id
    }

    /// The place with that number.
    pub(crate) fn get(&self, id: SiteId) -> Site {
        self.inner.lock().expect("site table").sites[usize::from(id)]
    }
}

const SLOTS: usize = 256;

/// A cache of numbers in front of the launch's table: one a block, so that a lookup takes no lock.
pub(crate) struct SiteCache {
    slots: Box<[Cell<(usize, SiteId)>; SLOTS]>,
}

impl SiteCache {
    pub(crate) fn new() -> Self {
        Self { slots: Box::new([const { Cell::new((0, 0)) }; SLOTS]) }
    }

    /// The number of a place. Places that are equal by value share a number: the compiler may emit one
    /// call site at several addresses.
    #[inline]
    pub(crate) fn id(&self, site: Site, table: &SiteTable) -> SiteId {
        let key = std::ptr::from_ref(site).addr();
        let slot = &self.slots[(key.wrapping_mul(0x9E37_79B9_7F4A_7C15)) >> 56];
        let (cached, id) = slot.get();
        if cached == key { id } else { Self::fill(slot, key, site, table) }
    }

    #[cold]
    fn fill(slot: &Cell<(usize, SiteId)>, key: usize, site: Site, table: &SiteTable) -> SiteId {
        let id = table.intern(site);
        slot.set((key, id));
        id
    }
}
