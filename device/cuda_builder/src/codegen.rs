//! From linked IR to PTX and cubins: one job for each PTX module and architecture, in parallel.
//!
//! A job's result stays beside its key, a hash over the module's own IR and the tools. An edit of one
//! kernel therefore recompiles that kernel's module, and a new architecture recompiles nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::check::{self, Allowance, Fault};
use crate::discover::ToolChain;
use crate::error::{BuildError, KernelFault, at};
use crate::flags::Flags;
use crate::link::run;
use crate::markers::EntryDecl;
use crate::{Arch, BuiltModule, CODEGEN_SOURCES, audit, hash_of, progress, ptxas};

/// Begins the log of a module that did not assemble.
const ASSEMBLER_FAILED: &str = "failed: ";

/// What the jobs have in common.
pub struct Settings<'a> {
    /// LLVM tools.
    pub tools: &'a ToolChain,
    /// Assembler and its version, where a cubin is wanted and one was found.
    pub ptxas: Option<(PathBuf, String)>,
    /// Architectures.
    pub archs: &'a [Arch],
    /// Keep the optimised IR of each job beside its PTX.
    pub emit_llvm_ir: bool,
    /// A build with debug assertions, whose panics are calls with local memory: such faults are no faults.
    pub checked: bool,
    /// Keep line tables in the cubins.
    pub lines: bool,
    /// How code is made.
    pub flags: Flags,
    /// Exceptions from the checks.
    pub allowed: &'a [Allowance],
    /// `<target>/ptx`.
    pub ptx_dir: &'a Path,
    /// Folder of the results.
    pub out_dir: &'a Path,
    /// The kernel crate.
    pub krate: &'a str,
}

struct Module {
    name: String,
    entries: Vec<EntryDecl>,
    ir: PathBuf,
    key: String,
}

/// Compiles linked IR: modules in the order of name and architecture, and the faults that no exception
/// covers.
pub fn compile(
    linked: &Path,
    settings: &Settings<'_>,
) -> Result<(Vec<BuiltModule>, Vec<KernelFault>), BuildError> {
    std::fs::create_dir_all(settings.out_dir).map_err(at(settings.out_dir))?;
    let text = std::fs::read_to_string(linked).map_err(at(linked))?;
    let crate_key = hash_of([text.as_str(), &settings.tools.llvm_version]);
    let groups: Vec<_> = group(&text, settings.krate).into_iter().collect();

    let modules =
        in_parallel(&groups, |(name, entries)| extract(linked, &crate_key, name, entries, settings))?;
    let jobs: Vec<(&Module, Arch)> =
        modules.iter().flat_map(|module| settings.archs.iter().map(move |&arch| (module, arch))).collect();
    let built = in_parallel(&jobs, |(module, arch)| job(module, *arch, settings))?;

    let (modules, faults): (Vec<_>, Vec<_>) = built.into_iter().unzip();
    Ok((modules, check::without_allowed(faults.into_iter().flatten().collect(), settings.allowed)))
}

fn group(text: &str, krate: &str) -> BTreeMap<String, Vec<EntryDecl>> {
    let mut groups: BTreeMap<String, Vec<EntryDecl>> = BTreeMap::new();
    for decl in text.lines().map_while(EntryDecl::from_line) {
        let module = decl.module.clone().unwrap_or_else(|| krate.to_owned());
        groups.entry(module).or_default().push(decl);
    }
    groups
}

/// The part of the crate that one PTX module needs.
fn extract(
    linked: &Path,
    crate_key: &str,
    name: &str,
    entries: &[EntryDecl],
    settings: &Settings<'_>,
) -> Result<Module, BuildError> {
    let ir = settings.out_dir.join(format!("{name}.ll"));
    let key_file = settings.out_dir.join(format!("{name}.ll.key"));
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let key = hash_of([crate_key, &names.join(",")]);
    if std::fs::read_to_string(&key_file).ok().as_ref() != Some(&key) || !ir.is_file() {
        run(Command::new(settings.tools.llvm_bin.join("opt"))
            .args(["-S", "-passes=internalize,globaldce"])
            .arg(format!("-internalize-public-api-list={}", names.join(",")))
            .arg(linked)
            .arg("-o")
            .arg(&ir))?;
        std::fs::write(&key_file, &key).map_err(at(&key_file))?;
    }
    let text = std::fs::read_to_string(&ir).map_err(at(&ir))?;
    // The second line names the file it came from.
    let content =
        text.lines().filter(|line| !line.starts_with("; ModuleID") && !line.starts_with("source_filename"));
    let key = hash_of(content);
    Ok(Module { name: name.to_owned(), entries: entries.to_vec(), ir, key })
}

type Faults = Vec<(KernelFault, Fault)>;

