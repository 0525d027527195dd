//! A build script is mute while it works: what it does is written to `<target>/ptx/progress`,
//! which `cargo xtask` shows.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// File name below `<target>/ptx`.
pub const FILE: &str = "progress";

/// What a few builds write; beyond, the file starts anew.
const LIMIT: u64 = 1 << 16;

/// Appends one line to the progress file. Failure to do so is no failure of the build.
pub fn note(ptx_dir: &Path, line: &str) {
    let path = ptx_dir.join(FILE);
    if std::fs::metadata(&path).is_ok_and(|meta| meta.len() > LIMIT) {
        let _ = std::fs::remove_file(&path);
    }
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) {
        let _ = writeln!(file, "{line}");
    }
}
