//! `batchlas kernels`: what each embedded kernel costs, by ptxas or by the ledger.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use batchlas::Arch;
use batchlas::cuda::{EmbeddedModule, modules};
use cuda_builder::audit::{self, Mix, Resources};
use cuda_builder::{ledger, ptxas};
use serde::Serialize;

use super::{json_line, print};
use crate::args::KernelsArgs;
use crate::failure::Failure;
use crate::progress;
use crate::table::Table;

/// The committed figures, for machines without an assembler.
const LEDGERS: [&str; 2] = [
    include_str!("../../../../device/ledger/sm_80.json"),
    include_str!("../../../../device/ledger/sm_90.json"),
];

/// One kernel of the report.
#[derive(Debug, Serialize)]
struct Kernel {
    kernel: String,
    module: &'static str,
    #[serde(rename = "crate")]
    krate: &'static str,
    /// Architecture of the PTX that was taken.
    ptx: String,
    registers: Option<u32>,
    stack_bytes: Option<u32>,
    spill_store_bytes: Option<u32>,
    spill_load_bytes: Option<u32>,
    /// Static; dynamic shared memory is the launch's.
    shared_bytes: Option<u32>,
    instructions: u32,
    /// Instructions by kind.
    mix: BTreeMap<&'static str, u32>,
}

#[derive(Debug, Serialize)]
struct Report {
    arch: String,
    /// Where registers, stack, spills and shared memory come from.
    resources_from: String,
    /// Whether instructions are machine code's (`sass`) or PTX's.
    mix_of: &'static str,
    tool_chain: &'static str,
    kernels: Vec<Kernel>,
}

/// Runs the command.
pub fn run(args: &KernelsArgs) -> Result<ExitCode, Failure> {
    let arch: cuda_builder::Arch = args.arch.to_string().parse().map_err(build_failure)?;
    let chosen = named(newest(modules(), args.arch)?, args.name.as_deref())?;
    let places = tool_places();
    let report = match find_tool("ptxas", &places)? {
        Some(ptxas) => assembled(&chosen, arch, &ptxas, find_tool("nvdisasm", &places)?.as_deref())?,
        None => recorded(&chosen, arch)?,
    };
    print(&if args.json { json_line(&report)? } else { text(&report) })?;
    Ok(ExitCode::SUCCESS)
}

fn build_failure(error: cuda_builder::BuildError) -> Failure {
    Failure::new(error.to_string())
}

/// Of each module the newest PTX not above the architecture.
fn newest(all: &'static [EmbeddedModule], arch: Arch) -> Result<Vec<&'static EmbeddedModule>, Failure> {
    let mut best: BTreeMap<(&str, &str), &EmbeddedModule> = BTreeMap::new();
    for module in all.iter().filter(|module| module.arch <= arch.0) {
        let slot = best.entry((module.krate, module.name)).or_insert(module);
        if slot.arch < module.arch {
            *slot = module;
        }
    }
    if !best.is_empty() {
        return Ok(best.into_values().collect());
    }
    Err(Failure::new(match all.iter().map(|module| module.arch).min() {
        Some(oldest) => format!("no embedded kernel runs on {arch}: the oldest PTX is for sm_{oldest}"),
        None => "this build embeds no kernels".to_string(),
    }))
}

/// Those whose name contains a word.
fn named(
    modules: Vec<&'static EmbeddedModule>,
    word: Option<&str>,
) -> Result<Vec<&'static EmbeddedModule>, Failure> {
    let Some(word) = word else { return Ok(modules) };
    let chosen: Vec<_> = modules.iter().copied().filter(|module| module.name.contains(word)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = modules.iter().map(|module| module.name).collect();
        return Err(Failure::new(format!(
            "no module's name contains '{word}': there are {}",
            names.join(", ")
        )));
    }
    Ok(chosen)
}

/// Folders near which tools may be installed: of the program and of the caller.
fn tool_places() -> Vec<PathBuf> {
    let of_program = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_path_buf));
    of_program.into_iter().chain(std::env::current_dir().ok()).collect()
}

