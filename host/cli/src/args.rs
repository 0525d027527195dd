//! Arguments of the program and their help texts.

mod accuracy;
mod bench;
mod compare;
mod tridiagonal;
mod tune;

use std::path::PathBuf;

use batchlas::{Arch, Device, Dtype, Jobz, Uplo};
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand};

pub use accuracy::AccuracyArgs;
pub use bench::{BenchArgs, sides};
pub use compare::CompareArgs;
pub use tridiagonal::EighTridiagonalArgs;
pub use tune::TuneArgs;

/// Batched symmetric and Hermitian eigenproblems on CPUs and NVIDIA GPUs
#[derive(Debug, Parser)]
#[command(name = "batchlas", version, arg_required_else_help = true, after_help = EXIT_STATUS)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_STATUS: &str = "\
Exit status:
  0  done
  1  usage, input, output or device error: one message on stderr, nothing written
  3  some items failed, or --check found a residual or an orthogonality above 10;
     results and statuses are written; bench, accuracy and tune: a wrong result of ours
  4  compare flagged a difference; tune --verify: the table's choices are too slow

Environment (an empty value counts as unset, one that makes no sense is an error):
  BATCHLAS_SYEV_ROUTE        pins the family of eigh as --route does; --route wins
  BATCHLAS_STEQR_ROUTE, BATCHLAS_STEDC_ROUTE, BATCHLAS_STEBZ_ROUTE
                             the same for eigh-tridiagonal by each --method
  BATCHLAS_SYTRD_ROUTE, BATCHLAS_ORMQR_ROUTE, BATCHLAS_GEMM_ROUTE
                             the same for operations that only the library has
  BATCHLAS_TUNE_CHUNK_ITEMS  items that are uploaded and solved at a time; else what fits the memory
  BATCHLAS_TUNED_DIR         folder of route tables in place of the embedded ones
  BATCHLAS_KERNEL_DIR        folder of kernels for GPUs in place of the embedded ones
  BATCHLAS_COVERAGE          file that gets one JSON line a decision
  BATCHLAS_TRACE             file that gets one JSON line a stage and kernel of each call
  BATCHLAS_SIMT_SEED         order of lanes and blocks of --device simt
  BATCHLAS_PTXAS             assembler of `kernels`, in place of the figures of the build
  RAYON_NUM_THREADS          threads of the CPU families and of the executor
  CUDA_PATH, CUDA_HOME       a CUDA toolkit, where tools and the vendor's libraries are looked for

`batchlas COMMAND --help` has examples.";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Eigenvalues and eigenvectors of a batch of symmetric or Hermitian matrices
    Eigh(EighArgs),
    /// Eigenvalues and eigenvectors of a batch of real symmetric tridiagonal matrices
    EighTridiagonal(EighTridiagonalArgs),
    /// Devices, driver, tool chain, kernel modules, route tables and vendor libraries
    Info(InfoArgs),
    /// Registers, stack frame, spills, shared memory and instruction mix of every kernel
    Kernels(KernelsArgs),
    /// Which family would run a shape, and why; touches no device
    Routes(RoutesArgs),
    /// Times of families against each other and the vendor, on grids of shapes
    Bench(BenchArgs),
    /// Residuals, orthogonality and eigenvalue errors of families over the input classes
    Accuracy(AccuracyArgs),
    /// What differs between two runs of bench or accuracy, or two captures of routes
    Compare(CompareArgs),
    /// Measure every family at every shape and write the route table that follows
    Tune(TuneArgs),
}

/// `batchlas eigh`
#[derive(Debug, Args)]
#[command(after_help = EIGH_HELP)]
pub struct EighArgs {
    /// Matrices: .npy of shape (b, n, n) or (n, n), .npz holding `a`, or a symmetric or Hermitian .mtx
    pub input: PathBuf,

    /// Triangle that is read; the other one is never looked at
    #[arg(long, value_name = "TRIANGLE", default_value = "lower", value_parser = words::<Uplo>(&["lower", "upper"]))]
    pub uplo: Uplo,

    /// How to solve, and what to say of it
    #[command(flatten)]
    pub solve: SolveArgs,
}

/// What every command that solves a batch takes.
#[derive(Debug, Args)]
pub struct SolveArgs {
    /// Write eigenvalues, vectors and statuses as a NumPy archive
    #[arg(short, long, value_name = "OUT.npz")]
    pub output: Option<PathBuf>,

    /// Compute eigenvalues without vectors
    #[arg(long, conflicts_with = "check")]
    pub values_only: bool,

    /// Where to run: auto, cpu, simt (the CPU executor of GPU kernels), cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: DeviceChoice,

    /// Take this family: auto, native (none of the vendor's) or a name as `batchlas routes` lists them, with parameters after a colon
    #[arg(long, value_name = "FAMILY")]
    pub route: Option<String>,

    /// Measure the residual and the orthogonality of every item; above 10 the exit status is 3
    #[arg(long)]
    pub check: bool,

    /// Draw the spectra
    #[arg(long, value_name = "F.svg")]
    pub plot: Option<PathBuf>,

    /// Print what the executor counted for each kernel; needs --device simt
    #[arg(long)]
    pub counters: bool,

    /// Print one JSON line instead of text
    #[arg(long)]
    pub json: bool,
}

const EIGH_HELP: &str = "\
Input:
  float32, float64, complex64 or complex128, C or Fortran order, either byte order.
  Only the triangle --uplo is read; the other one may hold anything.

