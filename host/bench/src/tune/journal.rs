//! The journal of a run: rows cell by cell, so that a killed run goes on where it was.
//!
//! JSON lines: one with the settings, then for each cell its rows and a line that says that it is done. A reader of
//! bench rows takes it as it is.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::row::Row;

/// What decides what a cell's rows are: a run goes on with a journal of the same settings only.
pub type Settings = BTreeMap<String, String>;

/// Rows of the cells that are done, by the cells' names.
pub type Done = HashMap<String, Vec<Row>>;

/// A file that gets the rows of a cell as soon as they are there.
#[derive(Debug)]
pub struct Journal {
    file: File,
    name: String,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Mark {
    Tune {
        settings: Settings,
        date: String,
    },
    /// `rows`: how many lines before it are the cell's.
    Cell {
        cell: String,
        rows: usize,
    },
}

/// How the first line begins.
const BEGIN: &str = "{\"kind\":\"tune\",";

impl Journal {
    /// Opens a journal, or begins one, and holds it against other processes. What a killed run left of a cell that
    /// it had not done is cut off.
    ///
    /// # Errors
    /// A sentence with the file: it is of other settings (each of them is named), no journal, damaged before its
    /// last line, in use, or cannot be read and written. The file is unchanged then.
    pub fn open(path: &Path, settings: &Settings, date: &str) -> Result<(Self, Done), String> {
        let name = path.display().to_string();
        let failed = |reason: &dyn std::fmt::Display| format!("{name}: {reason}");
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(path).map_err(|e| failed(&e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(failed(&"another run is writing it")),
            // A file system without locks.
            Err(TryLockError::Error(_)) => {}
        }
        let mut bytes = vec![];
        file.read_to_end(&mut bytes).map_err(|e| failed(&e))?;
        let (done, length) = understood(&bytes, settings).map_err(|reason| format!("{name}{reason}"))?;
        let keep = |file: &mut File| -> std::io::Result<()> {
            file.set_len(length as u64)?;
            file.seek(SeekFrom::End(0)).map(drop)
        };
        keep(&mut file).map_err(|e| failed(&e))?;
        let mut journal = Journal { file, name };
        if length == 0 {
            journal.append(&line(&Mark::Tune { settings: settings.clone(), date: date.to_owned() }))?;
        }
        Ok((journal, done))
    }

    /// Adds the rows of a cell.
    ///
    /// # Errors
    /// A sentence with the file.
    pub fn add(&mut self, cell: &str, rows: &[Row]) -> Result<(), String> {
        let mut text: String = rows.iter().map(Row::line).collect();
        text += &line(&Mark::Cell { cell: cell.to_owned(), rows: rows.len() });
        self.append(&text)
    }

    /// One write, so that a kill leaves as little as possible half done.
    fn append(&mut self, text: &str) -> Result<(), String> {
        self.file.write_all(text.as_bytes()).map_err(|e| format!("{}: {e}", self.name))
    }
}

fn line(mark: &Mark) -> String {
    serde_json::to_string(mark).expect("strings") + "\n"
}

/// The cells that are done, and the bytes that tell of them. An error begins with `:LINE: ` or `: `.
fn understood(bytes: &[u8], settings: &Settings) -> Result<(Done, usize), String> {
    let Some(end) = bytes.iter().rposition(|b| *b == b'\n') else {
        // Nothing, or what a run killed at its start left.
        let is_ours = bytes.starts_with(BEGIN.as_bytes()) || BEGIN.as_bytes().starts_with(bytes);
        return if is_ours { Ok((Done::new(), 0)) } else { Err(FOREIGN.to_owned()) };
    };
    let mut lines = bytes[..end].split(|b| *b == b'\n');
    let first = lines.next().unwrap_or_default();
    match serde_json::from_slice(first) {
        Ok(Mark::Tune { settings: other, .. }) => compare(&other, settings)?,
        _ => return Err(FOREIGN.to_owned()),
    }
    let (mut done, mut rows, mut at) = (Done::new(), vec![], first.len() + 1);
    let mut length = at;
    for (k, line) in lines.enumerate() {
        at += line.len() + 1;
        let damaged = |e: serde_json::Error| format!(":{}: the journal is damaged: {e}", k + 2);
        let value: serde_json::Value = serde_json::from_slice(line).map_err(damaged)?;
        if value.get("kind").is_none() {
            rows.push(serde_json::from_value(value).map_err(damaged)?);
            continue;
        }
        match serde_json::from_value(value).map_err(damaged)? {
            Mark::Cell { rows: count, .. } if count != rows.len() => {
                let there = rows.len();
                return Err(format!(
                    ":{}: the journal is damaged: {count} rows belong to this cell, {there} are there",
                    k + 2
                ));
            }
            Mark::Cell { cell, .. } => {
                done.insert(cell, std::mem::take(&mut rows));
                length = at;
            }
            Mark::Tune { .. } => return Err(format!(":{}: the journal begins again", k + 2)),
        }
    }
    Ok((done, length))
}

const FOREIGN: &str = ": is no journal of `batchlas tune`; name another file";

fn compare(of_file: &Settings, wanted: &Settings) -> Result<(), String> {
    let mut names: Vec<&String> = of_file.keys().chain(wanted.keys()).collect();
    names.sort();
    names.dedup();
    let none = "nothing".to_owned();
    let differing = names.into_iter().filter(|name| of_file.get(*name) != wanted.get(*name)).map(|name| {
        let [there, here] = [of_file, wanted].map(|s| s.get(name).unwrap_or(&none));
        format!("{name} is {there} there, {here} now")
    });
    let differing: Vec<String> = differing.collect();
    if differing.is_empty() {
        return Ok(());
    }
    let list = differing.join("; ");
    Err(format!(
        ": the journal is of another run: {list}. Repeat that run's options, or name another journal"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(device: &str) -> Settings {
        [("device".to_owned(), device.to_owned()), ("n".to_owned(), "1 2".to_owned())].into()
    }

    fn row(n: usize) -> Row {
        Row { op: "syev".into(), n, route: "cta".into(), ms: Some(1.0), ..Row::default() }
    }

    struct Scratch(std::path::PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("batchlas-journal-{name}-{}.jsonl", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = std::fs::remove_file(&path);
            Scratch(path)
        }

        fn open(&self) -> Result<(Journal, Done), String> {
            Journal::open(&self.0, &settings("H200"), "today")
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn a_run_goes_on_wherever_it_was_killed() {
        let scratch = Scratch::new("killed");
        let (mut journal, done) = scratch.open().unwrap();
        assert!(done.is_empty());
        journal.add("a", &[row(1), row(2)]).unwrap();
        journal.add("b", &[]).unwrap();
        journal.add("c", &[row(3)]).unwrap();
        drop(journal);
        let whole = std::fs::read(&scratch.0).unwrap();
        let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
        for cut in 0..=whole.len() {
            std::fs::write(&scratch.0, &whole[..cut]).unwrap();
            let (mut journal, done) = scratch.open().unwrap_or_else(|e| panic!("cut at {cut}: {e}"));
            // Lines: the settings, two rows, `a`, `b`, a row, `c`.
            let lines = ends.iter().filter(|end| **end < cut).count();
            let cells = [0, 0, 0, 0, 1, 2, 2, 3][lines];
            assert_eq!(done.len(), cells, "cut at {cut}");
            for (cell, rows) in [("a", vec![row(1), row(2)]), ("b", vec![]), ("c", vec![row(3)])] {
                match done.get(cell) {
                    Some(found) => assert_eq!(*found, rows),
                    None => journal.add(cell, &rows).unwrap(),
                }
            }
            drop(journal);
            assert_eq!(std::fs::read(&scratch.0).unwrap(), whole, "cut at {cut}: the same file in the end");
        }
        let rows = crate::row::read(&scratch.0).unwrap();
        assert_eq!(rows, crate::Read::Bench(vec![row(1), row(2), row(3)]), "a reader of rows takes it");
    }

    #[test]
    fn other_settings_are_named_and_nothing_is_lost() {
        let scratch = Scratch::new("other");
        drop(scratch.open().unwrap());
        let before = std::fs::read(&scratch.0).unwrap();
        let mut other = settings("A100");
        other.insert("commit".into(), "abc".into());
        let text = Journal::open(&scratch.0, &other, "today").unwrap_err();
        assert!(
            text.contains("device is H200 there, A100 now; ") || text.contains("commit is nothing there")
        );
        assert!(text.contains("commit is nothing there, abc now; device is H200 there, A100 now"), "{text}");
        assert_eq!(std::fs::read(&scratch.0).unwrap(), before);
        // A later day is the same run.
        assert!(Journal::open(&scratch.0, &settings("H200"), "tomorrow").is_ok());
    }

    #[test]
    fn files_that_are_no_journal_are_left_alone() {
        let scratch = Scratch::new("foreign");
        for text in ["my notes", "my notes\n", "{\"op\":\"syev\"}\n", "{\"kind\":\"cell\",\"cell\":\"a\"}\n"]
        {
            std::fs::write(&scratch.0, text).unwrap();
            let error = scratch.open().unwrap_err();
            assert!(error.ends_with(FOREIGN), "{error}");
            assert_eq!(std::fs::read_to_string(&scratch.0).unwrap(), text);
        }
    }

    #[test]
    fn damage_before_the_last_line_is_found_in_its_line() {
        let scratch = Scratch::new("damaged");
        let (mut journal, _) = scratch.open().unwrap();
        journal.add("a", &[row(1)]).unwrap();
        drop(journal);
        let text = std::fs::read_to_string(&scratch.0).unwrap();
        std::fs::write(&scratch.0, text.replace("\"n\":1", "\"n\":x")).unwrap();
        let error = scratch.open().unwrap_err();
        assert!(error.contains(".jsonl:2: the journal is damaged"), "{error}");
        // A line that went missing.
        let without: Vec<&str> = text.lines().filter(|line| !line.contains("\"n\":1,")).collect();
        std::fs::write(&scratch.0, without.join("\n") + "\n").unwrap();
        let error = scratch.open().unwrap_err();
        assert!(error.contains(".jsonl:2: the journal is damaged: 1 rows belong"), "{error}");
    }

    #[test]
    fn two_runs_do_not_share_a_journal() {
        let scratch = Scratch::new("shared");
        let first = scratch.open().unwrap();
        assert!(scratch.open().unwrap_err().contains("another run is writing it"));
        drop(first);
        assert!(scratch.open().is_ok());
    }
}
