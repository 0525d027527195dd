//! Puts built kernels into a library, and takes kernels built elsewhere.
//!
//! A folder of built kernels holds `<crate>/<module>.<arch>.ptx`, a `.cubin` beside it where there was an
//! assembler, and `manifest.txt` with lines of four kinds:
//!
//! ```text
//! tool_chain rustc 1.96.0, LLVM 22.1.8, ptxas 13.0.88
//! source <crate> <hash> <path relative to the kernel crate>
//! module <crate> <module> <arch> <entry>,<entry>,...
//! resources <crate> <module> <arch> <entry> <registers> <stack> <spill stores> <spill loads> <shared>
//! ```
//!
//! `resources` follow their module, and are there where it has a cubin.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use crate::audit::Resources;
use crate::builder::print_directives;
use crate::check::Policy;
use crate::error::{BuildError, at};
use crate::{Arch, BuiltKernels, BuiltModule, CudaBuilder, audit, fail, hash_of};

const MANIFEST: &str = "manifest.txt";

/// Builds kernel crates and writes `$OUT_DIR/kernels.rs`, to be included where a struct
/// `EmbeddedModule { name, krate, arch, ptx, cubin, entries, resources }` is in scope (`batchlas::cuda`'s; `ptx` and
/// `cubin` are zlib streams). Ends the build script with a
/// readable message where that fails. Faults of kernels are warnings where `BATCHLAS_KERNEL_FAULTS` does
/// not say `deny`: see [`Policy`].
pub fn embed(crates: &[&str]) {
    let policy = Policy::from_env().unwrap_or_else(|error| fail(&error)).unwrap_or(Policy::Warn);
    embed_all(crates.iter().map(|krate| CudaBuilder::new(krate).faults(policy)).collect());
}

/// [`embed`] with options.
pub fn embed_all(builders: Vec<CudaBuilder>) {
    if let Err(error) = try_embed(builders) {
        fail(&error);
    }
}

fn try_embed(builders: Vec<CudaBuilder>) -> Result<(), BuildError> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    // Documentation needs no device code, and its machines have no device compiler.
    let builders = if std::env::var_os("DOCS_RS").is_some() { vec![] } else { builders };
    let built = builders.into_iter().map(CudaBuilder::build_silently).collect::<Result<Vec<_>, _>>()?;
    pack(&out.join("kernels"), &built)?;
    write_changed(&out.join("kernels.rs"), embedded_source(&built).as_bytes())?;
    print_directives(&built);
    Ok(())
}

fn embedded_source(built: &[BuiltKernels]) -> String {
    let mut modules: Vec<&BuiltModule> = built.iter().flat_map(|kernels| &kernels.modules).collect();
    modules.sort_by(|a, b| (&a.krate, &a.name, a.arch).cmp(&(&b.krate, &b.name, b.arch)));
    let mut text = String::new();
    text.push_str("/// Compiled kernels, sorted by crate, module and architecture.\n");
    text.push_str("pub static MODULES: &[EmbeddedModule] = &[\n");
    for module in modules {
        let BuiltModule { name, krate, arch, entries, cubin, .. } = module;
        let resources = figures_of_all(module);
        let stem = format!("kernels/{krate}/{name}.{arch}");
        let cubin = match cubin {
            Some(_) => format!("Some(include_bytes!(\"{stem}.cubin.z\"))"),
            None => "None".to_owned(),
        };
        let _ = writeln!(
            text,
            "    EmbeddedModule {{ name: {name:?}, krate: {krate:?}, arch: {}, ptx: include_bytes!(\"{stem}.ptx.z\"), cubin: {cubin}, entries: &{entries:?}, resources: &{resources:?} }},",
            arch.number()
        );
    }
    let tool_chain = built.first().map_or("none", |kernels| &kernels.tool_chain);
    let _ = write!(text, "];\n\n/// What compiled them.\npub static TOOL_CHAIN: &str = {tool_chain:?};\n");
    text
}

