//! Back-transform of the basis by the reflectors, sorting, signs, and the way out.
//!
//! `LANES` lanes share a column: lane `s` holds the rows `4 (LANES q + s) + c`, `c` below 4, of it.

use crate::shape::{Offsets, SPAN_BITS, STAGED, chunks, finished_columns, padded, threads};
use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::layout::Item;
use device_linalg::output::phase_factor;
use device_linalg::reduce::needs_reflector;
use device_linalg::train::Spans;

/// A basis in shared memory, and where its columns go.
#[derive(Clone, Copy, Debug)]
pub struct Basis<R> {
    /// Element (row, column) at `column * n + row`.
    pub elements: Shared<R>,
    /// Eigenvalues: column `k` belongs to value `k`.
    pub values: Shared<R>,
    /// Whether rows stand in reverse order.
    pub reversed: bool,
    /// The rounds of the chase: they tell whether NaN is to be written.
    pub spans: Spans<SPAN_BITS>,
}

/// Elements of a column, `PARTS * COLUMNS` a lane.
#[derive(Clone, Copy)]
struct Part<T, const PARTS: usize, const COLUMNS: usize> {
    elements: [[T; COLUMNS]; PARTS],
    tile: Tile,
    n: u32,
}

/// Writes the eigenvectors `H_0 H_1 ... Z` to the item, `PARTS * COLUMNS` elements a thread at a time. The
/// reflectors are read before anything is written where all columns go at once.
#[inline(always)]
pub fn write_vectors<T: Scalar, const ROWS: usize, const COLUMNS: usize, const PARTS: usize>(
    basis: Basis<T::Real>,
    item: Item<T>,
    reflectors: Item<T>,
    offsets: &Offsets,
) {
    let lanes = const { padded(ROWS) / (PARTS * COLUMNS) };
    let (tile, whole) = (Tile::native(lanes as u32), Tile::native(32));
    let n = item.n;
    let mut pass = 0;
    loop {
        let column = thread::thread_idx_x() / lanes as u32 + (pass * PARTS * 32) as u32;
        let live = column < n;
        let mut part = Part::<T, PARTS, COLUMNS> { elements: [[T::ZERO; COLUMNS]; PARTS], tile, n };
        part.load(basis, column, live);
        // The staging takes the place of the basis, where all of it has been read.
        thread::sync_threads();
        part.transform::<ROWS>(reflectors, offsets);
        let (chunks, width) = const {
            (
                chunks(size_of::<T>(), size_of::<T::Real>()),
                finished_columns(size_of::<T>(), size_of::<T::Real>(), ROWS),
            )
        };
        // SAFETY: the launch gives Offsets::end bytes; the part is aligned, and what lay in its place is done with.
        let finished = unsafe { dynamic_shared_mem::<T>(offsets.finished, width * n as usize) };
        let width = width as u32;
        // Indices through a shuffle: the compiler would keep those of `load` through the transform.
        let (rank, order) = (whole.shuffle_xor(tile.rank(), 0), whole.shuffle_idx(n, 0));
        for chunk in 0..chunks {
            let first = (pass * PARTS * 32) as u32 + chunk as u32 * width;
            thread::sync_threads();
            if live && column >= first && column < first + width {
                part.store(finished.at((column - first) * n), rank, order);
            }
            thread::sync_threads();
            write_columns(finished, basis, item, first, width);
        }
        pass += 1;
        // No loop is left where all columns go at once.
        if ROWS == PARTS || (pass * PARTS * 32) as u32 >= n {
            break;
        }
    }
}

/// Writes columns `first..first + width` from shared memory, a warp a column, with the sign convention: the component
/// of largest modulus, the first of equals, is real and positive.
#[inline(always)]
fn write_columns<T: Scalar>(
    finished: Shared<T>,
    basis: Basis<T::Real>,
    item: Item<T>,
    first: u32,
    width: u32,
) {
    let tile = Tile::native(32);
    let n = item.n;
    let failed = basis.spans.unconverged() != 0;
    let mut local = thread::thread_idx_x() / 32;
    // Uniform in the warp.
    while local < width && first + local < n {
        let column = finished.at(local * n);
        let target = position_of(tile, basis.values, n, first + local);
        let (largest, largest_row) = largest_component(tile, column, n);
        let nan = <T::Real as Real>::NAN;
        let factor = if failed { T::from_parts(nan, nan) } else { phase_factor(largest) };
        let out = item.column(target);
        let mut row = tile.rank();
        while row < n {
            let x = column.get(row).mul(factor);
            // Real by construction, up to a rounding error that goes here.
            let x = if row == largest_row && !failed { T::from_real(x.re()) } else { x };
            out.set(row as usize, x);
            row += 32;
        }
        local += thread::block_dim_x() / 32;
    }
}

