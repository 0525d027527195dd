//! Whole jobs on tridiagonal matrices in host memory.

use std::ops::Range;

use super::parts::{Output, in_parts, item_bytes, or_cpu, part_items};
use super::{Eigh, Method};
use crate::batch::Layout;
use crate::error::{Error, Result};
use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::steqr::{self, Form, Options, Problem, Shift, Update};
use crate::ops::{Decision, Jobz, SWEEPS_PER_VALUE, Target, stebz, stedc};
use crate::queue::Queue;
use crate::routes::Pin;
use crate::scalar::Real;

/// How [`eigh_tridiagonal_with`] solves.
#[derive(Clone, Debug)]
pub struct EighTridiagonalOptions {
    /// Whether eigenvectors are wanted.
    pub jobz: Jobz,
    /// The operation that solves.
    pub method: Method,
    /// An item that is not diagonal after n times this many sweeps fails; `None`: 30, as LAPACK allows. Of QL alone: an
    /// error where another method solves.
    pub sweeps_per_value: Option<u32>,
    /// How the shift of a sweep is computed; `None`: [`Shift::default`]. Of QL alone: an error where another method solves.
    pub shift: Option<Shift>,
    /// How a sweep updates the matrix; `None`: as measured to be best. Asking for one pins the family `cta`.
    pub update: Option<Update>,
    /// How a warp goes through the iteration; `None`: as measured to be best. A form pins the family `cta`.
    pub form: Option<Form>,
    /// The family to take, of the method's [operation](Method::operation); `None`: scoped pin, environment or table.
    pub route: Option<Pin>,
    /// Where no family can run the shape on the queue's device, take the CPU
    /// and say so in the decision's note. A pin that cannot run stays an error.
    pub or_cpu: bool,
}

impl Default for EighTridiagonalOptions {
    fn default() -> Self {
        EighTridiagonalOptions {
            jobz: Jobz::V,
            method: Method::Auto,
            sweeps_per_value: None,
            shift: None,
            update: None,
            form: None,
            route: None,
            or_cpu: false,
        }
    }
}

impl EighTridiagonalOptions {
    /// The same for a solve by `steqr` in place on device memory, from the identity and sorted.
    pub fn in_place(&self) -> Options {
        let EighTridiagonalOptions { sweeps_per_value, shift, update, form, ref route, .. } = *self;
        let (route, shift) = (route.clone(), shift.unwrap_or_default());
        let sweeps_per_value = sweeps_per_value.unwrap_or(SWEEPS_PER_VALUE);
        Options { sweeps_per_value, shift, update, form, route, ..Options::default() }
    }
}

/// Eigenvalues and orthonormal eigenvectors of a batch of real symmetric
/// tridiagonal matrices of order `n`: by implicit QL, or divide and conquer as [`Method::Auto`] has it.
///
/// `d` holds the diagonals, n elements an item, item after item; `e` the
/// off-diagonals, n - 1 an item. Both are preserved. The batch is `d.len() / n`
/// (none for n = 0). Column k of an item's vectors belongs to its k-th
/// eigenvalue; the component of largest modulus, the first of equal ones, is
/// positive. A NaN or an infinity gives that item a [`Status`](crate::Status) and NaN results,
/// and touches no other.
///
/// On a GPU the cost is the solve, some 3 n^3 multiply-adds an item by QL, fewer by divide and conquer, and the
/// copies over the bus; a batch that does not fit the memory goes through in parts.
///
/// ```
/// use batchlas::{Queue, linalg};
///
/// // [[2, 1], [1, 2]] and [[0, 3], [3, 0]].
/// let (d, e) = ([2.0f64, 2.0, 0.0, 0.0], [1.0, 3.0]);
/// let eigh = linalg::eigh_tridiagonal(&Queue::cpu(), &d, &e, 2)?;
/// assert!((eigh.values_of(0)[0] - 1.0).abs() < 1e-15);
/// assert!((eigh.values_of(1)[0] + 3.0).abs() < 1e-15);
/// let vectors = eigh.vectors.expect("vectors are the default");
/// assert!((vectors.get(0, 0, 1) - 0.5f64.sqrt()).abs() < 1e-15);
/// # Ok::<(), batchlas::Error>(())
/// ```
///
/// # Errors
/// [`Error::Argument`] where `d` and `e` do not fit `n`,
/// [`Error::Route`] where no family can run the shape on the queue's device,
/// [`Error::OutOfMemory`] where the host has no room for the results or the device not for one item, and faults of the
/// device.
pub fn eigh_tridiagonal<T: Real>(queue: &Queue, d: &[T], e: &[T], n: usize) -> Result<Eigh<T, Problem>> {
    eigh_tridiagonal_with(queue, d, e, n, &EighTridiagonalOptions::default())
}

