//! Route tables: text that says, for each shape, which families to try in
//! which order. `tuned/README.md` is the grammar's description for people.

use std::collections::BTreeMap;

use super::error::TableError;
use super::operation::{Candidate, Key, Operation, ParseError};
use crate::device::Arch;

/// The first words of every table: the grammar's name and version.
pub const HEADING: &str = "batchlas routes 1";

/// The provenance that a table must carry, in the order in which it is written.
pub const PROVENANCE: [&str; 7] = ["status", "device", "driver", "tool chain", "date", "commit", "note"];

/// What a header says of the table, beside its provenance.
const FIELDS: [&str; 3] = ["op", "arch", "keys"];

/// How the rows of a table came about.
pub const STATUSES: [&str; 3] = ["measured", "transcribed", "provisional"];

/// The candidates of one operation on one architecture, by shape.
#[derive(Clone, Debug)]
pub struct Table {
    operation: &'static Operation,
    arch: Arch,
    source: String,
    provenance: BTreeMap<&'static str, String>,
    rows: Vec<Row>,
}

/// One row: a shape and its candidates, most preferred first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The shape.
    pub key: ShapeKey,
    /// The candidates, most preferred first.
    pub candidates: Vec<Candidate>,
    /// The row's line in its file.
    pub line: usize,
}

/// Where a problem stands in a table: its words and its sizes, in the order of
/// the operation's keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShapeKey {
    /// Values of the word keys.
    pub words: Vec<&'static str>,
    /// Values of the size keys.
    pub sizes: Vec<u64>,
}

impl ShapeKey {
    /// `dtype=f32 jobz=V n=16 batch=4096`
    pub fn describe(&self, operation: &Operation) -> String {
        self.pairs(operation)
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Names and values, in the order of the operation's keys.
    pub fn pairs(&self, operation: &Operation) -> Vec<(&'static str, String)> {
        let values = self.words.iter().map(|w| (*w).to_owned()).chain(self.sizes.iter().map(u64::to_string));
        operation.keys.iter().map(Key::name).zip(values).collect()
    }
}

impl Table {
    /// Reads a table. `source` names it in errors.
    ///
    /// # Errors
    /// The first fault, with its line; line 0 where something is missing.
    pub fn parse(operation: &'static Operation, source: &str, text: &str) -> Result<Self, TableError> {
        Parser { operation, source }.table(text)
    }

    /// The operation.
    pub fn operation(&self) -> &'static Operation {
        self.operation
    }
    /// The architecture that the rows are for.
    pub fn arch(&self) -> Arch {
        self.arch
    }
    /// The table's file, or its name where it is embedded.
    pub fn source(&self) -> &str {
        &self.source
    }
    /// A field of the header's provenance: one of [`PROVENANCE`].
    pub fn provenance(&self, field: &str) -> &str {
        self.provenance.get(field).map_or("", String::as_str)
    }
    /// Every row, as the file has them.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row for a shape: among the rows with its words, the nearest in the
    /// first size, then among those the nearest in the next. Near is the
    /// smaller |log a - log b|; a tie goes to the smaller size. A size of 0
    /// counts as 1.
    pub fn nearest(&self, key: &ShapeKey) -> &Row {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|r| r.key.words == key.words).collect();
        for (at, &size) in key.sizes.iter().enumerate() {
            let best = rows.iter().map(|r| r.key.sizes[at]).min_by(|&x, &y| nearer(size.max(1), x, y));
            rows.retain(|r| Some(r.key.sizes[at]) == best);
        }
        rows.first().expect("the parser asks for a row of every combination of words")
    }
}

/// Text as an error shows it: what cannot be seen (a byte order mark, a control character) by its code.
fn visible(text: &str) -> String {
    let unseen = |c: char| c.is_control() || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}');
    let shown = |c: char| if unseen(c) { c.escape_unicode().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// Compares |log size - log x| with |log size - log y|, exactly.
fn nearer(size: u64, x: u64, y: u64) -> std::cmp::Ordering {
    let ratio = |r: u64| (u128::from(size.max(r)), u128::from(size.min(r)));
    let ((x_over, x_under), (y_over, y_under)) = (ratio(x), ratio(y));
    (x_over * y_under).cmp(&(y_over * x_under)).then(x.cmp(&y))
}

struct Parser<'a> {
    operation: &'static Operation,
    source: &'a str,
}

