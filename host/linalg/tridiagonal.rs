//! Whole jobs on tridiagonal matrices in host memory.

use super::Eigh;
use super::parts::{Output, in_parts, or_cpu, part_items};
use crate::batch::Layout;
use crate::error::{Error, Result};
use crate::memory::DeviceBatch;
use crate::ops::steqr::{Decided, Form, Options, Problem, Shift, Update};
use crate::ops::{Jobz, SWEEPS_PER_VALUE, Target};
use crate::queue::Queue;
use crate::routes::Pin;
use crate::scalar::Real;

/// How [`eigh_tridiagonal_with`] solves.
#[derive(Clone, Debug)]
pub struct EighTridiagonalOptions {
    /// Whether eigenvectors are wanted.
    pub jobz: Jobz,
    /// An item that is not diagonal after n times this many sweeps fails; LAPACK allows 30.
    pub sweeps_per_value: u32,
    /// How the shift of a sweep is computed.
    pub shift: Shift,
    /// How a sweep updates the matrix; `None`: as measured to be best. Asking for one pins the family `cta`.
    pub update: Option<Update>,
    /// How a warp goes through the iteration; `None`: as measured to be best. A form pins the family `cta`.
    pub form: Option<Form>,
    /// The family to take; `None`: scoped pin, environment or table.
    pub route: Option<Pin>,
    /// Where no family can run the shape on the queue's device, take the CPU
    /// and say so in the decision's note. A pin that cannot run stays an error.
    pub or_cpu: bool,
}

impl Default for EighTridiagonalOptions {
    fn default() -> Self {
        EighTridiagonalOptions {
            jobz: Jobz::V,
            sweeps_per_value: SWEEPS_PER_VALUE,
            shift: Shift::default(),
            update: None,
            form: None,
            route: None,
            or_cpu: false,
        }
    }
}

impl EighTridiagonalOptions {
    /// The same for a solve in place on device memory, from the identity and sorted.
    pub fn in_place(&self) -> Options {
        let EighTridiagonalOptions { sweeps_per_value, shift, update, form, ref route, .. } = *self;
        let route = route.clone();
        Options { sweeps_per_value, shift, update, form, route, ..Options::default() }
    }
}

/// Eigenvalues and orthonormal eigenvectors of a batch of real symmetric
/// tridiagonal matrices of order `n`, by implicit QL.
///
/// `d` holds the diagonals, n elements an item, item after item; `e` the
/// off-diagonals, n - 1 an item. Both are preserved. The batch is `d.len() / n`
/// (none for n = 0). Column k of an item's vectors belongs to its k-th
/// eigenvalue; the component of largest modulus, the first of equal ones, is
/// positive. A NaN or an infinity gives that item a [`Status`](crate::Status) and NaN results,
/// and touches no other.
///
/// On a GPU the cost is the solve, some 3 n^3 multiply-adds an item, and the
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
/// [`Error::OutOfMemory`] where not even one item fits, and faults of the device.
pub fn eigh_tridiagonal<T: Real>(queue: &Queue, d: &[T], e: &[T], n: usize) -> Result<Eigh<T, Problem>> {
    eigh_tridiagonal_with(queue, d, e, n, &EighTridiagonalOptions::default())
}

/// As [`eigh_tridiagonal`], with options.
///
/// # Errors
/// As [`eigh_tridiagonal`], and [`Error::Route`] for a pin that cannot be honoured.
pub fn eigh_tridiagonal_with<T: Real>(
    queue: &Queue,
    d: &[T],
    e: &[T],
    n: usize,
    options: &EighTridiagonalOptions,
) -> Result<Eigh<T, Problem>> {
    let batch = batch_of(d.len(), e.len(), n)?;
    let problem = Problem { dtype: T::DTYPE, n, batch, jobz: options.jobz };
    let wanted = options.in_place();
    let pin = wanted.pin()?;
    let decide = |target: &Target, route: Option<&Pin>| {
        // The pin already says form and update: the CPU that stands in has neither.
        let options = Options { route: route.cloned(), form: None, update: None, ..wanted.clone() };
        Decided::new(&problem, target, &options)
    };
    let (mut decided, cpu) = or_cpu(queue, options.or_cpu, pin.as_ref(), decide)?;
    let Some((cpu, note)) = cpu else { return solve_parts(queue, d, e, decided) };
    decided.decision.note = Some(note);
    solve_parts(&cpu, d, e, decided)
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
fn solve_parts<T: Real>(queue: &Queue, d: &[T], e: &[T], decided: Decided) -> Result<Eigh<T, Problem>> {
    let Problem { n, batch, jobz, .. } = decided.decision.problem;
    let mut out = Output::new(n, batch, d.len(), jobz);
    let vectors = if jobz == Jobz::V { n * n } else { 0 };
    let workspace = decided.plan(batch, &Target::of(queue))?.workspace_bytes.div_ceil(batch.max(1));
    let arrays = (vectors + 2 * n) * size_of::<T>() + size_of::<i32>();
    let part = part_items(queue, batch, arrays + workspace)?;
    let name = || format!("eigh_tridiagonal {} {jobz} n={n} batch={batch}", T::DTYPE);
    queue.traced_call(name, || {
        in_parts(batch, part, |first, count| solve_part(queue, d, e, first, count, &decided, &mut out))
    })?;
    Ok(out.into_eigh(decided.decision))
}

fn solve_part<T: Real>(
    queue: &Queue,
    d: &[T],
    e: &[T],
    first: usize,
    count: usize,
    decided: &Decided,
    out: &mut Output<T>,
) -> Result<()> {
    let n = decided.decision.problem.n;
    let items = first..first + count;
    let of = |width: usize| items.start * width..items.end * width;
    let mut values = queue.upload(&d[of(n)])?;
    let couplings = queue.upload(&e[of(n.saturating_sub(1))])?;
    let wanted = decided.decision.problem.jobz == Jobz::V;
    let layout = Layout::packed(n, n, count);
    let mut q = wanted.then(|| DeviceBatch::alloc(queue, layout)).transpose()?;
    let mut status = queue.alloc(count)?;
    decided.run(queue, &mut values, &couplings, q.as_mut(), &mut status)?;
    out.download(queue, items, &values, q.as_ref().map(DeviceBatch::buffer), &status)
}
