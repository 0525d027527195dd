//! A block of problems, chased by one warp and applied by the others.

use crate::arguments::{Arguments, kronecker, split_index};
use crate::steqr_cta_decoupled::Shape;
use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::output::{largest_component, phase_factor};
use device_linalg::rows::{SharedRows, row_of, shared_rows_elements};
use device_linalg::steqr_cta::decoupled::{Chaser, LaneRows, Track, track_bytes};

/// Sweeps a round of the log: near 16 KB of f32 in both buffers.
const fn sweeps_a_round(p: usize, vectors: bool) -> usize {
    if !vectors {
        0
    } else if p == 16 {
        2
    } else {
        1
    }
}

/// What the chasing lane tells the lanes behind it of a problem.
const REVERSED: u32 = 1;
const BAD: u32 = 2;

/// Bytes before the rows in shared memory: the track, and a word a problem.
const fn front_bytes(shape: Shape) -> usize {
    let Shape { p, bytes, vectors, .. } = shape;
    let matrices = shape.matrices();
    (track_bytes(bytes, p, matrices, sweeps_a_round(p, vectors)) + matrices * 4).next_multiple_of(16)
}

/// Elements of the rows in shared memory of one problem.
const fn rows_elements(shape: Shape) -> usize {
    if shape.vectors { shared_rows_elements(shape.p, shape.shared, shape.lanes()) } else { 0 }
}

pub const fn shared_bytes(shape: Shape) -> usize {
    front_bytes(shape) + shape.matrices() * rows_elements(shape) * shape.bytes
}

/// The block's shared memory.
#[derive(Clone, Copy)]
struct BlockMemory<T, const P: usize, const ROWS: usize, const SHARED: usize> {
    track: Track<T>,
    flags: Shared<u32>,
    rows: Shared<T>,
}

/// Solves the block's problems.
#[inline(always)]
pub fn solve<T, const P: usize, const ROWS: usize, const SHARED: usize, const VECTORS: bool>(
    arguments: Arguments<T>,
) where
    T: Real + Scalar<Real = T>,
{
    let memory = BlockMemory::<T, P, ROWS, SHARED>::carve::<VECTORS>();
    let shape = const { BlockMemory::<T, P, ROWS, SHARED>::shape(VECTORS) };
    let (matrices, threads) = (shape.matrices() as u32, shape.threads() as u32);
    let track = &memory.track;
    let thread = thread::thread_idx_x();
    let n = arguments.items.n;
    let first = thread::block_idx_x() as u64 * matrices as u64;
    let left = arguments.items.batch - first;
    let here = if left < matrices as u64 { left as u32 } else { matrices };
    load(&arguments, track, first, here, threads);
    thread::sync_threads();

    let chases = thread < here;
    let mut chaser = Chaser::idle(thread);
    if chases {
        let order = memory.prepare(thread, n);
        chaser = Chaser::start(track, thread, 0, order, n * arguments.iteration.sweeps_per_value);
    }
    if VECTORS {
        thread::sync_threads();
        if thread < 32 {
            track.lead(&mut chaser, chases);
        } else {
            let tile = Tile::native((P / ROWS) as u32);
            let local = (thread - 32) / (P / ROWS) as u32;
            memory.apply(tile, &arguments, (first, local), local < here);
        }
    } else {
        while chaser.is_active() {
            chaser.sweep::<T, false>(track, 0, 0);
        }
        if chases {
            chaser.report(track);
            memory.sort_values(thread, n, arguments.iteration.sort != 0);
        }
    }
    if chases {
        let bad = memory.flags.get(thread) & BAD != 0;
        let status = if bad { -1 } else { chaser.unconverged() as i32 };
        arguments.status.set((first + thread as u64) as usize, status);
    }
    thread::sync_threads();
    store_values(&arguments, track, first, here, threads);
}

/// Calls `f(element, problem, row)` for this thread's share of `rows` elements of each of `problems` problems.
#[inline(always)]
fn for_each(problems: u32, rows: u32, threads: u32, mut f: impl FnMut(u32, u32, u32)) {
    let mut element = thread::thread_idx_x();
    while element < problems * rows {
        let (problem, row) = split_index(element, rows);
        f(element, problem, row);
        element += threads;
    }
}

#[inline(always)]
fn load<T: Real>(arguments: &Arguments<T>, track: &Track<T>, first: u64, here: u32, threads: u32) {
    let n = arguments.items.n;
    let d = arguments.diagonal(first);
    for_each(here, n, threads, |element, problem, row| {
        track.d.set(row * track.matrices + problem, d.get(element as usize));
        if row + 1 < n {
            track.e.set(row * track.matrices + problem, arguments.coupling(first + problem as u64, row));
        }
    });
}

