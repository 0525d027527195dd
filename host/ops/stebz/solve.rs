//! Problem, plan, launch.

use super::arrays::Arrays;
use super::{Decided, Decision, Plan, Problem, Target};
use crate::error::Result;
use crate::memory::DeviceBuffer;
use crate::ops::{check_len, count_values, tridiagonal};
use crate::queue::Queue;
use crate::routes::Pin;
use crate::scalar::Real;

/// How to solve.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// At most so many passes of bisection; `None`: as many as full accuracy takes. An item with values that are not
    /// found by then fails. A pass halves an interval; that of `bisect:values=1` quarters it. On a GPU
    /// the lanes of a warp share the first: it leaves a 65th (`values=2`), a 97th (`values=1`) or a 129th (`values=4`).
    pub passes: Option<u32>,
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
        Ok(Decided::decide(problem, target, options.route.as_ref(), options.passes)?.with_every_parameter())
    }

    /// Solves as [`solve`] does. Type and order are those of the problem; the batch is free.
    ///
    /// # Errors
    /// As [`solve`], without those of the route.
    pub fn solve<T: Real>(
        &self,
        queue: &Queue,
        d: &DeviceBuffer<T>,
        e: &DeviceBuffer<T>,
        w: &mut DeviceBuffer<T>,
        status: &mut DeviceBuffer<i32>,
    ) -> Result<()> {
        let Problem { dtype, n, .. } = self.decision.problem;
        let batch = status.len();
        tridiagonal::check_matrices((dtype, n, batch), d, e)?;
        check_len("eigenvalues", w.len(), count_values(n, batch)?)?;
        queue.check_owns(d)?;
        queue.check_owns(e)?;
        queue.check_owns(w)?;
        queue.check_owns(status)?;
        let passes = self.how;
        self.run(queue, batch, Arrays { d, e, w, status, passes }.typed())
    }
}

/// Finds all eigenvalues of a batch.
///
/// | array | shape | on entry | on return |
/// |---|---|---|---|
/// | `d` | n an item, item after item | diagonals | the same |
/// | `e` | n - 1 an item | off-diagonals | the same |
/// | `w` | n an item | not read | eigenvalues, ascending |
/// | `status` | 1 an item | not read | 0; k > 0: k values were not found within the passes; -1: `d` or `e` is not finite |
///
/// The batch is `status.len()`, the order `d.len()` over that. An item that fails has NaN in `w` and touches no other.
///
/// On a GPU the call returns before the work is done; nothing waits for the statuses. It takes no workspace. Each item
/// costs some 20 n^2 steps of a count where its values are apart, at most thrice 28 n^2 (f32) or 57 n^2 (f64), of ten to twenty
/// instructions each.
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
    status: &mut DeviceBuffer<i32>,
    options: &Options,
) -> Result<Decision> {
    let batch = status.len();
    let n = tridiagonal::order(d, None, batch)?;
    let problem = Problem { dtype: T::DTYPE, n, batch };
    let decided = Decided::new(&problem, &Target::of(queue), options)?;
    decided.solve(queue, d, e, w, status)?;
    Ok(decided.decision)
}
