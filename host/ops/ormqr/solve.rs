//! Problem, plan, launch: reflectors applied in place.

use super::arrays::Arrays;
use super::{Decision, Plan, Problem};
use crate::error::{Error, Result};
use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::Target;
use crate::ops::decide::Decided;
use crate::queue::Queue;
use crate::routes::Pin;
use crate::scalar::Scalar;

/// How to apply.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `Q^H` instead of `Q`.
    pub adjoint: bool,
    /// How many rows below the diagonal a reflector's vector begins: 0 for those of a QR factorization, 1 for those of
    /// [`sytrd`](crate::ops::sytrd).
    pub shift: usize,
    /// The family to take; `None`: scoped pin, environment or table.
    pub route: Option<Pin>,
}

/// The plan that [`solve`] would follow for a problem on a target, with the bytes of workspace. Touches no device.
///
/// # Errors
/// [`Error::Route`] where no family can run the problem or a pin cannot be honoured; [`Error::Table`],
/// [`Error::Argument`] for malformed settings.
pub fn plan(problem: &Problem, target: &Target, route: Option<&Pin>) -> Result<(Decision, Plan)> {
    Ok(Decided::decide(problem, target, route, ())?.into_parts())
}

/// `c := Q c` or `Q^H c` in place, where `Q = H_0 H_1 ..` and `H_k = I - tau_k v_k v_k^H`.
///
/// `v` (batch of n by k) holds `v_k` in column `k` below row `k + shift`; there it is 1, whatever is stored, and nothing
/// above is read. `tau`: k factors an item, or more where the items of `tau` are longer (the rest is not read). `c`: batch
/// of n by any number of columns.
///
/// About 4 n k columns multiplications and additions an item.
///
/// # Errors
/// [`Error::Argument`] where shapes do not fit or a buffer belongs to another queue, [`Error::Route`] where no family can
/// run the problem (there is none for the device `cpu`), [`Error::OutOfMemory`] for the workspace, and faults of executor
/// and driver.
pub fn solve<T: Scalar>(
    queue: &Queue,
    v: &DeviceBatch<T>,
    tau: &DeviceBuffer<T>,
    c: &mut DeviceBatch<T>,
    options: &Options,
) -> Result<Decision> {
    let problem = problem(v, tau, c, options.shift)?;
    queue.check_owns(v.buffer())?;
    queue.check_owns(tau)?;
    queue.check_owns(c.buffer())?;
    let decided = Decided::decide(&problem, &Target::of(queue), options.route.as_ref(), ())?;
    let Options { shift, adjoint, .. } = *options;
    decided.run(queue, problem.batch, Arrays { v, tau, c, shift, adjoint }.typed())?;
    Ok(decided.decision)
}

fn problem<T: Scalar>(
    v: &DeviceBatch<T>,
    tau: &DeviceBuffer<T>,
    c: &DeviceBatch<T>,
    shift: usize,
) -> Result<Problem> {
    let (n, batch) = (c.rows(), c.batch());
    if (v.rows(), v.batch()) != (n, batch) {
        return Err(Error::argument(format!(
            "{} items of {} rows for {batch} reflectors' items of {n} rows",
            v.batch(),
            v.rows()
        )));
    }
    // Past the last row there is nothing to reflect.
    let reflectors = v.cols().min(n.saturating_sub(shift));
    if batch > 0 && (!tau.len().is_multiple_of(batch) || tau.len() / batch < reflectors) {
        let text =
            format!("the factors have {} elements, {batch} items of {reflectors} are needed", tau.len());
        return Err(Error::argument(text));
    }
    Ok(Problem { dtype: T::DTYPE, n, columns: c.cols(), reflectors, batch })
}