/// Writes PTX and machine code as zlib streams: a tenth of a program's size, and some 10 ms a module that is loaded.
fn pack(folder: &Path, built: &[BuiltKernels]) -> Result<(), BuildError> {
    for module in built.iter().flat_map(|kernels| &kernels.modules) {
        let BuiltModule { name, krate, arch, ptx, cubin, .. } = module;
        for (file, suffix) in [(Some(ptx), "ptx"), (cubin.as_ref(), "cubin")] {
            let Some(file) = file else { continue };
            let bytes = std::fs::read(file).map_err(at(file))?;
            let packed = miniz_oxide::deflate::compress_to_vec_zlib(&bytes, PACKING);
            write_changed(&folder.join(krate).join(format!("{name}.{arch}.{suffix}.z")), &packed)?;
        }
    }
    Ok(())
}

/// Level of compression: higher ones take seconds for a few percent.
const PACKING: u8 = 6;

/// Registers, stack, spill stores, spill loads and shared memory.
fn figures(r: &Resources) -> [u32; 5] {
    [r.registers, r.stack_bytes, r.spill_store_bytes, r.spill_load_bytes, r.shared_bytes]
}

/// Those of every entry, in the order of entries; none where one is not known.
fn figures_of_all(module: &BuiltModule) -> Vec<[u32; 5]> {
    let each = module.entries.iter().map(|entry| module.resources.get(entry).map(figures));
    each.collect::<Option<_>>().unwrap_or_default()
}

/// Copies built kernels and their manifest into a folder; files that are equal stay untouched.
pub fn export(folder: &Path, built: &[BuiltKernels]) -> Result<(), BuildError> {
    let mut manifest = String::new();
    if let Some(first) = built.first() {
        let _ = writeln!(manifest, "tool_chain {}", first.tool_chain);
    }
    for kernels in built {
        for source in &kernels.sources {
            let hash = source_hash(source)?;
            let _ = writeln!(
                manifest,
                "source {} {hash} {}",
                kernels.krate,
                relative(source, &kernels.folder).display()
            );
        }
        for module in &kernels.modules {
            let BuiltModule { name, krate, arch, entries, .. } = module;
            let _ = writeln!(manifest, "module {krate} {name} {arch} {}", entries.join(","));
            for (entry, resources) in &module.resources {
                let numbers = figures(resources).map(|x| x.to_string()).join(" ");
                let _ = writeln!(manifest, "resources {krate} {name} {arch} {entry} {numbers}");
            }
            let stem = folder.join(krate).join(format!("{name}.{arch}"));
            let with = |suffix: &str| PathBuf::from(format!("{}.{suffix}", stem.display()));
            copy_changed(&module.ptx, &with("ptx"))?;
            match &module.cubin {
                Some(cubin) => copy_changed(cubin, &with("cubin"))?,
                // One of an earlier build would be taken for this one's.
                None if with("cubin").exists() => {
                    std::fs::remove_file(with("cubin")).map_err(at(&with("cubin")))?
                }
                None => {}
            }
        }
    }
    write_changed(&folder.join(MANIFEST), manifest.as_bytes())
}

/// Takes a kernel crate from a folder that [`export`] wrote, if it was made of the same sources.
pub(crate) fn load_prebuilt(
    dir: &Path,
    krate: &Path,
    archs: Option<&[Arch]>,
) -> Result<BuiltKernels, BuildError> {
    let dir = std::path::absolute(dir).map_err(at(dir))?;
    let wrong = |problem: String| BuildError::Prebuilt { dir: dir.clone(), problem };
    let manifest = dir.join(MANIFEST);
    let text = std::fs::read_to_string(&manifest).map_err(at(&manifest))?;
    let name = library_name(krate)?;
    let mut built = BuiltKernels {
        krate: name.clone(),
        modules: vec![],
        tool_chain: String::new(),
        folder: krate.to_path_buf(),
        sources: vec![],
        watched: vec![manifest.clone()],
        faults: vec![],
    };
    for line in text.lines() {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        match words[..] {
            ["tool_chain", ..] => line["tool_chain ".len()..].clone_into(&mut built.tool_chain),
            ["source", of, hash, ..] if of == name => {
                let path = words[3..].join(" ");
                let source = krate.join(&path);
                if source_hash(&source).ok().as_deref() != Some(hash) {
                    return Err(wrong(format!(
                        "was made of other sources: {path} of {name} differs; build it again"
                    )));
                }
                built.sources.push(source);
            }
            ["module", of, module, arch, entries] if of == name => {
                built.modules.push(prebuilt_module(&dir, of, module, arch.parse()?, entries).map_err(wrong)?);
            }
            ["resources", of, _, _, rest] if of == name => {
                let module = built.modules.last_mut();
                let read = module.zip(prebuilt_resources(rest));
                let (module, (entry, resources)) =
                    read.ok_or_else(|| wrong(format!("{MANIFEST}: cannot read `{line}`")))?;
                module.resources.insert(entry, resources);
            }
            ["source" | "module" | "resources", ..] => {}
            _ => return Err(wrong(format!("{MANIFEST}: cannot read `{line}`"))),
        }
    }
    if built.sources.is_empty() {
        return Err(wrong(format!("holds no kernels of {name}")));
    }
    for wanted in archs.unwrap_or_default() {
        if !built.modules.is_empty() && !built.modules.iter().any(|module| module.arch == *wanted) {
            return Err(wrong(format!("holds no kernels of {name} for {wanted}")));
        }
    }
    built.watched.extend(built.sources.iter().cloned());
    Ok(built)
}

