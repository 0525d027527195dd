//! What a product is about, without its data.

use std::fmt;
use std::str::FromStr;

use crate::batch::Layout;
use crate::error::{Error, Result};
use crate::routes::ShapeKey;
use crate::scalar::Dtype;

/// What is multiplied of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// The matrix.
    #[default]
    N,
    /// Its transpose.
    T,
    /// Its conjugate transpose; the transpose, for real types.
    C,
}

impl Op {
    /// All of them.
    pub const ALL: [Op; 3] = [Op::N, Op::T, Op::C];

    /// `n`, `t` or `c`.
    pub const fn word(self) -> &'static str {
        match self {
            Op::N => "n",
            Op::T => "t",
            Op::C => "c",
        }
    }

    /// Whether rows and columns change places.
    pub const fn transposes(self) -> bool {
        !matches!(self, Op::N)
    }

    /// Rows and columns of op(X) for an X of this layout.
    pub(crate) fn shape(self, layout: Layout) -> (usize, usize) {
        if self.transposes() { (layout.cols(), layout.rows()) } else { (layout.rows(), layout.cols()) }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Op {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Op::ALL.into_iter().find(|op| op.word().eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            let meaning = "n (as it is), t (transposed) or c (conjugate transposed)";
            Error::argument(format!("unknown operation '{text}' on a matrix: {meaning}"))
        })
    }
}

fn misfit(sides: &[(&str, &str, Layout)], wanted: &str) -> Error {
    let side = |(name, op, x): &(&str, &str, Layout)| {
        format!("{name} ({op}): {} items of {}x{}", x.batch(), x.rows(), x.cols())
    };
    let sides: Vec<String> = sides.iter().map(side).collect();
    Error::argument(format!("{} do not fit: {wanted}", sides.join(", ")))
}

/// A batch of products: op(A) of m by k, op(B) of k by n, C of m by n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The element type.
    pub dtype: Dtype,
    /// What is multiplied of A.
    pub op_a: Op,
    /// What is multiplied of B.
    pub op_b: Op,
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// Columns of op(A), rows of op(B).
    pub k: usize,
    /// Number of products.
    pub batch: usize,
}

impl Problem {
    /// The problem of matrices of these layouts.
    ///
    /// # Errors
    /// [`Error::Argument`] where they do not fit each other.
    pub fn of(dtype: Dtype, op_a: Op, op_b: Op, a: Layout, b: Layout, c: Layout) -> Result<Self> {
        let ((m, k), (depth, n)) = (op_a.shape(a), op_b.shape(b));
        let fits = k == depth && (c.rows(), c.cols()) == (m, n);
        if !fits || a.batch() != c.batch() || b.batch() != c.batch() {
            let sides = [("A", op_a.word(), a), ("B", op_b.word(), b), ("C", "n", c)];
            return Err(misfit(&sides, "op(A) is m by k, op(B) k by n, C m by n, batches are equal"));
        }
        Ok(Problem { dtype, op_a, op_b, m, n, k, batch: c.batch() })
    }

    /// The problem of factors of these layouts, whose product need not be yet.
    ///
    /// # Errors
    /// [`Error::Argument`] where they do not fit each other.
    pub(crate) fn of_factors(dtype: Dtype, op_a: Op, op_b: Op, a: Layout, b: Layout) -> Result<Self> {
        let ((m, k), (depth, n)) = (op_a.shape(a), op_b.shape(b));
        if k != depth || a.batch() != b.batch() {
            let sides = [("A", op_a.word(), a), ("B", op_b.word(), b)];
            return Err(misfit(&sides, "op(A) is m by k, op(B) k by n, batches are equal"));
        }
        Ok(Problem { dtype, op_a, op_b, m, n, k, batch: a.batch() })
    }

    /// Whether C has no element.
    pub fn is_empty(&self) -> bool {
        self.m == 0 || self.n == 0 || self.batch == 0
    }

    /// `nn`, `nt`, `tn` or `tt`, a conjugate counted as transposed.
    pub fn trans(&self) -> &'static str {
        match (self.op_a.transposes(), self.op_b.transposes()) {
            (false, false) => "nn",
            (false, true) => "nt",
            (true, false) => "tn",
            (true, true) => "tt",
        }
    }

    /// The problem's place in a route table.
    pub fn key(&self) -> ShapeKey {
        let sizes = [self.m, self.n, self.k, self.batch].map(|size| size as u64).to_vec();
        ShapeKey { words: vec![self.dtype.name(), self.trans()], sizes }
    }
}
