//! `cta`: one tile of a warp an item, n <= 32, in one launch and without workspace.
//!
//! Its forms are kernels of their own; `decisions.rs` says which one ships for what.

use cuda_std::launch::{Call, NoEntry};
use cuda_std::{Global, GlobalMut};
use device_linalg::layout::steqr_elements;
use kernels_tridiag::steqr_cta_decoupled::{Shape, steqr_cta_decoupled};
use kernels_tridiag::steqr_cta_flat::steqr_cta_flat;
use kernels_tridiag::steqr_cta_lockstep::steqr_cta_lockstep;
use kernels_tridiag::steqr_cta_nested::steqr_cta_nested;

use super::arrays::{Arrays, Iteration, Operands};
use super::config::Config;
use super::decisions::lanes;
use super::{Form, Jobz, Layout, Partition, Plan, Problem, Shift, Update};
use crate::error::{Error, Result};
use crate::memory::DeviceElement;
use crate::ops::family::Family;
use crate::ops::tiles::KernelReal;
use crate::ops::typed::for_real;
use crate::ops::{Target, tiles};
use crate::queue::Queue;
use crate::routes::Params;
use crate::scalar::Dtype;

pub(crate) struct Cta;

/// Largest order.
const MAX_N: usize = 32;

impl Family<Problem> for Cta {
    fn name(&self) -> &'static str {
        "cta"
    }

    fn can_run(
        &self,
        problem: &Problem,
        params: &Params,
        target: &Target,
    ) -> std::result::Result<(), String> {
        tiles::can_run(problem.n, target, MAX_N)?;
        Config::resolve(problem, params).map(drop)
    }

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        let params = Config::resolve(problem, params).map_err(Error::argument)?.params();
        Ok(Plan { problem: *problem, family: self.name(), params, workspace_bytes: 0 })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        for_real!(operands, arrays => run(queue, plan, arrays))
    }
}

/// The kernels' arguments, which are the same for all forms.
pub(super) struct Arguments<T> {
    pub(super) d: GlobalMut<T>,
    pub(super) e: Global<T>,
    pub(super) q: GlobalMut<T>,
    pub(super) status: GlobalMut<i32>,
    pub(super) n: u32,
    pub(super) ld: u32,
    pub(super) stride: u64,
    pub(super) batch: u64,
    pub(super) iteration: Iteration,
}

/// Vectors in device memory: n by n an item.
#[derive(Clone, Copy)]
pub(crate) struct Basis<T> {
    pub(crate) elements: GlobalMut<T>,
    /// Elements from a column to the next.
    pub(crate) ld: usize,
    /// Elements from an item to the next.
    pub(crate) stride: usize,
}

impl<T: DeviceElement> Arguments<T> {
    /// For the arrays of a solve.
    pub(super) fn of(problem: &Problem, arrays: Arrays<'_, T>) -> Result<Self> {
        let q = arrays.q.map(|q| {
            let (ld, stride) = (q.ld(), q.stride());
            Basis { elements: q.buffer_mut().view_mut(), ld, stride }
        });
        let (d, e, status) = (arrays.d.view_mut(), arrays.e.view(), arrays.status.view_mut());
        Self::new(problem, arrays.iteration, d, e, q, status)
    }

    fn new(
        problem: &Problem,
        iteration: Iteration,
        d: GlobalMut<T>,
        e: Global<T>,
        q: Option<Basis<T>>,
        status: GlobalMut<i32>,
    ) -> Result<Self> {
        let q = q.unwrap_or_else(|| {
            // SAFETY: a view of no element is valid at any aligned address.
            let elements = unsafe { GlobalMut::from_raw_parts(std::ptr::dangling_mut(), 0) };
            Basis { elements, ld: problem.n, stride: 0 }
        });
        Ok(Arguments {
            d,
            e,
            q: q.elements,
            status,
            n: problem.n as u32,
            ld: tiles::leading_dimension(q.ld)?,
            stride: q.stride as u64,
            batch: problem.batch as u64,
            iteration,
        })
    }
}

