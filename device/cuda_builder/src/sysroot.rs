//! `core` for device code, compiled once with our own flags into a sysroot of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::discover::{Core, TARGET, ToolChain};
use crate::error::{BuildError, at};
use crate::{hash_of, link, nested, progress};

const COMPILER_BUILTINS: &str = "#![no_std]\n#![feature(compiler_builtins)]\n#![compiler_builtins]\n";

/// The sysroot of the tool chain below `ptx_dir`, made where it is missing (about 20 s). The caller holds
/// the folder's lock.
/// `None` where the toolchain's own holds the target.
pub fn ensure(tools: &ToolChain, ptx_dir: &Path) -> Result<Option<PathBuf>, BuildError> {
    let Core::Source(library) = &tools.core else { return Ok(None) };
    let flags = nested::code_flags();
    let key = hash_of([
        tools.verbose.as_str(),
        &flags.join(" "),
        &library.display().to_string(),
        COMPILER_BUILTINS,
    ]);
    let sysroot = ptx_dir.join(format!("core-{}", &key[..12]));
    if sysroot.is_dir() {
        return Ok(Some(sysroot));
    }
    progress::note(
        ptx_dir,
        &format!("core for the GPU: compiling with rustc {} (once, about 20 s)", tools.version),
    );
    // Half a sysroot of a build that was stopped must not be taken for a whole one.
    let scratch = ptx_dir.join("core-unfinished");
    if scratch.exists() {
        std::fs::remove_dir_all(&scratch).map_err(at(&scratch))?;
    }
    let lib = scratch.join("lib/rustlib").join(TARGET).join("lib");
    std::fs::create_dir_all(&lib).map_err(at(&lib))?;

    let core = library.join("core");
    compile(tools, &flags, "core", &core.join("src/lib.rs"), &edition(&core), &lib, &scratch)?;
    let builtins = scratch.join("compiler_builtins.rs");
    std::fs::write(&builtins, COMPILER_BUILTINS).map_err(at(&builtins))?;
    compile(tools, &flags, "compiler_builtins", &builtins, "2024", &lib, &scratch)?;

    std::fs::rename(&scratch, &sysroot).map_err(at(&sysroot))?;
    Ok(Some(sysroot))
}

fn compile(
    tools: &ToolChain,
    flags: &[String],
    name: &str,
    source: &Path,
    edition: &str,
    lib: &Path,
    sysroot: &Path,
) -> Result<(), BuildError> {
    let mut rustc = Command::new(&tools.rustc);
    nested::clean_environment(&mut rustc);
    rustc.env("RUSTC_BOOTSTRAP", "1");
    rustc.args(["--crate-name", name, "--crate-type", "rlib", "--edition", edition, "--target", TARGET]);
    rustc.args(["-Copt-level=3", "-Cpanic=abort", "-Ccodegen-units=1"]);
    rustc.args(["-Zforce-unstable-if-unmarked", "--cap-lints", "allow"]);
    rustc.arg(format!("-Cmetadata=cuda_builder_{name}")).args(flags);
    rustc.arg("--sysroot").arg(sysroot).arg("-o").arg(lib.join(format!("lib{name}.rlib"))).arg(source);
    link::run(&mut rustc).map(drop)
}

fn edition(krate: &Path) -> String {
    let manifest = std::fs::read_to_string(krate.join("Cargo.toml")).unwrap_or_default();
    let line = manifest.lines().find_map(|line| line.trim().strip_prefix("edition"));
    let value = line.and_then(|rest| rest.split('"').nth(1));
    value.unwrap_or("2024").to_owned()
}
