//! A build script is mute while it works: what it does is written to `<target>/ptx/progress`,
//! which `cargo xtask` shows.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// File name below `<target>/ptx`.
pub const FILE: &str = "progress";

/// Appends one line to the progress file. Failure to do so is no failure of the build.
pub fn note(ptx_dir: &Path, line: &str) {
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(ptx_dir.join(FILE)) {
        let _ = writeln!(file, "{line}");
    }
}