/// [`position`] by the lanes of a warp.
#[inline(always)]
fn position_of<R: Real>(tile: Tile, values: Shared<R>, n: u32, k: u32) -> u32 {
    let own = values.get(k);
    let mut before = 0;
    let mut j = tile.rank();
    while j < n {
        let other = values.get(j);
        before += (other < own || (other == own && j < k)) as u32;
        j += 32;
    }
    tile.reduce(before, |x, y| x + y)
}

/// The component of largest modulus of a column of `n` elements and its row, the first of equals, on every lane.
#[inline(always)]
fn largest_component<T: Scalar>(tile: Tile, column: Shared<T>, n: u32) -> (T, u32) {
    let zero = <T::Real as Real>::ZERO;
    let size = |x: T| if T::COMPLEX { x.abs_sq_add(zero) } else { x.abs1() };
    let (mut best, mut best_row) = (-<T::Real as Real>::ONE, 0);
    let mut row = tile.rank();
    while row < n {
        let here = size(column.get(row));
        best_row = if here > best { row } else { best_row };
        best = best.max(here);
        row += 32;
    }
    let mut step = 16;
    while step > 0 {
        let (other, other_row) = (tile.shuffle_xor(best, step), tile.shuffle_xor(best_row, step));
        let better = other > best || (other == best && other_row < best_row);
        best = if better { other } else { best };
        best_row = if better { other_row } else { best_row };
        step /= 2;
    }
    (column.get(best_row), best_row)
}

/// Place of value `k` in ascending order; ties keep their order.
#[inline(always)]
pub fn position<R: Real>(values: Shared<R>, n: u32, k: u32) -> u32 {
    let own = values.get(k);
    let mut position = 0;
    for j in 0..n {
        let other = values.get(j);
        position += (other < own || (other == own && j < k)) as u32;
    }
    position
}

impl<T: Scalar, const PARTS: usize, const COLUMNS: usize> Part<T, PARTS, COLUMNS> {
    /// First row of quad `q` of this lane.
    #[inline(always)]
    fn row(&self, q: usize) -> u32 {
        4 * (q as u32 * self.tile.lanes() + self.tile.rank())
    }

    /// First row of quad `q` of the tile's first lane.
    #[inline(always)]
    fn first_row(&self, q: usize) -> u32 {
        4 * q as u32 * self.tile.lanes()
    }

    #[inline(always)]
    fn load(&mut self, basis: Basis<T::Real>, column: u32, live: bool) {
        // Rows run up from the first one or down from the last.
        let (start, step) = if basis.reversed { (self.n - 1, u32::MAX) } else { (0, 1) };
        let start = if live { column * self.n + start } else { start };
        for r in 0..PARTS {
            for quad in 0..COLUMNS / 4 {
                // The order through a shuffle: the comparisons of all quads at once would take the registers that the
                // elements need.
                let n = Tile::native(32).shuffle_idx(self.n, 0);
                for c in 0..4 {
                    let row = self.row(r * COLUMNS / 4 + quad) + c as u32;
                    let there = row < n;
                    let at = start.wrapping_add(if there { row.wrapping_mul(step) } else { 0 });
                    let x = basis.elements.get(at);
                    self.elements[r][4 * quad + c] =
                        T::from_real(if there { x } else { <T::Real as Real>::ZERO });
                }
            }
        }
    }

