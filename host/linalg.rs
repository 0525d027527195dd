//! Whole jobs on host matrices: upload, solve, download.

mod method;
pub(crate) mod parts;
mod product;
mod tridiagonal;

pub use method::Method;
pub use product::{Matmul, MatmulOptions, matmul, matmul_with};
pub use tridiagonal::{EighTridiagonalOptions, decide_tridiagonal, eigh_tridiagonal, eigh_tridiagonal_with};

use crate::batch::{Batch, BatchRef, Layout};
use crate::error::Result;
use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::syev::{Decided, Problem};
use crate::ops::{Decision, Jobz, Target, Uplo};
use crate::queue::Queue;
use crate::routes::Pin;
use crate::scalar::Scalar;
use crate::status::Status;
use parts::{Output, in_parts, item_bytes, or_cpu, part_items};

/// How [`eigh_with`] solves.
#[derive(Clone, Debug, Default)]
pub struct EighOptions {
    /// Whether eigenvectors are wanted.
    pub jobz: Jobz,
    /// The triangle that is read; the other one is never read.
    pub uplo: Uplo,
    /// The family to take; `None`: scoped pin, environment or table.
    pub route: Option<Pin>,
    /// Where no family can run the shape on the queue's device, take the CPU
    /// and say so in the decision's note. A pin that cannot run stays an error.
    pub or_cpu: bool,
}

/// Eigenvalues and eigenvectors of a batch of problems `P`: matrices unless said otherwise.
#[derive(Clone, Debug)]
pub struct Eigh<T: Scalar, P = Problem> {
    /// n ascending eigenvalues an item, item after item.
    pub values: Vec<T::Real>,
    /// Column k of an item is the vector of its k-th eigenvalue; `None` for values only.
    pub vectors: Option<Batch<T>>,
    /// One status an item; an item that failed has NaN values and vectors.
    pub status: Vec<Status>,
    /// The family that solved it, and why it was taken.
    pub route: Decision<P>,
}

impl<T: Scalar, P> Eigh<T, P> {
    /// The eigenvalues of an item, ascending.
    ///
    /// # Panics
    /// Outside the batch.
    pub fn values_of(&self, item: usize) -> &[T::Real] {
        let n = self.values.len().checked_div(self.status.len()).unwrap_or(0);
        &self.values[item * n..(item + 1) * n]
    }

    /// Number of items without a result.
    pub fn failed(&self) -> usize {
        self.status.iter().filter(|s| !s.is_ok()).count()
    }
}

/// Eigenvalues and orthonormal eigenvectors of a batch of symmetric or
/// Hermitian matrices (batch of n by n, the lower triangle is read).
///
/// `a` is preserved. Column k of an item's vectors belongs to its k-th
/// eigenvalue; the component of largest modulus, the first of equal ones, is
/// real and positive (where two agree to rounding, families may pick different
/// ones). An item that cannot be solved has a [`Status`] and NaN results, and
/// touches no other; an eigenvalue beyond the type's range is an infinity.
///
/// On a GPU the cost is the solve and two copies over the bus; a batch that
/// does not fit the memory goes through in parts.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) for matrices that are not square,
/// [`Error::Route`](crate::Error::Route) where no family can run the shape on the queue's device,
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the host has no room for the results or the device not for one
/// item, and faults of the device.
pub fn eigh<'a, T: Scalar>(queue: &Queue, a: impl Into<BatchRef<'a, T>>) -> Result<Eigh<T>> {
    eigh_with(queue, a, &EighOptions::default())
}

/// Eigenvalues only: as [`eigh`], without vectors and at a fraction of the cost.
///
/// # Errors
/// As [`eigh`].
pub fn eigvalsh<'a, T: Scalar>(queue: &Queue, a: impl Into<BatchRef<'a, T>>) -> Result<Eigh<T>> {
    eigh_with(queue, a, &EighOptions { jobz: Jobz::N, ..EighOptions::default() })
}

/// As [`eigh`], with options.
///
/// # Errors
/// As [`eigh`], and [`Error::Route`](crate::Error::Route) for a pin that cannot be honoured.
pub fn eigh_with<'a, T: Scalar>(
    queue: &Queue,
    a: impl Into<BatchRef<'a, T>>,
    options: &EighOptions,
) -> Result<Eigh<T>> {
    let a = a.into();
    let n = a.layout().order()?;
    let batch = a.layout().batch();
    let problem = Problem { dtype: T::DTYPE, n, batch, jobz: options.jobz, uplo: options.uplo };
    let values = problem.values()?;
    let decide = |target: &Target, route: Option<&Pin>| Decided::new(&problem, target, route);
    let (decided, cpu) = or_cpu(queue, options.or_cpu, options.route.as_ref(), decide)?;
    let Some((cpu, note)) = cpu else { return solve_parts(queue, a, values, decided) };
    let mut decided = decided;
    decided.decision.note = Some(note);
    solve_parts(&cpu, a, values, decided)
}

/// Solves the batch in as many parts as the memory asks for. The family was
/// decided for the whole batch, so that the parts agree.
fn solve_parts<T: Scalar>(
    queue: &Queue,
    a: BatchRef<'_, T>,
    values: usize,
    decided: Decided,
) -> Result<Eigh<T>> {
    let Problem { n, batch, jobz, .. } = decided.decision.problem;
    let mut out = Output::new(n, batch, values, jobz)?;
    let workspace = decided.plan(batch, &Target::of(queue))?.workspace_bytes.div_ceil(batch.max(1));
    let arrays = item_bytes([
        ([n, n], size_of::<T>()),
        ([n, 1], size_of::<T::Real>()),
        ([1, 1], size_of::<i32>()),
        ([workspace, 1], 1),
    ]);
    let part = part_items(queue, batch, arrays)?;
    let name = || format!("eigh {} {jobz} n={n} batch={batch}", T::DTYPE);
    queue.traced_call(name, || {
        in_parts(batch, part, |first, count| solve_part(queue, a, first, count, &decided, &mut out))
    })?;
    Ok(out.into_eigh(decided.decision))
}

fn solve_part<T: Scalar>(
    queue: &Queue,
    a: BatchRef<'_, T>,
    first: usize,
    count: usize,
    decided: &Decided,
    out: &mut Output<T>,
) -> Result<()> {
    let n = decided.decision.problem.n;
    let mut matrices = DeviceBatch::upload(queue, items(a, first, count)?)?;
    let mut w: DeviceBuffer<T::Real> = queue.alloc(count * n)?;
    let mut status: DeviceBuffer<i32> = queue.alloc(count)?;
    decided.solve(queue, &mut matrices, &mut w, &mut status)?;
    out.download(queue, first..first + count, &w, Some(matrices.buffer()), &status)
}

/// Items first..first + count of a batch.
fn items<T: Scalar>(a: BatchRef<'_, T>, first: usize, count: usize) -> Result<BatchRef<'_, T>> {
    let l = a.layout();
    let layout = Layout::new(l.rows(), l.cols(), l.ld(), l.stride(), count)?;
    let start = if l.is_empty() { 0 } else { first * l.stride() };
    BatchRef::new(&a.as_slice()[start..], layout)
}
