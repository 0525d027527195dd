//! Discovery of the device compiler, in folders of fake tool chains: scripts that answer what rustc and
//! llc are asked.
#![cfg(unix)]

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cuda_builder::BuildError;
use cuda_builder::discover::{Core, Search, ToolChain};

/// A file system root with fake tool chains; removed at the end.
struct Fake {
    root: PathBuf,
}

impl Fake {
    fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("discovery").join(name);
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root).unwrap();
        Self { root }
    }

    fn script(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A rustc below `prefix` that calls `prefix` its sysroot.
    fn rustc(&self, prefix: &str, release: &str, llvm: &str) -> PathBuf {
        let sysroot = self.root.join(prefix);
        let verbose = format!(
            "rustc {release}\nhost: x86_64-unknown-linux-gnu\nrelease: {release}\nLLVM version: {llvm}"
        );
        let text = format!(
            "case \"$1\" in -vV) printf '%s\\n' '{verbose}';; --print) echo '{}';; *) exit 1;; esac",
            sysroot.display()
        );
        self.script(&format!("{prefix}/bin/rustc"), &text)
    }

    fn llvm(&self, folder: &str, version_line: &str) -> PathBuf {
        for tool in ["llvm-ar", "llvm-link", "llvm-nm", "opt"] {
            self.script(&format!("{folder}/{tool}"), "exit 0");
        }
        self.script(&format!("{folder}/llc"), &format!("printf 'LLVM:\\n  {version_line}\\n'"));
        self.root.join(folder)
    }

    fn file(&self, path: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }

    /// rustup's toolchain with the two components.
    fn rustup(&self, release: &str) -> PathBuf {
        self.file("rustup/lib/rustlib/src/rust/library/core/src/lib.rs");
        self.llvm("rustup/lib/rustlib/x86_64-unknown-linux-gnu/bin", "LLVM version 23.1.0-rust-stable");
        self.rustc("rustup", release, "23.1.0")
    }

    /// Debian's packages.
    fn debian(&self) -> PathBuf {
        self.file("usr/lib/rustlib/src/rust/library/core/src/lib.rs");
        self.llvm("usr/lib/llvm-22/bin", "Debian LLVM version 22.1.8");
        self.rustc("usr", "1.96.0", "22.1.8")
    }

    fn find(&self, active: &Path, env: &[(&str, &Path)]) -> Result<ToolChain, BuildError> {
        let lookup = |name: &str| -> Option<OsString> {
            env.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_os_str().to_owned())
        };
        Search { env: &lookup, active: active.to_path_buf(), root: self.root.clone() }.run()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

const NONE: &str = "/no/such/rustc";

#[test]
fn the_active_toolchain_comes_first() {
    let fake = Fake::new("active");
    fake.debian();
    let active = fake.rustup("1.99.0");
    let found = fake.find(&active, &[]).unwrap();
    assert_eq!((found.version.as_str(), found.llvm_version.as_str()), ("1.99.0", "23.1.0-rust-stable"));
    assert_eq!(found.rustc, active);
    assert_eq!(found.llvm_bin, fake.root.join("rustup/lib/rustlib/x86_64-unknown-linux-gnu/bin"));
    assert_eq!(found.core, Core::Source(fake.root.join("rustup/lib/rustlib/src/rust/library")));
}

#[test]
fn an_old_or_incomplete_active_toolchain_is_passed_over() {
    let fake = Fake::new("debian");
    fake.debian();
    let old = fake.rustup("1.95.0");
    assert_eq!(fake.find(&old, &[]).unwrap().version, "1.96.0");
    let bare = fake.rustc("bare", "1.97.0-nightly", "22.1.4");
    let found = fake.find(&bare, &[]).unwrap();
    assert_eq!((found.version.as_str(), found.llvm_version.as_str()), ("1.96.0", "22.1.8"));
    assert_eq!(found.llvm_bin, fake.root.join("usr/lib/llvm-22/bin"));
    assert_eq!(fake.find(Path::new(NONE), &[]).unwrap().version, "1.96.0");
}

#[test]
fn a_target_without_sources_is_enough() {
    let fake = Fake::new("prebuilt");
    fake.llvm("tc/lib/rustlib/x86_64-unknown-linux-gnu/bin", "LLVM version 22.1.0");
    let rustc = fake.rustc("tc", "1.97.0-beta.1", "22.1.0");
    fake.file("tc/lib/rustlib/nvptx64-nvidia-cuda/lib/libcore-0123.rlib");
    assert_eq!(fake.find(&rustc, &[]).unwrap().core, Core::Prebuilt);
}

#[test]
fn the_environment_wins_and_its_failure_is_final() {
    let fake = Fake::new("environment");
    fake.debian();
    let active = fake.rustup("1.99.0");
    let own = fake.rustc("own", "1.98.0", "22.1.0");
    fake.file("own/lib/rustlib/src/rust/library/core/src/lib.rs");
    let tools = fake.llvm("tools", "LLVM version 22.1.0");
    let found =
        fake.find(&active, &[("BATCHLAS_DEVICE_RUSTC", &own), ("BATCHLAS_LLVM_BIN", &tools)]).unwrap();
    assert_eq!((found.version.as_str(), &found.llvm_bin), ("1.98.0", &tools));
    // Without BATCHLAS_LLVM_BIN the system's tools of the same LLVM do.
    let found = fake.find(&active, &[("BATCHLAS_DEVICE_RUSTC", &own)]).unwrap();
    assert_eq!(found.llvm_version, "22.1.8");

    let old = fake.rustc("old", "1.95.0", "22.1.0");
    for (rustc, expected) in [(old.as_path(), "older than 1.96"), (Path::new(NONE), NONE)] {
        let error = fake.find(&active, &[("BATCHLAS_DEVICE_RUSTC", rustc)]).unwrap_err();
        assert!(matches!(error, BuildError::Environment { name: "BATCHLAS_DEVICE_RUSTC", .. }));
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn llvm_must_be_of_rustcs_version() {
    let fake = Fake::new("mismatch");
    let active = fake.rustup("1.99.0");
    let tools = fake.llvm("tools", "LLVM version 22.1.0");
    let error = fake.find(&active, &[("BATCHLAS_LLVM_BIN", &tools)]).unwrap_err().to_string();
    assert!(error.contains("is of LLVM 22.1.0") && error.contains("no tools of LLVM 23"), "{error}");
}

#[test]
fn nothing_found_names_each_place_and_three_remedies() {
    let fake = Fake::new("nothing");
    let old = fake.rustc("old", "1.95.0", "21.1.0");
    let error = fake.find(&old, &[]).unwrap_err().to_string();
    for part in [
        "rustc 1.95.0 is older than 1.96",
        "usr/bin/rustc",
        "cargo xtask setup",
        "BATCHLAS_PTX_DIR",
        "without its feature `cuda`",
    ] {
        assert!(error.contains(part), "`{part}` is missing in:\n{error}");
    }
}
