//! Tuning parameters: one definition each, overridden by `BATCHLAS_TUNE_*`.
//!
//! A plan reads them once; the workspace query and the solve share that plan.

use super::environment;
use super::operation::number;
use crate::error::{Error, Result};

/// A number that a plan may choose and the environment may override.
#[derive(Debug)]
pub struct Tunable {
    /// The environment variable, `BATCHLAS_TUNE_` and the parameter.
    pub variable: &'static str,
    /// What it sets, for `info`.
    pub what: &'static str,
    /// The least value.
    pub min: u32,
    /// The greatest value.
    pub max: u32,
}

/// Items of a batch that go to a device at a time.
pub static CHUNK_ITEMS: Tunable = Tunable {
    variable: "BATCHLAS_TUNE_CHUNK_ITEMS",
    what: "items of a batch that are uploaded and solved at a time; unset: as many as fit the memory",
    min: 1,
    max: u32::MAX,
};

/// Every parameter.
pub static TUNABLES: &[&Tunable] = &[&CHUNK_ITEMS];

impl Tunable {
    /// The override, where the environment has one; an empty value counts as unset.
    ///
    /// # Errors
    /// [`Error::Argument`] for a value out of range, and for a `BATCHLAS_TUNE_`
    /// variable that is no parameter.
    pub fn from_env(&self) -> Result<Option<u32>> {
        environment::read(self.variable)?.map(|value| self.check(&value)).transpose()
    }

    fn check(&self, value: &str) -> Result<u32> {
        number(value).filter(|v| (self.min..=self.max).contains(v)).ok_or_else(|| {
            Error::argument(format!("{}={value}: a number from {} to {}", self.variable, self.min, self.max))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_are_validated() {
        assert_eq!(CHUNK_ITEMS.check("12").unwrap(), 12);
        for wrong in ["0", "-1", "+1", "1.5", "99999999999", "\u{fffd}4"] {
            let text = CHUNK_ITEMS.check(wrong).unwrap_err().to_string();
            assert!(text.starts_with("BATCHLAS_TUNE_CHUNK_ITEMS=") && text.contains("from 1 to"), "{text}");
        }
    }
}
