//! The commit that rows of this build name, with `+` where the tree had changes.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=BATCHLAS_COMMIT");
    // Grows by a line whenever HEAD moves.
    let log = Path::new("../../.git/logs/HEAD");
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    // Source changes make the tree dirty; without this the mark would be stale.
    println!("cargo::rerun-if-changed=../../host");
    println!("cargo::rerun-if-changed=../../device");
    let commit = std::env::var("BATCHLAS_COMMIT").ok().or_else(described).unwrap_or_default();
    println!("cargo::rustc-env=BUILD_COMMIT={commit}");
}

fn described() -> Option<String> {
    let head = git(&["rev-parse", "--short=10", "HEAD"])?;
    let changes = git(&[
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        "host",
        "device",
        "tuned",
        "Cargo.lock",
    ])?;
    Some(if changes.is_empty() { head } else { head + "+" })
}

fn git(args: &[&str]) -> Option<String> {
    let out = Command::new("git").current_dir("../..").args(args).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}
