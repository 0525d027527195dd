//! A block whose first warp chases tridiagonal matrices while the other warps hold the bases: what `syev_cta_fused` and
//! `syev_cta` share from the tridiagonal matrix on.

use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::layout::Items;
use device_linalg::load::staging_elements;
use device_linalg::output::{largest_component, phase_factor};
use device_linalg::reduce::{form_q, tail_elements};
use device_linalg::rows::{SharedRows, broadcast, row_of, shared_rows_elements};
use device_linalg::steqr_cta::decoupled::{Chaser, LaneRows, Track, track_bytes};

/// Sweeps that a round of the chase logs: as many as keep the log near 16 KB for f32.
const fn sweeps_a_round(p: usize) -> usize {
    match p {
        32 => 1,
        16 => 2,
        _ => 4,
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
    /// Bytes of an element.
    pub scalar_bytes: usize,
    /// Bytes of a real number.
    pub real_bytes: usize,
}

impl Shape {
    /// Problems of a block: what leaves room for a second block in the registers, where that goes.
    pub const fn matrices(self) -> usize {
        match (self.p, self.rows, self.shared, self.scalar_bytes) {
            (32, 2, 1, _) => 14,
            (32, 4, 2, _) => 28,
            (.., 1 | 2, _) | (8, .., 4) | (16, .., 4) => 32,
            (8, .., 16) | (16, .., 8) => 16,
            (8, ..) => 32,
            (16, ..) => 8,
            (32, 2, ..) => 14,
            _ => 7,
        }
    }

    /// Lanes that hold the basis of a problem.
    pub const fn lanes(self) -> usize {
        self.p / self.rows
    }

    /// Threads of a block: a chasing warp, and those that hold the rows.
    pub const fn threads(self) -> usize {
        32 + self.matrices() * self.lanes()
    }

    /// Shared elements of a tile: first the staging of the load, then two vectors and the tails of the rows; where rows
    /// lie there, a vector and those.
    const fn tile_elements(self) -> usize {
        if self.shared > 0 {
            return self.p + shared_rows_elements(self.p, self.shared, self.lanes());
        }
        let staging = staging_elements(self.p);
        let reduction = 2 * self.p + tail_elements(self.p, self.rows, self.scalar_bytes);
        if staging > reduction { staging } else { reduction }
    }

    /// Bytes of the tiles' elements.
    const fn tiles_bytes(self) -> usize {
        self.matrices() * self.tile_elements() * self.scalar_bytes
    }

    /// Bytes for the index of each item, up to the alignment of what follows.
    const fn items_bytes(self) -> usize {
        (self.matrices() * size_of::<u64>()).next_multiple_of(16)
    }

    /// Bytes of shared memory of a block: what the tiles need, and the track.
    pub const fn shared_bytes(self) -> usize {
        let track = track_bytes(self.real_bytes, self.p, self.matrices(), sweeps_a_round(self.p));
        self.tiles_bytes() + self.items_bytes() + track
    }
}

/// The arrays of a launch.
#[derive(Clone, Copy)]
pub struct Arrays<T: Scalar> {
    /// Matrices.
    pub a: GlobalMut<T>,
    /// Eigenvalues.
    pub w: GlobalMut<T::Real>,
    /// Status words.
    pub status: GlobalMut<i32>,
}

/// Where the tridiagonal matrix of a tile's item comes from. A trait, since a closure as large would stay a call.
pub trait Source<T: Scalar, const P: usize, const ROWS: usize, const SHARED: usize> {
    /// The matrix of the tile's item; its reflectors stand in the arrays' matrix.
    fn tridiagonal(
        &self,
        block: &BlockMemory<T, P, ROWS, SHARED>,
        problem: Problem,
    ) -> Reduction<T::Real, ROWS>;
}

/// Solves the block's items, the tridiagonal matrices of which come from `source`.
#[inline(always)]
pub fn solve<T: Scalar, const P: usize, const ROWS: usize, const SHARED: usize, const VECTORS: bool>(
    arrays: Arrays<T>,
    items: Items,
    sweeps_per_value: u32,
    source: impl Source<T, P, ROWS, SHARED>,
) {
    let block = BlockMemory::<T, P, ROWS, SHARED>::carve();
    let thread = thread::thread_idx_x();
    if thread < 32 {
        block.chase::<VECTORS>(thread, items.n, items.n * sweeps_per_value);
    } else {
        let tile = Tile::native((P / ROWS) as u32);
        let local = (thread - 32) / (P / ROWS) as u32;
        // Through a shuffle: the compiler would keep the 64-bit copy of the index for the rest of the kernel.
        let index = tile.shuffle_idx(local, 0);
        if tile.rank() == 0 {
            let first = thread::block_idx_x() as u64 * BlockMemory::<T, P, ROWS, SHARED>::MATRICES as u64;
            block.item.set(index, first + index as u64);
        }
        tile.sync();
        let problem = Problem { tile, local, items };
        let reduction = source.tridiagonal(&block, problem);
        block.publish_all(problem, &reduction);
        block.apply::<VECTORS>(problem, arrays);
    }
}

/// Marks an item whose rows stand in reverse order in the track.
const REVERSED: u64 = 1 << 63;
/// Marks an item that is not finite.
const BAD: u64 = 1 << 62;

/// A tile and its item.
#[derive(Clone, Copy)]
pub struct Problem {
    /// Its lanes.
    pub tile: Tile,
    /// Index in the block.
    pub local: u32,
    /// The batch.
    pub items: Items,
}

/// What a tile knows of its tridiagonal matrix.
#[derive(Clone, Copy, Debug)]
pub struct Reduction<R, const ROWS: usize> {
    /// Diagonal elements of this lane's rows.
    pub d: [R; ROWS],
    /// Couplings of this lane's rows with those above them.
    pub e: [R; ROWS],
    /// Factor that brings a norm of 1 to the input's.
    pub unscale: R,
    /// Whether rows go to the track in reverse order.
    pub reversed: bool,
    /// Whether the input was not finite.
    pub bad: bool,
}

impl<R: Real, const ROWS: usize> Reduction<R, ROWS> {
    /// A matrix of zeros.
    #[inline(always)]
    pub fn zero() -> Self {
        Reduction { d: [R::ZERO; ROWS], e: [R::ZERO; ROWS], unscale: R::ONE, reversed: false, bad: false }
    }

    /// Decides the direction: the end of smaller magnitude comes first.
    #[inline(always)]
    pub fn direct<T: Scalar<Real = R>>(&mut self, tile: Tile, n: u32) {
        let mut d = [T::ZERO; ROWS];
        for r in 0..ROWS {
            d[r] = T::from_real(self.d[r]);
        }
        let first = broadcast(tile, &d, 0).re();
        let last = broadcast(tile, &d, n.saturating_sub(1)).re();
        self.reversed = last.abs() < first.abs();
    }
}

/// The block's shared memory.
#[derive(Clone, Copy, Debug)]
pub struct BlockMemory<T: Scalar, const P: usize, const ROWS: usize, const SHARED: usize> {
    all: Shared<T>,
    /// Index of each tile's item, with [`REVERSED`] and [`BAD`]: read again in each phase, for no phase has a register
    /// to spare for what another one needs.
    item: Shared<u64>,
    track: Track<T::Real>,
}

impl<T: Scalar, const P: usize, const ROWS: usize, const SHARED: usize> BlockMemory<T, P, ROWS, SHARED> {
    const SHAPE: Shape = Shape {
        p: P,
        rows: ROWS,
        shared: SHARED,
        scalar_bytes: size_of::<T>(),
        real_bytes: size_of::<T::Real>(),
    };
    /// Problems of the block.
    const MATRICES: usize = Self::SHAPE.matrices();

    #[inline(always)]
    fn carve() -> Self {
        let (tiles, items) = const { (Self::SHAPE.tiles_bytes(), Self::SHAPE.items_bytes()) };
        // SAFETY: the launch gives shared_bytes: the tiles, whose size is a multiple of 16, the items, the track.
        unsafe {
            BlockMemory {
                all: dynamic_shared_mem::<T>(0, tiles / size_of::<T>()),
                item: dynamic_shared_mem::<u64>(tiles, Self::MATRICES),
                track: Track::carve(tiles + items, P, Self::MATRICES, sweeps_a_round(P)),
            }
        }
    }

    /// The shared elements of one tile.
    #[inline(always)]
    pub fn staging(&self, local: u32) -> Shared<T> {
        self.all.at(local * const { Self::SHAPE.tile_elements() as u32 })
    }

    /// This lane's rows in shared memory.
    #[inline(always)]
    fn shared_rows(&self, tile: Tile, local: u32) -> SharedRows<T> {
        if SHARED == 0 {
            return SharedRows::none();
        }
        let first = self.staging(local).at(P as u32 + tile.rank());
        SharedRows { first, rows: SHARED as u32, lanes: (P / ROWS) as u32 }
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

    /// Tells the chasing warp of the tile's matrix, and the later phases of the item.
    #[inline(always)]
    fn publish_all(&self, problem: Problem, reduction: &Reduction<T::Real, ROWS>) {
        let Problem { tile, local, items } = problem;
        self.publish(tile, local, items.n, reduction);
        // Other lanes of the tile have read the item's index.
        tile.sync();
        if tile.rank() == 0 {
            let reversed = if reduction.reversed { REVERSED } else { 0 };
            let bad = if reduction.bad { BAD } else { 0 };
            self.item.set(local, self.item.get(local) | reversed | bad);
        }
    }

    /// The role of the other warps, from the published matrix on.
    #[inline(always)]
    fn apply<const VECTORS: bool>(&self, problem: Problem, Arrays { a, w, status }: Arrays<T>) {
        let Problem { tile, local, items } = problem;
        thread::sync_roles_or(false);

        let mut rows = [[T::ZERO; P]; ROWS];
        if VECTORS {
            // The chase of the first round goes on meanwhile.
            let there = self.matrix(problem, a).1;
            let matrix = || self.matrix(problem, a).0;
            let (vector, shared) = (self.staging(local), self.shared_rows(tile, local));
            let mut q = form_q::<T, P, ROWS, SHARED>(tile, matrix, there, vector, shared);
            q.order(self.item.get(local) & REVERSED != 0);
            rows = q.slots;
            self.track.follow(
                local,
                true,
                &mut LaneRows::<T, P, ROWS, SHARED> { registers: &mut rows, shared },
            );
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
                self.write_vectors(problem, positions, failed, matrix, &rows);
            }
            if tile.rank() == 0 {
                status.set(item as usize, if bad { -1 } else { unconverged as i32 });
            }
        }
    }

    /// Index of the tile's item.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn item_of(&self, problem: Problem) -> u64 {
        self.item.get(problem.local) & !(REVERSED | BAD)
    }

    /// The tile's matrix; an empty one past the batch.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn matrix(&self, problem: Problem, a: GlobalMut<T>) -> (GlobalMut<T>, Items) {
        let items = problem.items;
        let item = self.item_of(problem);
        let live = item < items.batch;
        let offset = if live { (item * items.stride) as usize } else { 0 };
        (a.at(offset), if live { items } else { Items { n: 0, ..items } })
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
            self.track.scales.set(local, reduction.unscale);
        }
    }

    /// Writes the eigenvalues in ascending order; returns the positions of the track rows that are this lane's, a byte
    /// each, at least `n` for padding.
    #[inline(always)]
    fn write_values(
        &self,
        problem: Problem,
        reversed: bool,
        failed: bool,
        values: GlobalMut<T::Real>,
    ) -> u32 {
        let Problem { tile, local, items } = problem;
        let first = if reversed { 0 } else { P as u32 - items.n };
        let end = first + items.n;
        let value = |i: u32| self.track.d.get(i * Self::MATRICES as u32 + local);
        let mut positions = 0;
        for r in 0..ROWS {
            let row = row_of(tile, r);
            let mut position = items.n;
            if row >= first && row < end {
                let own = value(row);
                position = 0;
                for i in first..end {
                    let other = value(i);
                    position += (other < own || (other == own && i < row)) as u32;
                }
                // Two steps: the product of both powers of two may be past the largest number.
                let x = own * <T::Real as Real>::HIGH_NORM.recip() * self.track.scales.get(local);
                values.set(position as usize, if failed { <T::Real as Real>::NAN } else { x });
            }
            positions |= position << (8 * r);
        }
        positions
    }

    /// Writes the columns to their places with the sign convention.
    #[inline(always)]
    fn write_vectors(
        &self,
        problem: Problem,
        positions: u32,
        failed: bool,
        matrix: GlobalMut<T>,
        rows: &[[T; P]; ROWS],
    ) {
        let Problem { tile, local, items } = problem;
        let shared = self.shared_rows(tile, local);
        let nan = <T::Real as Real>::NAN;
        let lanes = const { P / ROWS };
        for c in 0..P {
            let target = tile.shuffle_idx(positions, (c % lanes) as u32) >> (8 * (c / lanes)) & 0xff;
            // A branch a column: all columns at once would take the registers that the rows need.
            if target < items.n {
                let mut held = [T::ZERO; ROWS];
                for r in 0..ROWS {
                    let in_memory = (r + SHARED) as u32;
                    held[r] = if r < ROWS - SHARED {
                        rows[r][c]
                    } else {
                        shared.get(in_memory - ROWS as u32, c as u32)
                    };
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
