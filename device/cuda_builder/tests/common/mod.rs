//! Shared by the integration tests.

use std::path::{Path, PathBuf};

use cuda_builder::check::Policy;
use cuda_builder::{Arch, CudaBuilder};

/// A builder that shares `<target>/ptx` with the library's build script: `core` is compiled once.
pub fn builder(krate: impl AsRef<Path>) -> CudaBuilder {
    let target =
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the tmpdir lies in the target folder");
    CudaBuilder::new(krate)
        .archs([Arch::SM_80, Arch::SM_90])
        .target_dir(target)
        .linker(env!("CARGO_BIN_EXE_ptx-linker"))
        .faults(Policy::Deny)
}

/// A crate of the fixtures folder.
#[allow(dead_code, reason = "not every test uses the fixtures")]
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}
