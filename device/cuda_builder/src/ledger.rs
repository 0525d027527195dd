//! The ledger: what each kernel costs, as text under version control. A change of registers or spills
//! shows in review, and a machine without an assembler can still tell the figures.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::audit::Resources;
use crate::{Arch, BuiltKernels};

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Architecture.
    pub arch: Arch,
    /// PTX module.
    pub module: String,
    /// Entry.
    pub entry: String,
    /// What the assembler said.
    pub resources: Resources,
}

const HEAD: &str = "# arch module entry registers stack spill_stores spill_loads shared";

/// The rows of built kernels; empty where there was no assembler.
pub fn rows(built: &[BuiltKernels]) -> Vec<Row> {
    let mut rows = BTreeMap::new();
    for module in built.iter().flat_map(|kernels| &kernels.modules) {
        for (entry, resources) in &module.resources {
            let row = Row {
                arch: module.arch,
                module: module.name.clone(),
                entry: entry.clone(),
                resources: *resources,
            };
            rows.insert((row.arch, row.module.clone(), row.entry.clone()), row);
        }
    }
    rows.into_values().collect()
}

/// The ledger as text.
pub fn format(rows: &[Row], tool_chain: &str) -> String {
    let mut text =
        format!("# Resources of every kernel, by `cargo xtask ledger` with {tool_chain}.\n{HEAD}\n");
    for Row { arch, module, entry, resources: r } in rows {
        let _ = writeln!(
            text,
            "{arch} {module} {entry} {} {} {} {} {}",
            r.registers, r.stack_bytes, r.spill_store_bytes, r.spill_load_bytes, r.shared_bytes
        );
    }
    text
}

/// Reads a ledger; an error names the line.
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(at, line)| parse_row(line).ok_or_else(|| format!("line {}: cannot read `{line}`", at + 1)))
        .collect()
}

fn parse_row(line: &str) -> Option<Row> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [arch, module, entry, numbers @ ..] = &words[..] else { return None };
    let numbers: Vec<u32> = numbers.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let [registers, stack_bytes, spill_store_bytes, spill_load_bytes, shared_bytes] = numbers[..] else {
        return None;
    };
    let resources = Resources { registers, stack_bytes, spill_store_bytes, spill_load_bytes, shared_bytes };
    Some(Row {
        arch: arch.parse().ok()?,
        module: (*module).to_owned(),
        entry: (*entry).to_owned(),
        resources,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let resources = Resources { registers: 40, shared_bytes: 16, ..Resources::default() };
        let row = Row { arch: Arch::SM_90, module: "m_f32".into(), entry: "m_f32_4".into(), resources };
        let text = format(std::slice::from_ref(&row), "rustc 1.96.0");
        assert_eq!(parse(&text).unwrap(), [row]);
    }

    #[test]
    fn bad_lines_are_numbered() {
        assert_eq!(parse("# x\nsm_90 m e 1 2 3").unwrap_err(), "line 2: cannot read `sm_90 m e 1 2 3`");
        assert!(parse("sm_1 m e 1 2 3 4 5").is_err());
    }
}
