//! `wg`: a block of threads an item, for any order whose rotations a block's shared memory holds; the basis stays in `q`.

use kernels_tridiag::steqr_wg::{shared_bytes, steqr_wg, threads};

use super::arrays::{Arrays, Operands};
use super::cta::Arguments;
use super::{Jobz, Plan, Problem};
use crate::error::Result;
use crate::ops::Target;
use crate::ops::family::Family;
use crate::ops::tiles::{self, KernelReal};
use crate::ops::typed::for_real;
use crate::queue::Queue;
use crate::routes::Params;

pub(crate) struct Wg;

/// Rows of a block of planes share a word.
const MAX_N: usize = (1 << 16) - 1;

impl Family<Problem> for Wg {
    fn name(&self) -> &'static str {
        "wg"
    }

    fn can_run(&self, problem: &Problem, _: &Params, target: &Target) -> std::result::Result<(), String> {
        tiles::can_run(problem.n, target, MAX_N)?;
        let needed = shared_bytes(problem.n, problem.dtype.bytes(), problem.jobz == Jobz::V);
        tiles::has_shared(needed, target)
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        for_real!(operands, arrays => run(queue, plan, arrays))
    }
}

fn run<T: KernelReal>(queue: &Queue, plan: &Plan, arrays: Arrays<'_, T>) -> Result<()> {
    let Problem { n, jobz, .. } = plan.problem;
    let vectors = jobz == Jobz::V;
    let a = Arguments::of(&plan.problem, arrays)?;
    macro_rules! pack {
        ($vectors:literal) => {
            steqr_wg::call::<T, $vectors>(
                a.d,
                a.e,
                a.q,
                a.status,
                a.n,
                a.ld,
                a.stride,
                a.batch,
                a.iteration.sweeps_per_value,
                0,
                a.iteration.back_transform as u32,
                a.iteration.sort as u32,
            )
        };
    }
    let call = if vectors { pack!(true) } else { pack!(false) };
    let bytes = shared_bytes(n, size_of::<T>(), vectors);
    tiles::submit(queue, tiles::config(a.batch, 1, threads(vectors), bytes)?, call)
}
