//! The variables of the environment that routes and plans read, and the guard against their misspellings.
//!
//! A value is looked up each time, so that one set at run time holds from then
//! on. Names, and the pins of all operations, are gone through once, at the first
//! look-up: copying the whole environment costs more than a small solve.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};

use super::coverage::COVERAGE;
use super::pin::{from_environment, variable};
use super::tables::TUNED_DIR;
use super::tune::TUNABLES;
use crate::error::{Error, Result};
use crate::trace::TRACE;

/// Whether the names of this process have been found right.
static CHECKED: AtomicBool = AtomicBool::new(false);

/// A variable's value; an empty one counts as unset.
///
/// # Errors
/// As [`check_names`] and [`check_pins`].
pub(super) fn read(name: &str) -> Result<Option<String>> {
    if !CHECKED.load(Ordering::Relaxed) {
        check_names(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))?;
        check_pins(value)?;
        CHECKED.store(true, Ordering::Relaxed);
    }
    Ok(value(name))
}

fn value(name: &str) -> Option<String> {
    std::env::var_os(name).and_then(given)
}

/// Parses the pins of all operations, where `value` gives a variable's: one without sense must not wait for the first call of
/// its operation.
///
/// # Errors
/// That of the first malformed pin.
pub(super) fn check_pins(value: impl Fn(&str) -> Option<String>) -> Result<()> {
    crate::ops::OPERATIONS.iter().try_for_each(|o| from_environment(o, |name| Ok(value(name))).map(drop))
}

