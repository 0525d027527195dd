//! Problem, plan, launch: the reduction in place.

use super::arrays::Arrays;
use super::{Decision, Plan, Problem};
use crate::error::Result;
use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::decide::Decided;
use crate::ops::{Target, Uplo, check_len};
use crate::queue::Queue;
use crate::routes::Pin;
use crate::scalar::Scalar;

/// How to reduce.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The triangle that is read.
    pub uplo: Uplo,
    /// The family to take; `None`: scoped pin, environment or table.
    pub route: Option<Pin>,
}

/// Where a reduction leaves its results, without gaps between items.
#[derive(Debug)]
pub struct Tridiagonal<'a, T: Scalar> {
    /// n diagonal elements an item.
    pub d: &'a mut DeviceBuffer<T::Real>,
    /// n - 1 off-diagonal elements an item.
    pub e: &'a mut DeviceBuffer<T::Real>,
    /// n factors of reflectors an item, of which n - 1 are set.
    pub tau: &'a mut DeviceBuffer<T>,
    /// 0 an item, or -1 where the triangle read holds a NaN or an infinity: then d and e are NaN.
    pub status: &'a mut DeviceBuffer<i32>,
}

/// The plan that [`solve`] would follow for a problem on a target, with the bytes of workspace. Touches no device.
///
/// # Errors
/// [`Error::Route`](crate::Error::Route) where no family can run the problem or a pin cannot be honoured;
/// [`Error::Table`](crate::Error::Table), [`Error::Argument`](crate::Error::Argument) for malformed settings.
pub fn plan(problem: &Problem, target: &Target, route: Option<&Pin>) -> Result<(Decision, Plan)> {
    Ok(Decided::decide(problem, target, route, ())?.into_parts())
}

/// Reduces a batch in place: `A = Q T Q^H` with `T` real tridiagonal.
///
/// `a` (batch of n by n) is read in one triangle and overwritten: whichever that is, column `k` below the diagonal holds
/// the vector `v` of reflector `H_k = I - tau_k v v^H`, which begins with a 1 in row `k + 1`, and `Q = H_0 H_1 ..
/// H_{n-2}`; [`ormqr`](crate::ops::ormqr) applies it with a shift of 1. The rest of `a` is destroyed. (LAPACK's
/// `zhetrd` with `uplo` = L, but for the stored 1 in the place of e.)
///
/// About 4/3 n^3 multiplications and additions an item; half of them in products of the matrix with a vector, which read
/// n^3 / 6 elements of memory.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) where shapes do not fit or a buffer belongs to another queue,
/// [`Error::Route`](crate::Error::Route) where no family can run the problem (there is none for the device `cpu`),
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) for the workspace, and faults of executor and driver.
pub fn solve<T: Scalar>(
    queue: &Queue,
    a: &mut DeviceBatch<T>,
    out: Tridiagonal<'_, T>,
    options: &Options,
) -> Result<Decision> {
    let (n, batch) = (a.layout().order()?, a.batch());
    let problem = Problem { dtype: T::DTYPE, n, batch, uplo: options.uplo };
    check_len("diagonals", out.d.len(), n * batch)?;
    check_len("off-diagonals", out.e.len(), n.saturating_sub(1) * batch)?;
    check_len("factors", out.tau.len(), n * batch)?;
    check_len("statuses", out.status.len(), batch)?;
    queue.check_owns(a.buffer())?;
    queue.check_owns(out.d)?;
    queue.check_owns(out.e)?;
    queue.check_owns(out.tau)?;
    queue.check_owns(out.status)?;
    let decided = Decided::decide(&problem, &Target::of(queue), options.route.as_ref(), ())?;
    decided.run(queue, batch, Arrays { a, out }.typed())?;
    Ok(decided.decision)
}
