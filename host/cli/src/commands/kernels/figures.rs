//! Where the figures of kernels come from: the build, an assembler of this machine, or the ledger.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use batchlas::Arch;
use batchlas::cuda::EmbeddedModule;
use cuda_builder::audit::{self, Mix, Resources};
use cuda_builder::{ledger, ptxas};
use serde::Serialize;

use super::build_failure;
use crate::failure::Failure;
use crate::progress;

/// The committed figures, for machines without an assembler.
const LEDGERS: [&str; 2] = [
    include_str!("../../../../../device/ledger/sm_80.json"),
    include_str!("../../../../../device/ledger/sm_90.json"),
];

/// One kernel of the report.
#[derive(Debug, Serialize)]
pub struct Kernel {
    pub kernel: String,
    pub module: &'static str,
    #[serde(rename = "crate")]
    pub krate: &'static str,
    /// Architecture of the PTX that was taken.
    pub ptx: String,
    pub registers: Option<u32>,
    pub stack_bytes: Option<u32>,
    pub spill_store_bytes: Option<u32>,
    pub spill_load_bytes: Option<u32>,
    /// Static; dynamic shared memory is the launch's.
    pub shared_bytes: Option<u32>,
    pub instructions: u32,
    /// Instructions by kind.
    pub mix: BTreeMap<&'static str, u32>,
}

/// Where the figures of some modules' kernels come from.
#[derive(Debug)]
pub struct Source {
    /// Where registers, stack, spills and shared memory come from.
    pub resources_from: String,
    /// Whether instructions are machine code's (`sass`) or PTX's.
    pub mix_of: &'static str,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// What the build recorded of the embedded machine code, with a disassembler for the instructions.
    Build(Option<PathBuf>),
    /// An assembler of this machine, and a disassembler.
    Assembler(PathBuf, cuda_builder::Arch, Option<PathBuf>),
    /// The ledger of this architecture.
    Ledger(ledger::Ledger),
}

type Modules<'a> = &'a [&'static EmbeddedModule];

impl Source {
    /// What the build recorded is at hand at once. An assembler is run where nothing was recorded for the
    /// architecture, or where `BATCHLAS_PTXAS` names one; without one there is the ledger.
    pub fn choose(modules: Modules<'_>, arch: cuda_builder::Arch) -> Result<Self, Failure> {
        let places = tool_places();
        let nvdisasm = find_tool("nvdisasm", &places)?;
        let named = std::env::var_os("BATCHLAS_PTXAS").is_some_and(|path| !path.is_empty());
        if !named && modules.iter().all(|module| is_recorded(module, arch)) {
            return Ok(Source::build(nvdisasm));
        }
        match find_tool("ptxas", &places)? {
            Some(ptxas) => {
                let version = ptxas::version(&ptxas).map_err(build_failure)?;
                let mix_of = mix_with(&nvdisasm);
                let kind = Kind::Assembler(ptxas, arch, nvdisasm);
                Ok(Source { resources_from: format!("ptxas {version}"), mix_of, kind })
            }
            None => Source::ledger(modules, arch),
        }
    }

    fn build(nvdisasm: Option<PathBuf>) -> Self {
        let tools = batchlas::cuda::tool_chain();
        let version = tools.split_once("ptxas ").map_or("", |(_, version)| version);
        let resources_from = format!("ptxas {version}, recorded by the build");
        Source { resources_from, mix_of: mix_with(&nvdisasm), kind: Kind::Build(nvdisasm) }
    }

    fn ledger(modules: Modules<'_>, arch: cuda_builder::Arch) -> Result<Self, Failure> {
        let all: Vec<ledger::Ledger> = LEDGERS
            .into_iter()
            .map(ledger::parse)
            .collect::<Result<_, _>>()
            .map_err(|problem| Failure::new(format!("the recorded ledger: {problem}")))?;
        let of_arch = all.into_iter().find(|ledger| ledger.arch == arch);
        let lacks = |ledger: &ledger::Ledger| {
            let entries = modules.iter().flat_map(|module| module.entries);
            let resources = entries.map(|entry| ledger.row(entry).and_then(|row| row.resources));
            resources.fold((0, 0), |(all, missing), r| (all + 1, missing + usize::from(r.is_none())))
        };
        let found = of_arch.map(|ledger| (lacks(&ledger), ledger));
        let Some(((_, missing), ledger)) = found.filter(|((all, missing), _)| missing < all) else {
            return Err(Failure::new(format!(
                "no ptxas was found (BATCHLAS_PTXAS, PATH, CUDA_HOME, /usr/local/cuda, .tools), and the recorded \
                 ledger has no figures for {arch}; `cargo xtask setup` brings ptxas"
            )));
        };
        let lacks = if missing > 0 { format!("; it lacks {missing} kernels") } else { String::new() };
        let resources_from = format!("the recorded ledger, since no ptxas was found{lacks}");
        Ok(Source { resources_from, mix_of: "ptx", kind: Kind::Ledger(ledger) })
    }

    /// The kernels, in the modules' order. `each` gets those of a module as soon as they and all before them
    /// are known, and says whether to go on.
    pub fn kernels(
        &self,
        modules: Modules<'_>,
        each: &mut dyn FnMut(&[Kernel]) -> Result<bool, Failure>,
    ) -> Result<Vec<Kernel>, Failure> {
        let folder = tempfile::tempdir().map_err(|e| Failure::io(&std::env::temp_dir(), &e))?;
        let what = if matches!(self.kind, Kind::Assembler(..)) { "assembling" } else { "reading" };
        in_order(modules, what, |module| self.of_module(module, folder.path()), each)
    }

    fn of_module(&self, module: &'static EmbeddedModule, folder: &Path) -> Result<Vec<Kernel>, Failure> {
        let ptx = folder.join(format!("{}-{}.ptx", module.krate, module.name));
        let cubin = ptx.with_extension("cubin");
        let write =
            |path: &Path, bytes: &[u8]| std::fs::write(path, bytes).map_err(|e| Failure::io(path, &e));
        match &self.kind {
            Kind::Build(nvdisasm) => {
                if nvdisasm.is_some() {
                    write(&cubin, &module.cubin()?.unwrap_or_default())?;
                }
                kernels_of(module, nvdisasm.as_deref(), &cubin, |entry| recorded(module, entry))
            }
            Kind::Assembler(ptxas, arch, nvdisasm) => {
                write(&ptx, module.ptx()?.as_bytes())?;
                let assembled = ptxas::assemble(ptxas, &ptx, *arch, &cubin).map_err(build_failure)?;
                let said = |entry: &str| assembled.resources.get(entry).copied();
                kernels_of(module, nvdisasm.as_deref(), &cubin, said)
            }
            Kind::Ledger(ledger) => kernels_of(module, None, &cubin, |entry| ledger.row(entry)?.resources),
        }
    }
}

fn mix_with(nvdisasm: &Option<PathBuf>) -> &'static str {
    if nvdisasm.is_some() { "sass" } else { "ptx" }
}

