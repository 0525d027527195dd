//! `syev_cta`: tridiagonal solve and back-transformation after `sytrd_cta`, chase and application decoupled.

use crate::resident::{self, Arrays, BlockMemory, Problem, Reduction, Source};
use cuda_std::prelude::*;
use device_linalg::layout::Items;
use device_linalg::rows::row_of;

/// Eigenvalues and vectors of the matrices that `sytrd_cta` reduced.
///
/// # Layout and shapes
/// `a`: as `sytrd_cta` leaves it; overwritten by the eigenvectors, column by column (`VECTORS`), else only read.
/// `w`: `batch * n` eigenvalues, ascending; on entry the first of an item holds its scale. `status`: `batch` elements; -1
/// on entry marks an item without a result; on return otherwise the number of off-diagonals that did not converge.
/// Outputs of an item whose status is not 0 are NaN.
///
/// # Lanes
/// Warp 0 chases: its lane `m` the tridiagonal matrix of the block's item `m`. Behind it `P / ROWS` lanes an item hold
/// `ROWS` rows of the basis each, `SHARED` of them in shared memory and the others in registers: no reduction has to fit
/// beside them, so more items are in flight than in `syev_cta_fused`.
///
/// # Shared memory
/// [`Shape::shared_bytes`](resident::Shape::shared_bytes): a vector and rows of the bases; diagonals, off-diagonals and
/// the rotation log.
///
/// # Synchronisation
/// `sync_warp` of the tile; a barrier between the roles once the tridiagonal matrices are there, and one a round of
/// the chase. All threads stay to the end.
///
/// # Numerics
/// As `syev_cta_fused`.
///
/// # Safety
/// The views cover the items; the launch gives the shared memory and the threads of the [`Shape`](resident::Shape).
///
/// # Source
/// LAPACK's `dsteqr` and `zungtr`; decoupling: `docs/algorithms/steqr.md`.
#[kernel(
    group(T = [f32], P = [8], ROWS = [2], SHARED = [0], VECTORS = [true, false], launch_bounds(160, 4)),
    group(T = [f64], P = [8], ROWS = [4], SHARED = [0], VECTORS = [true, false], launch_bounds(96, 4)),
    group(T = [c32], P = [8], ROWS = [2], SHARED = [0], VECTORS = [true, false], launch_bounds(160, 3)),
    group(T = [c64], P = [8], ROWS = [2], SHARED = [0], VECTORS = [true, false], launch_bounds(96, 4)),
    group(T = [f32], P = [16], ROWS = [4], SHARED = [2], VECTORS = [true, false], launch_bounds(160, 4)),
    group(T = [f64], P = [16], ROWS = [4], SHARED = [2], VECTORS = [true, false], launch_bounds(160, 3)),
    group(T = [c32], P = [16], ROWS = [4], SHARED = [2], VECTORS = [true, false], launch_bounds(160, 2)),
    group(T = [c64], P = [16], ROWS = [1], SHARED = [0], VECTORS = [true, false], launch_bounds(160, 2)),
    group(T = [f32], P = [32], ROWS = [4], SHARED = [2], VECTORS = [true, false], launch_bounds(256, 2)),
    group(T = [f64, c32], P = [32], ROWS = [2], SHARED = [1], VECTORS = [true, false], launch_bounds(256, 2)),
    group(T = [c64], P = [32], ROWS = [2], SHARED = [1], VECTORS = [true, false], launch_bounds(256, 1))
)]
pub unsafe fn syev_cta<
    T: Scalar,
    const P: usize,
    const ROWS: usize,
    const SHARED: usize,
    const VECTORS: bool,
>(
    a: GlobalMut<T>,
    w: GlobalMut<T::Real>,
    status: GlobalMut<i32>,
    n: u32,
    ld: u32,
    stride: u64,
    batch: u64,
    sweeps_per_value: u32,
) {
    let (arrays, items) = (Arrays { a, w, status }, Items { n, ld, stride, batch });
    resident::solve::<T, P, ROWS, SHARED, VECTORS>(arrays, items, sweeps_per_value, Reduced(arrays));
}

/// Matrices as `sytrd_cta` left them.
struct Reduced<T: Scalar>(Arrays<T>);

impl<T: Scalar, const P: usize, const ROWS: usize, const SHARED: usize> Source<T, P, ROWS, SHARED>
    for Reduced<T>
{
    #[inline(always)]
    fn tridiagonal(
        &self,
        block: &BlockMemory<T, P, ROWS, SHARED>,
        problem: Problem,
    ) -> Reduction<T::Real, ROWS> {
        let Arrays { a, w, status } = self.0;
        let (matrix, Items { n, ld, .. }) = block.matrix(problem, a);
        let mut reduction = Reduction::zero();
        if n == 0 {
            return reduction;
        }
        let item = block.item_of(problem) as usize;
        reduction.bad = status.get(item) < 0;
        if reduction.bad {
            return reduction;
        }
        reduction.unscale = w.get(item * n as usize);
        for r in 0..ROWS {
            let row = row_of(problem.tile, r);
            if row < n {
                reduction.d[r] = matrix.get((row * ld + row) as usize).re();
            }
            if row > 0 && row < n {
                reduction.e[r] = matrix.get(((row - 1) * ld + row) as usize).re();
            }
        }
        reduction.direct::<T>(problem.tile, n);
        reduction
    }
}
