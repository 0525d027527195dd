//! `syev_cta_fused`: the whole eigenproblem in one launch, chase and application decoupled.

use crate::resident::{self, Arrays, BlockMemory, Problem, Reduction, Source};
use cuda_std::prelude::*;
use device_linalg::layout::Items;
use device_linalg::load::{largest_element, load_rows};
use device_linalg::reduce::{Rows, Vectors};
use device_linalg::rows::row_of;

/// Eigenvalues and vectors of small symmetric or Hermitian matrices, one read and one write of each.
///
/// # Layout and shapes
/// `a`: `batch` column-major matrices of order `n <= P`, leading dimension `ld`, `stride` elements apart; the
/// triangle named by `upper` (0: lower) is read. With `VECTORS` overwritten by the eigenvectors, else left as it
/// is. `w`: `batch * n` eigenvalues, ascending. `status`: `batch` elements: 0, the number of couplings
/// that did not converge, or -1 where an element read is not finite; where it is not 0 the outputs are NaN.
///
/// # Lanes
/// Warp 0 chases: its lane `m` the tridiagonal matrix of the block's item `m`, of the shape's. Behind it `P / ROWS`
/// lanes an item hold `ROWS` rows each in registers, reduce, and apply what is logged.
///
/// # Shared memory
/// [`Shape::shared_bytes`](resident::Shape::shared_bytes): staging for load and reflectors; diagonals, off-diagonals and the rotation log.
///
/// # Synchronisation
/// `sync_warp` of the tile in the reduction; a barrier between the roles once the tridiagonal matrices are there, and
/// one a round of the chase. All threads stay to the end.
///
/// # Numerics
/// Scaled by a power of two to norm 1 and back. QL from the end of smaller magnitude: decided once a matrix, by
/// reversing it. Backward stable by norm. The component of largest modulus of each vector is real and positive.
///
/// # Safety
/// The views cover the items; the launch gives the shared memory and the threads of the [`Shape`](resident::Shape).
///
/// # Source
/// LAPACK's `zhetd2`, `dsteqr`; decoupling: `docs/algorithms/steqr.md`.
#[kernel(
    group(T = [f32], P = [8], ROWS = [2], VECTORS = [true, false], launch_bounds(160, 4)),
    group(T = [f64], P = [8], ROWS = [4], VECTORS = [true, false], launch_bounds(96, 4)),
    group(T = [c32], P = [8], ROWS = [2], VECTORS = [true, false], launch_bounds(160, 3)),
    group(T = [c64], P = [8], ROWS = [2], VECTORS = [true, false], launch_bounds(96, 4)),
    group(T = [f32], P = [16], ROWS = [2], VECTORS = [true, false], launch_bounds(288, 2)),
    group(T = [f64, c32], P = [16], ROWS = [2], VECTORS = [true, false], launch_bounds(160, 3)),
    group(T = [c64], P = [16], ROWS = [1], VECTORS = [true, false], launch_bounds(160, 2)),
    group(T = [f32], P = [32], ROWS = [2], VECTORS = [true, false], launch_bounds(256, 2)),
    group(T = [f64, c32], P = [32], ROWS = [1], VECTORS = [true, false], launch_bounds(256, 2)),
    group(T = [c64], P = [32], ROWS = [1], VECTORS = [true, false], launch_bounds(256, 1))
)]
pub unsafe fn syev_cta_fused<T: Scalar, const P: usize, const ROWS: usize, const VECTORS: bool>(
    a: GlobalMut<T>,
    w: GlobalMut<T::Real>,
    status: GlobalMut<i32>,
    n: u32,
    ld: u32,
    stride: u64,
    batch: u64,
    upper: u32,
    sweeps_per_value: u32,
) {
    let (arrays, items) = (Arrays { a, w, status }, Items { n, ld, stride, batch });
    let reducing = Reducing::<T, VECTORS> { a, upper: upper != 0 };
    resident::solve::<T, P, ROWS, 0, VECTORS>(arrays, items, sweeps_per_value, reducing);
}

/// Reduces matrices as they are; the reflectors take their place in memory.
struct Reducing<T: Scalar, const VECTORS: bool> {
    a: GlobalMut<T>,
    upper: bool,
}

impl<T: Scalar, const P: usize, const ROWS: usize, const VECTORS: bool> Source<T, P, ROWS, 0>
    for Reducing<T, VECTORS>
{
    #[inline(always)]
    fn tridiagonal(&self, block: &BlockMemory<T, P, ROWS, 0>, problem: Problem) -> Reduction<T::Real, ROWS> {
        let (a, upper) = (self.a, self.upper);
        let Problem { tile, local, .. } = problem;
        let (matrix, items) = block.matrix(problem, a);
        let one = <T::Real as Real>::ONE;
        let staging = block.staging(local);
        let mut rows = Rows { slots: load_rows::<T, P, ROWS>(tile, matrix, items, upper, staging) };
        let largest = largest_element(tile, &rows.slots);
        let scale = largest.unwrap_or(one).normalizer();
        let bad = largest.is_none();
        let mut reduction = Reduction { unscale: scale.recip(), bad, ..Reduction::zero() };
        if reduction.bad {
            return reduction;
        }
        for r in 0..ROWS {
            for c in 0..P {
                rows.slots[r][c] = rows.slots[r][c].scale(scale);
            }
        }
        let vectors = Vectors { v: staging, w: staging.at(P as u32), tail: staging.at(2 * P as u32) };
        // The pointer anew for each column: two registers less through the update.
        let column = |k: u32| block.matrix(problem, a).0.at(k as usize * items.ld as usize);
        let last = rows.reduce(tile, items.n, vectors, |step| {
            let k = step.k;
            for r in 0..ROWS {
                let row = row_of(tile, r);
                reduction.d[r] = if row == k { step.diagonal[r] } else { reduction.d[r] };
                reduction.e[r] = if row == k + 1 { step.reflector.beta } else { reduction.e[r] };
                if VECTORS && row == k {
                    column(k + 1).set(row as usize, step.reflector.tau);
                }
                if VECTORS && row > k + 1 && row < items.n {
                    column(k).set(row as usize, step.reflector.v[r]);
                }
            }
        });
        for r in 0..ROWS {
            let is_last = row_of(tile, r) + 1 == items.n;
            reduction.d[r] = if is_last { last[r] } else { reduction.d[r] };
        }
        reduction.direct::<T>(tile, items.n);
        reduction
    }
}
