//! Arguments of `batchlas compare`.

use std::path::PathBuf;

use clap::Args;

/// `batchlas compare`
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct CompareArgs {
    /// The first run: a file of `batchlas bench --json` or `batchlas accuracy --json`
    #[arg(value_name = "A")]
    pub first: PathBuf,

    /// The second run, of the same kind
    #[arg(value_name = "B")]
    pub second: PathBuf,

    /// A and B are captures of routes, as BATCHLAS_COVERAGE writes them
    #[arg(long, conflicts_with_all = ["threshold", "tolerate_bits", "seed"])]
    pub routes: bool,

    /// Part by which times must differ to be flagged
    #[arg(long, value_name = "PART", default_value_t = 0.03, value_parser = part)]
    pub threshold: f64,

    /// Count samples whose bits differ without flagging them
    #[arg(long)]
    pub tolerate_bits: bool,

    /// Seed of the resamples of the intervals
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// Show every pair, not the flagged ones alone
    #[arg(long)]
    pub all: bool,

    /// Write a line of JSON a pair
    #[arg(long, value_name = "F.jsonl")]
    pub json: Option<PathBuf>,
}

fn part(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(part) if part >= 0.0 && part.is_finite() => Ok(part),
        _ => Err(format!("'{text}' is no part such as 0.03")),
    }
}

const HELP: &str = "\
Rows are paired by their keys: device, operation, type, jobz, n and family; batch, layout and
shift for times; class and number for accuracy. The ratio is B over A, of medians of times, of
means of accuracy measures, with a 95 % bootstrap interval (2000 resamples).

Flagged is:
  time        the interval leaves 1 out, the ratio differs from 1 by more than --threshold, and
              the times by more than 0.01 ms, which two runs of one build may differ by
  lost time   one run has a time, the other an error
  counters    any difference
  bits        a sample of a family of ours whose values or vectors have other bits (the vendor's
              promise none: they are counted); --tolerate-bits counts ours too
  accuracy    the interval of a measure's mean leaves 1 out and the ratio differs by more than
              0.10, or the measure is no longer finite
  input       a sample of the same key with other elements; status: another status
Rows whose spread was too wide are named, never flagged; so are rows of one run alone.

--routes: shapes that reach the same families, others, and shapes of one capture alone. A shape
that reaches another family is flagged.

Exit status:
  0  nothing is flagged
  1  usage, input or output error
  4  something is flagged

Examples:
  batchlas compare before.jsonl after.jsonl
  batchlas compare before.jsonl after.jsonl --all --threshold 0.05
  BATCHLAS_COVERAGE=before.jsonl batchlas eigh a.npy; ...; batchlas compare --routes before.jsonl after.jsonl";
