//! Arguments of `batchlas tune`.

use std::path::PathBuf;
use std::time::Duration;

use batchlas::{Arch, Dtype, Jobz};
use batchlas_bench::grid::sizes;
use batchlas_bench::tune::order::Vendor;
use batchlas_bench::{Op, Sides};
use clap::Args;

use super::bench::{Sizes, seconds};
use super::{DeviceChoice, device, words};

/// `batchlas tune`
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct TuneArgs {
    /// Operation: syev, steqr, stedc, stebz or gemm
    #[arg(value_name = "OP", value_parser = words::<Op>(&["syev", "steqr", "stedc", "stebz", "gemm"]))]
    pub op: Op,

    /// Write the table that follows, such as tuned/syev.sm_90.txt
    #[arg(short, long, value_name = "TABLE.txt", required_unless_present = "verify")]
    pub output: Option<PathBuf>,

    /// Write no table: time what the table in place takes against every pinned family
    #[arg(long, conflicts_with = "output")]
    pub verify: bool,

    /// Where to measure: auto, cpu (a rehearsal), cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: DeviceChoice,

    /// Architecture that the table is for: the GPU's own; the cpu has none and needs one named
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<Arch>,

    /// Element types: f32, f64, c32, c64; steqr, stedc and stebz have f32 and f64
    #[arg(long, value_name = "T,..", default_value = "f32,f64", value_delimiter = ',')]
    pub dtype: Vec<Dtype>,

    /// Orders: a list of numbers and of ranges a..b, a..b:STEP or a..b*FACTOR, both ends included
    #[arg(long, value_name = "LIST", default_value = "1..32", value_parser = Sizes::parse)]
    pub n: Sizes,

    /// Numbers of items, as for --n; auto among them searches for those that fill the device
    #[arg(long, value_name = "LIST", default_value = "1,64,1024,4096,16384,auto", value_parser = Batches::parse)]
    pub batch: Batches,

    /// With vectors (V), for values only (N), or both; stebz has N alone
    #[arg(long, value_name = "V,N", default_value = "V,N", value_delimiter = ',')]
    pub jobz: Vec<Jobz>,

    /// What is multiplied of A and of B, for gemm: a letter each, n (as it is), t (transposed) or c (conjugate transposed)
    #[arg(long, value_name = "XY,..", default_value = "nn,nt,tn,tt", value_delimiter = ',')]
    pub ops: Vec<Sides>,

    /// Rows of C, for gemm, where they are not --n
    #[arg(long, value_name = "M")]
    pub m: Option<usize>,

    /// Columns of op(A), for gemm, where they are not --n
    #[arg(long, value_name = "K")]
    pub k: Option<usize>,

    /// Candidates beside those of the row in place, as `batchlas bench` takes them: all, native, vendor or names
    #[arg(long, value_name = "ROUTES", default_value = "all")]
    pub routes: String,

    /// Where the vendor's routines stand in a row: last, since they do not keep the numerical contract, or by-time
    #[arg(long, value_name = "PLACE", default_value = "last", value_parser = words::<Vendor>(&["last", "by-time"]))]
    pub vendor: Vendor,

    /// Rounds of a cell; each arm is timed once a round
    #[arg(long, value_name = "COUNT", default_value_t = 15, value_parser = clap::value_parser!(u32).range(3..=100_000))]
    pub rounds: u32,

    /// No new round of a cell begins after this time; three are always made
    #[arg(long, value_name = "SECONDS", default_value = "0.1", value_parser = seconds)]
    pub seconds: Duration,

    /// The most memory of a cell, such as 8G or 500M: a larger one is left out [default: three quarters of the GPU's free memory, 2G on cpu; the search for saturation of products ends at 4G]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory: Option<u64>,

    /// The file that keeps finished cells; an interrupted run goes on from it [default: TABLE.journal.jsonl; none for --verify]
    #[arg(long, value_name = "F.jsonl")]
    pub journal: Option<PathBuf>,

    /// Draw the gain of each cell
    #[arg(long, value_name = "F.svg")]
    pub plot: Option<PathBuf>,
}

