//! Arguments of `batchlas bench`.

use std::path::PathBuf;
use std::time::Duration;

use batchlas::ops::steqr::Shift;
use batchlas::{Dtype, Jobz};
use batchlas_bench::grid::{Batches, sizes};
use batchlas_bench::{Op, Padding, Sides};
use clap::Args;

use super::tune::bytes;
use super::{DeviceChoice, device, words};

/// `batchlas bench`
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct BenchArgs {
    /// Operation: syev, steqr, stedc, stebz (with --jobz N) or gemm
    #[arg(value_name = "OP", value_parser = words::<Op>(&["syev", "steqr", "stedc", "stebz", "gemm"]))]
    pub op: Op,

    /// Where to run: auto, cpu, simt (counters only), cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: DeviceChoice,

    /// Element types: f32, f64, c32, c64; only syev has the last two
    #[arg(long, value_name = "T,..", default_value = "f32", value_delimiter = ',')]
    pub dtype: Vec<Dtype>,

    /// Orders, or columns of C: a list of numbers and of ranges a..b, a..b:STEP or a..b*FACTOR, both ends included
    #[arg(long, value_name = "LIST", default_value = "4,8,16,32", value_parser = Sizes::parse)]
    pub n: Sizes,

    /// Numbers of items, as for --n, or auto to search for those that fill the device [default: 16384 on a GPU, 1024 on cpu, 16 on simt]
    #[arg(long, value_name = "LIST|auto", value_parser = str::parse::<Batches>)]
    pub batch: Option<Batches>,

    /// With vectors (V), for values only (N), or both; gemm has none
    #[arg(long, value_name = "V,N", default_value = "V", value_delimiter = ',')]
    pub jobz: Vec<Jobz>,

    /// What is multiplied of A and of B, for gemm: a letter each, n (as it is), t (transposed) or c (conjugate transposed)
    #[arg(long, value_name = "XY,..", default_value = "nn", value_delimiter = ',')]
    pub ops: Vec<Sides>,

    /// Rows of C, for gemm, where they are not --n
    #[arg(long, value_name = "M")]
    pub m: Option<usize>,

    /// Columns of op(A), for gemm, where they are not --n
    #[arg(long, value_name = "K")]
    pub k: Option<usize>,

    /// Families: all, native, vendor, auto or names as `batchlas routes` lists them, parameters joined by plus signs: cta:nested+pg
    #[arg(long, value_name = "ROUTES", default_value = "all")]
    pub routes: String,

    /// Layouts: packed, or padded (leading dimension n + 3)
    #[arg(long, value_name = "LAYOUTS", default_value = "packed", value_delimiter = ',')]
    pub layout: Vec<Padding>,

    /// Formula of steqr's shift
    #[arg(long, value_name = "SHIFT", default_value = "lapack", value_parser = words::<Shift>(&["lapack", "wilkinson"]))]
    pub shift: Shift,

    /// Rounds of a cell; each arm is timed once a round
    #[arg(long, value_name = "COUNT", default_value_t = 15, value_parser = clap::value_parser!(u32).range(3..=100_000))]
    pub rounds: u32,

    /// No new round of a cell begins after this time; three are always made
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub seconds: Duration,

    /// The most memory of a cell that --batch auto goes to, such as 8G or 500M [default: three quarters of the GPU's free memory, of products 4G, 2G on cpu]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory: Option<u64>,

    /// Write a line of JSON an arm and cell, with every sample
    #[arg(long, value_name = "F.jsonl")]
    pub json: Option<PathBuf>,

    /// Draw time, ratio to the vendor and throughput
    #[arg(long, value_name = "F.svg")]
    pub plot: Option<PathBuf>,

    /// Write one page with the table, the plots and where they come from
    #[arg(long, value_name = "F.html")]
    pub html: Option<PathBuf>,
}

/// The sides of products, each with m and k; those of another operation have no meaning.
pub fn sides(ops: &[Sides], m: Option<usize>, k: Option<usize>) -> Vec<Sides> {
    ops.iter().map(|sides| Sides { m, k, ..*sides }).collect()
}

/// A list of sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub Vec<usize>);

impl Sizes {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        sizes(text).map(Sizes)
    }
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("'{text}' is no number of seconds"))?;
    Duration::try_from_secs_f64(number).map_err(|_| format!("{text} seconds are no time"))
}

const HELP: &str = "\
How it measures:
  Every arm runs once, which loads its kernels, and its results are looked at: every status, and
  residual, orthogonality and eigenvalues of up to 64 items spread over the batch. Then the arms
  of a cell take turns, inputs restored outside of the timed part; after that the results are
  looked at again. Ours must keep 10, as `eigh --check` has it; the vendor's 1000. An arm with a
  wrong result has a line with the reason and never a time. Times are those of the device's events
  on a GPU, of the wall clock on cpu; simt has no time worth the name and shows what the executor
  counted. An arm whose spread (distance of the quartiles over the median) is above 0.10 is dropped
  and named. `x vendor` is the time of the vendor's faster routine over the arm's.

  A product (gemm) has beta = 0; up to 64 elements of C of each such item are held against a sum
  in twice the precision, and `residual` is their largest error over (k + 1) eps times the sum of
  moduli. m, k and gflops are in the JSON rows, the ops where others have jobz.

  A group (all, native, vendor) has an arm a family, or one for each form of cta, each tile of gemm
  and each routine of the vendor, and of blocked the grids that the device holds at once for the batch
  (blocked:grid=2 and up). It leaves out those that cannot run the shape; a named one then has a line
  with the reason.

  --batch auto goes up by factors of four until each arm's knee: four times more items bring less
  than 5 % an item, or at --memory.

Exit status:
  0  done
  1  usage, output or device error, or no arm could run
  3  a family of ours gave a wrong result

Examples:
  batchlas bench syev --device cuda --dtype f32,f64,c32,c64 --n 2..32:2 --jobz V,N --html syev.html
  batchlas bench syev --n 8,64,200 --batch auto --plot saturation.svg
  batchlas bench steqr --routes cta:nested,cta:flat+pg --json forms.jsonl
  batchlas bench stedc --n 64,256,1024 --batch 128 --routes levels
  batchlas bench gemm --dtype f32,f64 --n 4..2048*2 --batch auto --ops nn,nt --json gemm.jsonl
  batchlas bench gemm --m 1024 --n 32 --k 64 --batch 64 --routes reg:128x32x32,vendor
  batchlas bench syev --device simt --n 8 --routes cta,cta_fused";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_positive() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert!(seconds("-1").is_err() && seconds("x").is_err() && seconds("inf").is_err());
    }
}
