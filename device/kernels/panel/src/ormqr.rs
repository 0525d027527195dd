//! `ormqr`: many reflectors applied to a matrix.

use crate::larft::Vectors;
use crate::shape::{Ormqr, REFLECTORS, ROWS, TILE_THREADS, staged_ld, strip};
use cuda_std::prelude::*;

/// `C := Q C` or `Q^H C`, where `Q = H_0 H_1 ..` is a product of reflectors in panels of 32.
///
/// # Layout and shapes
/// `v`, `shift`, `count`, `panels`: as [`larft`](mod@crate::larft) has them, and `t` as it leaves them. `c`: items of
/// `n` by `columns`, column-major with `c_ld` and `c_stride`, overwritten.
///
/// # Lanes
/// A block of 256 threads a strip of columns, 256 bytes of each row of an item, for all panels; `strips` strips an
/// item.
///
/// # Shared memory
/// [`Ormqr`].
///
/// # Synchronisation
/// Four block barriers for every 64 rows of a panel, and seven a panel, met by all threads.
///
/// # Numerics
/// The sums over rows run in four interleaved parts, in an order that depends on `n` alone.
///
/// # Safety
/// The views cover the items that the grid counts, and the launch gives the shared memory.
///
/// # Source
/// R. Schreiber, C. Van Loan, SIAM J. Sci. Stat. Comput. 10 (1989); LAPACK's `zlarfb`. That a block keeps its columns
/// through all panels is ours.
#[kernel(T = [f32, f64, c32, c64], launch_bounds(256, 2))]
pub unsafe fn ormqr<T: Scalar>(
    v: Global<T>,
    t: Global<T>,
    c: GlobalMut<T>,
    n: u32,
    columns: u32,
    ld: u32,
    stride: u64,
    c_ld: u32,
    c_stride: u64,
    count: u32,
    shift: u32,
    panels: u32,
    strips: u32,
    adjoint: u32,
) {
    let strips = if strips == 0 { 1 } else { strips };
    let block = thread::block_idx_x();
    let (item, at) = ((block / strips) as usize, block % strips);
    let width = const { strip(size_of::<T>()) } as u32;
    let left = columns - at * width;
    let target = Strip {
        c: c.at(item * c_stride as usize + (at * width) as usize * c_ld as usize),
        ld: c_ld,
        rows: n,
        columns: if left < width { left } else { width },
        shared: Memory::new(),
    };
    let mut step = 0;
    while step < panels {
        // Q applies its last panel first, Q^H its first.
        let panel = if adjoint != 0 { step } else { panels - 1 - step };
        let first = panel * REFLECTORS as u32;
        let vectors = Vectors { v: v.at(item * stride as usize), n, ld, first, count, shift };
        target.load_factor(t.at((item * panels as usize + panel as usize) * REFLECTORS * REFLECTORS));
        target.multiply(&vectors);
        target.multiply_factor(&vectors, adjoint != 0);
        target.subtract(&vectors);
        step += 1;
    }
}

/// Views of a block's shared memory. Chunks lie column by column, `staged_ld` apart.
#[derive(Clone, Copy)]
struct Memory<T> {
    v: Shared<T>,
    c: Shared<T>,
    /// `V^H C`, row by row.
    product: Shared<T>,
    /// `T V^H C`, row by row.
    factor: Shared<T>,
    t: Shared<T>,
}

impl<T: Scalar> Memory<T> {
    #[inline(always)]
    fn new() -> Self {
        let (bytes, ld) = (size_of::<T>(), staged_ld(size_of::<T>()));
        let at = Ormqr::new(bytes);
        // SAFETY: the launch gives Ormqr::end bytes; the parts are disjoint, and multiples of 16 bytes long.
        unsafe {
            Memory {
                v: dynamic_shared_mem(at.v, REFLECTORS * ld),
                c: dynamic_shared_mem(at.c, strip(bytes) * ld),
                product: dynamic_shared_mem(at.product, REFLECTORS * strip(bytes)),
                factor: dynamic_shared_mem(at.factor, REFLECTORS * strip(bytes)),
                t: dynamic_shared_mem(at.t, REFLECTORS * (REFLECTORS + 1)),
            }
        }
    }
}

