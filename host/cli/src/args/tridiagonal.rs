//! Arguments of `batchlas eigh-tridiagonal`.

use std::path::PathBuf;

use batchlas::linalg::Method;
use batchlas::ops::steqr::{Form, Shift, Update};
use clap::Args;

use super::{SolveArgs, words};

/// `batchlas eigh-tridiagonal`
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct EighTridiagonalArgs {
    /// Matrices: .npz holding the diagonals `d` (b, n) and the off-diagonals `e` (b, n - 1), or one of each without b
    pub input: PathBuf,

    /// Implicit QL (operation steqr), divide and conquer (stedc) or bisection (stebz, with --values-only); auto: QL on the
    /// CPU and for n up to 32, else divide and conquer for vectors, and for values bisection or divide and conquer by n
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = words::<Method>(&["auto", "qr", "dc", "bisection"]))]
    pub method: Method,

    /// How the lanes of a warp go through the iteration, on a GPU and for n up to 32; auto: as measured to be best
    #[arg(long, value_name = "FORM", default_value = "auto", value_parser = words::<FormChoice>(&["auto", "nested", "flat", "lockstep", "decoupled"]))]
    pub form: FormChoice,

    /// How a sweep updates the matrix, on a GPU: explicit similarities or the recurrence of Parlett and Gray [default: as measured to be best]
    #[arg(long, value_name = "UPDATE", value_parser = words::<Update>(&["exp", "pg"]))]
    pub update: Option<Update>,

    /// Formula of QL's shift [default: lapack]
    #[arg(long, value_name = "SHIFT", value_parser = words::<Shift>(&["lapack", "wilkinson"]))]
    pub shift: Option<Shift>,

    /// How to solve, and what to say of it
    #[command(flatten)]
    pub solve: SolveArgs,
}

/// `--form`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormChoice(pub Option<Form>);

impl std::str::FromStr for FormChoice {
    type Err = batchlas::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" { Ok(FormChoice(None)) } else { text.parse().map(|form| FormChoice(Some(form))) }
    }
}

const HELP: &str = "\
Input:
  d and e are both float32 or both float64, C or Fortran order, either byte order.

Output:
  w       (b, n)     eigenvalues, ascending
  v       (b, n, n)  v[i, :, k] is the k-th eigenvector of item i, of norm 1; its component of
                     largest modulus is positive. Not with --values-only
  status  (b)        int32: 0 converged; -1 NaN or infinity in d or e; k > 0: k off-diagonals
                     or values did not converge. A failed item has NaN in w and v
  A single matrix is a batch of one: w has shape (1, n).
  The file appears whole or not at all.

--route takes a family of the method's operation; with auto, of steqr, and then the method is qr.
nested, flat and lockstep give the same bits; decoupled may differ in the last ones. --form and
--update pin the family cta, which needs a GPU or --device simt, and n up to 32; --shift is
refused where another method solves.

--json prints op, dtype, n, batch, jobz, shift (of steqr), device, route, seconds and failed_items;
with --check also checked_items, max_residual and max_orthogonality, as for eigh. route names the
family with all its parameters: given to --route, with the method of op, it repeats the run.

Examples:
  batchlas eigh-tridiagonal chains.npz -o spectra.npz
  batchlas eigh-tridiagonal chains.npz --check --json
  batchlas eigh-tridiagonal chains.npz --device simt --form flat --update pg
  batchlas eigh-tridiagonal chains.npz --device cuda --method dc --check
  batchlas eigh-tridiagonal chains.npz --device cuda --route cta:decoupled --values-only";
