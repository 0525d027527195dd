//! `steqr_cta_flat`: a cursor in place of the nest, so that the tiles of a warp sweep together.

use crate::arguments::{Arguments, Iteration};
use crate::tile::solve;
use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::layout::Items;
use device_linalg::steqr_cta::Flat;

/// Eigenvalues and vectors of real symmetric tridiagonal matrices, n <= `P`.
///
/// # Layout and shapes
/// `d`: `batch * n` diagonal elements, overwritten by the eigenvalues. `e`: `batch * (n - 1)` off-diagonal
/// elements, only read. `q` (`VECTORS`): column-major `n` by `n` matrices, leading dimension `ld`, `stride` elements
/// apart; where `back_transform` is not 0 the basis to start from, else only written: its columns become the
/// vectors. `status`: 0, the number of off-diagonals that did not converge, or -1 where `d` or `e` is not finite; where
/// it is not 0 the outputs are NaN. `sort` 0 leaves the values in the order in which they were found.
///
/// # Lanes
/// `P` lanes an item, lane = row. Collectives name the tile. Any number of items a block.
///
/// # Shared memory
/// [`steqr_elements`](device_linalg::layout::steqr_elements) elements an item with `VECTORS`: the basis.
/// `INTERLEAVED` lays the bases of a warp side by side, else each lies by itself.
///
/// # Synchronisation
/// `sync_warp` of the tile; tiles of a warp settle apart and chase in the same pass.
///
/// # Numerics
/// Implicit QL by blocks, scaled into the range of squares and back, each from its end of smaller magnitude; at most
/// `n * sweeps_per_value` sweeps. `PG` takes dsteqr's recurrence, else each rotation is an explicit similarity.
/// `wilkinson` not 0 computes the shift from the characteristic polynomial. The component of largest modulus of each
/// vector is positive.
///
/// # Safety
/// The views cover the items; the launch gives the shared memory; blocks are whole warps.
///
/// # Source
/// LAPACK's `dsteqr`; Parlett, "The Symmetric Eigenvalue Problem", chapter 8; `docs/algorithms/steqr.md`.
#[kernel(
    group(T = [f32, f64], P = [4, 8, 16, 32], PG = [false, true], VECTORS = [false, true], INTERLEAVED = [false], launch_bounds(128)),
    group(T = [f32, f64], P = [4, 8, 16], PG = [false], VECTORS = [true], INTERLEAVED = [true], launch_bounds(128))
)]
pub unsafe fn steqr_cta_flat<
    T: Real + Scalar<Real = T>,
    const P: usize,
    const PG: bool,
    const VECTORS: bool,
    const INTERLEAVED: bool,
>(
    d: GlobalMut<T>,
    e: Global<T>,
    q: GlobalMut<T>,
    status: GlobalMut<i32>,
    n: u32,
    ld: u32,
    stride: u64,
    batch: u64,
    sweeps_per_value: u32,
    wilkinson: u32,
    back_transform: u32,
    sort: u32,
) {
    let tile = Tile::native(P as u32);
    let items = Items { n, ld, stride, batch };
    let iteration = Iteration { sweeps_per_value, wilkinson, back_transform, sort };
    let arguments = Arguments { d, e, q, status, items, iteration };
    solve::<T, Flat, P, PG, VECTORS, INTERLEAVED>(tile, arguments);
}
