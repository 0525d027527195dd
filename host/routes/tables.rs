//! Where tables come from: embedded, or read from `BATCHLAS_TUNED_DIR`; and
//! which architecture borrows from which.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::TableError;
use super::operation::Operation;
use super::table::Table;
use crate::device::Arch;
use crate::error::{Error, Result};

/// The tables of this build: operation, architecture, text.
const EMBEDDED: &[(&str, Arch, &str)] = &[
    ("gemm", Arch(90), include_str!("../../tuned/gemm.sm_90.txt")),
    ("ormqr", Arch(90), include_str!("../../tuned/ormqr.sm_90.txt")),
    ("stebz", Arch(90), include_str!("../../tuned/stebz.sm_90.txt")),
    ("stedc", Arch(90), include_str!("../../tuned/stedc.sm_90.txt")),
    ("steqr", Arch(90), include_str!("../../tuned/steqr.sm_90.txt")),
    ("syev", Arch(89), include_str!("../../tuned/syev.sm_89.txt")),
    ("syev", Arch(90), include_str!("../../tuned/syev.sm_90.txt")),
    ("sytrd", Arch(90), include_str!("../../tuned/sytrd.sm_90.txt")),
];

/// Which table an architecture without its own borrows: cards of like balance
/// first (f64 at half rate from sm_90, at a fraction of it from sm_89).
const BORROWS: &[(Arch, Arch)] = &[
    (Arch(80), Arch(90)),
    (Arch(86), Arch(89)),
    (Arch(87), Arch(89)),
    (Arch(100), Arch(90)),
    (Arch(103), Arch(90)),
    (Arch(120), Arch(89)),
    (Arch(121), Arch(89)),
];

/// The variable that names a folder whose tables replace the embedded ones.
pub const TUNED_DIR: &str = "BATCHLAS_TUNED_DIR";

/// A table, and a note where it is borrowed.
#[derive(Clone, Debug)]
pub struct Found {
    /// The table.
    pub table: Arc<Table>,
    /// Says that it is borrowed, and from which architecture.
    pub note: Option<String>,
}

/// The table of an operation for an architecture, or the one it borrows. The
/// first time that one is borrowed, a line on stderr says so.
///
/// # Errors
/// [`Error::Table`] where a table is malformed or there is none at all.
pub fn table(operation: &'static Operation, arch: Arch) -> Result<Found> {
    let dir = std::env::var_os(TUNED_DIR).filter(|d| !d.is_empty()).map(PathBuf::from);
    let found = match &dir {
        Some(dir) => {
            let archs = archs_in(operation, dir)?;
            if archs.is_empty() {
                return Err(Error::argument(format!(
                    "{TUNED_DIR}={}: no {}.sm_90.txt or other table of {} there, and none is embedded beside a folder",
                    dir.display(),
                    operation.name,
                    operation.name
                )));
            }
            find(operation, arch, &archs, |a| read(operation, dir, a))
        }
        None => {
            let archs: Vec<Arch> =
                EMBEDDED.iter().filter(|(op, ..)| *op == operation.name).map(|(_, a, _)| *a).collect();
            find(operation, arch, &archs, |a| embedded(operation, a))
        }
    }?;
    if let Some(note) = &found.note {
        warn_once(note);
    }
    Ok(found)
}

/// The architectures that have a table of their own, in ascending order.
///
/// # Errors
/// A folder in `BATCHLAS_TUNED_DIR` that cannot be read.
pub fn architectures(operation: &'static Operation) -> Result<Vec<Arch>> {
    match std::env::var_os(TUNED_DIR).filter(|d| !d.is_empty()) {
        Some(dir) => archs_in(operation, Path::new(&dir)),
        None => Ok(EMBEDDED.iter().filter(|(op, ..)| *op == operation.name).map(|(_, a, _)| *a).collect()),
    }
}

