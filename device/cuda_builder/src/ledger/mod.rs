//! The ledger: what each kernel costs, as JSON under version control, one file an architecture. A change of
//! registers, spills or instructions shows in review, and a machine without an assembler can tell the figures.

pub mod changes;
mod json;
mod measure;

use std::collections::BTreeMap;

use crate::Arch;
use crate::audit::{Mix, Resources};

pub use json::{format, parse};
pub use measure::measure;

/// Static counts, with the kinds of [`Mix`] that each sums. Zeros are left out of files.
pub const COUNTS: [(&str, &[&str]); 20] = [
    ("instructions", &[]),
    ("shuffle", &["shuffle"]),
    ("vote", &["vote"]),
    ("match", &["match"]),
    ("reduction", &["reduction"]),
    ("warp_sync", &["warp sync"]),
    ("barrier", &["barrier"]),
    ("matrix", &["matrix"]),
    ("atomic", &["atomic"]),
    ("shared_load", &["shared load"]),
    ("shared_store", &["shared store"]),
    ("global_load", &["global load"]),
    ("global_store", &["global store"]),
    ("local_load", &["local load"]),
    ("local_store", &["local store"]),
    ("generic", &["generic memory"]),
    ("call", &["call"]),
    (
        "division",
        &["f32 division or root", "f64 division or root", "integer division", "64-bit integer division"],
    ),
    ("routine_call", &["routine call"]),
    ("collective_wrapper", &["collective wrapper"]),
];

/// Static counts of instructions by the names of [`COUNTS`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<&'static str, u32>);

impl Counts {
    /// From all kinds.
    pub fn of(mix: &Mix) -> Self {
        let mut counts = Self::default();
        for (name, kinds) in COUNTS {
            counts.set(name, kinds.iter().map(|kind| mix.count(kind)).sum());
        }
        counts.set("instructions", mix.total);
        counts
    }

    /// One of them; 0 for an unknown name.
    pub fn get(&self, name: &str) -> u32 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// Sets one; whether its name is known.
    fn set(&mut self, name: &str, count: u32) -> bool {
        let Some((name, _)) = COUNTS.iter().find(|(known, _)| *known == name) else { return false };
        if count > 0 {
            self.0.insert(name, count);
        }
        true
    }

    /// Those that are not 0, in the order of [`COUNTS`].
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        COUNTS.iter().filter_map(|(name, _)| Some((*name, *self.0.get(name)?)))
    }
}

/// One entry for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Entry.
    pub entry: String,
    /// PTX module.
    pub module: String,
    /// What the assembler said; `None` where there was none.
    pub resources: Option<Resources>,
    /// Counts of the PTX.
    pub ptx: Counts,
    /// Counts of the machine code; `None` where there was no assembler or no disassembler.
    pub sass: Option<Counts>,
}

/// The entries of one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// Architecture.
    pub arch: Arch,
    /// Versions, as `rustc 1.96.0, LLVM 22.1.8, ptxas 13.0.88`.
    pub tool_chain: String,
    /// Sorted by entry.
    pub rows: Vec<Row>,
}

impl Ledger {
    /// Whether every row has all figures.
    pub fn is_complete(&self) -> bool {
        self.rows.iter().all(|row| row.resources.is_some() && row.sass.is_some())
    }

    /// The row of an entry.
    pub fn row(&self, entry: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.entry == entry)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A row with some figures.
    pub(crate) fn row(entry: &str) -> Row {
        let mut counts = Counts::default();
        assert!(counts.set("instructions", 90) && counts.set("shuffle", 5));
        Row {
            entry: entry.to_owned(),
            module: "m_f32".to_owned(),
            resources: Some(Resources { registers: 40, shared_bytes: 16, ..Resources::default() }),
            ptx: counts.clone(),
            sass: Some(counts),
        }
    }

    /// A ledger of some rows.
    pub(crate) fn ledger(entries: &[&str]) -> Ledger {
        let rows = entries.iter().map(|entry| row(entry)).collect();
        Ledger { arch: Arch::SM_90, tool_chain: "rustc 1.96.0, LLVM 22.1.8, ptxas 13.0.88".to_owned(), rows }
    }

    /// Sets a count of a row's PTX.
    pub(crate) fn with_ptx(mut row: Row, name: &str, count: u32) -> Row {
        assert!(row.ptx.set(name, count));
        row
    }

    /// Sets a count of a row's machine code.
    pub(crate) fn with_sass(mut row: Row, name: &str, count: u32) -> Row {
        assert!(row.sass.as_mut().unwrap().set(name, count));
        row
    }

    #[test]
    fn kinds_are_summed_and_zeros_left_out() {
        let ptx = ".visible .entry k()\n{\n\tdiv.rn.f32 %f1, %f2, %f3;\n\tsqrt.rn.f64 %fd1, %fd2;\n\tbar.sync 0;\n\tret;\n}\n";
        let counts = Counts::of(&crate::audit::parse_ptx(ptx)[0].mix);
        let expected = [("instructions", 4), ("barrier", 1), ("division", 2)];
        assert_eq!(counts.iter().collect::<Vec<_>>(), expected);
        assert_eq!((counts.get("shuffle"), counts.get("nothing")), (0, 0));
    }
}
