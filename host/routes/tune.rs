//! Tuning parameters: one definition each, overridden by `BATCHLAS_TUNE_*`.
//!
//! A plan reads them once; the workspace query and the solve share that plan.

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
    /// The override, where the environment has one.
    ///
    /// # Errors
    /// [`Error::Argument`] for a value out of range, and for a `BATCHLAS_TUNE_`
    /// variable that is no parameter: a typo must not mean the default.
    pub fn from_env(&self) -> Result<Option<u32>> {
        self.read(
            std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))),
        )
    }

    fn read(&self, environment: impl Iterator<Item = (String, String)>) -> Result<Option<u32>> {
        let mut found = None;
        for (name, value) in environment.filter(|(name, _)| name.starts_with("BATCHLAS_TUNE_")) {
            if !TUNABLES.iter().any(|t| t.variable == name) {
                let known: Vec<_> = TUNABLES.iter().map(|t| t.variable).collect();
                let text = format!("unknown tuning parameter {name}: one of {}", known.join(", "));
                return Err(Error::argument(text));
            }
            if name == self.variable {
                found = Some(self.check(&value)?);
            }
        }
        Ok(found)
    }

    fn check(&self, value: &str) -> Result<u32> {
        number(value.trim()).filter(|v| (self.min..=self.max).contains(v)).ok_or_else(|| {
            Error::argument(format!("{}={value}: a number from {} to {}", self.variable, self.min, self.max))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<u32>> {
        CHUNK_ITEMS.read(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())))
    }

    #[test]
    fn overrides_are_validated() {
        assert_eq!(read(&[("PATH", "x")]).unwrap(), None);
        assert_eq!(read(&[("BATCHLAS_TUNE_CHUNK_ITEMS", "12")]).unwrap(), Some(12));
        for wrong in ["0", "-1", "+1", "", "1.5", "99999999999"] {
            let text = read(&[("BATCHLAS_TUNE_CHUNK_ITEMS", wrong)]).unwrap_err().to_string();
            assert!(text.contains("from 1 to"), "{text}");
        }
        let text = read(&[("BATCHLAS_TUNE_CHUNK_ITEM", "1")]).unwrap_err().to_string();
        assert!(text.contains("unknown tuning parameter BATCHLAS_TUNE_CHUNK_ITEM: one of"), "{text}");
    }
}
