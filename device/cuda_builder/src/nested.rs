//! The nested cargo that compiles a kernel crate, and rustc's wrapper within it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::discover::{TARGET, ToolChain};
use crate::error::{BuildError, at};
use crate::{LINKER_SOURCES, hash_of, link};

/// Set on the nested cargo: the rustc that this program wraps.
const RUSTC_VAR: &str = "CUDA_BUILDER_RUSTC";

/// Unstable features that kernel crates may use.
const FEATURES: &str =
    "abi_ptx,asm_experimental_arch,link_llvm_intrinsics,stdarch_nvptx,abi_unadjusted,core_intrinsics";

/// Flags that decide what code rustc makes, for kernels and for `core` alike.
///
/// - No passes of rustc's own pipeline: they sink and duplicate matrix instructions, which LLVM does not
///   know to be convergent; our linker marks them first.
/// - No MIR jump threading: it duplicates barriers into divergent arms (rust-lang issue 137086).
/// - The base architecture; [`crate::codegen`] chooses the real one.
pub fn code_flags() -> Vec<String> {
    [
        "-Ctarget-cpu=sm_80",
        "-Zmir-enable-passes=-JumpThreading",
        "-Cno-prepopulate-passes",
        "-Cllvm-args=-unroll-threshold=100000",
        "-Cno-vectorize-loops",
        "-Cno-vectorize-slp",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// One nested build.
pub struct Nested<'a> {
    /// Compiler and tools.
    pub tools: &'a ToolChain,
    /// Folder of the kernel crate.
    pub krate: &'a Path,
    /// `<target>/ptx`.
    pub ptx_dir: &'a Path,
    /// Sysroot with `core`.
    pub sysroot: Option<&'a Path>,
    /// This program, where it is not the running one.
    pub linker: Option<&'a Path>,
    /// Keep debug assertions and overflow checks.
    pub checked: bool,
    /// Keep line tables.
    pub lines: bool,
}

/// What the nested cargo made.
#[derive(Debug)]
pub struct Linked {
    /// Textual IR of the whole crate, markers at its head.
    pub ir: PathBuf,
    /// Source files that it was made of.
    pub sources: Vec<PathBuf>,
}

impl Nested<'_> {
    /// Compiles and links; warnings go to stderr.
    pub fn run(&self) -> Result<Linked, BuildError> {
        let linker = self.install_linker()?;
        let output = self.command(&linker)?.output().map_err(at(Path::new("cargo")))?;
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(BuildError::Compile { krate: self.krate.to_path_buf(), messages });
        }
        eprint!("{messages}");
        let ir = artifact(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
            BuildError::Marker(format!(
                "{}: cargo named no artifact of the kernel crate",
                self.krate.display()
            ))
        })?;
        let sources = read_dep_info(&ir.with_extension("d"))?;
        Ok(Linked { ir, sources })
    }

    fn command(&self, linker: &Path) -> Result<Command, BuildError> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        clean_environment(&mut cargo);
        let mut flags = code_flags();
        flags.extend(["-Zunstable-options", "-Clinker-flavor=llbc"].map(str::to_owned));
        if let Some(sysroot) = self.sysroot {
            flags.push(format!("--sysroot={}", sysroot.display()));
        }
        if self.checked {
            flags.push("-Cdebug-assertions=on".to_owned());
        }
        if self.lines {
            flags.push("-Cdebuginfo=line-tables-only".to_owned());
        }
        cargo
            .current_dir(self.krate)
            .env("RUSTC", &self.tools.rustc)
            .env("RUSTC_WRAPPER", linker)
            .env(RUSTC_VAR, &self.tools.rustc)
            .env(link::LLVM_BIN_VAR, &self.tools.llvm_bin)
            .env("CARGO_TARGET_NVPTX64_NVIDIA_CUDA_LINKER", linker)
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        cargo.args(["rustc", "--lib", "--crate-type", "cdylib", "--target", TARGET, "--profile", "ptx"]);
        // Here and not in a manifest, so that any kernel crate builds.
        for setting in ["inherits=\"release\"", "codegen-units=1", "panic=\"abort\"", "lto=false", "debug=0"]
        {
            cargo.arg("--config").arg(format!("profile.ptx.{setting}"));
        }
        cargo.args(["--message-format=json-render-diagnostics", "--quiet"]);
        if self.lock_file().is_some() {
            cargo.arg("--locked");
        }
        cargo.arg("--manifest-path").arg(self.krate.join("Cargo.toml")).arg("--target-dir").arg(self.ptx_dir);
        // cargo does not see that the linker changed: a flag that changes with it does.
        let linker_key = hash_of(LINKER_SOURCES.iter().copied().chain([self.tools.llvm_version.as_str()]));
        cargo.arg("--").arg(format!("-Clink-arg=--fingerprint={linker_key}"));
        Ok(cargo)
    }

    /// The lock file of the kernel crate's workspace, where there is one.
    pub fn lock_file(&self) -> Option<PathBuf> {
        let is_root = |folder: &&Path| {
            let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
            manifest.lines().any(|line| line.starts_with("[workspace"))
        };
        let root = self.krate.ancestors().find(is_root).unwrap_or(self.krate);
        Some(root.join("Cargo.lock")).filter(|path| path.is_file())
    }

    /// Puts this program at a path that does not change from build to build: cargo would recompile
    /// everything for a new one.
    fn install_linker(&self) -> Result<PathBuf, BuildError> {
        let own = match self.linker {
            Some(path) => path.to_path_buf(),
            None => own_program().map_err(at(Path::new("this program")))?,
        };
        let fixed = self.ptx_dir.join("linker");
        let bytes = std::fs::read(&own).map_err(at(&own))?;
        if std::fs::read(&fixed).ok().as_ref() != Some(&bytes) {
            let scratch = self.ptx_dir.join(format!("linker.{}", std::process::id()));
            std::fs::copy(&own, &scratch).map_err(at(&scratch))?;
            std::fs::rename(&scratch, &fixed).map_err(at(&fixed))?;
        }
        Ok(fixed)
    }
}