fn find(
    operation: &'static Operation,
    arch: Arch,
    archs: &[Arch],
    load: impl Fn(Arch) -> Result<Arc<Table>>,
) -> Result<Found> {
    if archs.contains(&arch) {
        return Ok(Found { table: load(arch)?, note: None });
    }
    let Some(lender) = lender(arch, archs) else {
        let file = format!("{}.{arch}.txt", operation.name);
        return Err(
            TableError { file, line: 0, reason: "there is no table, for any architecture".into() }.into()
        );
    };
    let note = format!("there is no {} table for {arch}; it borrows the one of {lender}", operation.name);
    Ok(Found { table: load(lender)?, note: Some(note) })
}

/// The listed lender where it has a table, else the nearest number, the older of two.
fn lender(arch: Arch, archs: &[Arch]) -> Option<Arch> {
    let listed = BORROWS.iter().find(|(a, _)| *a == arch).map(|(_, lender)| *lender);
    listed
        .filter(|l| archs.contains(l))
        .or_else(|| archs.iter().copied().min_by_key(|a| (a.0.abs_diff(arch.0), a.0)))
}

fn embedded(operation: &'static Operation, arch: Arch) -> Result<Arc<Table>> {
    type Parsed = HashMap<(&'static str, Arch), Arc<Table>>;
    static PARSED: Mutex<Option<Parsed>> = Mutex::new(None);
    let mut parsed = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
    let parsed = parsed.get_or_insert_default();
    if let Some(table) = parsed.get(&(operation.name, arch)) {
        return Ok(Arc::clone(table));
    }
    let (.., text) = EMBEDDED
        .iter()
        .find(|(op, a, _)| *op == operation.name && *a == arch)
        .expect("the caller found it in the list");
    let source = format!("tuned/{}.{arch}.txt", operation.name);
    let table = Arc::new(Table::parse(operation, &source, text)?);
    parsed.insert((operation.name, arch), Arc::clone(&table));
    Ok(table)
}

/// Reads a file of the folder; read again only when it has changed.
fn read(operation: &'static Operation, dir: &Path, arch: Arch) -> Result<Arc<Table>> {
    type Cache = HashMap<PathBuf, (String, Arc<Table>)>;
    static READ: Mutex<Option<Cache>> = Mutex::new(None);
    let path = dir.join(format!("{}.{arch}.txt", operation.name));
    let bytes = std::fs::read(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
    let text = utf8(&path.display().to_string(), bytes)?;
    let mut cache = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let cache = cache.get_or_insert_default();
    if let Some((old, table)) = cache.get(&path)
        && *old == text
    {
        return Ok(Arc::clone(table));
    }
    let table = Arc::new(Table::parse(operation, &path.display().to_string(), &text)?);
    if table.arch() != arch {
        let reason = format!("the header says {}, the file's name {arch}", table.arch());
        let line =
            text.lines().position(|line| line.trim_start().starts_with("arch:")).map_or(0, |at| at + 1);
        return Err(TableError { file: path.display().to_string(), line, reason }.into());
    }
    cache.insert(path, (text, Arc::clone(&table)));
    Ok(table)
}

/// A table's text. `file` names it in the error.
fn utf8(file: &str, bytes: Vec<u8>) -> std::result::Result<String, TableError> {
    String::from_utf8(bytes).map_err(|e| {
        let (before, rest) = e.as_bytes().split_at(e.utf8_error().valid_up_to());
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
        let reason = format!("byte 0x{:02x} at {column} is no UTF-8; tables are plain text", rest[0]);
        TableError { file: file.to_owned(), line, reason }
    })
}

/// The architectures of an operation's tables in a folder. What is named like a table and is none would be passed over in
/// silence, and another table used: a mistake in the name is an error.
fn archs_in(operation: &Operation, dir: &Path) -> Result<Vec<Arch>> {
    let io = |e: std::io::Error| Error::argument(format!("{TUNED_DIR}={}: {e}", dir.display()));
    let mut archs = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name();
        let Some((op, arch)) = name.to_str().and_then(parts_of) else { continue };
        let known = crate::ops::OPERATIONS.iter().any(|o| o.name == op);
        let reason = match arch.parse() {
            Ok(arch) if op == operation.name => {
                archs.push(arch);
                continue;
            }
            Ok(_) if known => continue,
            Ok(_) => format!("a table of '{op}', which is no operation"),
            Err(_) => format!("a table for '{arch}', which is no architecture: write sm_90"),
        };
        return Err(TableError { file: entry.path().display().to_string(), line: 0, reason }.into());
    }
    archs.sort_unstable();
    Ok(archs)
}

/// The parts of a table's name, `syev` and `sm_90` of `syev.sm_90.txt`. Other files may lie there too, so that the second
/// part must begin like an architecture and have no dot.
fn parts_of(name: &str) -> Option<(&str, &str)> {
    let (op, arch) = name.strip_suffix(".txt")?.split_once('.')?;
    (arch.to_ascii_lowercase().starts_with("sm") && !arch.contains('.')).then_some((op, arch))
}

fn warn_once(note: &str) {
    static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.get_or_insert_default().insert(note.to_owned()) {
        eprintln!("batchlas: {note}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_lenders_come_first_and_the_nearest_number_after() {
        let both = [Arch(89), Arch(90)];
        assert_eq!(lender(Arch(80), &both), Some(Arch(90)));
        assert_eq!(lender(Arch(86), &both), Some(Arch(89)));
        assert_eq!(lender(Arch(120), &both), Some(Arch(89)));
        assert_eq!(lender(Arch(100), &[Arch(89)]), Some(Arch(89)));
        assert_eq!(lender(Arch(75), &both), Some(Arch(89)));
        assert_eq!(lender(Arch(130), &both), Some(Arch(90)));
        assert_eq!(lender(Arch(90), &[]), None);
    }

    #[test]
    fn bytes_that_are_no_text_are_found_in_their_line() {
        let found = |bytes: &[u8]| utf8("t", bytes.to_vec()).map_err(|e| e.to_string());
        assert_eq!(found("\u{e9}\n".as_bytes()).unwrap(), "\u{e9}\n");
        let text = found(b"batchlas routes 1\nop: sy\xe9v\n").unwrap_err();
        assert_eq!(text, "t:2: byte 0xe9 at 7 is no UTF-8; tables are plain text");
        assert!(found(b"\xff").unwrap_err().starts_with("t:1: byte 0xff at 1 "));
        assert!(found(b"a\nb\n\xe9").unwrap_err().starts_with("t:3: "), "cut within a character");
    }

    #[test]
    fn names_that_are_nearly_those_of_tables_are_refused() {
        let dir = std::env::temp_dir().join(format!("batchlas-names-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let syev = &crate::ops::syev::OPERATION;
        for name in ["syev.sm_90.txt", "syev.sm_120.txt", "gemm.sm_80.txt", "README.txt", "syev.notes.txt"] {
            std::fs::write(dir.join(name), "").unwrap();
        }
        std::fs::write(dir.join("syev.sm_90.txt.journal"), "").unwrap();
        assert_eq!(archs_in(syev, &dir).unwrap(), [Arch(90), Arch(120)]);
        for (name, reason) in [
            ("syev.sm90.txt", "'sm90', which is no architecture"),
            ("syev.SM_90.txt", "'SM_90', which is no architecture"),
            ("syev.sm_090.txt", "'sm_090', which is no architecture"),
            ("gemm.sm_+90.txt", "'sm_+90', which is no architecture"),
            ("syve.sm_90.txt", "'syve', which is no operation"),
        ] {
            std::fs::write(dir.join(name), "").unwrap();
            let text = archs_in(syev, &dir).unwrap_err().to_string();
            assert!(text.contains(name) && text.contains(reason), "{text}");
            std::fs::remove_file(dir.join(name)).unwrap();
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn embedded_tables_parse_and_carry_their_architecture() {
        for (op, arch, _) in EMBEDDED {
            let operation = crate::ops::OPERATIONS.iter().find(|o| o.name == *op).unwrap();
            let table = embedded(operation, *arch).unwrap();
            assert_eq!(table.arch(), *arch);
        }
    }
}
