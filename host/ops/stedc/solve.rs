//! Problem, plan, launch.

use super::decide::Decision;
use super::family::{Family, Operands, Plan};
use super::{Jobz, Problem, Target};
use crate::error::{Error, Result};
use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::decide::decide;
use crate::ops::{check_len, check_vectors};
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
/// [`Error::Route`] where no family can run the problem or a pin cannot be
/// honoured; [`Error::Table`], [`Error::Argument`] for malformed settings and complex types.
pub fn plan(problem: &Problem, target: &Target, options: &Options) -> Result<(Decision, Plan)> {
    let decided = Decided::new(problem, target, options)?;
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
    pub fn new(problem: &Problem, target: &Target, options: &Options) -> Result<Self> {
        problem.check_type()?;
        let (mut decision, family, plan) = decide(problem, target, options.route.as_ref())?;
        // What ran is every parameter, not what the row left open.
        decision.route = decision.route.with_params(plan.params);
        Ok(Decided { decision, family })
    }

    /// The family with every parameter, and why it was taken.
    pub fn decision(&self) -> &Decision {
        &self.decision
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
        let problem = Problem { batch: status.len(), ..self.decision.problem };
        if T::DTYPE != problem.dtype {
            let text = format!("decided for {}: the batch is of {}", problem.dtype, T::DTYPE);
            return Err(Error::argument(text));
        }
        check_len("diagonals", d.len(), problem.values()?)?;
        check_len("off-diagonals", e.len(), problem.couplings()?)?;
        check_len("eigenvalues", w.len(), problem.values()?)?;
        match (&q, problem.jobz) {
            (Some(q), Jobz::V) => check_vectors(q, problem.n, problem.batch)?,
            (None, Jobz::N) => {}
            (Some(_), Jobz::N) => {
                return Err(Error::argument("decided for values only: there are no vectors"));
            }
            (None, Jobz::V) => return Err(Error::argument("decided for vectors: they need a place")),
        }
        queue.check_owns(d)?;
        queue.check_owns(e)?;
        queue.check_owns(w)?;
        q.as_ref().map_or(Ok(()), |q| queue.check_owns(q.buffer()))?;
        queue.check_owns(status)?;
        self.run(queue, d, e, w, q, status)
    }

    /// The plan for a batch of this size, which may be a part of the one decided about.
    pub(crate) fn plan(&self, batch: usize, target: &Target) -> Result<Plan> {
        let problem = Problem { batch, ..self.decision.problem };
        self.family.plan(&problem, self.decision.route.params(), target)
    }

    /// Solves arrays that fit, of the batch decided about or a part of it.
    pub(crate) fn run<T: Real>(
        &self,
        queue: &Queue,
        d: &DeviceBuffer<T>,
        e: &DeviceBuffer<T>,
        w: &mut DeviceBuffer<T>,
        q: Option<&mut DeviceBatch<T>>,
        status: &mut DeviceBuffer<i32>,
    ) -> Result<()> {
        let Decision { problem, route, .. } = &self.decision;
        let Problem { dtype, n, batch, jobz } = problem;
        queue.traced_call(
            || format!("stedc {dtype} {jobz} n={n} batch={batch} {route}"),
            || {
                let plan = self.plan(status.len(), &Target::of(queue))?;
                if plan.problem.is_empty() {
                    // Orders of 0 are solved; there is no item without an answer.
                    return queue.fill_bytes(status, 0);
                }
                self.family.launch(queue, &plan, Operands::new(d, e, w, q, status))
            },
        )
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
/// [`Error::Argument`] where shapes do not fit or a buffer belongs to another
/// queue, [`Error::Route`] where no family can run the problem,
/// [`Error::Findings`] from the executor, and faults of the driver.
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
    let n = match (batch, &q) {
        (0, Some(q)) => q.layout().order()?,
        (0, None) => 0,
        _ => d.len() / batch,
    };
    let jobz = if q.is_some() { Jobz::V } else { Jobz::N };
    let problem = Problem { dtype: T::DTYPE, n, batch, jobz };
    let decided = Decided::new(&problem, &Target::of(queue), options)?;
    decided.solve(queue, d, e, w, q, status)?;
    Ok(decided.decision)
}
