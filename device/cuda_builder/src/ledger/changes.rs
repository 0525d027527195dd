//! What moved between two ledgers, and what a ledger shows that must not ship.

use std::collections::BTreeSet;
use std::fmt;

use super::{COUNTS, Ledger, Row, json};
use crate::Arch;
use crate::check::Fault;

/// What moved in one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Architecture.
    pub arch: Arch,
    /// Entry.
    pub entry: String,
    /// `registers 64 -> 66`, `new` or `gone`.
    pub what: Vec<String>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.arch, self.entry, self.what.join(", "))
    }
}

/// Changes from one ledger to another of the same architecture, in the order of the entries. Figures that one
/// of them lacks are not compared.
pub fn between(before: &Ledger, after: &Ledger) -> Vec<Change> {
    let entries: BTreeSet<&str> =
        before.rows.iter().chain(&after.rows).map(|row| row.entry.as_str()).collect();
    let change = |entry: &str| {
        let what = match (before.row(entry), after.row(entry)) {
            (Some(before), Some(after)) => moved(before, after),
            (None, _) => vec!["new".to_owned()],
            (_, None) => vec!["gone".to_owned()],
        };
        Change { arch: after.arch, entry: entry.to_owned(), what }
    };
    entries.into_iter().map(change).filter(|change| !change.what.is_empty()).collect()
}

fn moved(before: &Row, after: &Row) -> Vec<String> {
    let mut what = vec![];
    let mut add = |of: &str, name: &str, before: u32, after: u32| {
        if before != after {
            what.push(format!("{of}{name} {before} -> {after}"));
        }
    };
    if let (Some(before), Some(after)) = (&before.resources, &after.resources) {
        for ((name, before), (_, after)) in json::figures(before).into_iter().zip(json::figures(after)) {
            add("", name, before, after);
        }
    }
    let ptx = Some((&before.ptx, &after.ptx));
    let sass = before.sass.as_ref().zip(after.sass.as_ref());
    for (of, pair) in [("ptx ", ptx), ("sass ", sass)] {
        let Some((before, after)) = pair else { continue };
        for (name, _) in COUNTS {
            add(of, name, before.get(name), after.get(name));
        }
    }
    if before.module != after.module {
        what.push(format!("module {} -> {}", before.module, after.module));
    }
    what
}

/// What a build does not see: generic accesses and calls, in the machine code where there is one. The build
/// itself finds stack frames, spills, and calls in PTX ([`crate::check`]).
pub fn faults(row: &Row) -> Vec<(Fault, String)> {
    let (counts, code) = match &row.sass {
        Some(sass) => (sass, "machine code"),
        None => (&row.ptx, "PTX"),
    };
    let kinds = [(Fault::Generic, "generic", "generic accesses"), (Fault::Call, "call", "calls")];
    let found = kinds.into_iter().filter(|(_, name, _)| counts.get(name) > 0);
    found
        .map(|(fault, name, words)| (fault, format!("{words} in the {code}: {}", counts.get(name))))
        .collect()
}

/// Collectives and barriers of which the machine code has more or fewer than the PTX, without the wrappers of
/// `ptxas`: name, count in the PTX, count in the machine code. More come from a loop that was unrolled or a
/// branch that was copied, fewer from equal ones that were joined. No kernel is wrong for it, but its cost is
/// another than its source says.
pub fn collectives_moved(row: &Row) -> Vec<(&'static str, u32, u32)> {
    let Some(sass) = &row.sass else { return vec![] };
    let counts = ["shuffle", "vote", "barrier"].map(|name| (name, row.ptx.get(name), sass.get(name)));
    counts.into_iter().filter(|(_, ptx, sass)| ptx != sass).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ledger, row, with_ptx, with_sass};
    use super::*;

    #[test]
    fn changes_name_the_entry_and_what_moved() {
        let before = ledger(&["a", "b", "c"]);
        let mut after = ledger(&["a", "b", "d"]);
        assert!(between(&before, &before).is_empty());
        after.rows[1] = with_sass(with_ptx(row("b"), "barrier", 2), "shuffle", 6);
        after.rows[1].resources.as_mut().unwrap().registers = 42;
        let changes: Vec<String> = between(&before, &after).iter().map(ToString::to_string).collect();
        let expected = [
            "sm_90 b: registers 40 -> 42, ptx barrier 0 -> 2, sass shuffle 5 -> 6",
            "sm_90 c: gone",
            "sm_90 d: new",
        ];
        assert_eq!(changes, expected);
    }

    #[test]
    fn figures_that_one_side_lacks_are_not_compared() {
        let before = ledger(&["a"]);
        let mut after = ledger(&["a"]);
        (after.rows[0].resources, after.rows[0].sass) = (None, None);
        assert!(between(&before, &after).is_empty());
        after.rows[0] = with_ptx(after.rows[0].clone(), "vote", 1);
        assert_eq!(between(&before, &after)[0].what, ["ptx vote 0 -> 1"]);
    }

    #[test]
    fn generic_accesses_and_calls_are_faults() {
        assert!(faults(&row("a")).is_empty());
        // ptxas may find out where a pointer points.
        assert!(faults(&with_ptx(row("a"), "generic", 3)).is_empty());
        let found = faults(&with_sass(with_sass(row("a"), "generic", 3), "call", 1));
        let expected = [
            (Fault::Generic, "generic accesses in the machine code: 3".to_owned()),
            (Fault::Call, "calls in the machine code: 1".to_owned()),
        ];
        assert_eq!(found, expected);
        let unassembled = Row { sass: None, ..with_ptx(row("a"), "generic", 3) };
        assert_eq!(faults(&unassembled)[0].1, "generic accesses in the PTX: 3");
    }

    #[test]
    fn collectives_in_ptx_and_machine_code() {
        assert!(collectives_moved(&row("a")).is_empty());
        let unrolled = with_sass(with_sass(row("a"), "shuffle", 10), "collective_wrapper", 8);
        assert_eq!(collectives_moved(&unrolled), [("shuffle", 5, 10)]);
    }
}
