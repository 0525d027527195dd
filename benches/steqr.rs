//! Forms of `steqr` against each other, on a GPU: one JSON line an arm and shape, kernels alone.
//!
//! `cargo bench --features cuda --bench steqr -- --dtype f32,f64 --n 4,8,16,32 --batch 32768 --jobz V,N
//! --routes cta:nested,cta:flat,cta:lockstep,cta:decoupled`. Routes are separated by commas, their parameters by
//! plus signs: `cta:nested+pg+warps=2`. Options, their defaults aside, are those of `batchlas bench`. Arms are
//! checked before and after they are timed; one that is wrong gives a line with its reason and no time.

use std::time::Duration;

use batchlas::ops::steqr::Shift;
use batchlas::{Dtype, Jobz};
use batchlas_bench::grid::{Batches, Grid};
use batchlas_bench::race::Effort;
use batchlas_bench::{Op, Padding, Sides, program, routes};

const ROUTES: &str = "cta,cta:nested,cta:flat,cta:lockstep,cta:decoupled";

fn main() {
    program::main(Grid {
        op: Op::Steqr,
        dtypes: vec![Dtype::F32],
        n: vec![4, 8, 16, 32],
        batches: Batches::List(vec![32_768]),
        jobz: vec![Jobz::V],
        sides: vec![Sides::default()],
        paddings: vec![Padding::Packed],
        shift: Shift::Lapack,
        asked: routes::parse(Op::Steqr.operation(), ROUTES).expect("families of steqr"),
        effort: Effort { rounds: 9, limit: Duration::from_secs(1), once_from: None },
        memory: None,
    });
}
