//! One module a subcommand.

pub mod eigh;
pub mod info;
pub mod kernels;
pub mod routes;

use std::io::{self, Write};

use crate::failure::Failure;

/// Prints a command's report. A reader that has gone (`| head`) is no error.
fn print(report: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(report.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("standard output: {}", crate::failure::system_text(&e))))
        }
        _ => Ok(()),
    }
}
