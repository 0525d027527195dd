//! `cargo xtask gpu-pack`: the GPU suite for a machine without Rust.

use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use gpu_suite::{Kind, Program};

use crate::process::{self, Failure, at, cargo, root, target_dir, which};
use crate::{gpu, progress, setup};

/// The pack must fit through narrow doors.
const LIMIT: u64 = 40 << 20;

/// The architecture of a pack where `BATCHLAS_ARCHS` names none.
const ARCH: &str = "sm_90";

const RUN_SH: &str = include_str!("run.sh");

/// Makes the folder `gpu-pack`.
///
/// Every program embeds all kernels, so the programs lie in one archive whose window spans several of them.
pub fn run() -> Result<(), Failure> {
    setup::ensure()?;
    let archs = archs();
    let mut programs = gpu::build(Some(&archs))?;
    programs.push(build_bin(&["--package", "batchlas-cli"], "batchlas", &archs)?);
    let start = Instant::now();
    let (staged, folder) = (target_dir().join("gpu-pack"), root().join("gpu-pack"));
    for folder in [&staged, &folder] {
        empty(folder)?;
    }
    let mut size = 0;
    for program in &programs {
        let place = staged.join(program.kind.word()).join(&program.name);
        let stripped = copy_stripped(&program.path, &place)?;
        println!("{:>9} {}/{}", kib(stripped), program.kind.word(), program.name);
        size += stripped;
    }
    println!("{:>9} in all", kib(size));
    let data = copy_folder(&root().join("examples/data"), &folder.join("examples/data"))?;
    close(&staged, &folder, data, "")?;
    println!("in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Puts what was staged into an archive in the pack's folder, beside the script and the program that unpack and run
/// it. `others` bytes lie there already; `word` is the script's.
pub fn close(staged: &Path, folder: &Path, others: u64, word: &str) -> Result<(), Failure> {
    let packer = ["--package", "batchlas-gpu-suite", "--features", "batchlas-gpu-suite/archive"];
    let packer = build_bin(&packer, "gpu-suite", &archs())?;
    let archive = folder.join("programs.tar.xz");
    process::run(Command::new(&packer.path).arg("create").arg(&archive).arg(staged))?;
    std::fs::remove_dir_all(staged).map_err(at(staged))?;
    let bytes = std::fs::read(&archive).map_err(at(&archive))?;
    write(&folder.join("pack-id"), &format!("{}\n", id_of(&bytes)))?;
    let script = folder.join("run.sh");
    write(&script, RUN_SH)?;
    make_executable(&script)?;
    let size = bytes.len() as u64 + others + copy_stripped(&packer.path, &folder.join("gpu-suite"))?;
    println!("{:>9} {}; on the GPU machine: {1}/run.sh{word}", kib(size), folder.display());
    if size > LIMIT {
        let advice = "BATCHLAS_ARCHS with one architecture leaves out the kernels of others";
        return Err(Failure::new(format!("{} is more than {}; {advice}", kib(size), kib(LIMIT))));
    }
    Ok(())
}

/// A pack is for one machine, and kernels of two architectures would be larger.
pub fn archs() -> String {
    std::env::var("BATCHLAS_ARCHS").unwrap_or_else(|_| ARCH.to_owned())
}

/// A program in release; no `archs` leave them to the environment.
pub fn build_bin(which: &[&str], name: &str, archs: &str) -> Result<Program, Failure> {
    let mut command = cargo();
    command.args(["build", "--release", "--bin", name]).args(which);
    if !archs.is_empty() {
        command.env("BATCHLAS_ARCHS", archs);
    }
    progress::watching(|| process::run(&mut command))?;
    let path = target_dir().join("release").join(name);
    Ok(Program { kind: Kind::Bin, name: name.to_owned(), path })
}

/// Tells packs apart, so that what one unpacked is not taken for another's.
fn id_of(archive: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(archive);
    format!("{:016x}", hasher.finish())
}

fn kib(bytes: u64) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}

/// Makes a folder anew.
pub fn empty(folder: &Path) -> Result<(), Failure> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(at(folder))?;
    }
    std::fs::create_dir_all(folder).map_err(at(folder))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(at(path))
}

/// Copies a program without its symbols; the copy's size.
pub fn copy_stripped(from: &Path, to: &Path) -> Result<u64, Failure> {
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent).map_err(at(parent))?;
    }
    std::fs::copy(from, to).map_err(at(from))?;
    if let Some(strip) = strip() {
        process::run(Command::new(strip).arg(to))?;
    }
    Ok(std::fs::metadata(to).map_err(at(to))?.len())
}

fn strip() -> Option<PathBuf> {
    let of_llvm = cuda_builder::discover::find().ok().map(|tools| tools.llvm_bin.join("llvm-strip"));
    which("strip").or(of_llvm.filter(|path| path.is_file()))
}

fn copy_folder(from: &Path, to: &Path) -> Result<u64, Failure> {
    std::fs::create_dir_all(to).map_err(at(to))?;
    let mut size = 0;
    for entry in std::fs::read_dir(from).map_err(at(from))?.flatten() {
        size += std::fs::copy(entry.path(), to.join(entry.file_name())).map_err(at(&entry.path()))?;
    }
    Ok(size)
}

fn make_executable(path: &Path) -> Result<(), Failure> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).map_err(at(path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_archive_is_another_pack() {
        assert_eq!(id_of(b"a"), id_of(b"a"));
        assert_ne!(id_of(b"a"), id_of(b"b"));
    }

    #[test]
    fn copies_keep_their_mode_and_lose_their_symbols() {
        let folder = std::env::temp_dir().join(format!("xtask-pack-{}", std::process::id()));
        empty(&folder).unwrap();
        let own = std::env::current_exe().unwrap();
        let copy = folder.join("test/own");
        let size = copy_stripped(&own, &copy).unwrap();
        assert!(strip().is_none() || size < std::fs::metadata(&own).unwrap().len());
        assert!(Command::new(&copy).arg("--list").output().unwrap().status.success());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