/// As [`eigh_tridiagonal`], with options.
///
/// # Errors
/// As [`eigh_tridiagonal`], [`Error::Route`] for a pin that cannot be honoured, and [`Error::Argument`] for options that
/// the method does not have.
pub fn eigh_tridiagonal_with<T: Real>(
    queue: &Queue,
    d: &[T],
    e: &[T],
    n: usize,
    options: &EighTridiagonalOptions,
) -> Result<Eigh<T, Problem>> {
    let batch = batch_of(d.len(), e.len(), n)?;
    let problem = Problem { dtype: T::DTYPE, n, batch, jobz: options.jobz };
    // The device's method also where the CPU stands in.
    let (method, pin) = options.way(&problem, &Target::of(queue))?;
    let decide =
        |target: &Target, route: Option<&Pin>| Decided::new(method, &problem, target, options, route);
    let (decided, cpu) = or_cpu(queue, options.or_cpu, pin.as_ref(), decide)?;
    let mut decision = decided.decision();
    let Some((cpu, note)) = cpu else { return solve_parts(queue, d, e, &decided, decision) };
    decision.note = Some(note);
    solve_parts(&cpu, d, e, &decided, decision)
}

/// The decision that [`eigh_tridiagonal_with`] would follow for a problem on a target, which is never the CPU in a
/// device's place. Touches no device.
///
/// # Errors
/// As [`eigh_tridiagonal_with`], without faults of the device.
pub fn decide_tridiagonal(
    problem: &Problem,
    target: &Target,
    options: &EighTridiagonalOptions,
) -> Result<Decision<Problem>> {
    let (method, pin) = options.way(problem, target)?;
    Ok(Decided::new(method, problem, target, options, pin.as_ref())?.decision())
}

impl EighTridiagonalOptions {
    /// The method, and the pin that its options come to.
    fn way(&self, problem: &Problem, target: &Target) -> Result<(Method, Option<Pin>)> {
        let by_ql = matches!(self.method, Method::Auto | Method::Qr);
        let pin = if by_ql { self.in_place().pin()? } else { self.route.clone() };
        let method = self.method.resolve(problem, target, pin.as_ref().filter(|_| by_ql))?;
        self.check_ql(method)?;
        Ok((method, pin))
    }

    /// Refuses what only QL has where another method solves.
    fn check_ql(&self, method: Method) -> Result<()> {
        let named = [
            ("forms", self.form.is_some()),
            ("updates", self.update.is_some()),
            ("shifts", self.shift.is_some()),
            ("sweeps", self.sweeps_per_value.is_some()),
        ];
        match named.iter().find(|(_, is_set)| *is_set) {
            Some((what, _)) if method != Method::Qr => Err(Error::argument(format!(
                "the method {method} knows nothing of {what}: leave that out, or take the method qr"
            ))),
            _ => Ok(()),
        }
    }
}

/// A decision with the family that it names.
enum Decided {
    Qr(steqr::Decided),
    Dc(stedc::Decided),
    Bisection(stebz::Decided),
}

impl Decided {
    fn new(
        method: Method,
        problem: &Problem,
        target: &Target,
        options: &EighTridiagonalOptions,
        route: Option<&Pin>,
    ) -> Result<Self> {
        let Problem { dtype, n, batch, jobz } = *problem;
        let route = route.cloned();
        match method {
            Method::Auto | Method::Qr => {
                // The pin already says form and update: the CPU that stands in has neither.
                let options = Options { route, form: None, update: None, ..options.in_place() };
                steqr::Decided::new(problem, target, &options).map(Decided::Qr)
            }
            Method::Dc => {
                let problem = stedc::Problem { dtype, n, batch, jobz };
                stedc::Decided::new(&problem, target, &stedc::Options { route }).map(Decided::Dc)
            }
            Method::Bisection => {
                let (problem, passes) = (stebz::Problem { dtype, n, batch }, None);
                stebz::Decided::new(&problem, target, &stebz::Options { passes, route })
                    .map(Decided::Bisection)
            }
        }
    }

