//! From built kernels to rows. What a module's files say is kept beside them, under the hash of their content.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Counts, Ledger, Row, json};
use crate::error::{BuildError, at};
use crate::{Arch, BuiltKernels, BuiltModule, audit, codegen, hash_of, ptxas};

/// What decides how files are read: a change reads them anew.
const SOURCES: [&str; 4] = [
    include_str!("measure.rs"),
    include_str!("mod.rs"),
    include_str!("../sass.rs"),
    include_str!("../audit.rs"),
];

/// The ledger of each architecture that was built, in their order. Machine code is counted where `nvdisasm`
/// and cubins are there; modules are read in parallel.
pub fn measure(built: &[BuiltKernels], nvdisasm: Option<&Path>) -> Result<Vec<Ledger>, BuildError> {
    let modules: Vec<(&str, &BuiltModule)> = built
        .iter()
        .flat_map(|kernels| kernels.modules.iter().map(move |module| (kernels.tool_chain.as_str(), module)))
        .collect();
    let rows = codegen::in_parallel(&modules, |(_, module)| rows_of(module, nvdisasm))?;
    let mut ledgers: BTreeMap<Arch, Ledger> = BTreeMap::new();
    for ((tool_chain, module), rows) in modules.into_iter().zip(rows) {
        let arch = module.arch;
        let new = || Ledger { arch, tool_chain: tool_chain.to_owned(), rows: vec![] };
        ledgers.entry(arch).or_insert_with(new).rows.extend(rows);
    }
    for ledger in ledgers.values_mut() {
        ledger.rows.sort_by(|a, b| a.entry.cmp(&b.entry));
    }
    Ok(ledgers.into_values().collect())
}

fn rows_of(module: &BuiltModule, nvdisasm: Option<&Path>) -> Result<Vec<Row>, BuildError> {
    let ptx = std::fs::read_to_string(&module.ptx).map_err(at(&module.ptx))?;
    let cubin = match (&module.cubin, nvdisasm) {
        (Some(cubin), Some(_)) => std::fs::read(cubin).map_err(at(cubin))?,
        _ => vec![],
    };
    let key = hash_of(SOURCES.iter().map(|source| source.as_bytes()).chain([ptx.as_bytes(), &cubin]));
    let kept = module.ptx.with_extension("counts.json");
    let rows = match kept_rows(&kept, &key) {
        Some(rows) => rows,
        None => {
            let rows = read_rows(module, &ptx, nvdisasm)?;
            let ledger = Ledger { arch: module.arch, tool_chain: key, rows };
            std::fs::write(&kept, json::format(&ledger)).map_err(at(&kept))?;
            ledger.rows
        }
    };
    // The assembler's report came with the build.
    let with_resources = |row: Row| Row { resources: module.resources.get(&row.entry).copied(), ..row };
    Ok(rows.into_iter().map(with_resources).collect())
}

fn kept_rows(path: &Path, key: &str) -> Option<Vec<Row>> {
    let kept = json::parse(&std::fs::read_to_string(path).ok()?).ok()?;
    (kept.tool_chain == key).then_some(kept.rows)
}

fn read_rows(module: &BuiltModule, ptx: &str, nvdisasm: Option<&Path>) -> Result<Vec<Row>, BuildError> {
    let machine = match (&module.cubin, nvdisasm) {
        (Some(cubin), Some(tool)) => Some(ptxas::machine_mix(tool, cubin)?),
        _ => None,
    };
    let row = |entry: audit::PtxEntry| Row {
        ptx: Counts::of(&entry.mix),
        sass: machine.as_ref().and_then(|mixes| mixes.get(&entry.name)).map(Counts::of),
        module: module.name.clone(),
        resources: None,
        entry: entry.name,
    };
    Ok(audit::parse_ptx(ptx).into_iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".visible .entry k()\n{\n\tbar.sync 0;\n\tret;\n}\n";

    #[test]
    fn what_was_read_is_kept_until_a_file_changes() {
        let folder = std::env::temp_dir().join(format!("cuda-builder-ledger-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let ptx = folder.join("m.sm_90.ptx");
        std::fs::write(&ptx, PTX).unwrap();
        let used = audit::Resources { registers: 9, ..Default::default() };
        let module = BuiltModule {
            name: "m".to_owned(),
            krate: "c".to_owned(),
            arch: Arch::SM_90,
            ptx: ptx.clone(),
            cubin: None,
            ir: None,
            entries: vec!["k".to_owned()],
            resources: BTreeMap::from([("k".to_owned(), used)]),
        };
        let rows = rows_of(&module, None).unwrap();
        assert_eq!((rows[0].ptx.get("barrier"), rows[0].resources), (1, Some(used)));
        assert!(rows[0].sass.is_none());

        let kept = folder.join("m.sm_90.counts.json");
        let other = std::fs::read_to_string(&kept).unwrap().replace("\"barrier\": 1", "\"barrier\": 7");
        std::fs::write(&kept, other).unwrap();
        assert_eq!(rows_of(&module, None).unwrap()[0].ptx.get("barrier"), 7, "read from what was kept");
        std::fs::write(&ptx, PTX.replace("bar.sync", "mov.u32")).unwrap();
        assert_eq!(rows_of(&module, None).unwrap()[0].ptx.get("barrier"), 0);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