/// The values stand sorted in the place of the off-diagonals.
#[inline(always)]
fn store_values<T: Real>(arguments: &Arguments<T>, track: &Track<T>, first: u64, here: u32, threads: u32) {
    let d = arguments.diagonal(first);
    for_each(here, arguments.items.n, threads, |element, problem, row| {
        d.set(element as usize, track.e.get(row * track.matrices + problem));
    });
}

impl<T: Real, const P: usize, const ROWS: usize, const SHARED: usize> BlockMemory<T, P, ROWS, SHARED> {
    const fn shape(vectors: bool) -> Shape {
        Shape { p: P, rows: ROWS, shared: SHARED, bytes: size_of::<T>(), vectors }
    }

    #[inline(always)]
    fn carve<const VECTORS: bool>() -> Self {
        let shape = const { Self::shape(VECTORS) };
        let (matrices, sweeps) = (shape.matrices(), sweeps_a_round(P, VECTORS));
        // SAFETY: the launch gives shared_bytes: the track, a word a problem, and the rows.
        unsafe {
            BlockMemory {
                track: Track::carve(0, P, matrices, sweeps),
                flags: dynamic_shared_mem::<u32>(track_bytes(size_of::<T>(), P, matrices, sweeps), matrices),
                rows: dynamic_shared_mem::<T>(front_bytes(shape), matrices * rows_elements(shape)),
            }
        }
    }

    /// This lane's rows of problem `local` that lie in shared memory.
    #[inline(always)]
    fn shared_rows(&self, tile: Tile, local: u32) -> SharedRows<T> {
        let elements = const { rows_elements(Self::shape(true)) as u32 };
        let first = self.rows.at(local * elements + tile.rank());
        SharedRows { first, rows: SHARED as u32, lanes: (P / ROWS) as u32 }
    }

    /// Scales problem `matrix` and turns it so that its smaller end comes first; returns the order to solve, 0 where
    /// the input is not finite.
    #[inline(always)]
    fn prepare(&self, matrix: u32, n: u32) -> u32 {
        let track = &self.track;
        let at = |i: u32| i * track.matrices + matrix;
        let (mut finite, mut norm) = (true, T::ZERO);
        for i in 0..n {
            let d = track.d.get(at(i));
            let e = if i + 1 < n { track.e.get(at(i)) } else { T::ZERO };
            finite &= d.is_finite() && e.is_finite();
            norm = norm.max(d.abs()).max(e.abs());
        }
        let scale = norm.normalizer();
        let reversed = finite && track.d.get(at(n - 1)).abs() < track.d.get(at(0)).abs();
        let up = |x: T| x * scale * T::HIGH_NORM;
        let mut i = 0;
        // Row i and the one that takes its place where the problem is turned.
        while 2 * i < n {
            let j = n - 1 - i;
            let (x, y) = (up(track.d.get(at(i))), up(track.d.get(at(j))));
            track.d.set(at(i), if reversed { y } else { x });
            track.d.set(at(j), if reversed { x } else { y });
            i += 1;
        }
        i = 0;
        while 2 * i + 1 < n {
            let j = n - 2 - i;
            let (x, y) = (up(track.e.get(at(i))), up(track.e.get(at(j))));
            track.e.set(at(i), if reversed { y } else { x });
            track.e.set(at(j), if reversed { x } else { y });
            i += 1;
        }
        self.track.scales.set(matrix, scale.recip());
        let turned = if reversed { REVERSED } else { 0 };
        self.flags.set(matrix, if finite { turned } else { BAD });
        if finite { n } else { 0 }
    }

    /// The eigenvalue that stands in row `i`, in the scale of the input.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn value(&self, matrix: u32, i: u32) -> T {
        let x = self.track.d.get(i * self.track.matrices + matrix) * T::HIGH_NORM.recip();
        if self.failed(matrix) { T::NAN } else { x * self.track.scales.get(matrix) }
    }

    /// Whether the problem has no result.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn failed(&self, matrix: u32) -> bool {
        self.flags.get(matrix) & BAD != 0 || self.track.unconverged(matrix) != 0
    }

    /// Where the eigenvalue in row `i` goes: its place among the ascending ones, or the row of the input.
    #[inline(always)]
    fn position(&self, matrix: u32, n: u32, i: u32, sort: bool) -> u32 {
        if !sort {
            return if self.flags.get(matrix) & REVERSED != 0 { n - 1 - i } else { i };
        }
        let at = |i: u32| self.track.d.get(i * self.track.matrices + matrix);
        let own = at(i);
        let mut position = 0;
        for j in 0..n {
            let other = at(j);
            position += (other < own || (other == own && j < i)) as u32;
        }
        // Nothing compares with NaN.
        if self.flags.get(matrix) & BAD != 0 { i } else { position }
    }

    /// Puts the values where [`store_values`] looks for them.
    #[inline(always)]
    fn sort_values(&self, matrix: u32, n: u32, sort: bool) {
        for i in 0..n {
            let position = self.position(matrix, n, i, sort);
            self.track.e.set(position * self.track.matrices + matrix, self.value(matrix, i));
        }
    }
}

