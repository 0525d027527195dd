//! Programs that need a GPU: tests first, then a short bench, with results for people and for machines.
//!
//! `cargo xtask gpu-suite` runs what it has built by this library; a pack (`cargo xtask gpu-pack`) carries the
//! program of the same name and does the same on a machine without Rust.

pub mod ab;
#[cfg(feature = "archive")]
pub mod archive;
pub mod bench;
mod compare;
mod junit;
pub mod run;

use std::fmt;
use std::path::{Path, PathBuf};

/// One message for the person who called.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// From a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// Names the file of an input or output error.
pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let path = path.to_path_buf();
    move |error| Failure(format!("{}: {error}", path.display()))
}

/// What a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A test program.
    Test,
    /// A bench program.
    Bench,
    /// Anything else.
    Bin,
}

impl Kind {
    /// `test`, `bench` or `bin`: also the folder of such programs in a pack.
    pub fn word(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Bench => "bench",
            Self::Bin => "bin",
        }
    }

    /// The reverse of [`Kind::word`].
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Test, Self::Bench, Self::Bin].into_iter().find(|kind| kind.word() == word)
    }
}

/// A compiled program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    /// What it is.
    pub kind: Kind,
    /// Its name; those of crates other than the library begin with the crate's.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
}

/// The programs of an unpacked pack, `FOLDER/<kind>/<name>`, sorted.
pub fn programs_in(folder: &Path) -> Result<Vec<Program>, Failure> {
    let mut programs = vec![];
    for kind in [Kind::Test, Kind::Bench, Kind::Bin] {
        let folder = folder.join(kind.word());
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(at(&folder)(error)),
        };
        programs.extend(entries.flatten().map(|entry| Program {
            kind,
            name: entry.file_name().to_string_lossy().into_owned(),
            path: entry.path(),
        }));
    }
    programs.sort();
    Ok(programs)
}
