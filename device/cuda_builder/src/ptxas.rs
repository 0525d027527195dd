//! Finds and runs NVIDIA's assembler and disassembler, where they are installed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::audit::{self, Mix, Resources};
use crate::error::{BuildError, at};
use crate::{Arch, link, sass};

/// Folder below a workspace's root into which `cargo xtask setup` installs NVIDIA's tools.
pub const TOOLS_FOLDER: &str = ".tools";

/// Looks for a tool (`ptxas`, `nvdisasm`): `BATCHLAS_PTXAS` (for `ptxas`; the other beside
/// it), `PATH`, `CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`, then `.tools` of `near` and of the folders
/// above it. `Ok(None)` where there is none; an error where `BATCHLAS_PTXAS` names no file.
pub fn find(tool: &str, near: &Path) -> Result<Option<PathBuf>, BuildError> {
    find_with(tool, near, &|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

fn find_with(
    tool: &str,
    near: &Path,
    env: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Option<PathBuf>, BuildError> {
    let mut folders = vec![];
    if let Some(named) = env("BATCHLAS_PTXAS").map(PathBuf::from) {
        if !named.is_file() {
            let problem = format!("{} is no file", named.display());
            return Err(BuildError::Environment { name: "BATCHLAS_PTXAS", problem });
        }
        if tool == "ptxas" {
            return Ok(Some(named));
        }
        folders.extend(named.parent().map(Path::to_path_buf));
    }
    folders.extend(env("PATH").iter().flat_map(std::env::split_paths));
    folders.extend(
        ["CUDA_HOME", "CUDA_PATH"]
            .iter()
            .filter_map(|name| env(name))
            .map(|home| Path::new(&home).join("bin")),
    );
    folders.push("/usr/local/cuda/bin".into());
    folders.extend(near.ancestors().flat_map(|folder| installed(&folder.join(TOOLS_FOLDER))));
    Ok(folders.into_iter().map(|folder| folder.join(tool)).find(|path| path.is_file()))
}

/// Program folders of what pip installed into a tools folder: `nvidia/cu13/bin`.
fn installed(tools: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(tools.join("nvidia")) else { return vec![] };
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path().join("bin")).collect();
    folders.sort();
    folders.reverse();
    folders
}

/// Version of an assembler, as `13.0.88`.
pub fn version(ptxas: &Path) -> Result<String, BuildError> {
    let text = link::run(Command::new(ptxas).arg("--version"))?;
    let version = text.split_whitespace().rev().find_map(|word| word.strip_prefix('V'));
    Ok(version.unwrap_or("unknown").trim_end_matches(',').to_owned())
}

/// What assembling told.
#[derive(Debug, Clone)]
pub struct Assembled {
    /// Registers, stack, spills and shared memory of each entry.
    pub resources: BTreeMap<String, Resources>,
    /// What the assembler printed.
    pub log: String,
}

/// Assembles a PTX file into a cubin.
pub fn assemble(ptxas: &Path, ptx: &Path, arch: Arch, cubin: &Path) -> Result<Assembled, BuildError> {
    assemble_with(ptxas, ptx, arch, cubin, &[])
}

/// [`assemble`] with options of `ptxas`.
pub fn assemble_with(
    ptxas: &Path,
    ptx: &Path,
    arch: Arch,
    cubin: &Path,
    options: &[&str],
) -> Result<Assembled, BuildError> {
    let mut command = Command::new(ptxas);
    command.arg(format!("-arch={arch}")).arg("-v").args(options).arg(ptx).arg("-o").arg(cubin);
    let shown = format!("{command:?}");
    let failed = |output: String| BuildError::Tool { command: shown.clone(), output };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    let log =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(failed(log));
    }
    Ok(Assembled { resources: audit::parse_ptxas(&log), log })
}

/// Machine instructions of each entry of a cubin, counted by kind.
pub fn machine_mix(nvdisasm: &Path, cubin: &Path) -> Result<BTreeMap<String, Mix>, BuildError> {
    Ok(sass::parse(&disassemble(nvdisasm, cubin)?))
}

/// The machine code of a cubin, as text.
pub fn disassemble(nvdisasm: &Path, cubin: &Path) -> Result<String, BuildError> {
    if !cubin.is_file() {
        return Err(at(cubin)(std::io::ErrorKind::NotFound.into()));
    }
    link::run(Command::new(nvdisasm).arg("-c").arg(cubin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }

    #[test]
    fn order_of_places() {
        let root = std::env::temp_dir().join(format!("cuda-builder-ptxas-{}", std::process::id()));
        let in_path = root.join("path/ptxas");
        let in_home = root.join("home/bin/ptxas");
        let in_tools = root.join("work/.tools/nvidia/cu13/bin/ptxas");
        let named = root.join("named/ptxas");
        for path in [&in_path, &in_home, &in_tools, &named, &root.join("named/nvdisasm")] {
            touch(path);
        }
        let near = root.join("work/device/kernels");
        let find = |tool: &str, set: &[(&str, PathBuf)]| {
            let env =
                |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone().into_os_string());
            find_with(tool, &near, &env)
        };
        let path = ("PATH", root.join("path"));
        let home = ("CUDA_HOME", root.join("home"));
        let own = ("BATCHLAS_PTXAS", named.clone());
        let all = [path.clone(), home.clone(), own];
        assert_eq!(find("ptxas", &all).unwrap(), Some(named.clone()));
        assert_eq!(find("nvdisasm", &all).unwrap(), Some(root.join("named/nvdisasm")));
        assert_eq!(find("ptxas", &[path, home.clone()]).unwrap(), Some(in_path));
        assert_eq!(find("ptxas", &[home]).unwrap(), Some(in_home));
        assert_eq!(find("nvdisasm", &[]).unwrap(), None);
        if !Path::new("/usr/local/cuda/bin/ptxas").is_file() {
            assert_eq!(find("ptxas", &[]).unwrap(), Some(in_tools));
        }
        let wrong = find("ptxas", &[("BATCHLAS_PTXAS", root.join("gone"))]).unwrap_err().to_string();
        assert!(wrong.contains("BATCHLAS_PTXAS"), "{wrong}");
        std::fs::remove_dir_all(&root).unwrap();
    }
}
