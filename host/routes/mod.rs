//! Which family runs a shape.
//!
//! [`Table`]s say what is preferred, a family's `can_run` what is correct, a
//! [`Pin`] what the caller insists on. [`choose()`] brings the three together,
//! and [`coverage`] records what came of it.

mod choose;
pub mod coverage;
mod environment;
mod error;
mod operation;
mod pin;
mod table;
mod tables;
pub mod tune;

pub(crate) use choose::rest;
pub use choose::{CanRun, Choice, Source, choose};
pub use environment::KERNEL_DIR;
pub use error::{Refusal, RouteError, TableError};
pub use operation::{Candidate, Family, Key, Kind, Operation, Param, Params, ParseError};
pub use pin::{Pin, Pinned, ScopedPin, effective, variable};
pub use table::{HEADING, PROVENANCE, Row, STATUSES, ShapeKey, Table};
pub use tables::{Found, TUNED_DIR, architectures, table};

#[cfg(test)]
mod tests;
