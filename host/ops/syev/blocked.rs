//! `blocked`: reduction in panels, then divide and conquer and back-transformation; for values only bisection where n is small.
//!
//! Any order; two launches a panel of the reduction, a few a level of divide and conquer, and six around them. Beside the
//! matrices the workspace holds the tridiagonal vectors and what divide and conquer needs. Where memory is short the batch
//! goes through in parts.

use cuda_std::{Global, GlobalMut};
use kernels_pack::lacp2::{LACP2_ELEMENTS, lacp2};
use kernels_pack::syev_unpack::syev_unpack;
use num_complex::Complex;

use super::arrays::{Arrays, Operands};
use super::{Jobz, Plan, Problem};
use crate::error::{Error, Result};
use crate::linalg::parts::in_parts;
use crate::ops::family::Family;
use crate::ops::stebz::{bisect as stebz, is_fastest};
use crate::ops::stedc::levels::{self as stedc, Signs};
use crate::ops::steqr::cta::Basis;
use crate::ops::sytrd::blocked::{Panels, Reduced};
use crate::ops::tiles::{KernelReal, KernelScalar, Matrices, config, submit};
use crate::ops::typed::for_scalar;
use crate::ops::{Target, ormqr};
use crate::queue::{Queue, Workspace, workspace_bytes};
use crate::routes::Params;
use crate::scalar::Scalar;

pub(crate) struct Blocked;

impl Family<Problem> for Blocked {
    fn name(&self) -> &'static str {
        "blocked"
    }

    fn can_run(
        &self,
        problem: &Problem,
        params: &Params,
        target: &Target,
    ) -> std::result::Result<(), String> {
        Panels::new(problem.dtype, (problem.n, problem.batch), params, target)?;
        if !(problem.jobz == Jobz::N && bisects(problem, target)) {
            stedc::fits(problem.dtype.real(), problem.n, target)?;
        }
        if problem.jobz == Jobz::V {
            reflectors(&back_transform(problem, problem.batch), target)?;
        }
        Ok(())
    }

    fn plan(&self, problem: &Problem, params: &Params, target: &Target) -> Result<Plan> {
        problem.values()?;
        let mut params = params.clone();
        Panels::fit_grid(&mut params, problem.batch, target);
        let panels = Panels::new(problem.dtype, (problem.n, problem.batch), &params, target)
            .map_err(Error::argument)?;
        panels.write_to(&mut params);
        let part = part(problem, target, &panels);
        let workspace_bytes = Bytes::new(problem, target, &panels, part).total();
        Ok(Plan { problem: *problem, family: self.name(), params, workspace_bytes })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        let (problem, target) = (plan.problem, Target::of(queue));
        let panels = Panels::new(problem.dtype, (problem.n, problem.batch), &plan.params, &target)
            .map_err(Error::argument)?;
        let part = part(&problem, &target, &panels);
        for_scalar!(operands, arrays => solve_in_parts(queue, (problem, panels), arrays, part))
    }
}

/// The application of the reduction's reflectors to all vectors.
fn back_transform(problem: &Problem, batch: usize) -> ormqr::Problem {
    let Problem { dtype, n, .. } = *problem;
    ormqr::Problem { dtype, n, columns: n, reflectors: n.saturating_sub(1), batch }
}

/// How they are dealt into panels.
fn reflectors(
    problem: &ormqr::Problem,
    target: &Target,
) -> std::result::Result<ormqr::blocked::Panels, String> {
    ormqr::blocked::Panels::new(problem, &Params::default(), target)
}

/// Whether values alone come by bisection, and not by divide and conquer without vectors.
fn bisects(problem: &Problem, target: &Target) -> bool {
    is_fastest(problem.dtype.real(), problem.n, target)
}

/// Tridiagonal matrices whose off-diagonals have room for n elements.
fn whole<T: Typed>(n: usize, batch: usize) -> stedc::Shape {
    stedc::Shape { d_stride: n, e_stride: n, ..stedc::Shape::packed::<<T as Scalar>::Real>(n, batch) }
}