/// Whether the build recorded what its assembler said for just this architecture.
fn is_recorded(module: &EmbeddedModule, arch: cuda_builder::Arch) -> bool {
    module.arch == arch.number() && module.cubin.is_some() && module.resources.len() == module.entries.len()
}

/// What the build recorded of an entry.
fn recorded(module: &EmbeddedModule, entry: &str) -> Option<Resources> {
    let at = module.entries.iter().position(|name| *name == entry)?;
    let [registers, stack_bytes, spill_store_bytes, spill_load_bytes, shared_bytes] =
        *module.resources.get(at)?;
    Some(Resources { registers, stack_bytes, spill_store_bytes, spill_load_bytes, shared_bytes })
}

/// Calls `work` on every module, on all cores, and `each` on its results in the modules' order.
fn in_order(
    modules: Modules<'_>,
    what: &'static str,
    work: impl Fn(&'static EmbeddedModule) -> Result<Vec<Kernel>, Failure> + Sync,
    each: &mut dyn FnMut(&[Kernel]) -> Result<bool, Failure>,
) -> Result<Vec<Kernel>, Failure> {
    let next = AtomicUsize::new(0);
    let bar = progress::bar(modules.len(), what, "modules");
    let (send, receive) = std::sync::mpsc::channel();
    let mut kernels = Vec::new();
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(modules.len());
        for send in vec![send; threads] {
            scope.spawn(|| {
                let send = send;
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(module) = modules.get(at) else { break };
                    // Nobody receives any more where a module failed.
                    let _ = send.send((at, work(module)));
                    bar.inc(1);
                }
            });
        }
        let mut early = BTreeMap::new();
        for wanted in 0..modules.len() {
            let done = loop {
                if let Some(done) = early.remove(&wanted) {
                    break done;
                }
                let (at, done) = receive.recv().expect("a worker sends a result for every module");
                early.insert(at, done);
            };
            let going_on = done.and_then(|done| {
                let going_on = bar.suspend(|| each(&done))?;
                kernels.extend(done);
                Ok(going_on)
            });
            if !matches!(going_on, Ok(true)) {
                next.store(modules.len(), Ordering::Relaxed);
                return going_on.map(|_| ());
            }
        }
        Ok(())
    })?;
    bar.finish_and_clear();
    Ok(kernels)
}

