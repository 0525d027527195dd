//! `syev_cta_fused`: the whole eigenproblem in one launch, chase and application decoupled.

use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::layout::Items;
use device_linalg::load::{largest_element, load_rows, staging_elements};
use device_linalg::output::{largest_component, phase_factor};
use device_linalg::reduce::{Rows, Vectors, form_q, tail_elements};
use device_linalg::rows::{SharedRows, broadcast, row_of};
use device_linalg::steqr_cta::decoupled::{Chaser, LaneRows, Track, track_bytes};

/// Sweeps that a round of the chase logs: as many as keep the log near 16 KB for f32.
pub const fn sweeps_a_round(p: usize) -> usize {
    match p {
        32 => 1,
        16 => 2,
        _ => 4,
    }
}

/// Problems of a block: what leaves room for a second block in the registers, where that goes.
pub const fn matrices(p: usize, rows: usize, scalar_bytes: usize) -> usize {
    match (p, rows, scalar_bytes) {
        (8, _, 16) | (16, _, 8) => 16,
        (8, ..) | (16, _, 4) => 32,
        (16, ..) => 8,
        (32, 2, _) => 14,
        _ => 7,
    }
}

/// Threads of a block: a chasing warp, and those that hold the rows.
pub const fn threads(p: usize, rows: usize, scalar_bytes: usize) -> usize {
    32 + matrices(p, rows, scalar_bytes) * p / rows
}

/// Shared elements of a tile: first the staging of the load, then two vectors and the tails of the rows.
const fn tile_elements(p: usize, rows: usize, scalar_bytes: usize) -> usize {
    let (staging, reduction) = (staging_elements(p), 2 * p + tail_elements(p, rows, scalar_bytes));
    if staging > reduction { staging } else { reduction }
}

/// Bytes for the index of each item, up to the alignment of what follows.
const fn items_bytes(matrices: usize) -> usize {
    (matrices * size_of::<u64>()).next_multiple_of(16)
}

/// Bytes of shared memory of a block: staging for each tile, and the track.
pub const fn shared_bytes(p: usize, rows: usize, scalar_bytes: usize, real_bytes: usize) -> usize {
    let matrices = matrices(p, rows, scalar_bytes);
    let tiles = matrices * tile_elements(p, rows, scalar_bytes) * scalar_bytes;
    tiles + items_bytes(matrices) + track_bytes(real_bytes, p, matrices, sweeps_a_round(p))
}

/// Eigenvalues and vectors of small symmetric or Hermitian matrices, one read and one write of each.
///
/// # Layout and shapes
/// `a`: `batch` column-major matrices of order `n <= P`, leading dimension `ld`, `stride` elements apart; the
/// triangle named by `upper` (0: lower) is read. With `VECTORS` overwritten by the eigenvectors, else left as it
/// is. `w`: `batch * n` eigenvalues, ascending. `status`: `batch` elements: 0, the number of couplings
/// that did not converge, or -1 where an element read is not finite; where it is not 0 the outputs are NaN.
///
/// # Lanes
/// Warp 0 chases: its lane `m` the tridiagonal matrix of the block's item `m`, of [`matrices`]. Behind it `P / ROWS`
/// lanes an item hold `ROWS` rows each in registers, reduce, and apply what is logged.
///
/// # Shared memory
/// [`shared_bytes`]: staging for load and reflectors; diagonals, off-diagonals and the rotation log.
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
/// The views cover the items; the launch gives the shared memory and the [`threads`].
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
    let block = BlockMemory::<T, P, ROWS>::carve();
    let thread = thread::thread_idx_x();
    if thread < 32 {
        block.chase::<VECTORS>(thread, n, n * sweeps_per_value);
    } else {
        let items = Items { n, ld, stride, batch };
        let tile = Tile::native((P / ROWS) as u32);
        let local = (thread - 32) / (P / ROWS) as u32;
        // Through a shuffle: the compiler would keep the 64-bit copy of the index for the rest of the kernel.
        let index = tile.shuffle_idx(local, 0);
        if tile.rank() == 0 {
            let first = thread::block_idx_x() as u64 * const { matrices(P, ROWS, size_of::<T>()) as u64 };
            block.item.set(index, first + index as u64);
        }
        tile.sync();
        block.solve::<VECTORS>(Problem { tile, local, items }, (a, w, status), upper != 0);
    }
}