/// Bytes of a workspace, phase by phase.
struct Bytes {
    /// Kept from the first launch to the last: scales, d, e, tau, statuses.
    kept: usize,
    /// W of the panels, and what a grid needs.
    reduction: usize,
    /// Vectors of the tridiagonal matrices, complex ones first where the type is.
    vectors: usize,
    /// What divide and conquer needs beside them, real vectors in complex types included.
    conquest: usize,
    /// Triangular factors of the reflectors.
    factors: usize,
}

impl Bytes {
    fn new(problem: &Problem, target: &Target, panels: &Panels, batch: usize) -> Self {
        let Problem { dtype, n, jobz, .. } = *problem;
        let (whole, real) = (dtype.bytes(), dtype.real().bytes());
        let part = |elements: usize, bytes: usize| workspace_bytes::<u8>(elements.saturating_mul(bytes));
        let values = n.saturating_mul(batch);
        let squares = values.saturating_mul(n);
        let kept =
            [part(batch, real), part(values, real), part(values, real), part(values, whole), part(batch, 4)];
        let kept = kept.into_iter().fold(0, usize::saturating_add);
        let reduction = panels.bytes(dtype, batch);
        if jobz == Jobz::N {
            let conquest = if bisects(problem, target) {
                0
            } else {
                stedc::workspace_bytes(dtype.real(), n, batch, jobz)
            };
            return Bytes { kept, reduction, vectors: 0, conquest, factors: 0 };
        }
        let lifted = if dtype.is_complex() { part(squares, real) } else { 0 };
        let conquest = stedc::workspace_bytes(dtype.real(), n, batch, jobz).saturating_add(lifted);
        let factors = ormqr::blocked::factor_bytes(&back_transform(problem, batch));
        Bytes { kept, reduction, vectors: part(squares, whole), conquest, factors }
    }

    fn total(&self) -> usize {
        let solve = self.vectors.saturating_add(self.conquest.max(self.factors));
        self.kept.saturating_add(self.reduction.max(solve))
    }
}

/// Items that fill any GPU where matrices are small.
const FULL: usize = 2048;

/// Items of a part of the batch: all, or of large batches whose workspace would be more than twice the matrices, as it is below
/// n = 128, so few that it is not; no less than fill a GPU.
fn part(problem: &Problem, target: &Target, panels: &Panels) -> usize {
    let Problem { dtype, n, batch, .. } = *problem;
    let most = [n, n, batch, dtype.bytes(), 2].into_iter().fold(1, usize::saturating_mul);
    let mut part = batch;
    if batch >= 4 * FULL {
        while part >= 2 * FULL && Bytes::new(problem, target, panels, part).total() > most {
            part = part.div_ceil(2);
        }
    }
    part
}

/// Solves in parts of at most `part` items that the memory has workspace for.
fn solve_in_parts<T: Typed>(
    queue: &Queue,
    (problem, panels): (Problem, Panels),
    arrays: Arrays<'_, T>,
    part: usize,
) -> Result<()> {
    let target = Target::of(queue);
    let a = Matrices::of(arrays.a);
    let (w, status) = (arrays.w.view_mut(), arrays.status.view_mut());
    in_parts(problem.batch, part, |first, count| {
        let mut workspace = queue.workspace(Bytes::new(&problem, &target, &panels, count).total())?;
        let items = Items {
            problem: Problem { batch: count, ..problem },
            a: Matrices { view: a.view.at(first * a.stride), ..a },
            w: w.at(first * problem.n),
            status: status.at(first),
        };
        items.solve(queue, &panels, &mut workspace)
    })
}

/// A part of the batch.
struct Items<T: Scalar> {
    problem: Problem,
    a: Matrices<T>,
    w: GlobalMut<T::Real>,
    status: GlobalMut<i32>,
}