/// Numbers of items, and whether saturation is among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batches {
    /// The numbers.
    pub sizes: Vec<usize>,
    /// Whether the batch that fills the device is searched for.
    pub saturation: bool,
}

impl Batches {
    fn parse(text: &str) -> Result<Self, String> {
        let (auto, numbers): (Vec<&str>, Vec<&str>) =
            text.split(',').map(str::trim).partition(|part| *part == "auto");
        let sizes = if numbers.is_empty() { vec![] } else { sizes(&numbers.join(","))? };
        Ok(Batches { sizes, saturation: !auto.is_empty() })
    }
}

pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("'{text}' is no number of bytes such as 8G or 500M"))
}

const HELP: &str = "\
How it decides:
  A cell is a type, jobz (ops for gemm), order and batch. Its arms are the candidates of the table's row in place
  and those of --routes that can run; those that come to the same kernels are one. Each is checked
  as `batchlas bench` does, a wrong one left out and named; then they take turns. The fastest stands
  first, unless one that stands before it in the table in place is within 3 %, or so noisy that the
  95 % interval of the ratio does not tell them apart; a cell that stays open so is measured once
  more, four times as long. The vendor's routines are timed as all others and stand behind ours,
  unless --vendor by-time. What cannot run here stays behind, in its order.

  A group of --routes brings forms of a family too: of syev's blocked (n above 32) no tail, warps, a panel
  of 16 and the grids that the batch leaves room for; of stedc's levels its rows; of stebz's bisect its
  values, staged or not. A form that stands behind its family's usual one is not written.

  The new table has the measured rows in place of those whose batch lies in the range that was
  measured of their type, jobz and order, from the least batch to the largest, with auto to any (for
  gemm m, n and k, of which m decides first: take the table's own, or other shapes lose their rows),
  and the other rows of the table in place (the embedded one, or that of BATCHLAS_TUNED_DIR). Its
  note says how many these are.

  Finished cells are in the journal, with all samples: the same command goes on where a killed one
  was. A journal of another device, commit, table or option is refused. It can be given to
  `batchlas compare` as a run of bench.

  --verify times `auto` as one more arm and reports the ratio of its time to the fastest pinned
  family's: geometric mean at most 1.02, worst at most 1.10 (of cells whose times differ by more
  than 0.001 ms, twice what a GPU's clock resolves).

Exit status:
  0  done
  1  usage, input, output or device error, or no cell has a time
  3  a family of ours gave a wrong result; the table is written without it
  4  --verify: the ratios are above their limits
  5  --verify: no cell has times that can be trusted, every spread is above 0.10

Examples:
  batchlas tune syev -o tuned/syev.sm_90.txt --plot gain.svg
  batchlas tune syev -o /tmp/t/syev.sm_90.txt --dtype c32,c64 --memory 8G
  batchlas tune gemm --n 4,8,32,64,128,512,2048 --batch 1,64,auto -o tuned/gemm.sm_90.txt
  batchlas tune steqr --n 4,8,16,32 -o /tmp/t/steqr.sm_90.txt
  batchlas tune stedc --n 33,64,128,256,512,1024,2048 --batch 1,16,auto --memory 1G -o tuned/stedc.sm_90.txt
  BATCHLAS_TUNED_DIR=/tmp/t batchlas tune syev --verify";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_numbers_and_auto() {
        let parse = |text| Batches::parse(text).unwrap();
        assert_eq!(parse("1,64, auto"), Batches { sizes: vec![1, 64], saturation: true });
        assert_eq!(parse("4..6"), Batches { sizes: vec![4, 5, 6], saturation: false });
        assert_eq!(parse("auto"), Batches { sizes: vec![], saturation: true });
        assert!(Batches::parse("1,full").unwrap_err().contains("'full'") && Batches::parse("").is_err());
    }

    #[test]
    fn bytes_have_suffixes() {
        assert_eq!((bytes("8G"), bytes("500m"), bytes("12")), (Ok(8 << 30), Ok(500 << 20), Ok(12)));
        for wrong in ["", "G", "-1", "1.5G", "0", "99999999999G", "8GB"] {
            assert!(bytes(wrong).unwrap_err().contains("such as 8G"), "{wrong}");
        }
    }
}
