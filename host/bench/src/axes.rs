//! What a cell is named by: the operation, the layout, the sides of a product.

use std::fmt;
use std::str::FromStr;

use batchlas::error::{Error, Result};
use batchlas::ops::{gemm, stebz, stedc, steqr, syev};
use batchlas::routes::Operation;
use batchlas::{Dtype, Jobz, Layout};

/// An operation that can be measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Op {
    /// Dense symmetric and Hermitian matrices.
    #[default]
    Syev,
    /// Symmetric tridiagonal matrices by QL.
    Steqr,
    /// Symmetric tridiagonal matrices by divide and conquer.
    Stedc,
    /// Eigenvalues of symmetric tridiagonal matrices by bisection.
    Stebz,
    /// Products of matrices.
    Gemm,
}

impl Op {
    /// All of them.
    pub const ALL: [Op; 5] = [Op::Syev, Op::Steqr, Op::Stedc, Op::Stebz, Op::Gemm];

    /// Its keys and families.
    pub fn operation(self) -> &'static Operation {
        match self {
            Op::Syev => &syev::OPERATION,
            Op::Steqr => &steqr::OPERATION,
            Op::Stedc => &stedc::OPERATION,
            Op::Stebz => &stebz::OPERATION,
            Op::Gemm => &gemm::OPERATION,
        }
    }

    /// Whether it is defined for a type.
    pub fn takes(self, dtype: Dtype) -> bool {
        matches!(self, Op::Syev | Op::Gemm) || !dtype.is_complex()
    }

    /// Whether it gives vectors, or values.
    pub fn gives(self, jobz: Jobz) -> bool {
        self != Op::Stebz || jobz == Jobz::N
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.operation().name)
    }
}

impl FromStr for Op {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Op::ALL.into_iter().find(|op| op.operation().name.eq_ignore_ascii_case(text)).ok_or_else(|| {
            Error::argument(format!("unknown operation '{text}': one of syev, steqr, stedc, stebz, gemm"))
        })
    }
}

/// How the matrices lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// Without gaps.
    #[default]
    Packed,
    /// A leading dimension of n + 3, so that columns lie on no common boundary.
    Padded,
}

impl Padding {
    /// The layout of `batch` matrices of order n.
    ///
    /// # Errors
    /// Where the number of elements does not fit.
    pub fn layout(self, n: usize, batch: usize) -> Result<Layout> {
        match self {
            Padding::Packed => Layout::new(n, n, n, n * n, batch),
            Padding::Padded => Layout::new(n, n, n + 3, (n + 3) * n, batch),
        }
    }
}

impl fmt::Display for Padding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Padding::Packed => "packed",
            Padding::Padded => "padded",
        })
    }
}

impl FromStr for Padding {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "packed" => Ok(Padding::Packed),
            "padded" => Ok(Padding::Padded),
            _ => Err(Error::argument(format!("unknown layout '{text}': packed or padded"))),
        }
    }
}

/// What a product has beside its order: what is multiplied of each side, and m and k where they are not n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// What is multiplied of A.
    pub op_a: gemm::Op,
    /// What is multiplied of B.
    pub op_b: gemm::Op,
    /// Rows of C, where not n.
    pub m: Option<usize>,
    /// Columns of op(A), where not n.
    pub k: Option<usize>,
}

/// `nn`, `nt`, `cn` and so on.
impl fmt::Display for Sides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", self.op_a, self.op_b))
    }
}

impl FromStr for Sides {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong =
            || Error::argument(format!("unknown ops '{text}': two letters of n, t and c, such as nt"));
        let split = text.split_at_checked(1).filter(|_| text.len() == 2).ok_or_else(wrong)?;
        let op = |word: &str| word.parse().map_err(|_: Error| wrong());
        Ok(Sides { op_a: op(split.0)?, op_b: op(split.1)?, ..Sides::default() })
    }
}