impl<T: Typed> Items<T> {
    fn solve(&self, queue: &Queue, panels: &Panels, workspace: &mut Workspace<'_>) -> Result<()> {
        let Problem { n, batch, jobz, uplo, .. } = self.problem;
        let scales = workspace.take(batch)?;
        let d = workspace.take(n * batch)?;
        let e = workspace.take(n * batch)?;
        let tau = workspace.take(n * batch)?;
        let info = workspace.take::<i32>(batch)?;
        let kept = workspace.mark();

        let reduced = Reduced::<T> { d, e, e_stride: n, tau, scale: scales, status: self.status };
        panels.enqueue(queue, (batch, uplo), self.a, &reduced, workspace)?;
        workspace.rewind(kept);

        let vectors = match jobz {
            Jobz::N => {
                let (d, e) = (d.as_global(), e.as_global());
                if bisects(&self.problem, &Target::of(queue)) {
                    let shape = stebz::Shape { n, batch, d_stride: n, e_stride: n };
                    stebz::enqueue(queue, &shape, d, e, self.w, info, workspace)?;
                } else {
                    stedc::enqueue(
                        queue,
                        &whole::<T>(n, batch),
                        d,
                        e,
                        self.w,
                        None,
                        info,
                        Signs::Free,
                        workspace,
                    )?;
                }
                // Not read for values only.
                self.a.view.as_global()
            }
            Jobz::V => self.vectors(queue, &reduced, info, workspace)?,
        };
        self.finish(queue, vectors, scales.as_global(), info.as_global())
    }

    /// Eigenvectors, without gaps, and values.
    fn vectors(
        &self,
        queue: &Queue,
        reduced: &Reduced<T>,
        info: GlobalMut<i32>,
        workspace: &mut Workspace<'_>,
    ) -> Result<Global<T>> {
        let Problem { n, batch, .. } = self.problem;
        let z = workspace.take::<T>(n * n * batch)?;
        let behind = workspace.mark();
        let real = T::real_place(z, n * n * batch, workspace)?;
        let basis = Basis { elements: real, ld: n, stride: n * n };
        let (d, e) = (reduced.d.as_global(), reduced.e.as_global());
        let shape = whole::<T>(n, batch);
        stedc::enqueue(queue, &shape, d, e, self.w, Some(basis), info, Signs::Free, workspace)?;
        T::lift(queue, real, z, n * n * batch)?;
        workspace.rewind(behind);

        let problem = back_transform(&self.problem, batch);
        let factors = workspace.take(ormqr::blocked::factor_elements(&problem))?;
        let reflectors = ormqr::blocked::Reflectors {
            v: self.a.view.as_global(),
            ld: self.a.ld,
            stride: self.a.stride,
            tau: reduced.tau.as_global(),
            tau_stride: n,
            shift: 1,
        };
        if problem.reflectors > 0 {
            let c = Matrices { view: z, ld: n, stride: n * n };
            let panels = self::reflectors(&problem, &Target::of(queue)).map_err(Error::argument)?;
            ormqr::blocked::enqueue(queue, (&problem, panels), &reflectors, factors, c, false)?;
        }
        Ok(z.as_global())
    }

    /// Vectors with their signs over the matrices, values at their scale, statuses.
    fn finish(
        &self,
        queue: &Queue,
        vectors: Global<T>,
        scales: Global<<T as Scalar>::Real>,
        info: Global<i32>,
    ) -> Result<()> {
        let Problem { n, batch, jobz, .. } = self.problem;
        let (a, w, status) = (self.a.view, self.w, self.status);
        let (order, ld, stride) = (n as u32, self.a.ld()?, self.a.stride as u64);
        let call = match jobz {
            Jobz::V => syev_unpack::call::<T, true>(vectors, scales, info, a, w, status, order, ld, stride),
            Jobz::N => syev_unpack::call::<T, false>(vectors, scales, info, a, w, status, order, ld, stride),
        };
        submit(queue, config(batch as u64, 1, kernels_pack::item_threads(order), 0)?, call)
    }
}

