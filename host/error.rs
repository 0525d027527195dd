//! What can go wrong, told apart by who can put it right.

use std::path::PathBuf;

use crate::routes::RouteError;

/// The result of every fallible call of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed.
///
/// An item of a batch that cannot be solved is not an error: it has its own
/// [`Status`](crate::Status), and the rest of the batch is computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A shape, a size or a value that the caller gave cannot be used.
    #[error("{0}")]
    Argument(String),

    /// The device asked for is not here, or this build cannot drive it.
    #[error("{device}: {reason}")]
    Unavailable {
        /// The device as the caller named it.
        device: String,
        /// What was looked for and not found.
        reason: String,
    },

    /// No family can run the shape, or a pin cannot be honoured.
    #[error(transparent)]
    Route(#[from] RouteError),

    /// A route table is malformed.
    #[error(transparent)]
    Table(#[from] crate::routes::TableError),

    /// A kernel module could not be loaded or compiled by the driver.
    #[error("module {module}: {reason}")]
    Build {
        /// The module's name.
        module: String,
        /// The driver's message.
        reason: String,
    },

    /// A launch was refused, or the device reported a fault.
    #[error("kernel {kernel}: {reason}")]
    Launch {
        /// The kernel's entry.
        kernel: String,
        /// The reason, from our checks or from the driver.
        reason: String,
    },

    /// The CPU executor found faults in a kernel.
    #[error("kernel {kernel}: {} finding(s) of the executor{}\n{}", .findings.len() + .suppressed,
        if *.suppressed > 0 { format!(", {} not shown", .suppressed) } else { String::new() }, .findings.join("\n"))]
    Findings {
        /// The kernel's entry.
        kernel: String,
        /// One text a finding, with file and line.
        findings: Vec<String>,
        /// How many more there were.
        suppressed: usize,
    },

    /// Memory for a buffer or a workspace could not be had.
    #[error("out of memory on {device}: {bytes} bytes asked for {what}")]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes asked for.
        bytes: u64,
        /// What they were for.
        what: String,
    },

    /// A call of the driver or of a vendor's library failed.
    #[error("{call}: {reason}")]
    Driver {
        /// The function called.
        call: String,
        /// Its error.
        reason: String,
    },

    /// A file could not be read or written.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl Error {
    /// An [`Error::Argument`] with this text.
    pub fn argument(text: impl Into<String>) -> Self {
        Error::Argument(text.into())
    }
}
