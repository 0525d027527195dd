//! Pins: a family asked for by the caller, over the table's head.
//!
//! In order of precedence: the option of a call, the innermost [`ScopedPin`]
//! of the calling thread, the environment (`BATCHLAS_SYEV_ROUTE`), the table.
//! `auto` in an inner place undoes a pin further out.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;

use super::choose::Source;
use super::error::RouteError;
use super::operation::{Candidate, Operation, ParseError};
use crate::error::Result;

/// What a caller may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pin {
    /// What the table says.
    Auto,
    /// What the table says, without the vendor's families.
    Native,
    /// This family, with these parameters.
    Family(Candidate),
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pin::Auto => f.write_str("auto"),
            Pin::Native => f.write_str("native"),
            Pin::Family(candidate) => write!(f, "{candidate}"),
        }
    }
}

/// A pin and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The pin.
    pub pin: Pin,
    /// Where it came from.
    pub source: Source,
    variable: Option<String>,
}

impl Pinned {
    /// A pin given with the call.
    pub fn call(pin: Pin) -> Self {
        Pinned { pin, source: Source::Call, variable: None }
    }

    /// The pin in quotes, and where it came from unless it came with the call.
    pub(super) fn described(&self) -> String {
        match (&self.variable, self.source) {
            (Some(variable), _) => format!("'{}' ({variable})", self.pin),
            (None, Source::Scope) => format!("'{}' (scoped pin)", self.pin),
            _ => format!("'{}'", self.pin),
        }
    }
}

impl Pin {
    /// Reads `auto`, `native`, `vendor`, `family` or `family:params`, in any case.
    ///
    /// # Errors
    /// [`RouteError::Unknown`] with the words that are known, or
    /// [`RouteError::Params`].
    pub fn parse(operation: &'static Operation, text: &str) -> std::result::Result<Self, RouteError> {
        parse(operation, text, "")
    }
}

fn parse(operation: &'static Operation, text: &str, from: &str) -> std::result::Result<Pin, RouteError> {
    let word = text.trim().to_ascii_lowercase();
    match word.as_str() {
        "auto" => return Ok(Pin::Auto),
        "native" => return Ok(Pin::Native),
        _ => {}
    }
    let pin = format!("'{text}'{from}");
    Candidate::parse(operation, &word).map(Pin::Family).map_err(|e| match e {
        ParseError::UnknownFamily { .. } => {
            let mut words = operation.family_names();
            words.extend(["auto".to_owned(), "native".to_owned()]);
            RouteError::Unknown { op: operation.name, pin, words }
        }
        ParseError::Params(reason) => RouteError::Params { op: operation.name, pin, reason },
    })
}

/// The environment variable that pins an operation: `BATCHLAS_SYEV_ROUTE`.
pub fn variable(operation: &Operation) -> String {
    format!("BATCHLAS_{}_ROUTE", operation.name.to_ascii_uppercase())
}

/// The pin of the environment. A variable of that form whose middle is no
/// operation is an error too: a typo must not mean auto.
pub(super) fn from_environment(
    operation: &'static Operation,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<Option<Pinned>> {
    let wanted = variable(operation);
    let mut found = None;
    for (name, value) in environment {
        let Some(op) = name.strip_prefix("BATCHLAS_").and_then(|n| n.strip_suffix("_ROUTE")) else {
            continue;
        };
        if name == wanted {
            let pin = parse(operation, &value, &format!(" ({name})"))?;
            found = Some(Pinned { pin, source: Source::Environment, variable: Some(name) });
        } else if !crate::ops::OPERATIONS.iter().any(|o| o.name.eq_ignore_ascii_case(op)) {
            let known: Vec<String> = crate::ops::OPERATIONS.iter().map(|o| variable(o)).collect();
            return Err(crate::Error::argument(format!(
                "environment variable {name} pins no operation: one of {}",
                known.join(", ")
            )));
        }
    }
    Ok(found)
}

struct Entry {
    id: u64,
    operation: &'static str,
    pin: Pin,
}

thread_local! {
    static PINS: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Pins an operation on this thread until it is dropped.
///
/// The newest living pin of a thread wins; when it is dropped the one before
/// it holds again, in whatever order pins are dropped. Other threads, those of
/// a pool included, are not touched, and the guard cannot be sent to one.
#[must_use = "the pin ends when the guard is dropped"]
#[derive(Debug)]
pub struct ScopedPin {
    id: u64,
    // The entry lives in the thread that made it.
    not_send: PhantomData<*const ()>,
}

impl ScopedPin {
    /// Pins `operation` to `pin` on the calling thread.
    pub fn new(operation: &'static Operation, pin: Pin) -> Self {
        let id = NEXT.with(|next| next.replace(next.get() + 1));
        PINS.with_borrow_mut(|pins| pins.push(Entry { id, operation: operation.name, pin }));
        ScopedPin { id, not_send: PhantomData }
    }
}

impl Drop for ScopedPin {
    fn drop(&mut self) {
        PINS.with_borrow_mut(|pins| pins.retain(|entry| entry.id != self.id));
    }
}

/// The pin that holds for a call: its own option, the thread's scope, or the
/// environment; `None` where the table decides.
///
/// # Errors
/// A malformed pin of the environment, even where another one holds.
pub fn effective(operation: &'static Operation, call: Option<&Pin>) -> Result<Option<Pinned>> {
    let environment = from_environment(operation, environment())?;
    let scope = PINS.with_borrow(|pins| {
        let newest = pins.iter().rev().find(|entry| entry.operation == operation.name);
        newest.map(|entry| Pinned { pin: entry.pin.clone(), source: Source::Scope, variable: None })
    });
    let pinned = call.cloned().map(Pinned::call).or(scope).or(environment);
    Ok(pinned.filter(|p| p.pin != Pin::Auto))
}

/// Variables that are valid Unicode; others are none of ours.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.to_string_lossy().into_owned())))
}
