//! `syev` families against each other and the vendor, on a GPU: one JSON line an arm and shape.
//!
//! `cargo bench --features cuda,vendor --bench syev -- --dtype f32,f64 --n 8,16,32 --batch 16384 --jobz V
//! --routes thread,cta,cta_fused,vendor:xsyev,vendor:syevj`. Options, their defaults aside, are those of
//! `batchlas bench`. Arms are checked before and after they are timed; one that is wrong gives a line with its
//! reason and no time.

use std::time::Duration;

use batchlas::ops::steqr::Shift;
use batchlas::{Dtype, Jobz};
use batchlas_bench::grid::{Batches, Grid};
use batchlas_bench::race::Effort;
use batchlas_bench::{Op, Padding, Sides, program, routes};

fn main() {
    program::main(Grid {
        op: Op::Syev,
        dtypes: vec![Dtype::F32],
        n: vec![16],
        batches: Batches::List(vec![16_384]),
        jobz: vec![Jobz::V],
        sides: vec![Sides::default()],
        paddings: vec![Padding::Packed],
        shift: Shift::Lapack,
        asked: routes::parse(Op::Syev.operation(), "cta,vendor").expect("families of syev"),
        effort: Effort { rounds: 9, limit: Duration::from_secs(1), once_from: None },
        memory: None,
    });
}