fn find_tool(tool: &str, places: &[PathBuf]) -> Result<Option<PathBuf>, Failure> {
    for place in places {
        if let Some(found) = ptxas::find(tool, place).map_err(build_failure)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Figures of this machine's assembler.
fn assembled(
    modules: &[&'static EmbeddedModule],
    arch: cuda_builder::Arch,
    ptxas: &Path,
    nvdisasm: Option<&Path>,
) -> Result<Report, Failure> {
    let folder = tempfile::tempdir().map_err(|e| Failure::io(&std::env::temp_dir(), &e))?;
    let results = Mutex::new(BTreeMap::new());
    let next = AtomicUsize::new(0);
    let bar = progress::bar(modules.len(), "assembling", "modules");
    let worker = || {
        while let Some(module) = modules.get(next.fetch_add(1, Ordering::Relaxed)) {
            let done = assemble_one(module, arch, ptxas, nvdisasm, folder.path());
            bar.inc(1);
            results.lock().unwrap_or_else(|e| e.into_inner()).insert((module.krate, module.name), done);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(modules.len());
        (0..threads).for_each(|_| drop(scope.spawn(worker)));
    });
    bar.finish_and_clear();
    let mut kernels = Vec::new();
    for done in results.into_inner().unwrap_or_else(|e| e.into_inner()).into_values() {
        kernels.extend(done?);
    }
    let version = ptxas::version(ptxas).map_err(build_failure)?;
    let mix_of = if nvdisasm.is_some() { "sass" } else { "ptx" };
    Ok(report(arch, format!("ptxas {version}"), mix_of, kernels))
}

fn assemble_one(
    module: &'static EmbeddedModule,
    arch: cuda_builder::Arch,
    ptxas: &Path,
    nvdisasm: Option<&Path>,
    folder: &Path,
) -> Result<Vec<Kernel>, Failure> {
    let ptx = folder.join(format!("{}-{}.ptx", module.krate, module.name));
    let cubin = ptx.with_extension("cubin");
    std::fs::write(&ptx, module.ptx).map_err(|e| Failure::io(&ptx, &e))?;
    let assembled = ptxas::assemble(ptxas, &ptx, arch, &cubin).map_err(build_failure)?;
    let machine = nvdisasm.map(|tool| ptxas::machine_mix(tool, &cubin)).transpose().map_err(build_failure)?;
    let entries = audit::parse_ptx(module.ptx).into_iter();
    let kernels = entries.map(|entry| {
        let resources = assembled.resources.get(&entry.name);
        let mix = match &machine {
            Some(machine) => machine.get(&entry.name).cloned().unwrap_or_default(),
            None => entry.mix,
        };
        kernel(module, entry.name, resources, &mix)
    });
    Ok(kernels.collect())
}

/// Figures of the ledger, instructions of the PTX. A kernel that the ledger lacks has no figures.
fn recorded(modules: &[&'static EmbeddedModule], arch: cuda_builder::Arch) -> Result<Report, Failure> {
    let recorded: Vec<_> = LEDGERS
        .into_iter()
        .map(ledger::parse)
        .collect::<Result<_, _>>()
        .map_err(|problem| Failure::new(format!("the recorded ledger: {problem}")))?;
    let of_arch = recorded.iter().find(|ledger| ledger.arch == arch);
    let mut kernels = Vec::new();
    for module in modules {
        kernels.extend(audit::parse_ptx(module.ptx).into_iter().map(|entry| {
            let resources = of_arch.and_then(|ledger| ledger.row(&entry.name)?.resources);
            kernel(module, entry.name, resources.as_ref(), &entry.mix)
        }));
    }
    let missing = kernels.iter().filter(|kernel| kernel.registers.is_none()).count();
    if missing == kernels.len() {
        return Err(Failure::new(format!(
            "no ptxas was found (BATCHLAS_PTXAS, PATH, CUDA_HOME, /usr/local/cuda, .tools), and the recorded \
             ledger has no figures for {arch}; `cargo xtask setup` brings ptxas"
        )));
    }
    let lacks = if missing > 0 { format!("; it lacks {missing} kernels") } else { String::new() };
    Ok(report(arch, format!("the recorded ledger, since no ptxas was found{lacks}"), "ptx", kernels))
}

fn kernel(module: &'static EmbeddedModule, name: String, resources: Option<&Resources>, mix: &Mix) -> Kernel {
    Kernel {
        kernel: name,
        module: module.name,
        krate: module.krate,
        ptx: Arch(module.arch).to_string(),
        registers: resources.map(|r| r.registers),
        stack_bytes: resources.map(|r| r.stack_bytes),
        spill_store_bytes: resources.map(|r| r.spill_store_bytes),
        spill_load_bytes: resources.map(|r| r.spill_load_bytes),
        shared_bytes: resources.map(|r| r.shared_bytes),
        instructions: mix.total,
        mix: mix.iter().collect(),
    }
}

fn report(
    arch: cuda_builder::Arch,
    resources_from: String,
    mix_of: &'static str,
    kernels: Vec<Kernel>,
) -> Report {
    Report {
        arch: arch.to_string(),
        resources_from,
        mix_of,
        tool_chain: batchlas::cuda::tool_chain(),
        kernels,
    }
}

fn text(report: &Report) -> String {
    let mut resources = Table::new(
        &["kernel", "registers", "stack", "spill stores", "spill loads", "shared", "instructions"],
        1,
    );
    let mut kinds: Vec<&str> = report.kernels.iter().flat_map(|k| k.mix.keys().copied()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut mix = Table::new(&[&["kernel"], &kinds[..]].concat(), 1);
    for k in &report.kernels {
        let figures = [
            k.registers,
            k.stack_bytes,
            k.spill_store_bytes,
            k.spill_load_bytes,
            k.shared_bytes,
            Some(k.instructions),
        ];
        let cell = |figure: Option<u32>| figure.map_or("-".to_string(), |x| x.to_string());
        resources.row(std::iter::once(k.kernel.clone()).chain(figures.map(cell)).collect());
        let counts = kinds.iter().map(|kind| cell(k.mix.get(kind).copied()));
        mix.row(std::iter::once(k.kernel.clone()).chain(counts).collect());
    }
    let code = if report.mix_of == "sass" { "machine code" } else { "PTX" };
    format!(
        "{} kernels for {}, figures from {}\n\n{}\nregisters a thread; stack, spills in bytes a thread; static shared \
         memory in bytes a block\n\nstatic instruction mix of the {code}\n\n{}",
        report.kernels.len(),
        report.arch,
        report.resources_from,
        resources.render(),
        mix.render()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn module(name: &'static str, arch: u32) -> EmbeddedModule {
        EmbeddedModule { name, krate: "k", arch, ptx: "", cubin: None, entries: &[], resources: &[] }
    }

    #[test]
    fn the_newest_ptx_not_above_the_architecture() {
        static ALL: [EmbeddedModule; 3] = [module("a", 80), module("a", 90), module("b", 80)];
        let archs = |arch| newest(&ALL, Arch(arch)).unwrap().iter().map(|m| m.arch).collect::<Vec<_>>();
        assert_eq!(archs(89), [80, 80]);
        assert_eq!(archs(90), [90, 80]);
        assert_eq!(archs(100), [90, 80]);
        assert!(newest(&ALL, Arch(75)).unwrap_err().to_string().contains("sm_80"));
        assert!(newest(&[], Arch(90)).is_err());
        let all = || newest(&ALL, Arch(90)).unwrap();
        assert_eq!(named(all(), Some("b")).unwrap().len(), 1);
        assert_eq!(named(all(), None).unwrap().len(), 2);
        assert!(named(all(), Some("c")).unwrap_err().to_string().contains("there are a, b"));
    }

    #[test]
    fn the_text_has_a_row_a_kernel_in_both_tables() {
        static MODULE: EmbeddedModule = module("m_f32", 80);
        let entry = &audit::parse_ptx(".visible .entry m_f32_8()\n{\n\tbar.sync 0;\n\tret;\n}\n")[0];
        let resources = Resources { registers: 40, shared_bytes: 16, ..Resources::default() };
        let kernels = vec![kernel(&MODULE, "m_f32_8".to_string(), Some(&resources), &entry.mix)];
        let text = text(&report(cuda_builder::Arch::SM_90, "ptxas 13".to_string(), "ptx", kernels));
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("m_f32_8")).collect();
        let words = |row: &str| row.split_whitespace().map(str::to_string).collect::<Vec<_>>();
        assert_eq!(words(rows[0]), ["m_f32_8", "40", "0", "0", "0", "16", "2"]);
        assert_eq!(words(rows[1]), ["m_f32_8", "1", "1"]);
        assert!(text.contains("mix of the PTX") && text.contains("1 kernels for sm_90"), "{text}");
    }

    #[test]
    fn the_ledger_is_readable() {
        for text in LEDGERS {
            assert!(!ledger::parse(text).unwrap().rows.is_empty());
        }
    }
}
