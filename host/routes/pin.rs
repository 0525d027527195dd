//! Pins: a family asked for by the caller, over the table's head.
//!
//! In order of precedence: the option of a call, the innermost [`ScopedPin`]
//! of the calling thread, the environment (`BATCHLAS_SYEV_ROUTE`), the table.
//! `auto` in an inner place undoes a pin further out.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;

use super::choose::Source;
use super::environment;
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
        ParseError::UnknownFamily { .. } => unknown(operation, pin),
        ParseError::Params(reason) => RouteError::Params { op: operation.name, pin, reason },
    })
}

/// The error of a pin that is none of the operation's.
pub(super) fn unknown(operation: &'static Operation, pin: String) -> RouteError {
    let mut words = operation.family_names();
    words.extend(["auto".to_owned(), "native".to_owned()]);
    RouteError::Unknown { op: operation.name, pin, words }
}

/// The environment variable that pins an operation: `BATCHLAS_SYEV_ROUTE`.
pub fn variable(operation: &Operation) -> String {
    format!("BATCHLAS_{}_ROUTE", operation.name.to_ascii_uppercase())
}

/// The pin of the environment, where `read` gives a variable's value.
pub(super) fn from_environment(
    operation: &'static Operation,
    read: impl FnOnce(&str) -> Result<Option<String>>,
) -> Result<Option<Pinned>> {
    let name = variable(operation);
    let Some(value) = read(&name)? else { return Ok(None) };
    let pin = parse(operation, &value, &format!(" ({name})"))?;
    Ok(Some(Pinned { pin, source: Source::Environment, variable: Some(name) }))
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
        // A guard that lives in a thread local itself may outlive the list, and then has nothing left to end.
        let _ = PINS.try_with(|pins| pins.borrow_mut().retain(|entry| entry.id != self.id));
    }
}

/// The pin that holds for a call: its own option, the thread's scope, or the
/// environment; `None` where the table decides.
///
/// The environment's value is read each time, and an empty one counts as unset.
/// The names of its variables, and the pins of all other operations, are checked once a process.
///
/// # Errors
/// A malformed pin of the environment, even where another one holds: what was
/// meant is not known, and the next call may not have a pin of its own. A
/// variable of that form that names no operation, likewise.
pub fn effective(operation: &'static Operation, call: Option<&Pin>) -> Result<Option<Pinned>> {
    let environment = from_environment(operation, environment::read)?;
    // In a thread that is ending the list may be gone, and with it its pins.
    let scope = PINS.try_with(|pins| {
        let pins = pins.borrow();
        let newest = pins.iter().rev().find(|entry| entry.operation == operation.name);
        newest.map(|entry| Pinned { pin: entry.pin.clone(), source: Source::Scope, variable: None })
    });
    let scope = scope.ok().flatten();
    let pinned = call.cloned().map(Pinned::call).or(scope).or(environment);
    Ok(pinned.filter(|p| p.pin != Pin::Auto))
}
