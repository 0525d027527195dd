//! Running other programs, and where things lie.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One message for the person who called.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<cuda_builder::BuildError> for Failure {
    fn from(error: cuda_builder::BuildError) -> Self {
        Self(error.to_string())
    }
}

impl From<gpu_suite::Failure> for Failure {
    fn from(failure: gpu_suite::Failure) -> Self {
        Self(failure.to_string())
    }
}

/// Names the file of an input or output error.
pub fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let path = path.to_path_buf();
    move |error| Failure(format!("{}: {error}", path.display()))
}

/// The workspace's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// The target folder.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => std::path::absolute(&dir).unwrap_or_else(|_| dir.into()),
        None => root().join("target"),
    }
}

/// The cargo that runs us, in the workspace. What it set for us alone is taken back.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME", "CARGO_PKG_VERSION"] {
        command.env_remove(name);
    }
    command.current_dir(root());
    command
}

/// A command line as a person would write it.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Runs a program that may print what it likes; its failure is ours.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| Failure(format!("{}: {error}", shown(command))))?;
    if status.success() { Ok(()) } else { Err(Failure(format!("{} failed ({status})", shown(command)))) }
}

/// Standard output of a program, `None` where it is missing or fails.
pub fn answer(program: impl AsRef<OsStr>, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Where a program lies on PATH.
pub fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