const fn most(x: usize, y: usize) -> usize {
    if x > y { x } else { y }
}

/// A block's columns of an item.
#[derive(Clone, Copy)]
struct Strip<T> {
    c: GlobalMut<T>,
    ld: u32,
    rows: u32,
    columns: u32,
    shared: Memory<T>,
}

impl<T: Scalar> Strip<T> {
    const WIDTH: usize = strip(size_of::<T>());
    const LD: u32 = staged_ld(size_of::<T>()) as u32;
    /// Columns of a thread in `V^H C`.
    const OWN: usize = Self::WIDTH / 8;
    /// Columns of a thread in the update.
    const UPDATED: usize = Self::WIDTH / 16;
    const T_LD: u32 = REFLECTORS as u32 + 1;
    /// Elements of a 16-byte word.
    const WORD: usize = 16 / size_of::<T>();

    /// A word of shared memory.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn word(from: Shared<T>, at: u32) -> [T; 4] {
        let mut word = [T::ZERO; 4];
        match Self::WORD {
            4 => word = from.get_array::<4>(at),
            2 => [word[0], word[1]] = from.get_array::<2>(at),
            _ => word[0] = from.get(at),
        }
        word
    }

    #[inline(always)]
    fn load_factor(&self, t: Global<T>) {
        let mut at = thread::thread_idx_x();
        while at < (REFLECTORS * REFLECTORS) as u32 {
            self.shared.t.set(at / 32 * Self::T_LD + at % 32, t.get(at as usize));
            at += TILE_THREADS;
        }
    }

    /// Rows `from..from + ROWS` of the vectors and of the strip; zero past the last row and column.
    #[inline(always)]
    fn stage(&self, vectors: &Vectors<T>, from: u32) {
        let row = thread::thread_idx_x() % ROWS as u32;
        let mut column = thread::thread_idx_x() / ROWS as u32;
        // All columns; a bound that is not known keeps the loop rolled, and registers low.
        let end = if self.rows == 0 { 0 } else { const { most(REFLECTORS, strip(size_of::<T>())) as u32 } };
        while column < end {
            if column < REFLECTORS as u32 {
                self.shared.v.set(column * Self::LD + row, vectors.get(from + row, column));
            }
            if column < Self::WIDTH as u32 {
                let mut x = T::ZERO;
                if from + row < self.rows && column < self.columns {
                    x = self.c.get(column as usize * self.ld as usize + (from + row) as usize);
                }
                self.shared.c.set(column * Self::LD + row, x);
            }
            column += TILE_THREADS / ROWS as u32;
        }
    }

    /// Leaves `V^H C` in shared memory. A barrier lies after.
    ///
    /// The rows of a chunk are dealt to four groups of 64 threads; a thread has 4 rows of the product, 8 apart, and
    /// `OWN` columns, 8 apart.
    #[inline(always)]
    fn multiply(&self, vectors: &Vectors<T>) {
        let thread = thread::thread_idx_x();
        let (group, i, j) = (thread / 64, thread % 8, thread % 64 / 8);
        let memory = self.shared;
        let mut sums = [[T::ZERO; 8]; 4];
        let mut from = vectors.first;
        while from < self.rows {
            self.stage(vectors, from);
            thread::sync_threads();
            let mut row = group * (ROWS as u32 / 4);
            // Rows past the last are zeros. A bound that is not known keeps the loop rolled, and registers low.
            let (left, end) = (self.rows - from, row + ROWS as u32 / 4);
            let end = if left < end { left } else { end };
            while row < end {
                let mut v = [[T::ZERO; 4]; 4];
                for a in 0..4 {
                    v[a] = Self::word(memory.v, (i + 8 * a as u32) * Self::LD + row);
                }
                for b in 0..Self::OWN {
                    let c = Self::word(memory.c, (j + 8 * b as u32) * Self::LD + row);
                    for a in 0..4 {
                        for r in 0..Self::WORD {
                            sums[a][b] = v[a][r].conj().mul_add(c[r], sums[a][b]);
                        }
                    }
                }
                row += Self::WORD as u32;
            }
            thread::sync_threads();
            from += ROWS as u32;
        }
        for turn in 0..4 {
            if group == turn {
                for a in 0..4 {
                    for b in 0..Self::OWN {
                        let at = (i + 8 * a as u32) * Self::WIDTH as u32 + j + 8 * b as u32;
                        let before = if turn == 0 { T::ZERO } else { memory.product.get(at) };
                        memory.product.set(at, before + sums[a][b]);
                    }
                    // Keeps the loads of all elements from being done at once, which takes as many registers.
                    warp::sync_warp(warp::FULL_MASK);
                }
            }
            thread::sync_threads();
        }
    }

    /// Leaves `T` (or `T^H`) times the product in shared memory. A barrier lies after.
    #[inline(always)]
    fn multiply_factor(&self, vectors: &Vectors<T>, adjoint: bool) {
        let memory = self.shared;
        let mut at = thread::thread_idx_x();
        while at < (REFLECTORS * Self::WIDTH) as u32 {
            let (row, column) = (at / Self::WIDTH as u32, at % Self::WIDTH as u32);
            let mut sum = T::ZERO;
            for k in 0..vectors.used() {
                let t = if adjoint {
                    memory.t.get(row * Self::T_LD + k).conj()
                } else {
                    memory.t.get(k * Self::T_LD + row)
                };
                sum = t.mul_add(memory.product.get(k * Self::WIDTH as u32 + column), sum);
            }
            memory.factor.set(at, sum);
            at += TILE_THREADS;
        }
        thread::sync_threads();
    }

    /// `C -= V` times the factor. A barrier lies after.
    ///
    /// A thread has 4 rows and `UPDATED` columns of a chunk, beside each other.
    #[inline(always)]
    fn subtract(&self, vectors: &Vectors<T>) {
        let thread = thread::thread_idx_x();
        let (row, column) = (thread % 16 * 4, thread / 16 * Self::UPDATED as u32);
        let memory = self.shared;
        let mut from = vectors.first;
        while from < self.rows {
            self.stage(vectors, from);
            thread::sync_threads();
            let mut sums = [[T::ZERO; 4]; 4];
            for k in 0..vectors.used() {
                let v = memory.v.get_array::<4>(k * Self::LD + row);
                let factor = self.factors(k, column);
                for b in 0..Self::UPDATED {
                    for r in 0..4 {
                        sums[b][r] = v[r].mul_add(factor[b], sums[b][r]);
                    }
                }
            }
            for b in 0..Self::UPDATED {
                for r in 0..4 {
                    let at = (column + b as u32) * Self::LD + row + r as u32;
                    memory.c.set(at, memory.c.get(at) - sums[b][r]);
                }
            }
            thread::sync_threads();
            self.store(from);
            // Each thread stages where it stored; the vectors are read no more.
            from += ROWS as u32;
        }
        thread::sync_threads();
    }

    /// Elements of row `k` of the factor, from `column` on.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn factors(&self, k: u32, column: u32) -> [T; 4] {
        let (from, mut factors) = (self.shared.factor.at(k * Self::WIDTH as u32 + column), [T::ZERO; 4]);
        match Self::UPDATED {
            4 => factors = from.get_array::<4>(0),
            2 => [factors[0], factors[1]] = from.get_array::<2>(0),
            _ => factors[0] = from.get(0),
        }
        factors
    }

    /// Stores rows `from..from + ROWS` of the strip: each thread what it staged.
    #[inline(always)]
    fn store(&self, from: u32) {
        let row = thread::thread_idx_x() % ROWS as u32;
        let mut column = thread::thread_idx_x() / ROWS as u32;
        while column < self.columns {
            if from + row < self.rows {
                let x = self.shared.c.get(column * Self::LD + row);
                self.c.set(column as usize * self.ld as usize + (from + row) as usize, x);
            }
            column += TILE_THREADS / ROWS as u32;
        }
    }
}