impl<T, const P: usize, const ROWS: usize, const SHARED: usize> BlockMemory<T, P, ROWS, SHARED>
where
    T: Real + Scalar<Real = T>,
{
    /// The role of the other warps: holds the rows of a basis and applies what is logged.
    #[inline(always)]
    fn apply(&self, tile: Tile, arguments: &Arguments<T>, (first, local): (u64, u32), live: bool) {
        let mut registers = [[T::from_real(kronecker(false)); P]; ROWS];
        if live {
            self.start(tile, arguments, first, local, &mut registers);
        }
        let shared = self.shared_rows(tile, local);
        let mut rows = LaneRows::<T, P, ROWS, SHARED> { registers: &mut registers, shared };
        self.track.follow(local, live, &mut rows);
        if live {
            self.finish(tile, arguments, first, local, &registers);
        }
    }

    /// This lane's rows of the basis to start from: rows `rank`, `rank + P / ROWS`, ...; columns in the problem's order.
    #[inline(always)]
    fn start(
        &self,
        tile: Tile,
        arguments: &Arguments<T>,
        first: u64,
        local: u32,
        registers: &mut [[T; P]; ROWS],
    ) {
        let n = arguments.items.n;
        let reversed = self.flags.get(local) & REVERSED != 0;
        let matrix = arguments.basis(first + local as u64);
        let shared = self.shared_rows(tile, local);
        for c in 0..P {
            // A branch a column: addresses of all columns at once would take the registers that the rows need.
            if (c as u32) < n {
                let column = if reversed { n - 1 - c as u32 } else { c as u32 };
                for r in 0..ROWS {
                    let row = row_of(tile, r);
                    let mut x = T::from_real(kronecker(row == column));
                    if arguments.iteration.back_transform != 0 && row < n {
                        x = matrix.get(column as usize * arguments.items.ld as usize + row as usize);
                    }
                    if r < ROWS - SHARED {
                        registers[r][c] = x;
                    } else {
                        shared.set((r + SHARED - ROWS) as u32, c as u32, x);
                    }
                }
            }
        }
    }

    /// Writes the columns to their places with the sign convention, and the values to the track.
    #[inline(always)]
    fn finish(
        &self,
        tile: Tile,
        arguments: &Arguments<T>,
        first: u64,
        local: u32,
        registers: &[[T; P]; ROWS],
    ) {
        let n = arguments.items.n;
        let lanes = const { P / ROWS };
        let failed = self.failed(local);
        // Column rank + k * lanes of each k is this lane's to place: a byte for each, since registers are short.
        let mut positions = 0;
        for k in 0..ROWS {
            let column = row_of(tile, k);
            if column < n {
                let position = self.position(local, n, column, arguments.iteration.sort != 0);
                self.track.e.set(position * self.track.matrices + local, self.value(local, column));
                positions |= position << (8 * k);
            }
        }
        let matrix = arguments.basis(first + local as u64);
        let shared = self.shared_rows(tile, local);
        for c in 0..P {
            // A branch a column, as in `start`.
            if (c as u32) < n {
                let target = tile.shuffle_idx(positions, (c % lanes) as u32) >> (8 * (c / lanes)) & 0xff;
                let mut column = [T::from_real(kronecker(false)); ROWS];
                for r in 0..ROWS {
                    column[r] = if r < ROWS - SHARED {
                        registers[r][c]
                    } else {
                        shared.get((r + SHARED - ROWS) as u32, c as u32)
                    };
                }
                let sign = phase_factor(largest_component(tile, &column).0);
                for r in 0..ROWS {
                    let row = row_of(tile, r);
                    if row < n {
                        let x = if failed { T::from_real(<T as Real>::NAN) } else { column[r] * sign };
                        matrix.set(target as usize * arguments.items.ld as usize + row as usize, x);
                    }
                }
            }
        }
    }
}
