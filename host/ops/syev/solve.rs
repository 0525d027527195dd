//! Problem, plan, launch: the solve in place.

use super::decide::Decision;
use super::family::{Family, Operands, Plan};
use super::{Jobz, Problem, Target, Uplo};
use crate::error::{Error, Result};
use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::check_len;
use crate::ops::decide::decide;
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
    let decided = Decided::new(problem, target, route)?;
    let plan = decided.plan(problem.batch, target)?;
    Ok((decided.decision, plan))
}

/// A decision with the family that it names: the same shape again costs no more than its launches.
pub struct Decided {
    pub(crate) decision: Decision,
    family: &'static dyn Family,
}

impl Decided {
    /// Decides. Touches no device; reads tables and pins, this once.
    ///
    /// # Errors
    /// As [`plan`].
    pub fn new(problem: &Problem, target: &Target, route: Option<&Pin>) -> Result<Self> {
        let (decision, family, _) = decide(problem, target, route)?;
        Ok(Decided { decision, family })
    }

    /// The family, and why it was taken.
    pub fn decision(&self) -> &Decision {
        &self.decision
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
        self.run(queue, a, w, status)
    }

    /// The plan for a batch of this size, which may be a part of the one decided about.
    pub(crate) fn plan(&self, batch: usize, target: &Target) -> Result<Plan> {
        let problem = Problem { batch, ..self.decision.problem };
        self.family.plan(&problem, self.decision.route.params(), target)
    }

    /// Solves the batch in `a`, or a part of the one decided about.
    pub(crate) fn run<T: Scalar>(
        &self,
        queue: &Queue,
        a: &mut DeviceBatch<T>,
        w: &mut DeviceBuffer<T::Real>,
        status: &mut DeviceBuffer<i32>,
    ) -> Result<()> {
        self.traced(queue, || {
            let plan = self.plan(a.batch(), &Target::of(queue))?;
            if plan.problem.is_empty() {
                // Orders of 0 are solved; there is no item without an answer.
                return queue.fill_bytes(status, 0);
            }
            self.family.launch(queue, &plan, Operands::new(a, w, status))
        })
    }

    fn traced(&self, queue: &Queue, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let Decision { problem, route, .. } = &self.decision;
        let Problem { dtype, n, batch, jobz, .. } = problem;
        queue.traced_call(|| format!("syev {dtype} {jobz} n={n} batch={batch} {route}"), work)
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
