//! Operations: a folder each, with its options, its problem, its workspace and
//! one file a family.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::routes::Operation;

mod cpu;
pub(crate) mod decide;
mod family;
pub mod gemm;
pub mod ormqr;
pub mod stebz;
pub mod stedc;
pub mod steqr;
pub mod syev;
pub mod sytrd;
mod target;
#[cfg(feature = "kernels")]
mod tiles;
mod tridiagonal;
mod typed;

pub use decide::{Decided, Decision, Explanation, Plan};
pub use target::Target;

/// Every operation that has families and tables.
pub static OPERATIONS: &[&Operation] = &[
    &syev::OPERATION,
    &steqr::OPERATION,
    &stedc::OPERATION,
    &stebz::OPERATION,
    &sytrd::OPERATION,
    &ormqr::OPERATION,
    &gemm::OPERATION,
];

/// Sweeps that QL may take for each eigenvalue, unless told otherwise: dsteqr's `MAXIT`.
pub const SWEEPS_PER_VALUE: u32 = 30;

/// Whether eigenvectors are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Jobz {
    /// Eigenvalues and eigenvectors.
    #[default]
    V,
    /// Eigenvalues only.
    N,
}

impl Jobz {
    /// `V` or `N`, as tables have it.
    pub const fn word(self) -> &'static str {
        match self {
            Jobz::V => "V",
            Jobz::N => "N",
        }
    }
}

impl fmt::Display for Jobz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Jobz {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "V" | "v" => Ok(Jobz::V),
            "N" | "n" => Ok(Jobz::N),
            _ => Err(Error::argument(format!("unknown jobz '{text}': V (vectors) or N (values only)"))),
        }
    }
}

/// Which triangle of a symmetric or Hermitian matrix is read; the other is
/// never read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Uplo {
    /// Elements (i, j) with i >= j.
    #[default]
    Lower,
    /// Elements (i, j) with i <= j.
    Upper,
}

impl fmt::Display for Uplo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Uplo::Lower => "lower",
            Uplo::Upper => "upper",
        })
    }
}

impl FromStr for Uplo {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.to_ascii_lowercase().as_str() {
            "lower" | "l" => Ok(Uplo::Lower),
            "upper" | "u" => Ok(Uplo::Upper),
            _ => Err(Error::argument(format!("unknown triangle '{text}': lower or upper"))),
        }
    }
}

/// Eigenvalues of a batch.
fn count_values(n: usize, batch: usize) -> Result<usize, Error> {
    n.checked_mul(batch).ok_or_else(|| Error::argument(format!("{n} * {batch} eigenvalues overflow")))
}

/// Refuses a buffer of another length than the batch needs.
fn check_len(what: &str, got: usize, wanted: usize) -> Result<(), Error> {
    if got == wanted {
        return Ok(());
    }
    Err(Error::argument(format!("the buffer for {what} has {got} elements, the batch needs {wanted}")))
}