/// Enqueues the solve of arrays that may be parts of a workspace, as a step of another operation, by what ships for the
/// type and the order, n <= 32: `d` (n an item) becomes the values, ascending, `e` (n - 1 an item) is read, `q` takes the
/// vectors. Neither n nor the batch is 0.
pub(crate) fn enqueue<T: KernelReal>(
    queue: &Queue,
    n: usize,
    batch: usize,
    d: GlobalMut<T>,
    e: Global<T>,
    q: Option<Basis<T>>,
    status: GlobalMut<i32>,
) -> Result<()> {
    let jobz = if q.is_some() { Jobz::V } else { Jobz::N };
    let dtype = if size_of::<T>() == 4 { Dtype::F32 } else { Dtype::F64 };
    let problem = Problem { dtype, n, batch, jobz };
    let config = Config::resolve(&problem, &Params::default()).map_err(Error::argument)?;
    submit(queue, &config, &problem, &Arguments::new(&problem, Iteration::default(), d, e, q, status)?)
}

fn run<T: KernelReal>(queue: &Queue, plan: &Plan, arrays: Arrays<'_, T>) -> Result<()> {
    let problem = &plan.problem;
    let config = Config::resolve(problem, &plan.params).map_err(Error::argument)?;
    submit(queue, &config, problem, &Arguments::of(problem, arrays)?)
}

fn submit<T: KernelReal>(
    queue: &Queue,
    config: &Config,
    problem: &Problem,
    arguments: &Arguments<T>,
) -> Result<()> {
    let (lanes, vectors) = (lanes(problem.n), problem.jobz == Jobz::V);
    let call = match config.form {
        Form::Nested => nested(config, lanes, vectors, arguments),
        Form::Flat => flat(config, lanes, vectors, arguments),
        Form::Lockstep => lockstep(config, lanes, vectors, arguments),
        Form::Decoupled => decoupled((config.rows, config.shared), lanes, vectors, arguments),
    };
    let Block { threads, items, bytes } = Block::new(config, lanes as usize, size_of::<T>(), vectors);
    tiles::submit(queue, tiles::config(arguments.batch, items as u32, threads as u32, bytes)?, call)
}

/// The shape of a block.
struct Block {
    threads: usize,
    items: usize,
    /// Shared memory.
    bytes: usize,
}

impl Block {
    fn new(config: &Config, lanes: usize, width: usize, vectors: bool) -> Self {
        if config.form == Form::Decoupled {
            let (rows, shared) = (config.rows as usize, config.shared as usize);
            let shape = Shape { p: lanes, rows, shared, bytes: width, vectors };
            return Block { threads: shape.threads(), items: shape.matrices(), bytes: shape.shared_bytes() };
        }
        let threads = 32 * config.warps as usize;
        let items = threads / lanes;
        let bytes = if vectors { items * steqr_elements(lanes) * width } else { 0 };
        Block { threads, items, bytes }
    }
}

type Packed = std::result::Result<Call, NoEntry>;

/// Packs a call; the generic arguments are those after the type.
macro_rules! pack {
    ($kernel:ident, $a:ident, $($generic:literal),*) => {
        $kernel::call::<T, $($generic),*>(
            $a.d,
            $a.e,
            $a.q,
            $a.status,
            $a.n,
            $a.ld,
            $a.stride,
            $a.batch,
            $a.iteration.sweeps_per_value,
            ($a.iteration.shift == Shift::Wilkinson) as u32,
            $a.iteration.back_transform as u32,
            $a.iteration.sort as u32,
        )
    };
}

