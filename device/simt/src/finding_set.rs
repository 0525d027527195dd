//! Collects findings: the same fault at the same places counts once.

use std::collections::HashMap;

use crate::finding::{Finding, FindingKind, LaunchError, MAX_FINDINGS, Side};
use crate::site::Site;

/// Most distinct findings that one block keeps.
const MAX_PER_BLOCK: usize = 64;

/// One thread of a [`Report`].
pub(crate) struct Place {
    pub(crate) what: String,
    pub(crate) block: u32,
    pub(crate) thread: u32,
    pub(crate) site: Option<Site>,
    /// File, line and column where they are known and `site` is not.
    pub(crate) source: Option<(String, u32, u32)>,
}

/// A fault as the checker sees it, before the kernel's name is added.
pub(crate) struct Report {
    pub(crate) kind: FindingKind,
    pub(crate) message: String,
    /// What tells reports of the same lines apart, such as the buffer.
    pub(crate) subject: String,
    pub(crate) places: Vec<Place>,
}

/// Reports in the order in which they came, each with the number of its repeats.
#[derive(Default)]
pub(crate) struct FindingSet {
    known: HashMap<Key, usize>,
    reports: Vec<(Report, u64)>,
    dropped: usize,
}

#[derive(PartialEq, Eq, Hash, Clone)]
struct Key {
    kind: FindingKind,
    sites: [Option<Site>; 2],
    subject: String,
}

impl Report {
    fn key(&self) -> Key {
        let site = |index: usize| self.places.get(index).and_then(|place| place.site);
        Key::new(self.kind, [site(0), site(1)], &self.subject)
    }
}

impl Key {
    /// The places in either order make one key.
    fn new(kind: FindingKind, mut sites: [Option<Site>; 2], subject: &str) -> Self {
        sites.sort_unstable();
        Self { kind, sites, subject: subject.to_owned() }
    }
}

impl FindingSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.reports.is_empty()
    }

    /// Counts a fault that is known already, without a report being written for it.
    pub(crate) fn repeat(&mut self, kind: FindingKind, sites: [Option<Site>; 2], subject: &str) -> bool {
        if self.known.is_empty() {
            return false;
        }
        match self.known.get(&Key::new(kind, sites, subject)) {
            Some(&index) => {
                self.reports[index].1 += 1;
                true
            }
            None => false,
        }
    }

    pub(crate) fn add(&mut self, report: Report) {
        self.insert(report, 0);
    }

    fn insert(&mut self, report: Report, repeats: u64) {
        let key = report.key();
        if let Some(&index) = self.known.get(&key) {
            self.reports[index].1 += 1 + repeats;
        } else if self.reports.len() < MAX_PER_BLOCK {
            self.known.insert(key, self.reports.len());
            self.reports.push((report, repeats));
        } else {
            self.dropped += 1;
        }
    }

    /// Adds the reports of a later block.
    pub(crate) fn append(&mut self, later: FindingSet) {
        for (report, repeats) in later.reports {
            self.insert(report, repeats);
        }
        self.dropped += later.dropped;
    }

    /// The error of a launch of `kernel`; None where nothing was found.
    pub(crate) fn into_error(self, kernel: &str, entry: &str) -> Option<LaunchError> {
        if self.reports.is_empty() {
            return None;
        }
        let suppressed = self.reports.len().saturating_sub(MAX_FINDINGS) + self.dropped;
        let mut findings: Vec<_> = self
            .reports
            .into_iter()
            .map(|(report, repeats)| finish(report, repeats, kernel, entry))
            .collect();
        findings.truncate(MAX_FINDINGS);
        Some(LaunchError { findings, suppressed })
    }
}

fn finish(report: Report, repeats: u64, kernel: &str, entry: &str) -> Finding {
    let side = |place: Place| {
        let from_site = |site: Site| (site.file().to_owned(), site.line(), site.column());
        let (file, line, column) = place.source.or(place.site.map(from_site)).unwrap_or_default();
        Side { what: place.what, block: place.block, thread: place.thread, file, line, column }
    };
    Finding {
        kind: report.kind,
        kernel: kernel.to_owned(),
        entry: entry.to_owned(),
        message: report.message,
        sides: report.places.into_iter().map(side).collect(),
        repeats,
    }
}