/// What is done otherwise in real and in complex types.
trait Typed: KernelScalar + Scalar<Real: KernelReal> {
    /// Where the tridiagonal matrix's vectors go: to `z` itself, or to a part of their own.
    fn real_place(
        z: GlobalMut<Self>,
        elements: usize,
        workspace: &mut Workspace<'_>,
    ) -> Result<GlobalMut<<Self as Scalar>::Real>>;

    /// Brings them to `z`.
    fn lift(
        queue: &Queue,
        real: GlobalMut<<Self as Scalar>::Real>,
        z: GlobalMut<Self>,
        elements: usize,
    ) -> Result<()>;
}

macro_rules! typed {
    ($($real:ty)*) => { $(
        impl Typed for $real {
            fn real_place(z: GlobalMut<Self>, _: usize, _: &mut Workspace<'_>) -> Result<GlobalMut<Self>> {
                Ok(z)
            }

            fn lift(_: &Queue, _: GlobalMut<Self>, _: GlobalMut<Self>, _: usize) -> Result<()> {
                Ok(())
            }
        }

        impl Typed for Complex<$real> {
            fn real_place(
                _: GlobalMut<Self>,
                elements: usize,
                workspace: &mut Workspace<'_>,
            ) -> Result<GlobalMut<$real>> {
                workspace.take(elements)
            }

            fn lift(queue: &Queue, real: GlobalMut<$real>, z: GlobalMut<Self>, elements: usize) -> Result<()> {
                let call = lacp2::call::<Self>(real.as_global(), z, elements as u64);
                let threads = kernels_pack::MAX_THREADS;
                submit(queue, config(elements as u64, LACP2_ELEMENTS * threads, threads, 0)?, call)
            }
        }
    )* };
}
typed!(f32 f64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Arch;
    use crate::ops::Uplo;
    use crate::scalar::Dtype;

    fn plan(dtype: Dtype, n: usize, batch: usize, jobz: Jobz) -> Plan {
        let problem = Problem { dtype, n, batch, jobz, uplo: Uplo::Lower };
        let target = Target::assumed(Arch(90));
        Blocked.can_run(&problem, &Params::default(), &target).unwrap();
        Blocked.plan(&problem, &Params::default(), &target).unwrap()
    }

    #[test]
    fn the_workspace_is_at_most_twice_the_matrices() {
        for dtype in Dtype::ALL {
            for n in [128, 129, 192, 256, 300, 512, 1000, 1024, 1025, 2048] {
                let matrices = 100 * n * n * dtype.bytes();
                let bytes = plan(dtype, n, 100, Jobz::V).workspace_bytes;
                assert!(bytes <= 2 * matrices, "{dtype} V n={n}: {bytes} for {matrices}");
                let bytes = plan(dtype, n, 100, Jobz::N).workspace_bytes;
                assert!(2 * bytes <= matrices, "{dtype} N n={n}: {bytes} for {matrices}");
            }
            // Of small ones in parts, where each fills a GPU.
            for n in [33, 40, 63, 64, 65, 100, 127] {
                let matrices = 8192 * n * n * dtype.bytes();
                let bytes = plan(dtype, n, 8192, Jobz::V).workspace_bytes;
                assert!(bytes <= 2 * matrices, "{dtype} V n={n}: {bytes} for {matrices}");
            }
        }
    }

    /// Values need no divide and conquer: where its poles have no room they are bisected, on every GPU.
    #[test]
    fn values_are_bisected_where_poles_have_no_room() {
        for (arch, dtype, n) in
            [(89, Dtype::F64, 3000), (89, Dtype::C64, 2500), (89, Dtype::F32, 4096), (80, Dtype::F64, 4096)]
        {
            let target = Target::assumed(Arch(arch));
            let problem = Problem { dtype, n, batch: 2, jobz: Jobz::N, uplo: Uplo::Lower };
            assert!(stedc::fits(dtype.real(), n, &target).is_err(), "{arch} {dtype} {n}");
            Blocked.can_run(&problem, &Params::default(), &target).unwrap();
            Blocked.plan(&problem, &Params::default(), &target).unwrap();
        }
    }

    /// A decision is taken for one batch and serves others: of more items a grid has fewer blocks each.
    #[test]
    fn a_grid_fits_the_batch_at_hand() {
        let (target, mut params) = (Target::assumed(Arch(90)), Params::default());
        params.set("grid", 64);
        for (batch, grid) in [(1, 64), (2, 64), (3, 32), (17, 4), (132, 1), (4096, 1)] {
            let problem = Problem { dtype: Dtype::F32, n: 300, batch, jobz: Jobz::V, uplo: Uplo::Lower };
            let plan = Blocked.plan(&problem, &params, &target).unwrap();
            assert_eq!(plan.params.get("grid"), Some(grid), "{batch}");
            let as_asked = Blocked.can_run(&problem, &params, &target).is_ok();
            assert_eq!(as_asked, grid == 64, "{batch}: a pin is taken as it is or refused");
        }
    }

    /// Where memory is short: the same bits, with vectors and without.
    #[cfg(feature = "simt")]
    #[test]
    fn parts_of_a_batch_give_the_same_bits() {
        use crate::memory::{DeviceBatch, DeviceBuffer};
        use crate::{Batch, Layout};
        let (n, batch) = (37, 3);
        let element =
            |item: usize, i: usize, j: usize| ((item + 2) * (i + j) % 13) as f64 + 1.0 / (1 + i * j) as f64;
        let mut host = Batch::<f64>::from_fn(n, n, batch, element);
        host.set(1, n - 1, 0, f64::NAN);
        let layout = Layout::new(n, n, n + 1, (n + 1) * n + 3, batch).unwrap();
        for (jobz, tail) in [(Jobz::V, 64), (Jobz::N, 64), (Jobz::V, 0), (Jobz::N, 0)] {
            let problem = Problem { dtype: Dtype::F64, n, batch, jobz, uplo: Uplo::Lower };
            let mut params = Params::default();
            params.set("tail", tail);
            // A queue of its own: a workspace does not shrink.
            let queue = Queue::simt(1);
            let plan = Blocked.plan(&problem, &params, &Target::of(&queue)).unwrap();
            let panels = Panels::new(problem.dtype, (n, batch), &plan.params, &Target::of(&queue)).unwrap();
            let solve = |part: usize| {
                let mut a = DeviceBatch::upload_as(&queue, &host, layout).unwrap();
                let mut w: DeviceBuffer<f64> = queue.alloc(n * batch).unwrap();
                let mut status = queue.alloc(batch).unwrap();
                let arrays = Arrays { a: &mut a, w: &mut w, status: &mut status };
                solve_in_parts(&queue, (problem, panels), arrays, part).unwrap();
                assert_eq!(queue.download(&status).unwrap(), [0, -1, 0]);
                let a = if jobz == Jobz::V { queue.download(a.buffer()).unwrap() } else { Vec::new() };
                let bits = |x: Vec<f64>| x.into_iter().map(f64::to_bits).collect::<Vec<u64>>();
                (bits(queue.download(&w).unwrap()), bits(a))
            };
            let whole = solve(batch);
            assert_eq!(queue.memory_use().live, plan.workspace_bytes as u64, "the query is what is taken");
            assert_eq!(solve(2), whole, "{jobz}");
            assert_eq!(solve(1), whole, "{jobz}");
        }
    }

    #[test]
    fn orders_past_shared_memory_are_refused() {
        let problem = Problem { dtype: Dtype::C64, n: 8000, batch: 1, jobz: Jobz::V, uplo: Uplo::Lower };
        let refusal = Blocked.can_run(&problem, &Params::default(), &Target::assumed(Arch(90))).unwrap_err();
        assert!(refusal.contains("shared memory"), "{refusal}");
        assert!(Blocked.can_run(&problem, &Params::default(), &Target::CPU).is_err());
    }
}
