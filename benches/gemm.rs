//! `gemm` families and tiles against each other and cuBLAS, on a GPU: one JSON line an arm and shape.
//!
//! `cargo bench --features cuda,vendor --bench gemm -- --dtype f32,f64 --n 64,256,1024 --batch auto --ops nn,nt
//! --routes all`. Options, their defaults aside, are those of `batchlas bench`. Arms are checked before and after they
//! are timed; one that is wrong gives a line with its reason and no time.

use std::time::Duration;

use batchlas::ops::steqr::Shift;
use batchlas::{Dtype, Jobz};
use batchlas_bench::grid::{Batches, Grid};
use batchlas_bench::race::Effort;
use batchlas_bench::{Op, Padding, Sides, program, routes};

fn main() {
    program::main(Grid {
        op: Op::Gemm,
        dtypes: Dtype::ALL.to_vec(),
        n: vec![4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048],
        batches: Batches::Auto,
        jobz: vec![Jobz::V],
        sides: ["nn", "nt"].map(|ops| ops.parse::<Sides>().expect("two ops")).to_vec(),
        paddings: vec![Padding::Packed],
        shift: Shift::Lapack,
        asked: routes::parse(Op::Gemm.operation(), "all").expect("families of gemm"),
        effort: Effort { rounds: 9, limit: Duration::from_millis(300), once_from: None },
        memory: None,
    });
}