/// What is not Unicode is shown as far as it goes, and is then no word that anything knows.
fn given(value: OsString) -> Option<String> {
    let text = value.to_string_lossy();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Checks that each `BATCHLAS_*` with the word ROUTE or an operation in it pins an operation, that each `BATCHLAS_TUNE_*`
/// is a parameter, and that no name, whatever its first letters, only nearly is one that is read: a typo must not mean
/// auto, or the default.
///
/// # Errors
/// [`Error::Argument`] with the variable and the names that are known.
pub(super) fn check_names(mut names: impl Iterator<Item = String>) -> Result<()> {
    let pins: Vec<String> = crate::ops::OPERATIONS.iter().map(|o| variable(o)).collect();
    names.try_for_each(|name| check(&name, &pins))
}

fn check(name: &str, pins: &[String]) -> Result<()> {
    let tunables = TUNABLES.iter().map(|t| t.variable);
    let all = || KNOWN.iter().copied().chain(tunables.clone()).chain(pins.iter().map(String::as_str));
    if all().any(|known| known == name) {
        return Ok(());
    }
    let upper = name.to_ascii_uppercase();
    let rest = upper.strip_prefix("BATCHLAS_");
    if rest.is_some_and(|rest| rest.starts_with("TUNE_")) && !is_near(&upper, TUNED_DIR) {
        let known: Vec<_> = tunables.clone().collect();
        let text = format!("unknown tuning parameter {name}: one of {}", known.join(", "));
        return Err(Error::argument(text));
    }
    if rest.is_some_and(|rest| rest.ends_with("_ROUTE") || rest == "ROUTE") {
        return Err(pins_nothing(name, pins));
    }
    if let Some(meant) = all().find(|known| is_near(&upper, known)) {
        return Err(Error::argument(format!("unknown environment variable {name}: is {meant} meant?")));
    }
    // The words of a pin in another order, one alone, or another word for the route.
    let is_pin = |word: &str| {
        word.starts_with("ROUTE") || crate::ops::OPERATIONS.iter().any(|o| o.name.eq_ignore_ascii_case(word))
    };
    if rest.is_some_and(|rest| rest.split('_').any(is_pin)) {
        return Err(pins_nothing(name, pins));
    }
    Ok(())
}

fn pins_nothing(name: &str, pins: &[String]) -> Error {
    Error::argument(format!("environment variable {name} pins no operation: one of {}", pins.join(", ")))
}

/// The variable that names a folder of kernels for GPUs, in place of the embedded ones.
pub const KERNEL_DIR: &str = "BATCHLAS_KERNEL_DIR";

/// What a running program reads beside pins and tuning parameters, the executor's and the command line's among it:
/// a variable that is misspelt would be passed over in silence.
const KNOWN: [&str; 6] = [TRACE, COVERAGE, TUNED_DIR, KERNEL_DIR, "BATCHLAS_SIMT_SEED", "BATCHLAS_PTXAS"];

/// Whether a name in capitals is a known one with another ending, or at most two slips.
fn is_near(name: &str, known: &str) -> bool {
    let like_sized = name.len().abs_diff(known.len()) <= 2;
    name.starts_with(known) || like_sized && slips(name.as_bytes(), known.as_bytes()) <= 2
}

/// Letters to add, to drop or to change on the way from one word to the other.
fn slips(from: &[u8], to: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, x) in from.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in to.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
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
        for name in [
            "BATCHLAS_TRACE",
            "BATCHLAS_COVERAGE",
            "BATCHLAS_TUNED_DIR",
            "BATCHLAS_PTX_DIR",
            "BATCHLAS_SIMT_SEED",
        ] {
            check(name).unwrap();
        }
        for (name, meant) in [
            ("BATCHLAS_TRCE", TRACE),
            ("BATCHLAS_TRACE_FILE", TRACE),
            ("BATCHLAS_trace", TRACE),
            ("BATCHLAS_TRACES", TRACE),
            ("BATCHLAS_COVARAGE", COVERAGE),
            ("BATCHLAS_TUNED_DIRS", TUNED_DIR),
            ("BATCHLAS_KERNELS_DIR", KERNEL_DIR),
            ("BATCHLAS_SIMTSEED", "BATCHLAS_SIMT_SEED"),
            ("BATCHLAS_SYEV_ROUT", "BATCHLAS_SYEV_ROUTE"),
            ("BATCHLAS_STEQR_ROUTES", "BATCHLAS_STEQR_ROUTE"),
            ("BATCHLAS_TUNECHUNK_ITEMS", "BATCHLAS_TUNE_CHUNK_ITEMS"),
            ("BATCHLAS_PTX_AS", "BATCHLAS_PTXAS"),
        ] {
            let text = check(name).unwrap_err().to_string();
            assert!(text.contains(name) && text.contains(&format!("is {meant} meant")), "{text}");
        }
        for (name, meant) in [
            ("batchlas_trace", TRACE),
            ("BATCHLASS_SYEV_ROUTE", "BATCHLAS_SYEV_ROUTE"),
            ("BATCHLA_COVERAGE", COVERAGE),
            ("BATCHLAS_TUNE_DIR", TUNED_DIR),
        ] {
            let text = check(name).unwrap_err().to_string();
            assert!(text.contains(name) && text.contains(&format!("is {meant} meant")), "{text}");
        }
        for name in ["TRACE", "ROUTE", "MY_SYEV_ROUTE", "BATCH_SIZE", "BATCHLAS_HOME", "OTHERLAS_TRACE"] {
            check(name).unwrap();
        }
        for name in [
            "BATCHLAS_SYEVD_ROUTE",
            "BATCHLAS_syev_ROUTE",
            "batchlas_syev_route",
            "BATCHLAS_ROUTE",
            "BATCHLAS_ROUTE_SYEV",
            "BATCHLAS_SYEV",
            "BATCHLAS_GEMM_FAMILY",
            "BATCHLAS_TUNE_CHUNK",
            "batchlas_tune_chunk_items",
        ] {
            let text = check(name).unwrap_err().to_string();
            assert!(text.contains("one of BATCHLAS_"), "{text}");
            assert!(text.contains(&format!("{name} ")) || text.contains(&format!("{name}:")), "{text}");
        }
    }
}
