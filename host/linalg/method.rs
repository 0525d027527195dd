//! Which operation solves tridiagonal matrices.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::ops::steqr::{self, Problem};
use crate::ops::{Jobz, Target, stebz, stedc};
use crate::routes::{Operation, Pin, effective};

/// The method of [`eigh_tridiagonal_with`](super::eigh_tridiagonal_with): the operation that solves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// What is fastest. QL on the CPU, for n up to 32, and where its family, form or update is pinned. On a GPU or the
    /// executor above: divide and conquer for vectors; for values only bisection up to n = 224 in f32 and 128 in f64,
    /// divide and conquer without vectors to 4096, then bisection again.
    #[default]
    Auto,
    /// Implicit QL: operation `steqr`.
    Qr,
    /// Divide and conquer: operation `stedc`.
    Dc,
    /// Bisection, values only: operation `stebz`.
    Bisection,
}

/// The order up to which QL is fastest on a GPU: a tile of a warp a matrix.
const QL_MAX_N: usize = 32;

impl Method {
    /// Every one, in the order of the variants.
    pub const ALL: &[Method] = &[Method::Auto, Method::Qr, Method::Dc, Method::Bisection];

    /// The word in options.
    pub const fn word(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Qr => "qr",
            Method::Dc => "dc",
            Method::Bisection => "bisection",
        }
    }

    /// The operation whose families and pins it has; `Auto` takes those of `steqr`.
    pub fn operation(self) -> &'static Operation {
        match self {
            Method::Auto | Method::Qr => &steqr::OPERATION,
            Method::Dc => &stedc::OPERATION,
            Method::Bisection => &stebz::OPERATION,
        }
    }

    /// The method that `Auto` comes to; any other is itself. `pin` is the call's for `steqr`, if any.
    ///
    /// # Errors
    /// A malformed pin of the environment, and [`Error::Argument`] for vectors by bisection.
    pub fn resolve(self, problem: &Problem, target: &Target, pin: Option<&Pin>) -> Result<Method> {
        match self {
            Method::Bisection if problem.jobz == Jobz::V => {
                Err(Error::argument("the method bisection finds values only: vectors take qr or dc"))
            }
            Method::Auto => {
                // `auto` and `native` name no family: they say nothing of the operation.
                let pinned = effective(&steqr::OPERATION, pin)?;
                let pinned = pinned.is_some_and(|pinned| matches!(pinned.pin, Pin::Family(_)));
                Ok(match problem.jobz {
                    _ if pinned || target.limits().is_none() || problem.n <= QL_MAX_N => Method::Qr,
                    Jobz::V => Method::Dc,
                    Jobz::N if stebz::is_fastest(problem.dtype, problem.n, target) => Method::Bisection,
                    Jobz::N => Method::Dc,
                })
            }
            other => Ok(other),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wanted = text.to_ascii_lowercase();
        Method::ALL.iter().copied().find(|x| x.word() == wanted).ok_or_else(|| {
            let words: Vec<&str> = Method::ALL.iter().map(|x| x.word()).collect();
            Error::argument(format!("unknown method '{text}': one of {}", words.join(", ")))
        })
    }
}
