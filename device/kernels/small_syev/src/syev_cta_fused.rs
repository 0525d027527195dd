//! `syev_cta_fused`: the whole eigenproblem in one launch, chase and application decoupled.

use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::layout::Items;
use device_linalg::load::{chunk, largest_element, load_row, staging_elements};
use device_linalg::output::{Phase, column_phase, write_nan};
use device_linalg::reduce::{Rows, Vectors, form_q};
use device_linalg::steqr_cta::decoupled::{Chaser, Track, apply_round, track_bytes};

/// Sweeps that a round of the chase logs: as many as keep the log near 16 KB for f32.
pub const fn sweeps_a_round(p: usize) -> usize {
    match p {
        32 => 1,
        16 => 2,
        _ => 4,
    }
}

/// Bytes of shared memory of a block: staging for `matrices` tiles, and the track.
pub const fn shared_bytes(scalar_bytes: usize, real_bytes: usize, p: usize, matrices: usize) -> usize {
    matrices * staging_elements(p) * scalar_bytes + track_bytes(real_bytes, p, matrices, sweeps_a_round(p))
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
/// `P` lanes an item, lane = row, in registers; `MATRICES` items a block. Lane `m` of warp 0 also chases item
/// `m`'s tridiagonal matrix.
///
/// # Shared memory
/// [`shared_bytes`]: staging for load, reflectors and signs; diagonals, off-diagonals and the rotation log.
///
/// # Synchronisation
/// `sync_warp` of the tile in the reduction; a block barrier a round of the chase. All threads stay to the end.
///
/// # Numerics
/// Scaled by a power of two to norm 1 and back. QL from the end of smaller magnitude: decided once a matrix, by
/// reversing it. Backward stable by norm. The component of largest modulus of each vector is real and positive.
///
/// # Safety
/// The views cover the items; the launch gives the shared memory; blocks are `P * MATRICES` threads.
///
/// # Source
/// LAPACK's `zhetd2`, `dsteqr`; decoupling: `docs/algorithms/steqr.md`.
#[kernel(
    group(T = [f32], P = [8], MATRICES = [32], VECTORS = [true, false], launch_bounds(256, 3)),
    group(T = [f32], P = [16], MATRICES = [16], VECTORS = [true], launch_bounds(256, 2)),
    group(T = [f32], P = [16], MATRICES = [16], VECTORS = [false], launch_bounds(256, 3)),
    group(T = [f32], P = [32], MATRICES = [16], VECTORS = [true, false], launch_bounds(512, 1)),
    group(T = [f64, c32], P = [8], MATRICES = [32], VECTORS = [true, false], launch_bounds(256, 2)),
    group(T = [f64, c32], P = [16], MATRICES = [16], VECTORS = [true, false], launch_bounds(256, 2)),
    group(T = [f64, c32], P = [32], MATRICES = [12], VECTORS = [true, false], launch_bounds(384, 1)),
    group(T = [c64], P = [8, 16], MATRICES = [16], VECTORS = [true, false], launch_bounds(256, 1)),
    group(T = [c64], P = [32], MATRICES = [8], VECTORS = [true, false], launch_bounds(256, 1))
)]
pub unsafe fn syev_cta_fused<T: Scalar, const P: usize, const MATRICES: usize, const VECTORS: bool>(
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
    let items = Items { n, ld, stride, batch };
    let block = BlockMemory::<T, P, MATRICES>::carve();
    let tile = Tile::native(P as u32);
    let (rank, local) = (tile.rank(), thread::thread_idx_x() / P as u32);
    let item = thread::block_idx_x() as u64 * MATRICES as u64 + local as u64;
    let live = item < batch;
    let matrix = a.at(if live { (item * stride) as usize } else { 0 });

    let reduction = reduce::<T, P, MATRICES, VECTORS>(tile, matrix, items, upper != 0, live, &block);
    block.publish(tile, local, n, reduction);
    let mut rows = [[T::ZERO; P]];
    if VECTORS {
        let q = form_q::<T, P>(
            tile,
            matrix,
            if live { items } else { Items { n: 0, ..items } },
            block.staging(local),
        );
        for c in 0..P {
            let straight = q.slots[(c + 1) % P];
            let reversed = q.slots[(P - c) % P];
            let re = if reduction.reversed { reversed.re() } else { straight.re() };
            let im = if reduction.reversed { reversed.im() } else { straight.im() };
            rows[0][c] = T::from_parts(re, im);
        }
    }
    thread::sync_threads();

    block.solve::<VECTORS>(n, local, n * sweeps_per_value, &mut rows);

    // Every lane of a tile takes the same branch.
    if live {
        let values = w.at(item as usize * n as usize);
        let unconverged = block.unconverged(local);
        if reduction.bad || unconverged != 0 {
            write_nan::<T, VECTORS>(rank, matrix, values, items);
        } else {
            let position = block.write_values(tile, local, n, reduction, values);
            if VECTORS {
                block.write_vectors(tile, local, position, matrix, items, &rows[0]);
            }
        }
        if rank == 0 {
            status.set(item as usize, if reduction.bad { -1 } else { unconverged });
        }
    }
}

