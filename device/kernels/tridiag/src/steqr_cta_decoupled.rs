//! `steqr_cta_decoupled`: one lane chases one matrix.

use crate::arguments::{Arguments, Iteration};
use crate::{block, lane};
use cuda_std::prelude::*;
use device_linalg::layout::Items;

/// Rows of the basis a lane, and how many of them in shared memory, that pay best
/// (benches/results/steqr_h200_2026-11-30.jsonl): all rows where the chasing lane holds them itself.
pub const fn rows(p: usize, bytes: usize, vectors: bool) -> (usize, usize) {
    match (p, bytes) {
        _ if p <= 8 || !vectors => (p, 0),
        (16, 4) => (4, 0),
        _ => (4, 2),
    }
}

/// The shape of a block.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Order of the padded problems.
    pub p: usize,
    /// Rows of the basis a lane.
    pub rows: usize,
    /// Those of them that lie in shared memory instead of registers.
    pub shared: usize,
    /// Bytes of a number.
    pub bytes: usize,
    /// Whether there is a basis.
    pub vectors: bool,
}

impl Shape {
    /// Whether the lane that chases a problem holds all of it.
    const fn is_one_lane(self) -> bool {
        self.rows == self.p
    }

    /// Problems of a block.
    pub const fn matrices(self) -> usize {
        // At P = 32 what fills the registers, and the shared memory of two blocks.
        match (self.p, self.rows, self.shared, self.bytes) {
            (32, 1, ..) => 19,
            (32, 2, ..) => 18,
            (32, 4, 2, 8) => 20,
            (32, 4, 0, _) => 16,
            _ => 32,
        }
    }

    /// Lanes that hold the basis of a problem.
    pub const fn lanes(self) -> usize {
        self.p / self.rows
    }

    /// Threads of a block: a chasing warp, and the lanes that apply.
    pub const fn threads(self) -> usize {
        if self.is_one_lane() { 32 } else { 32 + self.matrices() * self.lanes() }
    }

    /// Bytes of shared memory of a block.
    pub const fn shared_bytes(self) -> usize {
        if self.p <= 8 {
            lane::shared_bytes(self.p, self.bytes, self.vectors)
        } else {
            block::shared_bytes(self)
        }
    }
}

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
/// `P <= 8`: one lane an item, everything in registers. Above with vectors: lane `m` of warp 0 chases problem `m` of
/// the block and logs its rotations; behind it `P / ROWS` lanes a problem hold `ROWS` rows each, `SHARED` of them in shared
/// memory and the others in registers, and apply them. Values only: one lane an item.
///
/// # Shared memory
/// [`Shape::shared_bytes`] a block: staging, or diagonals, off-diagonals, the rotation log and rows of the bases.
///
/// # Synchronisation
/// `P <= 8`: `sync_warp`. Above: a block barrier a round of the chase; all threads stay to the end.
///
/// # Numerics
/// Implicit QL in Parlett and Gray's form, from the end of smaller magnitude of the whole matrix, scaled by a power of
/// two; at most `n * sweeps_per_value` sweeps. The shift is the eigenvalue of the leading 2x2 block, whatever
/// `wilkinson` says: both formulas name the same number. The component of largest modulus of each vector is
/// positive.
///
/// # Safety
/// The views cover the items; the launch gives the shared memory and the threads of the [`Shape`].
///
/// # Source
/// LAPACK's `dsteqr`; decoupling: `docs/algorithms/steqr.md`.
#[kernel(
    group(T = [f32, f64], P = [4], ROWS = [4], SHARED = [0], VECTORS = [true, false], launch_bounds(32)),
    group(T = [f32, f64], P = [8], ROWS = [8], SHARED = [0], VECTORS = [true, false], launch_bounds(32)),
    group(T = [f32], P = [16], ROWS = [4], SHARED = [0], VECTORS = [true], launch_bounds(160, 4)),
    group(T = [f64], P = [16], ROWS = [2], SHARED = [0], VECTORS = [true], launch_bounds(288, 2)),
    group(T = [f32], P = [16], ROWS = [2], SHARED = [0], VECTORS = [true], launch_bounds(288, 2)),
    group(T = [f64], P = [16], ROWS = [4], SHARED = [0], VECTORS = [true], launch_bounds(160, 2)),
    group(T = [f32], P = [32], ROWS = [2], SHARED = [0], VECTORS = [true], launch_bounds(320, 2)),
    group(T = [f64], P = [16], ROWS = [4], SHARED = [2], VECTORS = [true], launch_bounds(160, 3)),
    group(T = [f32], P = [32], ROWS = [4], SHARED = [0], VECTORS = [true], launch_bounds(160, 2)),
    group(T = [f32], P = [32], ROWS = [4], SHARED = [2], VECTORS = [true], launch_bounds(288, 2)),
    group(T = [f64], P = [32], ROWS = [4], SHARED = [2], VECTORS = [true], launch_bounds(192, 2)),
    group(T = [f64], P = [32], ROWS = [2], SHARED = [0], VECTORS = [true], launch_bounds(320, 1)),
    group(T = [f64], P = [32], ROWS = [1], SHARED = [0], VECTORS = [true], launch_bounds(640, 1)),
    group(T = [f32, f64], P = [16], ROWS = [16], SHARED = [0], VECTORS = [false], launch_bounds(32)),
    group(T = [f32, f64], P = [32], ROWS = [32], SHARED = [0], VECTORS = [false], launch_bounds(32))
)]
pub unsafe fn steqr_cta_decoupled<
    T: Real + Scalar<Real = T>,
    const P: usize,
    const ROWS: usize,
    const SHARED: usize,
    const VECTORS: bool,
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
    let items = Items { n, ld, stride, batch };
    let iteration = Iteration { sweeps_per_value, wilkinson, back_transform, sort };
    let arguments = Arguments { d, e, q, status, items, iteration };
    if P <= 8 {
        lane::solve::<T, P, VECTORS>(arguments);
    } else {
        block::solve::<T, P, ROWS, SHARED, VECTORS>(arguments);
    }
}
