//! Problem, plan, launch: the product on device memory.

use super::arrays::operands;
use super::{Decided, Decision, Op, Plan, Problem, Target};
use crate::error::{Error, Result};
use crate::memory::DeviceBatch;
use crate::queue::Queue;
use crate::routes::Pin;
use crate::scalar::Scalar;

/// The plan that [`gemm`] would follow for a problem on a target. Touches no device.
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
        Ok(Decided::decide(problem, target, route, ())?.with_every_parameter())
    }

    /// Multiplies as [`gemm`] does. Type, ops, m, n and k are those of the problem; layouts and batch are free.
    ///
    /// # Errors
    /// As [`gemm`], without those of the route.
    pub fn gemm<T: Scalar>(
        &self,
        queue: &Queue,
        alpha: T,
        a: &DeviceBatch<T>,
        b: &DeviceBatch<T>,
        beta: T,
        c: &mut DeviceBatch<T>,
    ) -> Result<()> {
        let wanted = self.decision.problem;
        let problem = Problem::of(T::DTYPE, wanted.op_a, wanted.op_b, a.layout(), b.layout(), c.layout())?;
        if problem != (Problem { batch: problem.batch, ..wanted }) {
            let Problem { dtype, m, n, k, .. } = wanted;
            let text =
                format!("decided for {dtype}, m = {m}, n = {n}, k = {k}: the batch is of another kind");
            return Err(Error::argument(text));
        }
        queue.check_owns(a.buffer())?;
        queue.check_owns(b.buffer())?;
        queue.check_owns(c.buffer())?;
        self.run(queue, problem.batch, operands(alpha, a, b, beta, c))
    }
}

/// C = alpha op(A) op(B) + beta C for each item of a batch.
///
/// | array | shape of an item | on entry | on return |
/// |---|---|---|---|
/// | `a` | m by k, or k by m where `op_a` transposes | A; not read where alpha is 0 | the same |
/// | `b` | k by n, or n by k where `op_b` transposes | B; not read where alpha is 0 | the same |
/// | `c` | m by n | C; not read where beta is 0 | the sum |
///
/// All are column-major with any leading dimension and stride; what lies between columns and items is not touched. Any
/// of m, n, k and the batch may be 0; without k, C becomes beta C. The error of an element is at most some k eps times
/// the product of absolute values, |alpha| |op(A)| |op(B)| + |beta| |C|.
///
/// On a GPU the call returns before the work is done. It takes no workspace and m n k multiply-adds an item.
///
/// # Errors
/// [`Error::Argument`] where shapes do not fit or a buffer belongs to another queue, [`Error::Route`] where no family
/// can run the problem, [`Error::Findings`] from the executor, and faults of the driver.
pub fn gemm<T: Scalar>(
    queue: &Queue,
    (op_a, op_b): (Op, Op),
    alpha: T,
    a: &DeviceBatch<T>,
    b: &DeviceBatch<T>,
    beta: T,
    c: &mut DeviceBatch<T>,
    route: Option<&Pin>,
) -> Result<Decision> {
    let problem = Problem::of(T::DTYPE, op_a, op_b, a.layout(), b.layout(), c.layout())?;
    let decided = Decided::new(&problem, &Target::of(queue), route)?;
    decided.gemm(queue, alpha, a, b, beta, c)?;
    Ok(decided.decision)
}