fn prebuilt_module(
    dir: &Path,
    krate: &str,
    name: &str,
    arch: Arch,
    entries: &str,
) -> Result<BuiltModule, String> {
    let stem = format!("{}.{arch}", dir.join(krate).join(name).display());
    let ptx = PathBuf::from(format!("{stem}.ptx"));
    let text = std::fs::read_to_string(&ptx).map_err(|error| format!("{}: {error}", ptx.display()))?;
    let compiled = audit::parse_ptx(&text);
    let entries: Vec<String> = entries.split(',').map(str::to_owned).collect();
    if let Some(missing) = entries.iter().find(|entry| !compiled.iter().any(|c| c.name == **entry)) {
        return Err(format!("{} lacks the entry {missing}", ptx.display()));
    }
    let cubin = PathBuf::from(format!("{stem}.cubin"));
    Ok(BuiltModule {
        name: name.to_owned(),
        krate: krate.to_owned(),
        arch,
        ptx,
        cubin: cubin.is_file().then_some(cubin),
        ir: None,
        entries,
        resources: BTreeMap::new(),
    })
}

/// Reads `<entry> <registers> <stack> <spill stores> <spill loads> <shared>`.
fn prebuilt_resources(text: &str) -> Option<(String, Resources)> {
    let words: Vec<&str> = text.split(' ').collect();
    let [entry, numbers @ ..] = &words[..] else { return None };
    let numbers: Vec<u32> = numbers.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let [registers, stack_bytes, spill_store_bytes, spill_load_bytes, shared_bytes] = numbers[..] else {
        return None;
    };
    let resources = Resources { registers, stack_bytes, spill_store_bytes, spill_load_bytes, shared_bytes };
    Some(((*entry).to_owned(), resources))
}

/// Name of a crate's library: `name` of `[lib]`, else the package's with underscores.
fn library_name(krate: &Path) -> Result<String, BuildError> {
    let path = krate.join("Cargo.toml");
    let text = std::fs::read_to_string(&path).map_err(at(&path))?;
    let mut section = "";
    let mut package = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if let Some(value) = line.strip_prefix("name").and_then(|rest| rest.split('"').nth(1)) {
            match section {
                "[lib]" => return Ok(value.to_owned()),
                "[package]" => package = Some(value.replace('-', "_")),
                _ => {}
            }
        }
    }
    package.ok_or_else(|| BuildError::Marker(format!("{}: no package name", path.display())))
}

fn source_hash(path: &Path) -> Result<String, BuildError> {
    Ok(hash_of([std::fs::read(path).map_err(at(path))?])[..16].to_owned())
}

/// A path as seen from a folder; both absolute.
fn relative(path: &Path, from: &Path) -> PathBuf {
    let (path, from): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (path.components().collect(), from.components().collect());
    let common = path.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let up = from[common..].iter().map(|_| Component::ParentDir);
    up.chain(path[common..].iter().copied()).collect()
}

fn copy_changed(from: &Path, to: &Path) -> Result<(), BuildError> {
    write_changed(to, &std::fs::read(from).map_err(at(from))?)
}

