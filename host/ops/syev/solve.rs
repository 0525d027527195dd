//! Problem, plan, launch: the solve in place.

use super::arrays::Arrays;
use super::{Decided, Decision, Jobz, Plan, Problem, Target, Uplo};
use crate::error::{Error, Result};
use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::check_len;
use crate::queue::Queue;
use crate::routes::Pin;
use crate::scalar::Scalar;

/// How to solve.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether eigenvectors are wanted.
    pub jobz: Jobz,
    /// The triangle that is read.
    pub uplo: Uplo,
    /// The family to take; `None`: scoped pin, environment or table.
    pub route: Option<Pin>,
}

/// The plan that [`solve`] would follow for a problem on a queue's device,
/// with the bytes of workspace that it takes. Touches no device.
///
/// # Errors
/// [`Error::Route`] where no family can run the problem or a pin cannot be
/// honoured; [`Error::Table`], [`Error::Argument`] for malformed settings.
pub fn plan(problem: &Problem, target: &Target, route: Option<&Pin>) -> Result<(Decision, Plan)> {
    Ok(Decided::new(problem, target, route)?.into_parts())
}

impl Decided {
    /// Decides. Touches no device; reads tables and pins, this once.
    ///
    /// # Errors
    /// As [`plan`].
    pub fn new(problem: &Problem, target: &Target, route: Option<&Pin>) -> Result<Self> {
        // Parameters that the plan chooses depend on the batch: the route stays as the row or the pin has it.
        Decided::decide(problem, target, route, ())
    }

    /// Solves as [`solve`] does. Type and order are those of the problem; layout and batch are free. (Of more items than were
    /// decided about, `blocked` has smaller grids, where the device cannot hold those of the decision at once.)
    ///
    /// # Errors
    /// As [`solve`], without those of the route.
    pub fn solve<T: Scalar>(
        &self,
        queue: &Queue,
        a: &mut DeviceBatch<T>,
        w: &mut DeviceBuffer<T::Real>,
        status: &mut DeviceBuffer<i32>,
    ) -> Result<()> {
        let problem = Problem { batch: a.batch(), ..self.decision.problem };
        if (T::DTYPE, a.layout().order()?) != (problem.dtype, problem.n) {
            let text =
                format!("decided for {} of order {}: the batch is of another kind", problem.dtype, problem.n);
            return Err(Error::argument(text));
        }
        check_len("eigenvalues", w.len(), problem.values()?)?;
        check_len("statuses", status.len(), problem.batch)?;
        queue.check_owns(a.buffer())?;
        queue.check_owns(w)?;
        queue.check_owns(status)?;
        self.run(queue, problem.batch, Arrays { a, w, status }.typed())
    }
}

/// Solves a batch in place: `a` (batch of n by n) is overwritten by the
/// eigenvectors as columns, or destroyed for values only; `w` receives n
/// ascending eigenvalues an item, `status` one number an item, as
/// [`Status`](crate::Status) has it.
///
/// On a GPU the call returns before the work is done; nothing waits for the
/// statuses.
///
/// # Errors
/// [`Error::Argument`] where shapes do not fit or a buffer belongs to another
/// queue, [`Error::Route`] where no family can run the problem,
/// [`Error::OutOfMemory`] for the workspace, [`Error::Findings`] from the
/// executor, and faults of the driver.
pub fn solve<T: Scalar>(
    queue: &Queue,
    a: &mut DeviceBatch<T>,
    w: &mut DeviceBuffer<T::Real>,
    status: &mut DeviceBuffer<i32>,
    options: &Options,
) -> Result<Decision> {
    let (n, batch) = (a.layout().order()?, a.batch());
    let problem = Problem { dtype: T::DTYPE, n, batch, jobz: options.jobz, uplo: options.uplo };
    let decided = Decided::new(&problem, &Target::of(queue), options.route.as_ref())?;
    decided.solve(queue, a, w, status)?;
    Ok(decided.decision)
}