/// Marks an item whose rows stand in reverse order in the track.
const REVERSED: u64 = 1 << 63;
/// Marks an item that is not finite.
const BAD: u64 = 1 << 62;

/// A tile and its item.
#[derive(Clone, Copy)]
struct Problem {
    tile: Tile,
    /// Index in the block.
    local: u32,
    items: Items,
}

/// What a tile knows of its tridiagonal matrix.
#[derive(Clone, Copy, Debug)]
struct Reduction<R, const ROWS: usize> {
    /// Diagonal elements of this lane's rows.
    d: [R; ROWS],
    /// Couplings of this lane's rows with those above them.
    e: [R; ROWS],
    /// Factor that brings the norm to 1.
    scale: R,
    /// Whether rows go to the track in reverse order.
    reversed: bool,
    /// Whether the input was not finite.
    bad: bool,
}

/// The block's shared memory.
#[derive(Clone, Copy, Debug)]
struct BlockMemory<T: Scalar, const P: usize, const ROWS: usize> {
    all: Shared<T>,
    /// Index of each tile's item, with [`REVERSED`] and [`BAD`]: read again in each phase, for no phase has a register
    /// to spare for what another one needs.
    item: Shared<u64>,
    track: Track<T::Real>,
}

impl<T: Scalar, const P: usize, const ROWS: usize> BlockMemory<T, P, ROWS> {
    /// Problems of the block.
    const MATRICES: usize = matrices(P, ROWS, size_of::<T>());

    #[inline(always)]
    fn carve() -> Self {
        let elements = Self::MATRICES * const { tile_elements(P, ROWS, size_of::<T>()) };
        let behind = elements * size_of::<T>();
        let (matrices, sweeps) = (Self::MATRICES, sweeps_a_round(P));
        // SAFETY: the launch gives shared_bytes: the staging, whose size is a multiple of 16, the items, the track.
        unsafe {
            BlockMemory {
                all: dynamic_shared_mem::<T>(0, elements),
                item: dynamic_shared_mem::<u64>(behind, matrices),
                track: Track::carve(behind + items_bytes(matrices), P, matrices, sweeps),
            }
        }
    }

    /// The staging of one tile.
    #[inline(always)]
    fn staging(&self, local: u32) -> Shared<T> {
        self.all.at(local * const { tile_elements(P, ROWS, size_of::<T>()) as u32 })
    }

    /// The role of the chasing warp.
    #[inline(always)]
    fn chase<const VECTORS: bool>(&self, lane: u32, n: u32, max_sweeps: u32) {
        let chases = lane < Self::MATRICES as u32;
        thread::sync_roles_or(false);
        let mut chaser = Chaser::idle(lane);
        if chases {
            chaser = Chaser::start(&self.track, lane, self.track.first(lane), n, max_sweeps);
        }
        if VECTORS {
            self.track.lead(&mut chaser, chases);
        } else {
            while chaser.is_active() {
                chaser.sweep::<T::Real, false>(&self.track, 0, 0);
            }
            if chases {
                chaser.report(&self.track);
            }
            thread::sync_roles_or(false);
        }
    }