fn write_changed(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(at(folder))?;
    }
    std::fs::write(path, bytes).map_err(at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESOURCES: Resources = Resources {
        registers: 40,
        stack_bytes: 8,
        spill_store_bytes: 4,
        spill_load_bytes: 12,
        shared_bytes: 16,
    };

    #[test]
    fn relative_paths() {
        let from = Path::new("/w/device/kernels/k");
        assert_eq!(relative(Path::new("/w/device/kernels/k/src/lib.rs"), from), Path::new("src/lib.rs"));
        assert_eq!(relative(Path::new("/w/device/std/lib.rs"), from), Path::new("../../std/lib.rs"));
    }

    #[test]
    fn prebuilt_round_trip_and_stale_sources() {
        let root = std::env::temp_dir().join(format!("cuda-builder-prebuilt-{}", std::process::id()));
        let krate = root.join("my-kernels");
        let ptx = root.join("m.ptx");
        std::fs::create_dir_all(krate.join("src")).unwrap();
        std::fs::write(krate.join("Cargo.toml"), "[package]\nname = \"my-kernels\"\n").unwrap();
        std::fs::write(krate.join("src/lib.rs"), "// one\n").unwrap();
        std::fs::write(&ptx, ".visible .entry a()\n{\n\tret;\n}\n").unwrap();
        let module = BuiltModule {
            name: "m".into(),
            krate: "my_kernels".into(),
            arch: Arch::SM_80,
            ptx,
            cubin: None,
            ir: None,
            entries: vec!["a".into()],
            resources: BTreeMap::from([("a".to_owned(), RESOURCES)]),
        };
        let built = BuiltKernels {
            krate: "my_kernels".into(),
            modules: vec![module],
            tool_chain: "rustc 1.96.0, LLVM 22.1.8".into(),
            folder: krate.clone(),
            sources: vec![krate.join("src/lib.rs")],
            watched: vec![],
            faults: vec![],
        };
        let folder = root.join("prebuilt");
        export(&folder, std::slice::from_ref(&built)).unwrap();
        let loaded = load_prebuilt(&folder, &krate, Some(&[Arch::SM_80])).unwrap();
        assert_eq!(loaded.tool_chain, built.tool_chain);
        assert_eq!(loaded.modules[0].entries, ["a"]);
        assert_eq!(loaded.modules[0].resources, built.modules[0].resources);
        assert!(embedded_source(&[loaded]).contains("resources: &[[40, 8, 4, 12, 16]] }"));
        let manifest = folder.join(MANIFEST);
        let whole = std::fs::read_to_string(&manifest).unwrap();
        std::fs::write(&manifest, whole.replace("40 8 4 12 16", "40 8")).unwrap();
        let problem = load_prebuilt(&folder, &krate, None).unwrap_err().to_string();
        assert!(problem.contains("cannot read `resources my_kernels m sm_80 a 40 8`"), "{problem}");
        std::fs::write(&manifest, whole).unwrap();
        let loaded = load_prebuilt(&folder, &krate, None).unwrap();
        assert_eq!(loaded.sources, built.sources);
        let problem = load_prebuilt(&folder, &krate, Some(&[Arch::SM_90])).unwrap_err().to_string();
        assert!(problem.contains("sm_90"), "{problem}");
        let other = root.join("other");
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(other.join("Cargo.toml"), "[package]\nname = \"pkg\"\n\n[lib]\nname = \"other\"\n")
            .unwrap();
        let problem = load_prebuilt(&folder, &other, None).unwrap_err().to_string();
        assert!(problem.contains("no kernels of other"), "{problem}");
        std::fs::write(krate.join("src/lib.rs"), "// two\n").unwrap();
        let problem = load_prebuilt(&folder, &krate, None).unwrap_err().to_string();
        assert!(problem.contains("src/lib.rs of my_kernels differs"), "{problem}");
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn source_text_without_kernels() {
        let text = embedded_source(&[]);
        assert!(!text.contains("Aligned"), "nothing would use it: {text}");
        assert!(text.contains("MODULES: &[EmbeddedModule] = &[\n];"), "{text}");
    }
}
