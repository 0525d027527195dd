//! The variables of the environment that routes and plans read.
//!
//! A value is looked up each time, so that one set at run time holds from then
//! on. Names are gone through once, at the first look-up: copying the whole
//! environment costs more than a small solve.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};

use super::pin::variable;
use super::tune::TUNABLES;
use crate::error::{Error, Result};

/// Whether the names of this process have been found right.
static CHECKED: AtomicBool = AtomicBool::new(false);

/// A variable's value; an empty one counts as unset.
///
/// # Errors
/// As [`check_names`].
pub(super) fn read(name: &str) -> Result<Option<String>> {
    if !CHECKED.load(Ordering::Relaxed) {
        check_names(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))?;
        CHECKED.store(true, Ordering::Relaxed);
    }
    Ok(std::env::var_os(name).and_then(given))
}

/// What is not Unicode is shown as far as it goes, and is then no word that anything knows.
fn given(value: OsString) -> Option<String> {
    let text = value.to_string_lossy();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Checks that each `BATCHLAS_*_ROUTE` names an operation and each
/// `BATCHLAS_TUNE_*` a parameter: a typo must not mean auto, or the default.
///
/// # Errors
/// [`Error::Argument`] with the variable and the names that are known.
pub(super) fn check_names(names: impl Iterator<Item = String>) -> Result<()> {
    let mut names = names.filter(|name| name.starts_with("BATCHLAS_"));
    names.try_for_each(|name| check(&name))
}

fn check(name: &str) -> Result<()> {
    if name.starts_with("BATCHLAS_TUNE_") {
        let known: Vec<_> = TUNABLES.iter().map(|t| t.variable).collect();
        if !known.contains(&name) {
            let text = format!("unknown tuning parameter {name}: one of {}", known.join(", "));
            return Err(Error::argument(text));
        }
    } else if name.ends_with("_ROUTE") {
        let known: Vec<String> = crate::ops::OPERATIONS.iter().map(|o| variable(o)).collect();
        if !known.iter().any(|k| k == name) {
            let known = known.join(", ");
            return Err(Error::argument(format!(
                "environment variable {name} pins no operation: one of {known}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_is_unset() {
        assert_eq!(given("".into()), None);
        assert_eq!(given("  ".into()), None);
        assert_eq!(given(" cpu ".into()), Some("cpu".into()));
    }

    #[cfg(unix)]
    #[test]
    fn what_is_not_unicode_is_not_dropped() {
        use std::os::unix::ffi::OsStringExt;
        assert_eq!(given(OsString::from_vec(vec![0xff, b'4'])), Some("\u{fffd}4".into()));
    }

    #[test]
    fn names_that_are_none_of_ours_pass() {
        let check = |name: &str| check_names([name.to_owned()].into_iter());
        for name in ["PATH", "MY_ROUTE", "BATCHLAS_ARCHS", "BATCHLAS_SYEV_ROUTE", "BATCHLAS_TUNE_CHUNK_ITEMS"]
        {
            check(name).unwrap();
        }
        for name in ["BATCHLAS_SYEVD_ROUTE", "BATCHLAS_syev_ROUTE", "BATCHLAS_ROUTE", "BATCHLAS_TUNE_CHUNK"] {
            let text = check(name).unwrap_err().to_string();
            assert!(text.contains(&format!("{name} ")) || text.contains(&format!("{name}:")), "{text}");
        }
    }
}
