//! The table of planted faults in docs/executor.md names tests that exist, and every kind of finding.

use std::collections::BTreeSet;

use simt::FindingKind::*;

const TESTS: [&str; 4] = [
    include_str!("kernels.rs"),
    include_str!("memory_findings.rs"),
    include_str!("race_findings.rs"),
    include_str!("sync_findings.rs"),
];

/// The words of a cell that stand in backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn every_planted_fault_has_a_test_and_every_kind_a_planted_fault() {
    let docs = include_str!("../../../docs/executor.md");
    let section = docs.split("## Planted faults").nth(1).expect("the section");
    let section = section.split("\n## ").next().expect("its text");
    let mut planted = BTreeSet::new();
    for row in section.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        let cells: Vec<&str> = row.split('|').collect();
        planted.extend(quoted(cells[2]).map(str::to_owned));
        for test in quoted(cells[4]) {
            let found = TESTS.iter().any(|text| text.contains(&format!("#[test]\nfn {test}()")));
            assert!(found, "no test {test} for: {row}");
        }
    }
    let kinds = [
        DivergentBarrier,
        CollectiveMask,
        CollectiveKind,
        InvalidArguments,
        SharedRace,
        GlobalRace,
        OutOfBounds,
        Misaligned,
        UninitializedRead,
        ReadOnlyWrite,
        Deadlock,
        Panic,
        Assertion,
        StackOverflow,
        InvalidLaunch,
    ];
    assert_eq!(planted, kinds.map(|kind| format!("{kind:?}")).into());
}
