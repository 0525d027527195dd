//! The record of decisions: which family each shape reached, and why.
//!
//! Every decision of the process is kept once, with a count. With
//! `BATCHLAS_COVERAGE=FILE` each new one is appended to FILE at once, as a line
//! of JSON.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The variable that names the file.
pub const COVERAGE: &str = "BATCHLAS_COVERAGE";

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Record {
    /// The operation.
    pub op: String,
    /// The shape: the table's keys and what else tells problems apart.
    pub shape: BTreeMap<String, String>,
    /// `cpu`, `simt` or `cuda`.
    pub device: String,
    /// The architecture whose limits held, if any.
    pub arch: Option<String>,
    /// The family reached, with its parameters: those that the pin or the row gave, and those that the plan chose.
    pub route: String,
    /// What decided: `call`, `scope`, `environment`, `table`, `rest`, `device`.
    pub source: String,
    /// The table's row, if one was used.
    pub row: Option<BTreeMap<String, String>>,
}

struct Log {
    counts: BTreeMap<Record, u64>,
}

static LOG: Mutex<Log> = Mutex::new(Log { counts: BTreeMap::new() });

thread_local! {
    static PAUSED: Cell<bool> = const { Cell::new(false) };
}

/// Does `work` without a record of what this thread decides in it: for the parts of a batch whose own decision is recorded,
/// which the parts only repeat.
pub fn paused<R>(work: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            PAUSED.set(self.0);
        }
    }
    let _restore = Restore(PAUSED.replace(true));
    work()
}

/// Adds a decision, unless [`paused`].
///
/// # Errors
/// [`Error::Argument`] where `BATCHLAS_COVERAGE` cannot be written.
pub(crate) fn record(record: Record) -> Result<()> {
    if PAUSED.get() {
        return Ok(());
    }
    let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(count) = log.counts.get_mut(&record) {
        *count += 1;
        return Ok(());
    }
    // One that could not be written is not kept either: the next try must fail too, or write it.
    if let Some(file) = std::env::var_os(COVERAGE).filter(|f| !f.is_empty()) {
        append(Path::new(&file), &record)?;
    }
    log.counts.insert(record, 1);
    Ok(())
}

fn append(path: &Path, record: &Record) -> Result<()> {
    let mut line = serde_json::to_string(record).expect("strings and maps of strings");
    line.push('\n');
    // One write a line, so that processes that share the file do not mix theirs.
    let written = OpenOptions::new().create(true).append(true).open(path);
    written
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .map_err(|e| Error::argument(format!("{COVERAGE}={}: {e}", path.display())))
}

/// Every decision of this process so far, with how often it was taken.
pub fn decisions() -> Vec<(Record, u64)> {
    let log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    log.counts.iter().map(|(record, count)| (record.clone(), *count)).collect()
}

/// Reads a file that `BATCHLAS_COVERAGE` named.
///
/// # Errors
/// [`Error::Io`], or [`Error::Argument`] with the line that is no decision.
pub fn read(path: &Path) -> Result<Vec<Record>> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::Io { path: PathBuf::from(path), source })?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(k, line)| {
            serde_json::from_str(line)
                .map_err(|e| Error::argument(format!("{}:{}: no decision: {e}", path.display(), k + 1)))
        })
        .collect()
}

/// Two captures, paired by operation, shape, device and architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Shapes that reached the same families in both.
    pub same: usize,
    /// Shapes that reached others: the records of both.
    pub changed: Vec<(Vec<Record>, Vec<Record>)>,
    /// Shapes of the first capture only.
    pub only_first: Vec<Record>,
    /// Shapes of the second capture only.
    pub only_second: Vec<Record>,
}

/// Pairs two captures by shape. The order of lines and repetitions do not matter.
pub fn compare(first: &[Record], second: &[Record]) -> Comparison {
    let (first, mut second) = (by_shape(first), by_shape(second));
    let mut out = Comparison::default();
    for (key, records) in first {
        match second.remove(&key) {
            None => out.only_first.extend(records),
            Some(others) if routes(&records) == routes(&others) => out.same += 1,
            Some(others) => out.changed.push((records, others)),
        }
    }
    out.only_second = second.into_values().flatten().collect();
    out
}

type ShapeOf = (String, BTreeMap<String, String>, String, Option<String>);

fn by_shape(records: &[Record]) -> BTreeMap<ShapeOf, Vec<Record>> {
    let mut out: BTreeMap<ShapeOf, Vec<Record>> = BTreeMap::new();
    for r in records {
        let key = (r.op.clone(), r.shape.clone(), r.device.clone(), r.arch.clone());
        let at = out.entry(key).or_default();
        if !at.contains(r) {
            at.push(r.clone());
        }
    }
    out.values_mut().for_each(|records| records.sort());
    out
}

fn routes(records: &[Record]) -> std::collections::BTreeSet<&str> {
    records.iter().map(|r| r.route.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(n: u32, route: &str) -> Record {
        Record {
            op: "syev".into(),
            shape: [("n".to_string(), n.to_string())].into(),
            device: "cuda".into(),
            arch: Some("sm_90".into()),
            route: route.into(),
            source: "table".into(),
            row: None,
        }
    }

    #[test]
    fn captures_are_paired_by_shape() {
        let first = [decision(4, "cta"), decision(8, "cta"), decision(8, "cta"), decision(9, "cta")];
        let second = [decision(8, "cta"), decision(4, "jacobi"), decision(32, "cta")];
        let c = compare(&first, &second);
        assert_eq!(c.same, 1);
        assert_eq!(c.changed.len(), 1);
        assert_eq!(c.changed[0].1[0].route, "jacobi");
        assert_eq!(c.only_first, [decision(9, "cta")]);
        assert_eq!(c.only_second, [decision(32, "cta")]);
    }

    #[test]
    fn a_pause_ends_with_its_work() {
        let kept = |n: u32| decisions().iter().filter(|(r, _)| *r == decision(n, "paused")).count();
        paused(|| {
            paused(|| record(decision(1, "paused")).unwrap());
            record(decision(1, "paused")).unwrap();
        });
        let _ = std::panic::catch_unwind(|| paused(|| panic!("on purpose")));
        record(decision(2, "paused")).unwrap();
        assert_eq!((kept(1), kept(2)), (0, 1));
    }

    #[test]
    fn lines_round_trip_and_a_broken_one_is_named() {
        let path = std::env::temp_dir().join(format!("batchlas-coverage-{}.jsonl", std::process::id()));
        let _ = std::fs::remove_file(&path);
        append(&path, &decision(4, "cta")).unwrap();
        append(&path, &decision(8, "reg:128x128x8")).unwrap();
        assert_eq!(read(&path).unwrap(), [decision(4, "cta"), decision(8, "reg:128x128x8")]);
        std::fs::write(&path, "{}\n").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains(":1: no decision"));
        std::fs::remove_file(&path).unwrap();
        assert!(append(&path.join("no/folder"), &decision(4, "cta")).is_err());
    }
}