    /// Applies all reflectors, the last one first.
    #[inline(always)]
    fn transform<const ROWS: usize>(&mut self, reflectors: Item<T>, offsets: &Offsets) {
        let p = const { padded(ROWS) };
        // SAFETY: the launch gives Offsets::end bytes; both parts are aligned, and the basis in their place is done with.
        let (staged, factors) = unsafe {
            (
                dynamic_shared_mem::<T>(offsets.staged, 2 * STAGED * p),
                dynamic_shared_mem::<T>(offsets.factors, 2 * STAGED),
            )
        };
        let mut count = self.n - 1;
        while count > 0 && !needs_reflector::<T>(count - 1, self.n) {
            count -= 1;
        }
        let mut buffer = 0;
        // Reflectors first..first + STAGED at a time, in the end some with a negative index, which are not there.
        let mut end = count;
        while end > 0 {
            let size = if end < STAGED as u32 { end } else { STAGED as u32 };
            let (vectors, factors) =
                (staged.at(buffer * (STAGED * p) as u32), factors.at(buffer * STAGED as u32));
            stage::<T, ROWS, COLUMNS>(reflectors, end - size, size, vectors, factors);
            thread::sync_threads();
            let mut k = end;
            while k > end - size {
                k -= 1;
                let at = k - (end - size);
                self.reflect(vectors.at(at * p as u32), factors.get(at), k);
            }
            end -= size;
            buffer ^= 1;
        }
    }

    /// `z -= tau v (v^H z)`; `v` is zero up to row `k`.
    #[inline(always)]
    fn reflect(&mut self, v: Shared<T>, tau: T, k: u32) {
        let mut dots = [T::ZERO; 4];
        for r in 0..PARTS {
            for quad in 0..COLUMNS / 4 {
                let q = r * COLUMNS / 4 + quad;
                if self.reaches(q, k) {
                    let v4 = v.get_array::<4>(self.row(q));
                    for c in 0..4 {
                        dots[c] = v4[c].conj().mul_add(self.elements[r][4 * quad + c], dots[c]);
                    }
                }
            }
        }
        let dot = self.tile.reduce((dots[0] + dots[1]) + (dots[2] + dots[3]), |a, b| a + b);
        let factor = -tau.mul(dot);
        for r in 0..PARTS {
            for quad in 0..COLUMNS / 4 {
                let q = r * COLUMNS / 4 + quad;
                if self.reaches(q, k) {
                    let v4 = v.get_array::<4>(self.row(q));
                    for c in 0..4 {
                        let z = self.elements[r][4 * quad + c];
                        self.elements[r][4 * quad + c] = factor.mul_add(v4[c], z);
                    }
                }
            }
        }
    }

    /// Whether quad `q` holds rows between `k` and the order, on any lane.
    #[inline(always)]
    fn reaches(&self, q: usize, k: u32) -> bool {
        // One comparison with what changes from reflector to reflector: one with n would be kept for each quad.
        let past = k + 2;
        self.first_row(q + 1).wrapping_sub(past) < self.n + self.first_row(1) - past
    }

    /// Stores this lane's elements of a column of order `n`; `rank` is that in the tile.
    #[inline(always)]
    fn store(&self, column: Shared<T>, rank: u32, n: u32) {
        for r in 0..PARTS {
            for quad in 0..COLUMNS / 4 {
                for c in 0..4 {
                    let row = self.first_row(r * COLUMNS / 4 + quad) + 4 * rank + c as u32;
                    if row < n {
                        column.set(row, self.elements[r][4 * quad + c]);
                    }
                }
            }
        }
    }
}

/// Brings reflectors `first..first + size` to shared memory, each as a whole vector. By all threads; no barrier.
#[inline(always)]
fn stage<T: Scalar, const ROWS: usize, const COLUMNS: usize>(
    reflectors: Item<T>,
    first: u32,
    size: u32,
    vectors: Shared<T>,
    factors: Shared<T>,
) {
    let p = const { padded(ROWS) as u32 };
    let (passes, step) = const {
        (STAGED * padded(ROWS) / threads(ROWS, COLUMNS), (threads(ROWS, COLUMNS) / padded(ROWS)) as u32)
    };
    let row = thread::thread_idx_x() % p;
    let mut j = thread::thread_idx_x() / p;
    // A constant number of passes: the compiler unrolls another loop into more registers than the columns leave.
    for _ in 0..passes {
        if j < size {
            let pivot = first + j + 1;
            let mut x = if row == pivot { T::ONE } else { T::ZERO };
            if row > pivot && row < reflectors.n {
                x = reflectors.column(first + j).get(row as usize);
            }
            vectors.set(j * p + row, x);
        }
        j += step;
    }
    let j = thread::thread_idx_x();
    if j < size {
        factors.set(j, reflectors.column(first + j + 1).get((first + j) as usize));
    }
}