fn job(module: &Module, arch: Arch, settings: &Settings<'_>) -> Result<(BuiltModule, Faults), BuildError> {
    let file = |suffix: &str| settings.out_dir.join(format!("{}.{arch}.{suffix}", module.name));
    let (ptx, cubin, log, key_file) = (file("ptx"), file("cubin"), file("log"), file("key"));
    let ir = settings.emit_llvm_ir.then(|| file("ll"));
    let assembler = settings.ptxas.as_ref().map_or("none", |(_, version)| version);
    let options = format!(
        "{} {arch} {assembler} {} {} {}",
        settings.tools.llvm_version,
        settings.lines,
        settings.emit_llvm_ir,
        settings.flags.variant()
    );
    let key = hash_of(CODEGEN_SOURCES.iter().copied().chain([module.key.as_str(), &options]));

    if std::fs::read_to_string(&key_file).ok().as_ref() != Some(&key) {
        progress::note(
            settings.ptx_dir,
            &format!("{} for {arch}: {} entries", module.name, module.entries.len()),
        );
        for stale in [&key_file, &cubin, &log] {
            if stale.exists() {
                std::fs::remove_file(stale).map_err(at(stale))?;
            }
        }
        to_ptx(module, arch, settings, &ptx, ir.as_deref())?;
        if let Some(name) = undefined(&ptx)?.first() {
            return Err(BuildError::Marker(format!(
                "{}: the function `{name}` is defined nowhere",
                module.name
            )));
        }
        if let Some((ptxas, _)) = &settings.ptxas {
            let options: &[&str] = if settings.lines { &["-lineinfo"] } else { &[] };
            let text = match ptxas::assemble_with(ptxas, &ptx, arch, &cubin, options) {
                Ok(assembled) => assembled.log,
                Err(error) => format!("{ASSEMBLER_FAILED}{error}"),
            };
            std::fs::write(&log, text).map_err(at(&log))?;
        }
        std::fs::write(&key_file, &key).map_err(at(&key_file))?;
    }

    let text = std::fs::read_to_string(&ptx).map_err(at(&ptx))?;
    check::signatures(&text, &module.entries)?;
    let report = std::fs::read_to_string(&log).unwrap_or_default();
    let resources = audit::parse_ptxas(&report);
    let mut faults: Faults = vec![];
    let mut add = |entry: &str, fault: Fault, what: String| {
        let fault_of = KernelFault {
            module: module.name.clone(),
            arch: arch.to_string(),
            entry: entry.to_owned(),
            what,
        };
        faults.push((fault_of, fault));
    };
    // An assembler of an older CUDA knows neither new architectures nor new PTX.
    if let Some(problem) = report.strip_prefix(ASSEMBLER_FAILED) {
        add(&module.name, Fault::Assembler, format!("no cubin: {}", problem.trim_end().replace('\n', " ")));
    }
    if !settings.checked {
        for (entry, fault, what) in check::ptx_faults(&text) {
            add(&entry, fault, what);
        }
        for (entry, used) in &resources {
            if let Some(what) = check::resource_fault(used) {
                add(entry, Fault::LocalMemory, what);
            }
        }
    }
    let built = BuiltModule {
        name: module.name.clone(),
        krate: settings.krate.to_owned(),
        arch,
        cubin: cubin.is_file().then_some(cubin),
        ptx,
        ir,
        entries: module.entries.iter().map(|entry| entry.name.clone()).collect(),
        resources,
    };
    Ok((built, faults))
}

fn to_ptx(
    module: &Module,
    arch: Arch,
    settings: &Settings<'_>,
    ptx: &Path,
    keep_ir: Option<&Path>,
) -> Result<(), BuildError> {
    let bin = &settings.tools.llvm_bin;
    let optimised = ptx.with_extension("bc");
    let cpu = format!("-mcpu={arch}");
    // Functions that survive as local symbols were not inlined: the checks find them.
    run(Command::new(bin.join("opt"))
        .args(settings.flags.of_opt())
        .arg(&cpu)
        .args(["-vectorize-loops=false", "-vectorize-slp=false"])
        .arg(&module.ir)
        .arg("-o")
        .arg(&optimised))?;
    if let Some(path) = keep_ir {
        run(Command::new(bin.join("opt"))
            .args(["-S", "-passes=verify"])
            .arg(&optimised)
            .arg("-o")
            .arg(path))?;
    }
    // What ships has no contraction: a kernel that wants a fused multiply-add writes it.
    run(Command::new(bin.join("llc"))
        .args(settings.flags.of_llc())
        .arg(&cpu)
        .arg(&optimised)
        .arg("-o")
        .arg(ptx))?;
    std::fs::remove_file(&optimised).map_err(at(&optimised))
}

/// Functions that a PTX file declares and does not define.
fn undefined(ptx: &Path) -> Result<Vec<String>, BuildError> {
    let text = std::fs::read_to_string(ptx).map_err(at(ptx))?;
    let mut names = vec![];
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(rest) = line.strip_prefix(".extern .func") else { continue };
        // `(.param .b32 r) name` or `name`, the name at times on the line of its own.
        let after_result = rest.trim().rsplit(')').next().unwrap_or_default();
        let name = after_result.trim().trim_end_matches(['(', ';']).trim();
        let name = if name.is_empty() { lines.next().unwrap_or_default().trim() } else { name };
        names.push(name.to_owned());
    }
    Ok(names)
}

/// Runs a function over items on as many threads as cargo gives us; results in the items' order.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, BuildError> + Sync,
) -> Result<Vec<R>, BuildError> {
    let from_cargo = std::env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok());
    let threads = from_cargo.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    let result = work(item);
                    done.lock().expect("no worker panics while it holds the lock").push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no worker panicked");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_go_to_their_modules() {
        let text = "; cuda_builder entry a_f32 a_f32 (.u64) -\n; cuda_builder entry b - - 64,0\n\ndefine void @b() {\n";
        let groups = group(text, "kernels_x");
        assert_eq!(groups.keys().collect::<Vec<_>>(), ["a_f32", "kernels_x"]);
        assert_eq!(groups["kernels_x"][0].bounds, Some((64, 0)));
    }

    #[test]
    fn parallel_results_keep_their_order() {
        let items: Vec<usize> = (0..50).collect();
        let doubled = in_parallel(&items, |n| Ok(n * 2)).unwrap();
        assert_eq!(doubled, items.iter().map(|n| n * 2).collect::<Vec<_>>());
        assert!(
            in_parallel(&items, |n| if *n == 7 { Err(BuildError::Arch("x".into())) } else { Ok(()) })
                .is_err()
        );
        assert!(in_parallel(&[] as &[u8], |_| Ok(())).unwrap().is_empty());
    }
}
