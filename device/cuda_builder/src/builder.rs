//! [`CudaBuilder`]: options, and the steps from a kernel crate to its PTX.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::audit::Resources;
use crate::check::{Allowance, Fault, Policy};
use crate::error::{BuildError, KernelFault, at};
use crate::flags::Flags;
use crate::nested::Nested;
use crate::{Arch, arch, check, codegen, discover, embed, progress, ptxas, sysroot};

/// Environment variables that decide what is built.
const VARIABLES: &[&str] = &[
    "BATCHLAS_ARCHS",
    "BATCHLAS_DEVICE_RUSTC",
    "BATCHLAS_KERNEL_FAULTS",
    "BATCHLAS_LLVM_BIN",
    "BATCHLAS_PTX_DIR",
    "BATCHLAS_PTXAS",
    "CUDA_HOME",
    "CUDA_PATH",
    "DOCS_RS",
];

/// Debug information in device code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DebugInfo {
    /// None.
    #[default]
    None,
    /// Line tables: profilers show source lines; the code is the same.
    LineTables,
}

/// Compiles one kernel crate.
#[derive(Debug, Clone)]
pub struct CudaBuilder {
    krate: PathBuf,
    archs: Option<Vec<Arch>>,
    release: bool,
    debug: DebugInfo,
    emit_llvm_ir: bool,
    emit_cubin: bool,
    flags: Flags,
    final_module_path: Option<PathBuf>,
    copy_to: Option<PathBuf>,
    target_dir: Option<PathBuf>,
    linker: Option<PathBuf>,
    ptxas: Option<PathBuf>,
    allowed: Vec<Allowance>,
    policy: Option<Policy>,
}

/// What a kernel crate became.
#[derive(Debug, Clone)]
pub struct BuiltKernels {
    /// Name of the kernel crate's library.
    pub krate: String,
    /// One for each PTX module and architecture, in that order.
    pub modules: Vec<BuiltModule>,
    /// Versions, as `rustc 1.96.0, LLVM 22.1.8, ptxas 13.0.88`.
    pub tool_chain: String,
    /// Folder of the kernel crate.
    pub folder: PathBuf,
    /// Source files that it was made of.
    pub sources: Vec<PathBuf>,
    /// Files whose change asks for another build: sources, manifests, compiler.
    pub watched: Vec<PathBuf>,
    /// Faults of kernels that [`Policy::Warn`] let pass.
    pub faults: Vec<KernelFault>,
}

/// One PTX module for one architecture.
#[derive(Debug, Clone)]
pub struct BuiltModule {
    /// Name of the module.
    pub name: String,
    /// Name of the kernel crate's library.
    pub krate: String,
    /// Architecture.
    pub arch: Arch,
    /// The PTX file.
    pub ptx: PathBuf,
    /// The cubin, where `ptxas` was found.
    pub cubin: Option<PathBuf>,
    /// Optimised IR, where asked for.
    pub ir: Option<PathBuf>,
    /// Entries, sorted.
    pub entries: Vec<String>,
    /// Registers and memory of each entry, where `ptxas` was found.
    pub resources: BTreeMap<String, Resources>,
}

impl CudaBuilder {
    /// A kernel crate's folder, absolute or relative to the package that builds it.
    pub fn new(krate: impl AsRef<Path>) -> Self {
        Self {
            krate: krate.as_ref().to_path_buf(),
            archs: None,
            release: true,
            debug: DebugInfo::None,
            emit_llvm_ir: false,
            emit_cubin: true,
            flags: Flags::default(),
            final_module_path: None,
            copy_to: None,
            target_dir: None,
            linker: None,
            ptxas: None,
            allowed: vec![],
            policy: None,
        }
    }

    /// One architecture instead of `BATCHLAS_ARCHS` and the default.
    pub fn arch(self, arch: Arch) -> Self {
        self.archs([arch])
    }