Output:
  w       (b, n)     eigenvalues, ascending
  v       (b, n, n)  v[i, :, k] is the k-th eigenvector of item i, of norm 1; its component of
                     largest modulus is real and positive. Not with --values-only
  status  (b)        int32: 0 converged; -1 NaN or infinity in the triangle read; k > 0:
                     k off-diagonals did not converge. A failed item has NaN in w and v
  A single (n, n) matrix is a batch of one: w has shape (1, n).
  The file appears whole or not at all.

--json prints op, dtype, n, batch, jobz, uplo, device, route, seconds and failed_items; with
--check also checked_items and, over these, max_residual and max_orthogonality (null where no
item has a result to measure, or one is not finite):
  residual       ||A V - V L|| / (n eps ||A||), Frobenius norms
  orthogonality  ||V^H V - I|| / (n eps)
seconds is the time of the solve, with transfers to and from the device, without files.

Examples:
  batchlas eigh molecules.npy -o spectra.npz
  batchlas eigh molecules.npy --check --plot spectra.svg
  batchlas eigh batch.npz --values-only --device cuda --route cta --json
  batchlas eigh graph.mtx --uplo upper
  batchlas eigh small.npy --device simt --counters";

/// `batchlas info`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  batchlas info\n  batchlas info --json")]
pub struct InfoArgs {
    /// Print one JSON line instead of text
    #[arg(long)]
    pub json: bool,
}

/// `batchlas kernels`
#[derive(Debug, Args)]
#[command(after_help = KERNELS_HELP)]
pub struct KernelsArgs {
    /// Only modules whose name contains this, such as syev_cta or f64
    pub name: Option<String>,

    /// Architecture to assemble for
    #[arg(long, value_name = "ARCH", default_value = "sm_90")]
    pub arch: Arch,

    /// Print one JSON line instead of tables
    #[arg(long)]
    pub json: bool,
}

const KERNELS_HELP: &str = "\
Where the program holds machine code for ARCH, the figures are those of its build. Otherwise, or
where BATCHLAS_PTXAS names a ptxas, the newest embedded PTX that ARCH can run is assembled, at some
seconds a module; no GPU is needed. Where no ptxas is found, the recorded ledger is shown, and the
output says so. nvdisasm, looked for where ptxas is, gives the mix of machine code.

Examples:
  batchlas kernels
  batchlas kernels syev_cta_f32
  batchlas kernels --arch sm_80 --json";

/// `batchlas routes`
#[derive(Debug, Args)]
#[command(after_help = ROUTES_HELP)]
pub struct RoutesArgs {
    /// Operation: syev, steqr, stedc, stebz, sytrd, ormqr or gemm
    #[arg(value_name = "OP")]
    pub op: String,

    /// Element type: f32, f64, c32 (Complex<f32>) or c64 (Complex<f64>)
    #[arg(long, value_name = "TYPE")]
    pub dtype: Dtype,

    /// Order of the matrices; columns of C, for gemm
    #[arg(long, value_name = "N")]
    pub n: usize,

    /// Rows of C, for gemm, where they are not --n
    #[arg(long, value_name = "M")]
    pub m: Option<usize>,

    /// Columns of op(A), for gemm, where they are not --n
    #[arg(long, value_name = "K")]
    pub k: Option<usize>,

    /// What is multiplied of A and of B, for gemm: a letter each, n, t (transposed) or c (conjugate transposed)
    #[arg(long, value_name = "XY", default_value = "nn")]
    pub ops: batchlas_bench::Sides,

    /// Number of matrices
    #[arg(long, value_name = "B")]
    pub batch: usize,

    /// V (vectors) or N (values only)
    #[arg(long, value_name = "V|N", default_value = "V", ignore_case = true)]
    pub jobz: Jobz,

    /// Architecture whose table decides
    #[arg(long, value_name = "ARCH", default_value = "sm_90")]
    pub arch: Arch,

    /// Print one JSON line instead of text
    #[arg(long)]
    pub json: bool,
}

const ROUTES_HELP: &str = "\
Prints the table's row nearest to the shape, its families in order, the reason where one cannot
run, and the family taken. BATCHLAS_TUNED_DIR and BATCHLAS_SYEV_ROUTE, BATCHLAS_STEQR_ROUTE or
BATCHLAS_GEMM_ROUTE count as in a solve.

Examples:
  batchlas routes syev --dtype f32 --n 16 --batch 4096
  batchlas routes syev --dtype c64 --n 200 --batch 10 --jobz N --arch sm_80 --json
  batchlas routes steqr --dtype f64 --n 32 --batch 32768
  batchlas routes gemm --dtype f64 --m 1024 --n 32 --k 64 --ops tn --batch 64";

/// `--device`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// A GPU where one answers and has a family for the shape, else the CPU.
    Auto,
    /// This one or an error.
    Exact(Device),
}

fn device(text: &str) -> Result<DeviceChoice, String> {
    if text == "auto" {
        return Ok(DeviceChoice::Auto);
    }
    match text.parse() {
        Ok(device) => Ok(DeviceChoice::Exact(device)),
        Err(_) => Err("one of auto, cpu, simt, cuda, cuda:N is needed".to_string()),
    }
}

/// A parser of a fixed list of words, which the help and the errors then show.
fn words<T>(list: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: std::str::FromStr + Clone + Send + Sync + 'static,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    PossibleValuesParser::new(list).try_map(|word| word.parse::<T>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn devices() {
        assert_eq!(device("auto"), Ok(DeviceChoice::Auto));
        assert_eq!(device("cuda:2"), Ok(DeviceChoice::Exact(Device::Cuda(2))));
        assert!(device("gpu").is_err());
    }
}
