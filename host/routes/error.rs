//! Errors of tables and of choices.

use std::fmt;

/// A family that cannot run a shape, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The family.
    pub family: String,
    /// Why it cannot run the shape.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.family, self.reason)
    }
}

fn list(refusals: &[Refusal]) -> String {
    refusals.iter().map(Refusal::to_string).collect::<Vec<_>>().join("; ")
}

fn or_none(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Those that cannot, families of one reason together.
fn and_not(refusals: &[Refusal]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for Refusal { family, reason } in refusals {
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, families)) => families.push(family),
            None => reasons.push((reason, vec![family])),
        }
    }
    let told = reasons.iter().map(|(reason, families)| format!("{}: {reason}", families.join(", ")));
    if refusals.is_empty() {
        return String::new();
    }
    format!("; these cannot: {}", told.collect::<Vec<_>>().join("; "))
}

/// Why no family was chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// A pin names no family of the operation.
    #[error("unknown {op} route {pin}: one of {}", .words.join(", "))]
    Unknown {
        /// The operation.
        op: &'static str,
        /// The pin as given, in quotes, and where it came from, unless it came with the call:
        /// `'qr' (BATCHLAS_SYEV_ROUTE)`.
        pin: String,
        /// The words that are known.
        words: Vec<String>,
    },

    /// A pin's parameters are not ones of its family.
    #[error("{op} route {pin}: {reason}")]
    Params {
        /// The operation.
        op: &'static str,
        /// The pin and where it came from.
        pin: String,
        /// What is wrong with them.
        reason: String,
    },

    /// A pinned family cannot run the shape.
    #[error(
        "{op} route {pin} cannot run {shape}: {}; these can: {}{}",
        list(.refused), or_none(.runnable), and_not(.others)
    )]
    Pinned {
        /// The operation.
        op: &'static str,
        /// The pin and where it came from.
        pin: String,
        /// The shape.
        shape: String,
        /// What stands in the way.
        refused: Vec<Refusal>,
        /// Families that can run the shape.
        runnable: Box<[String]>,
        /// Why the remaining families cannot.
        others: Box<[Refusal]>,
    },

    /// No family can run the shape.
    #[error("no {op} family can run {shape}: {}", list(.refused))]
    None {
        /// The operation.
        op: &'static str,
        /// The shape.
        shape: String,
        /// Every family with its reason.
        refused: Vec<Refusal>,
    },
}

/// A malformed route table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}")]
pub struct TableError {
    /// The table's file, or its name where it is embedded.
    pub file: String,
    /// The line, from 1; 0 where the file as a whole is wrong.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
}