    /// The role of the other warps.
    #[inline(always)]
    fn solve<const VECTORS: bool>(
        &self,
        problem: Problem,
        (a, w, status): (GlobalMut<T>, GlobalMut<T::Real>, GlobalMut<i32>),
        upper: bool,
    ) {
        let Problem { tile, local, items } = problem;
        self.reduce_and_publish::<VECTORS>(problem, a, upper);
        thread::sync_roles_or(false);

        let mut rows = [[T::ZERO; P]; ROWS];
        if VECTORS {
            // The chase of the first round goes on meanwhile.
            let (matrix, there) = self.matrix(problem, a);
            let q = form_q::<T, P, ROWS>(tile, matrix, there, self.staging(local));
            let reversed = self.item.get(local) & REVERSED != 0;
            for r in 0..ROWS {
                for c in 0..P {
                    let straight = q.slots[r][(c + 1) % P];
                    let turned = q.slots[r][(P - c) % P];
                    let re = if reversed { turned.re() } else { straight.re() };
                    let im = if reversed { turned.im() } else { straight.im() };
                    rows[r][c] = T::from_parts(re, im);
                }
            }
            let shared = SharedRows::none();
            self.track.follow(local, true, &mut LaneRows::<T, P, ROWS, 0> { registers: &mut rows, shared });
        } else {
            thread::sync_roles_or(false);
        }
        // Every lane of a tile takes the same branch.
        let marked = self.item.get(local);
        let item = marked & !(REVERSED | BAD);
        let (reversed, bad) = (marked & REVERSED != 0, marked & BAD != 0);
        if item < items.batch {
            let unconverged = self.track.unconverged(local);
            let failed = bad || unconverged != 0;
            let values = w.at(item as usize * items.n as usize);
            let positions = self.write_values(problem, reversed, failed, values);
            if VECTORS {
                let (matrix, _) = self.matrix(problem, a);
                self.write_vectors(problem, &positions, failed, matrix, &rows);
            }
            if tile.rank() == 0 {
                status.set(item as usize, if bad { -1 } else { unconverged as i32 });
            }
        }
    }