/// A module's kernels; their instructions are those of a cubin, where there is a disassembler, or else of the PTX.
fn kernels_of(
    module: &'static EmbeddedModule,
    nvdisasm: Option<&Path>,
    cubin: &Path,
    resources: impl Fn(&str) -> Option<Resources>,
) -> Result<Vec<Kernel>, Failure> {
    let machine = nvdisasm.map(|nvdisasm| ptxas::machine_mix(nvdisasm, cubin));
    let machine = machine.transpose().map_err(build_failure)?;
    let kernels = audit::parse_ptx(&module.ptx()?).into_iter().map(|entry| {
        let mix = match &machine {
            Some(machine) => machine.get(&entry.name).cloned().unwrap_or_default(),
            None => entry.mix,
        };
        let resources = resources(&entry.name);
        kernel(module, entry.name, resources.as_ref(), &mix)
    });
    Ok(kernels.collect())
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

/// One kernel from its parts.
pub fn kernel(
    module: &'static EmbeddedModule,
    name: String,
    resources: Option<&Resources>,
    mix: &Mix,
) -> Kernel {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_is_readable() {
        for text in LEDGERS {
            assert!(!ledger::parse(text).unwrap().rows.is_empty());
        }
    }

    const MODULE: EmbeddedModule = EmbeddedModule {
        name: "m_f32",
        krate: "k",
        arch: 90,
        ptx: b".visible .entry m_f32_8()\n{\n\tret;\n}\n.visible .entry m_f32_4()\n{\n\tbar.sync 0;\n\tret;\n}\n",
        cubin: Some(b"code"),
        entries: &["m_f32_4", "m_f32_8"],
        resources: &[[40, 0, 0, 0, 16], [48, 8, 4, 12, 0]],
    };

    #[test]
    fn what_the_build_recorded_needs_no_assembler() {
        assert!(is_recorded(&MODULE, cuda_builder::Arch::SM_90));
        assert!(!is_recorded(&MODULE, cuda_builder::Arch::SM_80), "the PTX would be assembled for another");
        assert!(!is_recorded(&EmbeddedModule { resources: &[], ..MODULE }, cuda_builder::Arch::SM_90));
        let mut rows = Vec::new();
        let mut each = |kernels: &[Kernel]| {
            rows.extend(kernels.iter().map(|k| {
                (k.kernel.clone(), k.registers, k.spill_load_bytes, k.shared_bytes, k.instructions)
            }));
            Ok(true)
        };
        let source = Source::build(None);
        assert_eq!(source.mix_of, "ptx");
        assert_eq!(source.kernels(&[&MODULE], &mut each).unwrap().len(), 2);
        let expected = [
            ("m_f32_8".to_string(), Some(48), Some(12), Some(0), 1),
            ("m_f32_4".to_string(), Some(40), Some(0), Some(16), 2),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn results_come_in_order_until_someone_has_enough_or_one_fails() {
        let work = |fail: &'static str| {
            move |module: &'static EmbeddedModule| match module.name {
                // The first one takes longest.
                "a" => {
                    std::thread::sleep(std::time::Duration::from_millis(30));
                    Ok(vec![kernel(module, "a".to_string(), None, &Mix::default())])
                }
                name if name == fail => Err(Failure::new(name)),
                name => Ok(vec![kernel(module, name.to_string(), None, &Mix::default())]),
            }
        };
        static ALL: [EmbeddedModule; 4] = [
            EmbeddedModule { name: "a", ..MODULE },
            EmbeddedModule { name: "b", ..MODULE },
            EmbeddedModule { name: "c", ..MODULE },
            EmbeddedModule { name: "d", ..MODULE },
        ];
        let all: Vec<&'static EmbeddedModule> = ALL.iter().collect();
        let run = |fail, most: usize| {
            let mut seen = Vec::new();
            let mut each = |kernels: &[Kernel]| {
                seen.push(kernels[0].kernel.clone());
                Ok(seen.len() < most)
            };
            let failed = in_order(&all, "", work(fail), &mut each).err().map(|e| e.to_string());
            (seen.concat(), failed)
        };
        assert_eq!(run("", 9), ("abcd".to_string(), None));
        assert_eq!(run("", 2), ("ab".to_string(), None));
        assert_eq!(run("c", 9), ("ab".to_string(), Some("c".to_string())));
    }

    #[test]
    fn the_ledger_tells_what_nothing_else_does() {
        let arch = cuda_builder::Arch::SM_90;
        let text = Source::ledger(&[&MODULE], arch).unwrap_err().to_string();
        assert!(text.contains("no ptxas was found") && text.contains("sm_90"), "{text}");
        let row = &ledger::parse(LEDGERS[1]).unwrap().rows[0];
        let entries: &'static [&'static str] = vec!["none", String::leak(row.entry.clone())].leak();
        let module: &'static EmbeddedModule = Box::leak(Box::new(EmbeddedModule { entries, ..MODULE }));
        let source = Source::ledger(&[module], arch).unwrap();
        assert!(source.resources_from.ends_with("it lacks 1 kernels"), "{}", source.resources_from);
    }
}