    /// Several architectures instead of `BATCHLAS_ARCHS` and the default (`sm_80`, `sm_90`).
    pub fn archs(mut self, archs: impl IntoIterator<Item = Arch>) -> Self {
        let set: BTreeSet<Arch> = archs.into_iter().collect();
        self.archs = Some(set.into_iter().collect());
        self
    }

    /// `false` keeps debug assertions, overflow and bounds checks; the code is optimised either way.
    pub fn release(mut self, release: bool) -> Self {
        self.release = release;
        self
    }

    /// Debug information.
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
        self
    }

    /// Keeps the optimised IR of each module beside its PTX.
    pub fn emit_llvm_ir(mut self, emit: bool) -> Self {
        self.emit_llvm_ir = emit;
        self
    }

    /// Whether cubins are made where `ptxas` is found; they are by default.
    pub fn emit_cubin(mut self, emit: bool) -> Self {
        self.emit_cubin = emit;
        self
    }

    /// How code is made, where not as what ships: the kernels of an A/B run.
    pub fn flags(mut self, flags: Flags) -> Self {
        self.flags = flags;
        self
    }

    /// Copies the linked IR of the whole crate, before optimisation, to a file.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module_path = Some(path.as_ref().to_path_buf());
        self
    }

    /// Copies PTX, cubins and a manifest into a folder, which `BATCHLAS_PTX_DIR` takes.
    pub fn copy_to(mut self, folder: impl AsRef<Path>) -> Self {
        self.copy_to = Some(folder.as_ref().to_path_buf());
        self
    }

    /// The target folder, where this does not run in a build script.
    pub fn target_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.target_dir = Some(folder.as_ref().to_path_buf());
        self
    }

    /// The program that acts as linker, where it is not the running one (`ptx-linker` of this crate).
    pub fn linker(mut self, program: impl AsRef<Path>) -> Self {
        self.linker = Some(program.as_ref().to_path_buf());
        self
    }

    /// The assembler, instead of the one that is found ([`ptxas::find`]).
    pub fn ptxas(mut self, program: impl AsRef<Path>) -> Self {
        self.ptxas = Some(program.as_ref().to_path_buf());
        self
    }

    /// Accepts a fault of the entries whose names begin with `entry`, for a reason. Those that belong to the
    /// kernel crate whoever builds it stand in its `allowed-faults.txt` ([`check::read_allowed`]).
    pub fn allow(mut self, entry: &str, fault: Fault, reason: &str) -> Self {
        self.allowed.push(Allowance { entry: entry.to_owned(), fault, reason: reason.to_owned() });
        self
    }

    /// What becomes of other faults; where nothing is said, `BATCHLAS_KERNEL_FAULTS` decides, and without it
    /// the build fails.
    pub fn faults(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Builds. In a build script, tells cargo when to come again; only where it succeeds, since cargo comes
    /// again after a failure anyway, and shows what was printed above the error.
    pub fn build(self) -> Result<BuiltKernels, BuildError> {
        let built = self.build_silently()?;
        print_directives(std::slice::from_ref(&built));
        Ok(built)
    }

    pub(crate) fn build_silently(self) -> Result<BuiltKernels, BuildError> {
        let folder = self.folder()?;
        let built = match std::env::var_os("BATCHLAS_PTX_DIR").filter(|dir| !dir.is_empty()) {
            Some(_) if self.flags != Flags::default() => {
                let problem = format!("prebuilt kernels take no builder flags ({}): unset it", self.flags);
                return Err(BuildError::Environment { name: "BATCHLAS_PTX_DIR", problem });
            }
            Some(dir) => embed::load_prebuilt(Path::new(&dir), &folder, self.archs.as_deref())?,
            None => self.compile(&folder)?,
        };
        if let Some(copy) = &self.copy_to {
            embed::export(copy, std::slice::from_ref(&built))?;
        }
        Ok(built)
    }

    fn folder(&self) -> Result<PathBuf, BuildError> {
        let base = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
        let folder = base.join(&self.krate);
        folder.canonicalize().map_err(at(&folder))
    }

    fn compile(&self, folder: &Path) -> Result<BuiltKernels, BuildError> {
        let archs = match &self.archs {
            Some(archs) => archs.clone(),
            None => arch::from_env()?,
        };
        let tools = discover::find()?;
        let ptxas = if self.emit_cubin { self.assembler(folder)? } else { None };
        let ptx_dir = self.ptx_dir()?;
        std::fs::create_dir_all(&ptx_dir).map_err(at(&ptx_dir))?;
        // Builds of other profiles share the folder.
        let _lock = lock(&ptx_dir)?;
        let sysroot = sysroot::ensure(&tools, &ptx_dir)?;

        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        progress::note(&ptx_dir, &format!("{name}: rustc"));
        let nested = Nested {
            tools: &tools,
            krate: folder,
            ptx_dir: &ptx_dir,
            sysroot: sysroot.as_deref(),
            linker: self.linker.as_deref(),
            checked: !self.release,
            lines: self.debug == DebugInfo::LineTables,
        };
        let linked = nested.run()?;
        if let Some(path) = &self.final_module_path {
            std::fs::copy(&linked.ir, path).map_err(at(path))?;
        }
        let krate = linked.ir.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let variant = if self.release { "" } else { "-checked" };
        let lines = if nested.lines { "-lines" } else { "" };
        let out_dir =
            ptx_dir.join("modules").join(format!("{krate}{variant}{lines}{}", self.flags.variant()));
        let mut allowed = check::read_allowed(folder)?;
        allowed.extend(self.allowed.iter().cloned());
        let settings = codegen::Settings {
            tools: &tools,
            ptxas: ptxas.clone(),
            archs: &archs,
            emit_llvm_ir: self.emit_llvm_ir,
            checked: nested.checked,
            lines: nested.lines,
            flags: self.flags,
            allowed: &allowed,
            ptx_dir: &ptx_dir,
            out_dir: &out_dir,
            krate: &krate,
        };
        let (mut modules, faults) = codegen::compile(&linked.ir, &settings)?;
        let policy = match self.policy {
            Some(policy) => policy,
            None => Policy::from_env()?.unwrap_or(Policy::Deny),
        };
        if !faults.is_empty() && policy == Policy::Deny {
            return Err(BuildError::Kernel { faults, folder: out_dir });
        }

        if !self.flags.cubin {
            modules.iter_mut().for_each(|module| (module.cubin, module.resources) = (None, BTreeMap::new()));
        }
        let mut tool_chain = tools.to_string();
        if let Some((_, version)) = ptxas.as_ref().filter(|_| self.flags.cubin) {
            tool_chain += &format!(", ptxas {version}");
        }
        if self.flags != Flags::default() {
            tool_chain += &format!(", {}", self.flags);
        }
        let mut watched: Vec<PathBuf> = manifests_of(&linked.sources).into_iter().collect();
        watched.extend(nested.lock_file());
        // The folder tells when a file of exceptions comes or goes.
        watched.extend([folder.to_path_buf()]);
        watched.extend([tools.rustc.clone(), tool_stamp(&ptx_dir)?]);
        watched.extend(linked.sources.iter().cloned());
        let folder = folder.to_path_buf();
        Ok(BuiltKernels { krate, modules, tool_chain, folder, sources: linked.sources, watched, faults })
    }

    /// The assembler and its version.
    fn assembler(&self, near: &Path) -> Result<Option<(PathBuf, String)>, BuildError> {
        let path = match &self.ptxas {
            Some(path) => Some(path.clone()),
            // A kernel crate may lie outside the workspace whose tools it builds with.
            None => {
                ptxas::find("ptxas", near)?.or(ptxas::find("ptxas", Path::new(env!("CARGO_MANIFEST_DIR")))?)
            }
        };
        let Some(path) = path else { return Ok(None) };
        let version = ptxas::version(&path)?;
        Ok(Some((path, version)))
    }

    /// `<target>/ptx`: shared by all profiles, and by test, clippy and doc builds.
    fn ptx_dir(&self) -> Result<PathBuf, BuildError> {
        if let Some(target) = &self.target_dir {
            return std::path::absolute(target.join("ptx")).map_err(at(target));
        }
        let Some(out) = std::env::var_os("OUT_DIR").map(PathBuf::from) else {
            let problem = "not set: outside a build script call `CudaBuilder::target_dir`".to_owned();
            return Err(BuildError::Environment { name: "OUT_DIR", problem });
        };
        Ok(target_of(&out).join("ptx"))
    }
}

