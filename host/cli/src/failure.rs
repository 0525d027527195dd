//! What the program says, and how it ends, when it cannot do what was asked.

use std::fmt;
use std::path::Path;

/// Usage, input, output or device error: exit status 1 and a message on stderr.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// A failure with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Failure(text.into())
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
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<batchlas::Error> for Failure {
    fn from(error: batchlas::Error) -> Self {
        Failure(error.to_string())
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
