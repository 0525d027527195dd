//! Crates outside the workspace that use the library, as a user's would.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Failure, at, root, target_dir};
use crate::{progress, stub};

/// Solves one matrix of eigenvalues 1 and 3, and names the device.
const PROGRAM: &str = r#"
use batchlas::{Batch, Device, Queue, linalg};

fn main() -> batchlas::Result<()> {
    let a = Batch::from_fn(2, 2, 1, |_, i, j| if i == j { 2.0 } else { 1.0 });
    let queue = Queue::new(Device::auto())?;
    let solved = linalg::eigh(&queue, &a)?;
    println!("{:.6} {:.6} on {}", solved.values[0], solved.values[1], queue.device());
    Ok(())
}
"#;

/// Builds and runs one crate with the default features, and one with feature `cuda` and the stub in place
/// of a CUDA toolkit.
pub fn run() -> Result<(), Failure> {
    // Below the workspace cargo would read its .cargo/config.toml, which a dependent's build does not.
    let folder = std::env::temp_dir().join(format!("batchlas-dependents-{}", std::process::id()));
    let result = in_folder(&folder);
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn in_folder(folder: &Path) -> Result<(), Failure> {
    let stub_folder = folder.join("stub");
    stub::write(&stub_folder)?;
    for (name, features, cuda) in [("plain", "", None), ("with-cuda", "\"cuda\"", Some(&stub_folder))] {
        let krate = write_crate(&folder.join(name), name, features)?;
        let printed = progress::watching(|| build_and_run(&krate, cuda.map(PathBuf::as_path)))?;
        println!("dependent {name}: {printed}");
        if !printed.starts_with("1.000000 3.000000 on ") {
            return Err(Failure::new(format!("the dependent {name} computed something else")));
        }
    }
    Ok(())
}

fn write_crate(folder: &Path, name: &str, features: &str) -> Result<PathBuf, Failure> {
    let source = folder.join("src");
    std::fs::create_dir_all(&source).map_err(at(&source))?;
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nbatchlas = {{ path = {:?}, features = [{features}] }}\n",
        root()
    );
    let files = [("Cargo.toml", manifest.as_str()), ("src/main.rs", PROGRAM)];
    for (file, text) in files {
        let path = folder.join(file);
        std::fs::write(&path, text).map_err(at(&path))?;
    }
    // The workspace's versions, so that nothing new has to be fetched and compiled.
    let lock = folder.join("Cargo.lock");
    std::fs::copy(root().join("Cargo.lock"), &lock).map_err(at(&lock))?;
    Ok(folder.to_path_buf())
}

fn build_and_run(krate: &Path, stub: Option<&Path>) -> Result<String, Failure> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for name in ["CUDA_LIBRARY_PATH", "CUDA_PATH", "CUDA_ROOT", "CUDA_HOME", "BATCHLAS_KERNEL_FAULTS"] {
        cargo.env_remove(name);
    }
    if let Some(stub) = stub {
        cargo.env("CUDA_LIBRARY_PATH", stub);
    }
    cargo.args(["run", "--quiet"]).current_dir(krate).env("CARGO_TARGET_DIR", target_dir());
    let output = cargo.stderr(std::process::Stdio::inherit()).output().map_err(at(Path::new("cargo")))?;
    if !output.status.success() {
        return Err(Failure::new(format!("{} in {} failed", process::shown(&cargo), krate.display())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
