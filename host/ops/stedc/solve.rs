//! Problem, plan, launch.

use super::arrays::Arrays;
use super::{Decided, Decision, Jobz, Plan, Problem, Target};
use crate::error::Result;
use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::{check_len, count_values, tridiagonal};
use crate::queue::Queue;
use crate::routes::Pin;
use crate::scalar::Real;

/// How to solve.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The family to take; `None`: scoped pin, environment or table.
    pub route: Option<Pin>,
}

/// The plan that [`solve`] would follow for a problem on a target. Touches no device.
///
/// # Errors
/// [`Error::Route`](crate::Error::Route) where no family can run the problem or a pin cannot be
/// honoured; [`Error::Table`](crate::Error::Table), [`Error::Argument`](crate::Error::Argument) for malformed settings and complex types.
pub fn plan(problem: &Problem, target: &Target, options: &Options) -> Result<(Decision, Plan)> {
    Ok(Decided::new(problem, target, options)?.into_parts())
}

impl Decided {
    /// Decides. Touches no device; reads tables and pins, this once.
    ///
    /// # Errors
    /// As [`plan`].
    pub fn new(problem: &Problem, target: &Target, options: &Options) -> Result<Self> {
        Ok(Decided::decide(problem, target, options.route.as_ref(), ())?.with_every_parameter())
    }

    /// Solves as [`solve`] does. Type, order and `jobz` are those of the problem; layout and batch are free.
    ///
    /// # Errors
    /// As [`solve`], without those of the route.
    pub fn solve<T: Real>(
        &self,
        queue: &Queue,
        d: &DeviceBuffer<T>,
        e: &DeviceBuffer<T>,
        w: &mut DeviceBuffer<T>,
        q: Option<&mut DeviceBatch<T>>,
        status: &mut DeviceBuffer<i32>,
    ) -> Result<()> {
        let Problem { dtype, n, jobz, .. } = self.decision.problem;
        let batch = status.len();
        tridiagonal::check_matrices((dtype, n, batch), d, e)?;
        check_len("eigenvalues", w.len(), count_values(n, batch)?)?;
        tridiagonal::check_vectors((jobz, n, batch), q.as_deref())?;
        queue.check_owns(d)?;
        queue.check_owns(e)?;
        queue.check_owns(w)?;
        q.as_ref().map_or(Ok(()), |q| queue.check_owns(q.buffer()))?;
        queue.check_owns(status)?;
        self.run(queue, batch, Arrays { d, e, w, q, status }.typed())
    }
}

/// Solves a batch.
///
/// | array | shape | on entry | on return |
/// |---|---|---|---|
/// | `d` | n an item, item after item | diagonals | the same |
/// | `e` | n - 1 an item | off-diagonals | the same |
/// | `w` | n an item | not read | eigenvalues, ascending |
/// | `q` | batch of n by n, any leading dimension and stride | not read | vectors as columns |
/// | `status` | 1 an item | not read | 0; k > 0: k couplings or roots did not converge; -1: `d` or `e` is not finite |
///
/// Without `q` eigenvalues alone are computed. The batch is `status.len()`, the order `d.len()` over that. An item that
/// fails has NaN in `w` and `q` and touches no other.
///
/// On a GPU the call returns before the work is done; nothing waits for the statuses. The workspace is some n^2 / 2 + 60 n
/// elements an item, or 60 n without vectors ([`plan`] tells). Each item costs at most some 2/3 n^3 multiply-adds with
/// vectors, less by what deflates, and some 30 n^2 for the values.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) where shapes do not fit or a buffer belongs to another
/// queue, [`Error::Route`](crate::Error::Route) where no family can run the problem,
/// [`Error::Findings`](crate::Error::Findings) from the executor, and faults of the driver.
pub fn solve<T: Real>(
    queue: &Queue,
    d: &DeviceBuffer<T>,
    e: &DeviceBuffer<T>,
    w: &mut DeviceBuffer<T>,
    q: Option<&mut DeviceBatch<T>>,
    status: &mut DeviceBuffer<i32>,
    options: &Options,
) -> Result<Decision> {
    let batch = status.len();
    let n = tridiagonal::order(d, q.as_deref(), batch)?;
    let jobz = if q.is_some() { Jobz::V } else { Jobz::N };
    let problem = Problem { dtype: T::DTYPE, n, batch, jobz };
    let decided = Decided::new(&problem, &Target::of(queue), options)?;
    decided.solve(queue, d, e, w, q, status)?;
    Ok(decided.decision)
}
