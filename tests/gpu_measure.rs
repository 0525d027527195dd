//! The harness on a GPU: a slow-down that was planted is found, and the same build twice is the same.
//! Without a GPU it says why it is skipped; `BATCHLAS_REQUIRE_GPU=1` makes that a failure.
#![cfg(feature = "cuda")]

mod support;

use std::time::Duration;

use batchlas::{Device, Dtype, Queue};
use batchlas_bench::compare::{Pair, Rule, compare};
use batchlas_bench::race::Effort;
use batchlas_bench::{Cell, Op, Provenance, Read, Row, routes};

/// A queue on the first GPU, or `None` with the reason on stderr.
fn gpu() -> Option<Queue> {
    support::queue(Device::Cuda(0))
}

/// Fills any GPU many times over, so that time goes with the number of items.
const BATCH: usize = 100_000;

/// Rows of `batch` items under the name of [`BATCH`]: the same work, and more of it.
fn rows(queue: &Queue, batch: usize) -> Vec<Row> {
    let cell = Cell { dtype: Dtype::F64, n: 16, batch, ..Cell::default() };
    let asked = routes::parse(Op::Syev.operation(), "cta,cta_fused").unwrap();
    let effort = Effort { rounds: 31, limit: Duration::from_secs(5), once_from: None };
    let rows = cell.measure(queue, &asked, &effort, &Provenance::of(queue)).unwrap();
    rows.into_iter().map(|row| Row { batch: BATCH, ..row }).collect()
}

fn pairs(first: &[Row], second: &[Row]) -> Vec<Pair> {
    let [first, second] = [first, second].map(|rows| Read::Bench(rows.to_vec()));
    compare(&first, &second, &Rule::default(), 1).unwrap().pairs
}

#[test]
fn a_planted_slow_down_of_a_twentieth_is_flagged() {
    let Some(queue) = gpu() else { return };
    let (first, again) = (rows(&queue, BATCH), rows(&queue, BATCH));
    let slower = rows(&queue, BATCH + BATCH / 20);
    for pair in pairs(&first, &again) {
        assert!(pair.flag.is_none() && pair.interval.is_some(), "one build twice: {pair:?}");
    }
    for pair in pairs(&first, &slower) {
        let ratio = pair.ratio.unwrap();
        assert!(pair.flag.as_deref() == Some("slower") && (1.03..1.08).contains(&ratio), "{pair:?}");
    }
}