/// The target folder around a build script's OUT_DIR. cargo marks it with CACHEDIR.TAG, and the folder of a
/// `--target` below it too; but not a folder that was there before it, whose place the layout
/// `<target>/<profile>/build/<package>/out` tells.
fn target_of(out: &Path) -> &Path {
    let tagged = |folder: &&Path| folder.join("CACHEDIR.TAG").is_file();
    let by_layout = || {
        let build = out.ancestors().find(|folder| folder.ends_with("build"))?;
        build.parent()?.parent()
    };
    let inner = out.ancestors().find(tagged).or_else(by_layout).unwrap_or(out);
    let is_triple = std::env::var_os("TARGET").is_some_and(|triple| inner.file_name() == Some(&triple));
    match inner.parent() {
        Some(outer) if is_triple || tagged(&outer) => outer,
        _ => inner,
    }
}

/// Holds the folder until the file is dropped.
fn lock(ptx_dir: &Path) -> Result<File, BuildError> {
    let path = ptx_dir.join("lock");
    let file = File::create(&path).map_err(at(&path))?;
    file.lock().map_err(at(&path))?;
    Ok(file)
}

/// A file that `cargo xtask setup` removes, so that the next build looks at the tools again.
fn tool_stamp(ptx_dir: &Path) -> Result<PathBuf, BuildError> {
    let stamp = ptx_dir.join("tool-chain");
    if !stamp.is_file() {
        std::fs::write(&stamp, "").map_err(at(&stamp))?;
    }
    Ok(stamp)
}

