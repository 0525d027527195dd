//! Arguments of `batchlas accuracy`.

use std::path::PathBuf;

use batchlas::{Dtype, Jobz};
use batchlas_bench::Op;
use clap::Args;

use super::bench::Sizes;
use super::{DeviceChoice, device, words};

/// `batchlas accuracy`
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct AccuracyArgs {
    /// Operation: syev, steqr, stedc or stebz (with --jobz N)
    #[arg(value_name = "OP", value_parser = words::<Op>(&["syev", "steqr", "stedc", "stebz"]))]
    pub op: Op,

    /// Where to run: auto, cpu, simt, cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: DeviceChoice,

    /// Element types: f32, f64, c32, c64; syev alone has the last two
    #[arg(long, value_name = "T,..", default_value = "f32", value_delimiter = ',')]
    pub dtype: Vec<Dtype>,

    /// Orders, at least 1: a list of numbers and of ranges a..b, a..b:STEP or a..b*FACTOR
    #[arg(long, value_name = "LIST", default_value = "16", value_parser = Sizes::parse)]
    pub n: Sizes,

    /// With vectors (V) or for values only (N)
    #[arg(long, value_name = "V|N", default_value = "V", ignore_case = true)]
    pub jobz: Jobz,

    /// Families: all, native, vendor, auto or names, as for `batchlas bench`
    #[arg(long, value_name = "ROUTES", default_value = "all")]
    pub routes: String,

    /// Input classes, hyphens for blanks; `list` prints them [default: all]
    #[arg(long, value_name = "CLASS,..", value_delimiter = ',')]
    pub classes: Vec<String>,

    /// Items of each class
    #[arg(long, value_name = "COUNT", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub items: u32,

    /// What the items' own seeds are made from
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// Write a line of JSON an item and family, and one a summary
    #[arg(long, value_name = "F.jsonl")]
    pub json: Option<PathBuf>,

    /// Draw each measure against the condition
    #[arg(long, value_name = "F.svg")]
    pub plot: Option<PathBuf>,
}

const HELP: &str = "\
Measures, each at most 10 for a right result of ours:
  residual       ||A V - V L|| / (n eps ||A||), Frobenius norms
  orthogonality  ||V^H V - I|| / (n eps)
  value error    max |w - exact| / (n eps ||A||_2); exact is computed on the CPU, in double for
                 f32 and c32, in 106 bits for f64 and c64

A line an item holds its class, number, seed and a hash of its elements, log10 of its condition,
status and measures, and hashes of the bits of values and vectors, by which `batchlas compare`
finds a change of the last bit. An item is the same whatever else is asked for.

Exit status:
  0  done
  1  usage, output or device error, or no family could run
  3  an item of a family of ours failed or has a measure above 10

Examples:
  batchlas accuracy syev --dtype f64 --n 16 --json after.jsonl
  batchlas accuracy syev --device cuda --n 4,8,16,32 --dtype f32,f64,c32,c64 --plot condition.svg
  batchlas accuracy steqr --classes graded,glued-wilkinson --routes cta:flat,cpu --device simt
  batchlas accuracy stebz --jobz N --n 33,100 --dtype f64 --device simt
  batchlas accuracy syev --classes list";
