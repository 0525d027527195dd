//! `cargo xtask stub DIR`: the empty libcuda.so that a dependent links against.

use std::path::Path;

use crate::process::{Failure, at};

const STUB: &[u8] = include_bytes!("../../host/cuda/stub/lib64/libcuda.so");

/// Writes `DIR/lib64/libcuda.so`.
pub fn write(folder: &Path) -> Result<(), Failure> {
    let library = folder.join("lib64/libcuda.so");
    if let Some(parent) = library.parent() {
        std::fs::create_dir_all(parent).map_err(at(parent))?;
    }
    std::fs::write(&library, STUB).map_err(at(&library))?;
    let folder = std::path::absolute(folder).map_err(at(folder))?;
    println!("{} written. Build with:", library.display());
    println!("  export CUDA_LIBRARY_PATH={}", folder.display());
    Ok(())
}