/// Manifests above the sources, as far as the workspace's.
fn manifests_of(sources: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut manifests = BTreeSet::new();
    let folders: BTreeSet<&Path> = sources.iter().filter_map(|source| source.parent()).collect();
    for folder in folders {
        manifests
            .extend(folder.ancestors().map(|above| above.join("Cargo.toml")).filter(|path| path.is_file()));
    }
    manifests
}

/// Tells cargo when the build script is to run again, and what to warn of.
pub(crate) fn print_directives(built: &[BuiltKernels]) {
    if std::env::var_os("OUT_DIR").is_none() {
        return;
    }
    for name in VARIABLES {
        println!("cargo::rerun-if-env-changed={name}");
    }
    for path in built.iter().flat_map(|kernels| &kernels.watched) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for fault in built.iter().flat_map(|kernels| &kernels.faults) {
        println!("cargo::warning=slow kernel: {fault}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_folder_of_an_out_dir() {
        let root = std::env::temp_dir().join(format!("cuda-builder-target-{}", std::process::id()));
        let plain = root.join("target/debug/build/x-1/out");
        let cross = root.join("target/x86_64-unknown-linux-gnu/debug/build/x-1/out");
        for folder in [&plain, &cross] {
            std::fs::create_dir_all(folder).unwrap();
        }
        assert_eq!(target_of(&plain), root.join("target"), "a folder older than cargo's mark");
        std::fs::write(root.join("target/CACHEDIR.TAG"), "").unwrap();
        std::fs::write(root.join("target/x86_64-unknown-linux-gnu/CACHEDIR.TAG"), "").unwrap();
        assert_eq!(target_of(&plain), root.join("target"));
        assert_eq!(target_of(&cross), root.join("target"));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn manifests_reach_the_workspace() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let manifests = manifests_of(&[here.join("src/lib.rs")]);
        assert!(manifests.contains(&here.join("Cargo.toml")));
        assert!(manifests.contains(&here.join("../../Cargo.toml").canonicalize().unwrap()));
    }
}