/// What a tile knows of its tridiagonal matrix.
#[derive(Clone, Copy, Debug)]
struct Reduction<R> {
    /// Diagonal element of this lane's row.
    d: R,
    /// Coupling of this lane's row with the one above it.
    e: R,
    /// Factor that brings the norm to 1.
    scale: R,
    /// Whether rows go to the track in reverse order.
    reversed: bool,
    /// Whether the input was not finite.
    bad: bool,
}

#[inline(always)]
fn reduce<T: Scalar, const P: usize, const MATRICES: usize, const VECTORS: bool>(
    tile: Tile,
    matrix: GlobalMut<T>,
    items: Items,
    upper: bool,
    live: bool,
    block: &BlockMemory<T, P, MATRICES>,
) -> Reduction<T::Real> {
    let zero = <T::Real as Real>::ZERO;
    let one = <T::Real as Real>::ONE;
    let rank = tile.rank();
    let staging = block.staging(thread::thread_idx_x() / P as u32);
    let items = if live { items } else { Items { n: 0, ..items } };
    let mut rows = Rows { slots: load_row::<T, P>(tile, matrix, items, upper, staging) };
    let largest = largest_element(tile, &rows.slots);
    let scale = largest.unwrap_or(one).normalizer();
    let mut reduction = Reduction { d: zero, e: zero, scale, reversed: false, bad: largest.is_none() };
    if reduction.bad {
        return reduction;
    }
    for c in 0..P {
        rows.slots[c] = rows.slots[c].scale(scale);
    }
    let vectors = Vectors { v: staging, w: staging.at(P as u32), tail: staging.at(2 * P as u32) };
    let column = |k: u32| matrix.at(k as usize * items.ld as usize);
    let last = rows.reduce(tile, items.n, vectors, |step| {
        let k = step.k;
        reduction.d = if rank == k { step.diagonal } else { reduction.d };
        reduction.e = if rank == k + 1 { step.reflector.beta } else { reduction.e };
        if VECTORS && rank == k {
            column(k + 1).set(rank as usize, step.reflector.tau);
        }
        if VECTORS && rank > k + 1 && rank < items.n {
            column(k).set(rank as usize, step.reflector.v);
        }
    });
    reduction.d = if rank + 1 == items.n { last } else { reduction.d };
    let d_first = tile.shuffle_idx(reduction.d, 0);
    let d_last = tile.shuffle_idx(reduction.d, items.n.saturating_sub(1));
    reduction.reversed = d_last.abs() < d_first.abs();
    reduction
}

/// The block's shared memory.
#[derive(Clone, Copy, Debug)]
struct BlockMemory<T: Scalar, const P: usize, const MATRICES: usize> {
    all: Shared<T>,
    track: Track<T::Real>,
}

impl<T: Scalar, const P: usize, const MATRICES: usize> BlockMemory<T, P, MATRICES> {
    #[inline(always)]
    fn carve() -> Self {
        let elements = MATRICES * staging_elements(P);
        // SAFETY: the launch gives shared_bytes, whose first part this is.
        let all = unsafe { dynamic_shared_mem::<T>(0, elements) };
        // SAFETY: as above; a tile's staging is a multiple of 16 bytes.
        let track = unsafe { Track::carve(elements * size_of::<T>(), P, MATRICES, sweeps_a_round(P)) };
        BlockMemory { all, track }
    }

    /// The staging of one tile.
    #[inline(always)]
    fn staging(&self, local: u32) -> Shared<T> {
        self.all.at(local * staging_elements(P) as u32)
    }