    fn decision(&self) -> Decision<Problem> {
        match self {
            Decided::Qr(decided) => decided.decision.clone(),
            Decided::Dc(decided) => {
                let stedc::Problem { dtype, n, batch, jobz } = decided.decision.problem;
                decided.decision.clone().about(Problem { dtype, n, batch, jobz })
            }
            Decided::Bisection(decided) => {
                let stebz::Problem { dtype, n, batch } = decided.decision.problem;
                decided.decision.clone().about(Problem { dtype, n, batch, jobz: Jobz::N })
            }
        }
    }

    fn workspace_bytes(&self, batch: usize, target: &Target) -> Result<usize> {
        Ok(match self {
            Decided::Qr(decided) => decided.plan(batch, target)?.workspace_bytes,
            Decided::Dc(decided) => decided.plan(batch, target)?.workspace_bytes,
            Decided::Bisection(decided) => decided.plan(batch, target)?.workspace_bytes,
        })
    }

    /// Solves a part; returns its values.
    fn run<T: Real>(
        &self,
        queue: &Queue,
        mut d: DeviceBuffer<T>,
        e: &DeviceBuffer<T>,
        q: Option<&mut DeviceBatch<T>>,
        status: &mut DeviceBuffer<i32>,
    ) -> Result<DeviceBuffer<T>> {
        if let Decided::Qr(decided) = self {
            decided.solve(queue, &mut d, e, q, status)?;
            return Ok(d);
        }
        let mut w = queue.alloc(d.len())?;
        match self {
            Decided::Dc(decided) => decided.solve(queue, &d, e, &mut w, q, status)?,
            Decided::Bisection(decided) => decided.solve(queue, &d, e, &mut w, status)?,
            Decided::Qr(_) => {}
        }
        Ok(w)
    }
}

/// The number of items, where the lengths agree.
fn batch_of(d: usize, e: usize, n: usize) -> Result<usize> {
    let batch = d.checked_div(n).unwrap_or(0);
    if d == batch * n && e == batch * n.saturating_sub(1) {
        return Ok(batch);
    }
    Err(Error::argument(format!(
        "{d} diagonal and {e} off-diagonal elements are no batch of order {n}: n and n - 1 an item are needed"
    )))
}

/// Solves the batch in as many parts as the memory asks for, under one decision.
fn solve_parts<T: Real>(
    queue: &Queue,
    d: &[T],
    e: &[T],
    decided: &Decided,
    decision: Decision<Problem>,
) -> Result<Eigh<T, Problem>> {
    let problem = decision.problem;
    let Problem { n, batch, jobz, .. } = problem;
    let mut out = Output::new(n, batch, d.len(), jobz)?;
    let vectors = if jobz == Jobz::V { n } else { 0 };
    let workspace = decided.workspace_bytes(batch, &Target::of(queue))?.div_ceil(batch.max(1));
    let arrays = item_bytes([
        ([vectors, n], size_of::<T>()),
        ([3, n], size_of::<T>()),
        ([1, 1], size_of::<i32>()),
        ([workspace, 1], 1),
    ]);
    let part = part_items(queue, batch, arrays)?;
    let name = || format!("eigh_tridiagonal {} {jobz} n={n} batch={batch}", T::DTYPE);
    queue.traced_call(name, || {
        in_parts(batch, part, |first, count| {
            solve_part(queue, d, e, first..first + count, (decided, &problem), &mut out)
        })
    })?;
    Ok(out.into_eigh(decision))
}

fn solve_part<T: Real>(
    queue: &Queue,
    d: &[T],
    e: &[T],
    items: Range<usize>,
    (decided, problem): (&Decided, &Problem),
    out: &mut Output<T>,
) -> Result<()> {
    let (n, count) = (problem.n, items.len());
    let of = |width: usize| items.start * width..items.end * width;
    let diagonals = queue.upload(&d[of(n)])?;
    let couplings = queue.upload(&e[of(n.saturating_sub(1))])?;
    let wanted = problem.jobz == Jobz::V;
    let layout = Layout::packed(n, n, count);
    let mut q = wanted.then(|| DeviceBatch::alloc(queue, layout)).transpose()?;
    let mut status = queue.alloc(count)?;
    let values = decided.run(queue, diagonals, &couplings, q.as_mut(), &mut status)?;
    out.download(queue, items, &values, q.as_ref().map(DeviceBatch::buffer), &status)
}
