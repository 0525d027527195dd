//! The kernels of the workspace outside a build script; `cargo xtask ptx`.

use std::path::{Path, PathBuf};

use cuda_builder::check::Policy;
use cuda_builder::{Arch, BuiltKernels, CudaBuilder, Flags, arch, embed};

use crate::process::{Failure, at, root, target_dir};
use crate::progress;

/// Compiles every kernel crate into a folder.
pub fn export(folder: &Path) -> Result<(), Failure> {
    let built = build_all(Policy::from_env()?.unwrap_or(Policy::Deny))?;
    embed::export(folder, &built)?;
    let modules: usize = built.iter().map(|kernels| kernels.modules.len()).sum();
    println!("{}: {modules} modules of {} crates. Build with:", folder.display(), built.len());
    let folder = std::path::absolute(folder).map_err(at(folder))?;
    println!("  export BATCHLAS_PTX_DIR={}", folder.display());
    Ok(())
}

/// Builds every kernel crate for the architectures that are asked for.
pub fn build_all(policy: Policy) -> Result<Vec<BuiltKernels>, Failure> {
    build_with(policy, Flags::default(), &arch::from_env()?)
}

/// Builds every kernel crate in another way.
pub fn build_with(policy: Policy, flags: Flags, archs: &[Arch]) -> Result<Vec<BuiltKernels>, Failure> {
    let build = |krate: PathBuf| {
        let builder = CudaBuilder::new(krate).target_dir(target_dir()).archs(archs.iter().copied());
        progress::watching(|| builder.flags(flags).faults(policy).build())
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
}
