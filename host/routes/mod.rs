//! Which family runs a shape: tables, the choice, pins and the coverage record.

mod error;

pub use error::{Refusal, RouteError, TableError};
