//! Finds a rustc that can compile kernels, and the LLVM tools of its LLVM version.
//!
//! Order: `BATCHLAS_DEVICE_RUSTC` (with `BATCHLAS_LLVM_BIN`), whose failure is an error and not a reason
//! to look elsewhere; the active toolchain; `/usr/bin/rustc`. A rustc below [`FLOOR`] is refused: it
//! marks no function convergent, so LLVM would move barriers and collectives.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::BuildError;

/// The oldest rustc that may compile kernels.
pub const FLOOR: &str = "1.96";
const FLOOR_PARTS: (u32, u32) = (1, 96);

/// The target of device code.
pub const TARGET: &str = "nvptx64-nvidia-cuda";

const LLVM_TOOLS: [&str; 5] = ["llvm-ar", "llvm-link", "llvm-nm", "opt", "llc"];

/// Where `core` comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Core {
    /// The `library` folder of the compiler's sources: compiled once with our flags.
    Source(PathBuf),
    /// The toolchain holds the target's `core`.
    Prebuilt,
}

/// A rustc for kernels and what goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolChain {
    /// The compiler.
    pub rustc: PathBuf,
    /// Its version, as `1.96.0`.
    pub version: String,
    /// Version of the LLVM tools, as `22.1.8`.
    pub llvm_version: String,
    /// Folder of the LLVM tools.
    pub llvm_bin: PathBuf,
    /// Where `core` comes from.
    pub core: Core,
    /// What `rustc -vV` prints: the identity of the compiler.
    pub verbose: String,
}

impl std::fmt::Display for ToolChain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rustc {}, LLVM {}", self.version, self.llvm_version)
    }
}

/// What discovery looks at; a test fills it with folders of its own.
pub struct Search<'a> {
    /// Environment variables.
    pub env: &'a dyn Fn(&str) -> Option<OsString>,
    /// The rustc of the active toolchain.
    pub active: PathBuf,
    /// Root of the file system that holds `usr/bin/rustc` and `usr/lib/llvm-NN/bin`.
    pub root: PathBuf,
}

/// Finds the tool chain on this machine.
pub fn find() -> Result<ToolChain, BuildError> {
    let env = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let active = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()).into();
    Search { env: &env, active, root: "/".into() }.run()
}

impl Search<'_> {
    /// Looks at each place in turn.
    pub fn run(&self) -> Result<ToolChain, BuildError> {
        if let Some(rustc) = (self.env)("BATCHLAS_DEVICE_RUSTC") {
            let rustc = PathBuf::from(rustc);
            return self
                .examine(&rustc)
                .map_err(|problem| BuildError::Environment { name: "BATCHLAS_DEVICE_RUSTC", problem });
        }
        let system = self.root.join("usr/bin/rustc");
        let mut tried = vec![];
        for (place, rustc) in [("the active toolchain", &self.active), ("the system's rustc", &system)] {
            match self.examine(rustc) {
                Ok(found) => return Ok(found),
                Err(problem) => tried.push(format!("{place}, {problem}")),
            }
        }
        Err(BuildError::NoDeviceCompiler(tried))
    }

    fn examine(&self, rustc: &Path) -> Result<ToolChain, String> {
        let name = rustc.display();
        let verbose = answer(rustc, &["-vV"])?;
        let field = |key: &str| verbose.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let version = field("release:").ok_or_else(|| format!("{name}: no release in what -vV prints"))?;
        if version_parts(version) < Some(FLOOR_PARTS) {
            return Err(format!("{name}: rustc {version} is older than {FLOOR}"));
        }
        let host = field("host:").ok_or_else(|| format!("{name}: no host in what -vV prints"))?;
        let llvm = field("LLVM version:").ok_or_else(|| format!("{name}: not built on LLVM"))?;
        let sysroot = PathBuf::from(answer(rustc, &["--print", "sysroot"])?.trim());
        let core = core_of(&sysroot).ok_or_else(|| {
            format!("{name}: rustc {version} without its sources (rustup component rust-src, Debian package rust-web-src)")
        })?;
        let (llvm_bin, llvm_version) =
            self.llvm_tools(&sysroot, host, llvm).map_err(|p| format!("{name}: {p}"))?;
        // A rustup proxy would choose its toolchain again in another folder.
        let direct = sysroot.join("bin/rustc");
        let rustc = if direct.is_file() { direct } else { rustc.to_path_buf() };
        Ok(ToolChain {
            rustc,
            version: version.to_owned(),
            llvm_version,
            llvm_bin,
            core,
            verbose: verbose.clone(),
        })
    }

    fn llvm_tools(&self, sysroot: &Path, host: &str, rustc_llvm: &str) -> Result<(PathBuf, String), String> {
        let major = rustc_llvm.split('.').next().unwrap_or_default();
        let given = (self.env)("BATCHLAS_LLVM_BIN").map(PathBuf::from);
        let places = match given {
            Some(folder) => vec![folder],
            None => vec![
                sysroot.join("lib/rustlib").join(host).join("bin"),
                self.root.join(format!("usr/lib/llvm-{major}/bin")),
            ],
        };
        let mut problems = vec![];
        for folder in places {
            match llvm_version(&folder, major) {
                Ok(version) => return Ok((folder, version)),
                Err(problem) => problems.push(problem),
            }
        }
        Err(format!(
            "no tools of LLVM {major} (rustup component llvm-tools, Debian package llvm-{major}): {}",
            problems.join("; ")
        ))
    }
}

fn llvm_version(folder: &Path, major: &str) -> Result<String, String> {
    if let Some(missing) = LLVM_TOOLS.iter().find(|tool| !folder.join(tool).is_file()) {
        return Err(format!("no {missing} in {}", folder.display()));
    }
    let text = answer(&folder.join("llc"), &["--version"])?;
    let version =
        text.lines().find_map(|line| line.split_once("LLVM version ")).map_or("", |(_, version)| version);
    if version.split('.').next() != Some(major) {
        return Err(format!("{} is of LLVM {version}", folder.display()));
    }
    Ok(version.trim().to_owned())
}

fn core_of(sysroot: &Path) -> Option<Core> {
    let rustlib = sysroot.join("lib/rustlib");
    let library = rustlib.join("src/rust/library");
    if library.join("core/src/lib.rs").is_file() {
        return Some(Core::Source(library));
    }
    let target = std::fs::read_dir(rustlib.join(TARGET).join("lib")).ok()?;
    let is_core = |name: OsString| name.to_string_lossy().starts_with("libcore-");
    target.flatten().any(|entry| is_core(entry.file_name())).then_some(Core::Prebuilt)
}

fn answer(program: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(args)
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", program.display(), text.lines().next().unwrap_or("failed")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn version_parts(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