/// The running program's file, also after another was put in its place: a build of the workspace replaces
/// xtask while it runs.
fn own_program() -> std::io::Result<PathBuf> {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { Ok(running) } else { std::env::current_exe() }
}

/// Takes from a command what belongs to the outer build. What says how to reach registries stays.
pub fn clean_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if is_of_outer_build(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
}

fn is_of_outer_build(name: &str) -> bool {
    const KEEP: [&str; 2] = ["CARGO_HOME", "CARGO_MAKEFLAGS"];
    const KEEP_PREFIX: [&str; 5] =
        ["CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_TERM_", "CARGO_SOURCE_"];
    const GO: [&str; 12] = [
        "RUSTUP_TOOLCHAIN",
        "LD_LIBRARY_PATH",
        "OUT_DIR",
        "TARGET",
        "HOST",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
        "NUM_JOBS",
        "SDKROOT",
        "__CARGO_DEFAULT_LIB_METADATA",
        "__CARGO_TEST_CHANNEL_OVERRIDE_DO_NOT_USE_THIS",
    ];
    const GO_PREFIX: [&str; 6] = ["CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "CLIPPY", "DEP_"];
    let starts = |list: &[&str]| list.iter().any(|prefix| name.starts_with(prefix));
    !KEEP.contains(&name) && !starts(&KEEP_PREFIX) && (GO.contains(&name) || starts(&GO_PREFIX))
}

/// The kernel crate's file in cargo's messages: the last artifact that ends in `.ptx`.
fn artifact(messages: &str) -> Option<PathBuf> {
    let lines = messages.lines().filter(|line| line.contains("\"reason\":\"compiler-artifact\""));
    let mut names = lines.filter_map(|line| line.split('"').find(|word| word.ends_with(".ptx")));
    names.next_back().map(|name| PathBuf::from(name.replace("\\\\", "\\")))
}

/// The sources in a dep-info file; a backslash stands before each space of a name.
fn read_dep_info(path: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let text = std::fs::read_to_string(path).map_err(at(path))?;
    let list = text.lines().next().and_then(|line| line.split_once(": ")).map_or("", |(_, list)| list);
    let names = list.replace("\\ ", "\0");
    let mut sources: Vec<PathBuf> =
        names.split_whitespace().map(|name| name.replace('\0', " ").into()).collect();
    sources.sort();
    Ok(sources)
}

/// rustc's wrapper: gives a kernel crate the header that it need not write. A crate whose root file
/// says `no_std` has its own.
pub(crate) fn act_as_wrapper(args: &[OsString]) -> bool {
    let Some(rustc) = std::env::var_os(RUSTC_VAR) else { return false };
    if args.first() != Some(&rustc) {
        return false;
    }
    let mut command = Command::new(&rustc);
    let headless = is_for_device(args) && lacks_header(args);
    if headless {
        command.args(with_forced_externs(&args[1..]))
    } else {
        command.args(&args[1..])
    };
    if is_for_device(args) {
        command.env("RUSTC_BOOTSTRAP", "1");
        if headless {
            command.arg("-Zcrate-attr=no_std").arg(format!("-Zcrate-attr=feature({FEATURES})"));
            // A crate uses some of the features; the host's build lints the rest.
            command.args(["-Ainternal_features", "-Aunused_features", "-Aunknown_lints"]);
        }
    }
    let code = match command.status() {
        Ok(status) => status.code().unwrap_or(101),
        Err(error) => {
            eprintln!("{}: {error}", Path::new(&rustc).display());
            101
        }
    };
    std::process::exit(code)
}

/// Links every direct dependency, used or not: the device library holds the panic handler, which a kernel
/// crate without a kernel needs as well.
fn with_forced_externs(args: &[OsString]) -> Vec<OsString> {
    let mut forced: Vec<OsString> = Vec::with_capacity(args.len());
    for arg in args {
        let plain = arg.to_str().filter(|text| text.contains('=') && !text.contains(':'));
        let follows_extern = forced.last().is_some_and(|last| last == "--extern");
        forced.push(
            plain
                .filter(|_| follows_extern)
                .map_or_else(|| arg.clone(), |text| format!("force:{text}").into()),
        );
    }
    forced
}

fn is_for_device(args: &[OsString]) -> bool {
    args.iter().any(|arg| arg == TARGET || arg == OsStr::new("--target=nvptx64-nvidia-cuda"))
}

fn lacks_header(args: &[OsString]) -> bool {
    let root = args.iter().skip(1).map(Path::new).find(|path| path.extension() == Some(OsStr::new("rs")));
    let text = root.and_then(|path| std::fs::read_to_string(path).ok());
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    text.is_some_and(|text| !text.lines().filter(is_code).any(|line| line.contains("no_std")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outer_build_goes_and_registry_settings_stay() {
        for name in [
            "CARGO_PKG_NAME",
            "RUSTFLAGS",
            "RUSTC_WRAPPER",
            "CLIPPY_ARGS",
            "DEP_X_Y",
            "TARGET",
            "RUSTDOCFLAGS",
        ] {
            assert!(is_of_outer_build(name), "{name}");
        }
        for name in [
            "CARGO_HOME",
            "CARGO_MAKEFLAGS",
            "CARGO_NET_OFFLINE",
            "CARGO_REGISTRIES_X_INDEX",
            "PATH",
            "TARGETS",
        ] {
            assert!(!is_of_outer_build(name), "{name}");
        }
    }

    #[test]
    fn artifact_is_the_last_ptx() {
        let messages = concat!(
            "{\"reason\":\"compiler-artifact\",\"filenames\":[\"/t/liba.rlib\"]}\n",
            "{\"reason\":\"compiler-artifact\",\"filenames\":[\"/t/kernels x.ptx\"]}\n",
            "{\"reason\":\"build-finished\",\"success\":true}\n"
        );
        assert_eq!(artifact(messages), Some("/t/kernels x.ptx".into()));
        assert_eq!(artifact("{\"reason\":\"build-finished\"}"), None);
    }

    #[test]
    fn dep_info_unescapes_spaces() {
        let path = std::env::temp_dir().join(format!("cuda-builder-dep-{}.d", std::process::id()));
        std::fs::write(&path, "/t/k.ptx: /b/lib.rs /a\\ b/lib.rs\n").unwrap();
        let sources = read_dep_info(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(sources, [PathBuf::from("/a b/lib.rs"), "/b/lib.rs".into()]);
    }

    #[test]
    fn plain_externs_are_forced() {
        let args =
            ["--extern", "cuda_std=/x/libcuda_std.rlib", "--extern", "priv:b=/b", "-L", "dependency=/y"];
        let forced = with_forced_externs(&args.map(OsString::from));
        assert_eq!(forced[1], "force:cuda_std=/x/libcuda_std.rlib");
        assert_eq!((&forced[3], &forced[5]), (&"priv:b=/b".into(), &"dependency=/y".into()));
    }

    #[test]
    fn header_only_for_crates_without_one() {
        let folder = std::env::temp_dir().join(format!("cuda-builder-header-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            vec![OsString::from("rustc"), path.into_os_string(), "--target".into(), TARGET.into()]
        };
        let plain = write("plain.rs", "//! Needs no no_std.\npub fn f() {}\n");
        let own = write("own.rs", "#![cfg_attr(target_os = \"cuda\", no_std)]\n");
        assert!(lacks_header(&plain) && !lacks_header(&own) && is_for_device(&plain));
        assert!(!lacks_header(&[OsString::from("rustc"), "-".into()]));
        assert!(!is_for_device(&plain[..2]));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
