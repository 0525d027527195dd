//! One module a subcommand, and what they share.

pub mod accuracy;
pub mod bench;
pub mod compare;
pub mod eigh;
pub mod eigh_tridiagonal;
mod finish;
pub mod info;
pub mod kernels;
mod report;
pub mod routes;
mod solve;
pub mod tune;

use std::io::{self, Write};

use crate::failure::Failure;

/// Says something on stderr beside a report; where that is closed, nobody is left to tell.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "batchlas: {text}");
}

/// A report as one line of JSON.
fn json_line(report: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string(report).map(|line| line + "\n").map_err(|e| Failure::new(e.to_string()))
}

/// Prints a command's report; false where nobody reads on (`| head`), which is no error.
fn print(report: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(report.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Failure::new(format!("standard output: {}", crate::failure::system_text(&e)))),
    }
}
