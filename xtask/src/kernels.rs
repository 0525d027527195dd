//! `cargo xtask ptx` and `cargo xtask ledger`: the kernels of the workspace, outside a build script.

use std::path::{Path, PathBuf};

use cuda_builder::check::Policy;
use cuda_builder::{BuiltKernels, CudaBuilder, arch, embed, ledger};

use crate::process::{Failure, at, root, target_dir};

/// Compiles every kernel crate into a folder.
pub fn export(folder: &Path) -> Result<(), Failure> {
    let built = build_all()?;
    embed::export(folder, &built)?;
    let modules: usize = built.iter().map(|kernels| kernels.modules.len()).sum();
    println!("{}: {modules} modules of {} crates. Build with:", folder.display(), built.len());
    let folder = std::path::absolute(folder).map_err(at(folder))?;
    println!("  export BATCHLAS_PTX_DIR={}", folder.display());
    Ok(())
}

/// Writes the ledger.
pub fn write_ledger() -> Result<(), Failure> {
    let text = current_ledger()?;
    let path = ledger_path();
    std::fs::write(&path, &text).map_err(at(&path))?;
    println!("{}: {} kernels", path.display(), text.lines().filter(|line| !line.starts_with('#')).count());
    Ok(())
}

/// Compares the ledger with the kernels. Another assembler's figures are no fault of theirs.
pub fn check_ledger() -> Result<(), Failure> {
    let path = ledger_path();
    let recorded = std::fs::read_to_string(&path).map_err(at(&path))?;
    let current = match current_ledger() {
        Ok(text) => text,
        Err(failure) => {
            println!("ledger: not checked: {failure}");
            return Ok(());
        }
    };
    if recorded.lines().next() != current.lines().next() {
        println!(
            "ledger: not checked: recorded with another tool chain\n  {}",
            recorded.lines().next().unwrap_or_default()
        );
        return Ok(());
    }
    let differing: Vec<&str> =
        current.lines().filter(|line| !recorded.lines().any(|old| old == *line)).collect();
    let gone = recorded.lines().filter(|line| !current.lines().any(|new| new == *line)).count();
    if differing.is_empty() && gone == 0 {
        println!("ledger: as recorded");
        return Ok(());
    }
    let shown = differing.iter().take(8).map(|line| format!("\n  {line}")).collect::<String>();
    Err(Failure::new(format!(
        "{}: {} rows differ and {gone} are out of date; `cargo xtask ledger` writes it anew{shown}",
        path.display(),
        differing.len()
    )))
}

fn ledger_path() -> PathBuf {
    root().join("device/ledger.txt")
}

fn current_ledger() -> Result<String, Failure> {
    let built = build_all()?;
    let rows = ledger::rows(&built);
    match built.first() {
        Some(first) if !rows.is_empty() => Ok(ledger::format(&rows, &first.tool_chain)),
        _ => Err(Failure::new("no ptxas: cargo xtask setup fetches it")),
    }
}

fn build_all() -> Result<Vec<BuiltKernels>, Failure> {
    let archs = arch::from_env()?;
    let policy = Policy::from_env()?.unwrap_or(Policy::Deny);
    let build = |krate: PathBuf| {
        CudaBuilder::new(krate).target_dir(target_dir()).archs(archs.clone()).faults(policy).build()
    };
    Ok(kernel_crates()?.into_iter().map(build).collect::<Result<_, _>>()?)
}

/// Folders below device/kernels that hold a manifest.
fn kernel_crates() -> Result<Vec<PathBuf>, Failure> {
    let folder = root().join("device/kernels");
    let entries = std::fs::read_dir(&folder).map_err(at(&folder))?;
    let mut crates: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    crates.retain(|path| path.join("Cargo.toml").is_file());
    crates.sort();
    Ok(crates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_script_embeds_every_kernel_crate() {
        let script = std::fs::read_to_string(root().join("build.rs")).unwrap();
        for krate in kernel_crates().unwrap() {
            let name = krate.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            assert!(script.contains(&format!("\"{name}\"")), "build.rs does not embed {name}");
        }
    }

    #[test]
    fn the_ledger_can_be_read() {
        let text = std::fs::read_to_string(ledger_path()).unwrap();
        assert!(!ledger::parse(&text).unwrap().is_empty());
    }
}