impl Parser<'_> {
    fn error(&self, line: usize, reason: impl Into<String>) -> TableError {
        TableError { file: self.source.to_owned(), line, reason: reason.into() }
    }

    fn table(&self, text: &str) -> Result<Table, TableError> {
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(k, l)| (k + 1, l.split('#').next().unwrap_or("").trim()))
            .filter(|(_, l)| !l.is_empty());
        match lines.next() {
            Some((_, HEADING)) => {}
            Some((line, other)) => {
                return Err(self.error(line, format!("expected '{HEADING}', found '{}'", visible(other))));
            }
            None => return Err(self.error(0, format!("empty; the first line is '{HEADING}'"))),
        }
        let mut header = BTreeMap::new();
        let mut rows: Vec<Row> = Vec::new();
        for (line, text) in lines {
            if rows.is_empty()
                && let Some((field, value)) =
                    text.split_once(": ").or_else(|| text.strip_suffix(':').map(|f| (f, "")))
            {
                self.field(&mut header, line, field.trim(), value.trim())?;
                continue;
            }
            if rows.is_empty() {
                self.check_colon(line, text)?;
            }
            let row = self.row(line, text)?;
            if let Some(earlier) = rows.iter().find(|r| r.key == row.key) {
                let key = row.key.describe(self.operation);
                return Err(self.error(line, format!("{key} has a row already, in line {}", earlier.line)));
            }
            rows.push(row);
        }
        self.finish(header, rows)
    }

    fn field(
        &self,
        header: &mut BTreeMap<&'static str, (usize, String)>,
        line: usize,
        field: &str,
        value: &str,
    ) -> Result<(), TableError> {
        let known = FIELDS.into_iter().chain(PROVENANCE);
        let Some(name) = known.clone().find(|k| *k == field) else {
            let names: Vec<_> = known.collect();
            return Err(self.error(line, format!("unknown field '{field}': one of {}", names.join(", "))));
        };
        if value.is_empty() {
            return Err(self.error(line, format!("'{name}' is empty")));
        }
        if let Some((earlier, _)) = header.insert(name, (line, value.to_owned())) {
            return Err(self.error(line, format!("'{name}' is given already, in line {earlier}")));
        }
        Ok(())
    }

    /// A field of the header without its `: ` would be taken for a row that begins with an unknown word.
    fn check_colon(&self, line: usize, text: &str) -> Result<(), TableError> {
        let begins = |field: &str| {
            text.strip_prefix(field).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        };
        match FIELDS.into_iter().chain(PROVENANCE).find(|field| begins(field)) {
            Some(field) => Err(self.error(line, format!("'{text}': a field is written '{field}: value'"))),
            None => Ok(()),
        }
    }

    fn row(&self, line: usize, text: &str) -> Result<Row, TableError> {
        let mut fields = text.split_whitespace();
        let mut key = ShapeKey { words: Vec::new(), sizes: Vec::new() };
        for k in self.operation.keys {
            let value =
                fields.next().ok_or_else(|| self.error(line, format!("no value for '{}'", k.name())))?;
            match k {
                Key::Word { name, words } => match words.iter().find(|w| **w == value) {
                    Some(word) => key.words.push(word),
                    None => {
                        let reason =
                            format!("'{}' is no {name}: one of {}", visible(value), words.join(", "));
                        return Err(self.error(line, reason));
                    }
                },
                Key::Size { name } => match super::operation::number(value).filter(|v| *v > 0) {
                    Some(size) => key.sizes.push(u64::from(size)),
                    None => {
                        let reason =
                            format!("'{}' is no {name}: a number from 1 to {}", visible(value), u32::MAX);
                        return Err(self.error(line, reason));
                    }
                },
            }
        }
        let mut candidates: Vec<Candidate> = Vec::new();
        for text in fields {
            let candidate = self.candidate(line, text)?;
            if candidates.contains(&candidate) {
                return Err(self.error(line, format!("'{text}' is given twice")));
            }
            candidates.push(candidate);
        }
        if candidates.is_empty() {
            return Err(self.error(line, "no family after the keys"));
        }
        Ok(Row { key, candidates, line })
    }

    fn candidate(&self, line: usize, text: &str) -> Result<Candidate, TableError> {
        Candidate::parse(self.operation, text).map_err(|e| match e {
            ParseError::UnknownFamily { name } => {
                let names = self.operation.family_names().join(", ");
                self.error(line, format!("unknown family '{name}': one of {names}"))
            }
            ParseError::Params(reason) => self.error(line, format!("'{text}': {reason}")),
        })
    }

    fn finish(
        &self,
        mut header: BTreeMap<&'static str, (usize, String)>,
        rows: Vec<Row>,
    ) -> Result<Table, TableError> {
        for name in FIELDS.into_iter().chain(PROVENANCE) {
            if !header.contains_key(name) {
                return Err(self.error(0, format!("the header has no '{name}'")));
            }
        }
        let mut take = |name: &str| header.remove(name).expect("present by the loop above");
        let (line, op) = take("op");
        if op != self.operation.name {
            return Err(self.error(line, format!("a table of '{op}', not of '{}'", self.operation.name)));
        }
        let (line, arch) = take("arch");
        let arch = arch.parse().map_err(|e: crate::Error| self.error(line, e.to_string()))?;
        let (line, keys) = take("keys");
        let wanted: Vec<_> = self.operation.keys.iter().map(Key::name).collect();
        if keys.split_whitespace().ne(wanted.iter().copied()) {
            return Err(self.error(line, format!("the keys of {op} are '{}'", wanted.join(" "))));
        }
        let (line, status) = &header["status"];
        if !STATUSES.contains(&status.as_str()) {
            let reason = format!("'{status}' is no status: one of {}", STATUSES.join(", "));
            return Err(self.error(*line, reason));
        }
        self.check_words(&rows)?;
        let provenance = header.into_iter().map(|(name, (_, value))| (name, value)).collect();
        Ok(Table { operation: self.operation, arch, source: self.source.to_owned(), provenance, rows })
    }

    /// Every combination of words has a row, so that every shape has one.
    fn check_words(&self, rows: &[Row]) -> Result<(), TableError> {
        let mut combinations: Vec<Vec<&'static str>> = vec![Vec::new()];
        for key in self.operation.keys {
            if let Key::Word { words, .. } = key {
                combinations = combinations
                    .iter()
                    .flat_map(|c| words.iter().map(move |w| c.iter().copied().chain([*w]).collect()))
                    .collect();
            }
        }
        match combinations.iter().find(|c| !rows.iter().any(|r| r.key.words == **c)) {
            Some(missing) => Err(self.error(0, format!("no row for '{}'", missing.join(" ")))),
            None => Ok(()),
        }
    }
}
