//! Problem, plan, launch.

use super::decide::Decision;
use super::family::{Family, Operands, Plan};
use super::{Problem, Target};
use crate::error::{Error, Result};
use crate::memory::DeviceBuffer;
use crate::ops::check_len;
use crate::ops::decide::decide;
use crate::queue::Queue;
use crate::routes::Pin;
use crate::scalar::Real;

/// How to solve.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// At most so many passes of bisection; `None`: as many as full accuracy takes. An item with values that are not
    /// found by then fails. The family `cpu` does not bisect and takes no notice.
    pub passes: Option<u32>,
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
    passes: Option<u32>,
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
        Ok(Decided { decision, family, passes: options.passes })
    }

    /// The family with every parameter, and why it was taken.
    pub fn decision(&self) -> &Decision {
        &self.decision
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
        let problem = Problem { batch: status.len(), ..self.decision.problem };
        if T::DTYPE != problem.dtype {
            let text = format!("decided for {}: the batch is of {}", problem.dtype, T::DTYPE);
            return Err(Error::argument(text));
        }
        check_len("diagonals", d.len(), problem.values()?)?;
        check_len("off-diagonals", e.len(), problem.couplings()?)?;
        check_len("eigenvalues", w.len(), problem.values()?)?;
        queue.check_owns(d)?;
        queue.check_owns(e)?;
        queue.check_owns(w)?;
        queue.check_owns(status)?;
        self.run(queue, d, e, w, status)
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
        status: &mut DeviceBuffer<i32>,
    ) -> Result<()> {
        let Decision { problem, route, .. } = &self.decision;
        let Problem { dtype, n, batch } = problem;
        queue.traced_call(
            || format!("stebz {dtype} n={n} batch={batch} {route}"),
            || {
                let plan = self.plan(status.len(), &Target::of(queue))?;
                if plan.problem.is_empty() {
                    // Orders of 0 are solved; there is no item without an answer.
                    return queue.fill_bytes(status, 0);
                }
                self.family.launch(queue, &plan, self.passes, Operands::new(d, e, w, status))
            },
        )
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
/// costs some 28 n^2 (f32) or 56 n^2 (f64) steps of a count, of eight to ten instructions each.
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
    status: &mut DeviceBuffer<i32>,
    options: &Options,
) -> Result<Decision> {
    let batch = status.len();
    let n = d.len().checked_div(batch).unwrap_or(0);
    let problem = Problem { dtype: T::DTYPE, n, batch };
    let decided = Decided::new(&problem, &Target::of(queue), options)?;
    decided.solve(queue, d, e, w, status)?;
    Ok(decided.decision)
}