    /// The tile's matrix; an empty one past the batch.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn matrix(&self, problem: Problem, a: GlobalMut<T>) -> (GlobalMut<T>, Items) {
        let Problem { local, items, .. } = problem;
        let item = self.item.get(local) & !(REVERSED | BAD);
        let live = item < items.batch;
        let offset = if live { (item * items.stride) as usize } else { 0 };
        (a.at(offset), if live { items } else { Items { n: 0, ..items } })
    }

    #[inline(always)]
    fn reduce_and_publish<const VECTORS: bool>(&self, problem: Problem, a: GlobalMut<T>, upper: bool) {
        let Problem { tile, local, items } = problem;
        let reduction = self.reduce::<VECTORS>(problem, a, upper);
        self.publish(tile, local, items.n, &reduction);
        if tile.rank() == 0 {
            let reversed = if reduction.reversed { REVERSED } else { 0 };
            let bad = if reduction.bad { BAD } else { 0 };
            self.item.set(local, self.item.get(local) | reversed | bad);
        }
    }

    #[inline(always)]
    fn reduce<const VECTORS: bool>(
        &self,
        problem: Problem,
        a: GlobalMut<T>,
        upper: bool,
    ) -> Reduction<T::Real, ROWS> {
        let Problem { tile, local, .. } = problem;
        let (matrix, items) = self.matrix(problem, a);
        let zero = <T::Real as Real>::ZERO;
        let one = <T::Real as Real>::ONE;
        let staging = self.staging(local);
        let mut rows = Rows { slots: load_rows::<T, P, ROWS>(tile, matrix, items, upper, staging) };
        let largest = largest_element(tile, &rows.slots);
        let scale = largest.unwrap_or(one).normalizer();
        let bad = largest.is_none();
        let mut reduction = Reduction { d: [zero; ROWS], e: [zero; ROWS], scale, reversed: false, bad };
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
        let column = |k: u32| self.matrix(problem, a).0.at(k as usize * items.ld as usize);
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
        let mut d = [T::ZERO; ROWS];
        for r in 0..ROWS {
            d[r] = T::from_real(reduction.d[r]);
        }
        let d_first = broadcast(tile, &d, 0).re();
        let d_last = broadcast(tile, &d, items.n.saturating_sub(1)).re();
        reduction.reversed = d_last.abs() < d_first.abs();
        reduction
    }

    /// Writes the tridiagonal matrix to the track: rows `P - n..P`, or `0..n` reversed; the rest is zero.
    ///
    /// So a column's place in the registers of a row does not depend on `n`.
    #[inline(always)]
    fn publish(&self, tile: Tile, local: u32, n: u32, reduction: &Reduction<T::Real, ROWS>) {
        let wrap = P as u32 - 1;
        let zero = <T::Real as Real>::ZERO;
        let up = <T::Real as Real>::HIGH_NORM;
        let offset = P as u32 - n;
        for r in 0..ROWS {
            let row = row_of(tile, r);
            let inside = row < n;
            // Both maps take the P rows to the P places, one to one; a coupling stands at the smaller of its places.
            let turned = if inside { n - 1 - row } else { row };
            let at_d = if reduction.reversed { turned } else { (row + offset) & wrap };
            let at_e = if reduction.reversed { turned } else { (row + offset).wrapping_sub(1) & wrap };
            let d = if inside { reduction.d[r] * up } else { zero };
            let e = if inside && row > 0 { reduction.e[r] * up } else { zero };
            self.track.d.set(at_d * Self::MATRICES as u32 + local, d);
            self.track.e.set(at_e * Self::MATRICES as u32 + local, e);
        }
        if tile.rank() == 0 {
            self.track.set_first(local, if reduction.reversed { 0 } else { offset });
            self.track.scales.set(local, reduction.scale.recip());
        }
    }

    /// Writes the eigenvalues in ascending order; returns the positions of the track rows that are this lane's, at
    /// least `n` for padding.
    #[inline(always)]
    fn write_values(
        &self,
        problem: Problem,
        reversed: bool,
        failed: bool,
        values: GlobalMut<T::Real>,
    ) -> [u32; ROWS] {
        let Problem { tile, local, items, .. } = problem;
        let first = if reversed { 0 } else { P as u32 - items.n };
        let value = |i: u32| {
            let padded = i < first || i >= first + items.n;
            let d = self.track.d.get(i * Self::MATRICES as u32 + local);
            if padded { <T::Real as Real>::INFINITY } else { d }
        };
        let mut own = [<T::Real as Real>::ZERO; ROWS];
        let mut positions = [0; ROWS];
        for r in 0..ROWS {
            own[r] = value(row_of(tile, r));
        }
        for i in 0..P as u32 {
            let other = value(i);
            for r in 0..ROWS {
                let before = other < own[r] || (other == own[r] && i < row_of(tile, r));
                positions[r] += before as u32;
            }
        }
        for r in 0..ROWS {
            if positions[r] < items.n {
                // Two steps: the product of both powers of two may be past the largest number.
                let x = own[r] * <T::Real as Real>::HIGH_NORM.recip() * self.track.scales.get(local);
                values.set(positions[r] as usize, if failed { <T::Real as Real>::NAN } else { x });
            }
        }
        positions
    }

    /// Writes the columns to their places with the sign convention.
    #[inline(always)]
    fn write_vectors(
        &self,
        problem: Problem,
        positions: &[u32; ROWS],
        failed: bool,
        matrix: GlobalMut<T>,
        rows: &[[T; P]; ROWS],
    ) {
        let Problem { tile, items, .. } = problem;
        let nan = <T::Real as Real>::NAN;
        let lanes = const { P / ROWS };
        for c in 0..P {
            let target = tile.shuffle_idx(positions[c / lanes], (c % lanes) as u32);
            // A branch a column: all columns at once would take the registers that the rows need.
            if target < items.n {
                let mut held = [T::ZERO; ROWS];
                for r in 0..ROWS {
                    held[r] = rows[r][c];
                }
                let (x, largest) = largest_component(tile, &held);
                let factor = if failed { T::from_parts(nan, nan) } else { phase_factor(x) };
                let column = matrix.at(target as usize * items.ld as usize);
                for r in 0..ROWS {
                    let row = row_of(tile, r);
                    if row < items.n {
                        let x = held[r].mul(factor);
                        // The largest component is real by construction, up to a rounding error that goes here.
                        column.set(
                            row as usize,
                            if row == largest && !failed { T::from_real(x.re()) } else { x },
                        );
                    }
                }
            }
        }
    }
}