/// The private layout, by update and vectors.
macro_rules! private {
    ($kernel:ident, $config:ident, $vectors:ident, $a:ident, $($generic:literal),*) => {
        match ($config.update, $vectors) {
            (Update::Exp, false) => pack!($kernel, $a, $($generic,)* false, false, false),
            (Update::Exp, true) => pack!($kernel, $a, $($generic,)* false, true, false),
            (Update::Pg, false) => pack!($kernel, $a, $($generic,)* true, false, false),
            (Update::Pg, true) => pack!($kernel, $a, $($generic,)* true, true, false),
        }
    };
}

fn nested<T: KernelReal>(config: &Config, lanes: u32, vectors: bool, a: &Arguments<T>) -> Packed {
    let warp = config.partition == Partition::Warp;
    match (config.layout, lanes) {
        (Layout::Private, 4) => private!(steqr_cta_nested, config, vectors, a, 4, false),
        (Layout::Private, 8) => private!(steqr_cta_nested, config, vectors, a, 8, false),
        (Layout::Private, 16) => private!(steqr_cta_nested, config, vectors, a, 16, false),
        (Layout::Private, _) if warp => private!(steqr_cta_nested, config, vectors, a, 32, true),
        (Layout::Private, _) => private!(steqr_cta_nested, config, vectors, a, 32, false),
        (Layout::Interleaved, 4) => pack!(steqr_cta_nested, a, 4, false, false, true, true),
        (Layout::Interleaved, 8) => pack!(steqr_cta_nested, a, 8, false, false, true, true),
        (Layout::Interleaved, _) => pack!(steqr_cta_nested, a, 16, false, false, true, true),
    }
}

/// A function for a form with one partition.
macro_rules! one_partition {
    ($name:ident, $kernel:ident) => {
        fn $name<T: KernelReal>(config: &Config, lanes: u32, vectors: bool, a: &Arguments<T>) -> Packed {
            match (config.layout, lanes) {
                (Layout::Private, 4) => private!($kernel, config, vectors, a, 4),
                (Layout::Private, 8) => private!($kernel, config, vectors, a, 8),
                (Layout::Private, 16) => private!($kernel, config, vectors, a, 16),
                (Layout::Private, _) => private!($kernel, config, vectors, a, 32),
                (Layout::Interleaved, 4) => pack!($kernel, a, 4, false, true, true),
                (Layout::Interleaved, 8) => pack!($kernel, a, 8, false, true, true),
                (Layout::Interleaved, _) => pack!($kernel, a, 16, false, true, true),
            }
        }
    };
}
one_partition!(flat, steqr_cta_flat);
one_partition!(lockstep, steqr_cta_lockstep);

fn decoupled<T: KernelReal>(rows: (u32, u32), lanes: u32, vectors: bool, a: &Arguments<T>) -> Packed {
    match (lanes, vectors, rows) {
        (4, false, _) => pack!(steqr_cta_decoupled, a, 4, 4, 0, false),
        (4, true, _) => pack!(steqr_cta_decoupled, a, 4, 4, 0, true),
        (8, false, _) => pack!(steqr_cta_decoupled, a, 8, 8, 0, false),
        (8, true, _) => pack!(steqr_cta_decoupled, a, 8, 8, 0, true),
        (16, false, _) => pack!(steqr_cta_decoupled, a, 16, 16, 0, false),
        (16, true, (4, 2)) => pack!(steqr_cta_decoupled, a, 16, 4, 2, true),
        (16, true, (4, _)) => pack!(steqr_cta_decoupled, a, 16, 4, 0, true),
        (16, true, _) => pack!(steqr_cta_decoupled, a, 16, 2, 0, true),
        (_, false, _) => pack!(steqr_cta_decoupled, a, 32, 32, 0, false),
        (_, true, (4, 2)) => pack!(steqr_cta_decoupled, a, 32, 4, 2, true),
        (_, true, (4, _)) => pack!(steqr_cta_decoupled, a, 32, 4, 0, true),
        (_, true, (2, _)) => pack!(steqr_cta_decoupled, a, 32, 2, 0, true),
        (_, true, _) => pack!(steqr_cta_decoupled, a, 32, 1, 0, true),
    }
}