    /// Writes the tridiagonal matrix to the track: rows `P - n..P`, or `0..n` reversed; the rest is zero.
    ///
    /// So a column's place in the registers of a row does not depend on `n`.
    #[inline(always)]
    fn publish(&self, tile: Tile, local: u32, n: u32, reduction: Reduction<T::Real>) {
        let (p, rank) = (P as u32, tile.rank());
        let zero = <T::Real as Real>::ZERO;
        let inside = rank < n;
        let offset = p - n;
        let straight = if inside { rank + offset } else { rank - n };
        let index = if reduction.reversed { if inside { n - 1 - rank } else { rank } } else { straight };
        // The coupling stands at the smaller index of its two rows: the row above, or this one when reversed.
        let e_up = tile.shuffle_down(reduction.e, 1);
        let below = if rank + 1 < n { e_up } else { zero };
        let above = if rank > 0 && inside { reduction.e } else { zero };
        let up = <T::Real as Real>::HIGH_NORM;
        self.track.d.set(index * MATRICES as u32 + local, if inside { reduction.d * up } else { zero });
        self.track
            .e
            .set(index * MATRICES as u32 + local, if reduction.reversed { above } else { below } * up);
        if rank == 0 {
            self.track.set_first(local, if reduction.reversed { 0 } else { offset });
        }
    }

    /// Chases all problems of the block and applies the rotations to the rows.
    #[inline(always)]
    fn solve<const VECTORS: bool>(&self, n: u32, local: u32, max_sweeps: u32, rows: &mut [[T; P]; 1]) {
        let thread = thread::thread_idx_x();
        let chases = thread < MATRICES as u32;
        let track = &self.track;
        let mut chaser = Chaser::idle(thread);
        if chases {
            chaser = Chaser::start(track, thread, track.first(thread), n, max_sweeps);
        }
        if VECTORS {
            // Round 0 is logged with nothing to apply; after it a round is applied while the next is logged.
            let (mut round, mut more) = (0, true);
            while more {
                let active = chases && chaser.is_active();
                if chases {
                    chaser.log_round(track, round & 1);
                }
                if round > 0 {
                    apply_round(track, (round + 1) & 1, local, rows);
                }
                more = thread::sync_threads_or(active);
                round += 1;
            }
        } else {
            while chaser.is_active() {
                chaser.sweep::<T::Real, false>(track, 0, 0);
            }
        }
        if chases {
            track.set_unconverged(thread, chaser.unconverged());
        }
        thread::sync_threads();
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn unconverged(&self, local: u32) -> i32 {
        self.track.unconverged(local) as i32
    }

    /// Writes the eigenvalues in ascending order; returns the position of track row `rank`, at least `n` for
    /// padding.
    #[inline(always)]
    fn write_values(
        &self,
        tile: Tile,
        local: u32,
        n: u32,
        reduction: Reduction<T::Real>,
        values: GlobalMut<T::Real>,
    ) -> u32 {
        let rank = tile.rank();
        let first = if reduction.reversed { 0 } else { P as u32 - n };
        let padded = |i: u32| i < first || i >= first + n;
        let value = |i: u32| {
            let d = self.track.d.get(i * MATRICES as u32 + local);
            if padded(i) { <T::Real as Real>::INFINITY } else { d }
        };
        let own = value(rank);
        let mut position = 0;
        for i in 0..P as u32 {
            let other = value(i);
            position += (other < own || (other == own && i < rank)) as u32;
        }
        if position < n {
            // Two steps: the product of both powers of two may be past the largest number.
            let down = <T::Real as Real>::HIGH_NORM.recip();
            values.set(position as usize, own * down * reduction.scale.recip());
        }
        position
    }

    /// Writes the columns to their places with the sign convention.
    #[inline(always)]
    fn write_vectors(
        &self,
        tile: Tile,
        local: u32,
        position: u32,
        matrix: GlobalMut<T>,
        items: Items,
        row: &[T; P],
    ) {
        let rank = tile.rank();
        let phase = self.phase(tile, local, row);
        for c in 0..P {
            let target = tile.shuffle_idx(position, c as u32);
            let factor = tile.shuffle_idx(phase.factor, c as u32);
            let largest = tile.shuffle_idx(phase.row, c as u32);
            if target < items.n && rank < items.n {
                let x = row[c].mul(factor);
                let x = if rank == largest { T::from_real(x.re()) } else { x };
                matrix.set(target as usize * items.ld as usize + rank as usize, x);
            }
        }
    }

    /// The phase of column `rank`; columns go through the staging up to 16 at a time.
    #[inline(always)]
    fn phase(&self, tile: Tile, local: u32, row: &[T; P]) -> Phase<T> {
        let staging = self.staging(local);
        let rank = tile.rank() as usize;
        let width = const { chunk(P) };
        let ld = width + 1;
        let mut phase = Phase { factor: T::ONE, row: 0 };
        for part in 0..P / width {
            let base = part * width;
            for c in 0..width {
                staging.set((rank * ld + c) as u32, row[base + c]);
            }
            tile.sync();
            if rank >= base && rank < base + width {
                phase = column_phase::<T>(staging.at((rank - base) as u32), ld as u32, P as u32, 0);
            }
            tile.sync();
        }
        phase
    }
}
