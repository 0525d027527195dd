//! What the program says, and how it ends, when it cannot do what was asked.

use std::fmt;
use std::path::Path;

/// Usage, input, output or device error: exit status 1 and a message on stderr.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// A failure with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Failure(plain(&text.into()))
    }

    /// A failure that concerns a file.
    pub fn at(path: &Path, text: impl fmt::Display) -> Self {
        Failure(format!("{}: {text}", path.display()))
    }

    /// A system error at a file, without Rust's `(os error N)`.
    pub fn io(path: &Path, error: &std::io::Error) -> Self {
        Failure::at(path, system_text(error))
    }
}

/// The system's words for an error, without Rust's `(os error N)`.
pub fn system_text(error: &std::io::Error) -> String {
    plain(&error.to_string())
}

/// A text without each `(os error N)` that Rust appends to the system's words.
fn plain(text: &str) -> String {
    let (head, tail) = text.split_once(" (os error ").unwrap_or((text, ""));
    match tail.split_once(')') {
        Some((_, rest)) => head.to_owned() + &plain(rest),
        None => text.to_owned(),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<batchlas::Error> for Failure {
    fn from(error: batchlas::Error) -> Self {
        Failure::new(error.to_string())
    }
}

/// Checks that `count` elements of `bytes` each can be had, so that a shape
/// that no memory holds is a message and not an abort.
pub fn check_memory(count: usize, bytes: usize, what: &str) -> Result<(), Failure> {
    let total = count.checked_mul(bytes);
    let fits = total.is_some_and(|total| Vec::<u8>::new().try_reserve_exact(total).is_ok());
    if fits {
        return Ok(());
    }
    let total = count as u128 * bytes as u128;
    Err(Failure::new(format!("out of memory: {total} bytes needed for {what}")))
}

/// Checks the variable of rayon, which passes over a value that is no number.
pub fn check_threads() -> Result<(), Failure> {
    const THREADS: &str = "RAYON_NUM_THREADS";
    match std::env::var_os(THREADS).filter(|value| !value.is_empty()) {
        Some(value) if value.to_str().is_none_or(|text| text.parse::<usize>().is_err()) => {
            let value = value.display();
            Err(Failure::new(format!("{THREADS}={value}: a number of threads, 0 for one a processor")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_system_errors_are_left_out() {
        for (text, wanted) in [
            ("a: No such file or directory (os error 2)", "a: No such file or directory"),
            ("a: b (os error 2); c (os error 13), d", "a: b; c, d"),
            ("no (os error", "no (os error"),
        ] {
            assert_eq!(Failure::new(text).to_string(), wanted);
        }
    }
}
