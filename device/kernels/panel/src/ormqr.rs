//! `ormqr`: many reflectors applied to a matrix.

use crate::shape::{Ormqr, STRIP, TILE_THREADS, depth, product_ld, staged_ld};
use crate::units::{Sums, Units, own_rows};
use crate::vectors::{Chunk, Live, Vectors, is_aligned};
use cuda_std::prelude::*;
use cuda_std::{copy, hint};

/// `C := Q C` or `Q^H C`, where `Q = H_0 H_1 ..` is a product of reflectors in panels of `R`.
///
/// # Layout and shapes
/// `v`, `shift`, `count`, `panels`: as [`larft`](mod@crate::larft) has them, and `t` as it leaves them. `c`: items of
/// `n` by `columns`, column-major with `c_ld` and `c_stride`, overwritten.
///
/// # Lanes
/// A block of 256 threads a strip of 64 columns, for all panels; `strips` strips an item.
///
/// # Shared memory
/// [`Ormqr`]: two chunks of `R / 2` rows of V and C for `V^H C`, in their place two of `R` rows of V for the update, and the
/// product.
///
/// # Synchronisation
/// Two block barriers a chunk and three a panel, met by all threads. While a chunk is multiplied the next one is copied.
///
/// # Numerics
/// Sums run over rows, and from an element of C on over reflectors, in order; of f64 on the tensor cores, 16 terms at a time.
///
/// # Safety
/// The views cover the items that the grid counts, and the launch gives the shared memory.
///
/// # Source
/// R. Schreiber, C. Van Loan, SIAM J. Sci. Stat. Comput. 10 (1989); LAPACK's `zlarfb`. That a block keeps its columns
/// through all panels is ours.
#[kernel(
    group(T = [f32], R = [64], launch_bounds(256, 3)),
    group(T = [f64, c32], R = [32, 64], launch_bounds(256, 2)),
    group(T = [c64], R = [32], launch_bounds(256, 2))
)]
pub unsafe fn ormqr<T: Units, const R: usize>(
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
    let (item, at) = ((block / strips) as usize, block % strips * STRIP as u32);
    let left = columns - at;
    let c = c.at(item * c_stride as usize + at as usize * c_ld as usize);
    let v = v.at(item * stride as usize);
    let target = Strip::<T, R> {
        c,
        ld: c_ld,
        rows: n,
        columns: if left < STRIP as u32 { left } else { STRIP as u32 },
        is_aligned: is_aligned(c.as_global(), c_ld),
        shared: Memory::new::<R>(),
    };
    let mut step = 0;
    while step < panels {
        // Q applies its last panel first, Q^H its first.
        let panel = if adjoint != 0 { step } else { panels - 1 - step };
        let first = panel * R as u32;
        let vectors = Vectors { v, n, ld, first, count, shift, is_aligned: is_aligned(v, ld) };
        target.multiply(&vectors);
        target.multiply_factor(
            &vectors,
            t.at((item * panels as usize + panel as usize) * R * R),
            adjoint != 0,
        );
        target.update(&vectors);
        step += 1;
    }
}

/// Views of a block's shared memory.
#[derive(Clone, Copy)]
struct Memory<T> {
    /// Chunks of V and C, or of V alone.
    chunks: Shared<T>,
    /// `V^H C`, then `-T V^H C`, row by row.
    product: Shared<T>,
}

impl<T: Units> Memory<T> {
    #[inline(always)]
    fn new<const R: usize>() -> Self {
        let at = const { Ormqr::new(R, size_of::<T>(), T::COMPLEX) };
        // SAFETY: the launch gives Ormqr::bytes; the parts are disjoint, and multiples of 16 bytes long.
        unsafe {
            Memory {
                chunks: dynamic_shared_mem(0, at.product),
                product: dynamic_shared_mem(at.product * size_of::<T>(), at.end - at.product),
            }
        }
    }
}

/// A block's columns of an item.
#[derive(Clone, Copy)]
struct Strip<T, const R: usize> {
    c: GlobalMut<T>,
    ld: u32,
    rows: u32,
    columns: u32,
    /// Whether words of 16 bytes begin the columns.
    is_aligned: bool,
    shared: Memory<T>,
}

impl<T: Units, const R: usize> Strip<T, R> {
    const AT: Ormqr = Ormqr::new(R, size_of::<T>(), T::COMPLEX);
    const DEPTH: u32 = depth(R) as u32;
    const STAGED_LD: u32 = staged_ld(R, size_of::<T>(), T::COMPLEX) as u32;
    const V_LD: u32 = product_ld(R, size_of::<T>(), T::COMPLEX) as u32;
    const PRODUCT_LD: u32 = product_ld(STRIP, size_of::<T>(), T::COMPLEX) as u32;

    /// Leaves `V^H C` in shared memory; the chunks are free behind the barrier that follows.
    #[inline(always)]
    fn multiply(&self, vectors: &Vectors<T>) {
        let mut sums: Sums<T> = [[T::ZERO; 4]; 4];
        let mut from = vectors.first;
        let mut buffer = 0;
        self.stage(vectors, from, buffer);
        copy::commit();
        while from < self.rows {
            let chunk = self.shared.chunks.at(buffer * Self::AT.chunk as u32);
            buffer = 1 - buffer;
            let left = self.rows - from;
            from += Self::DEPTH;
            if from < self.rows {
                self.stage(vectors, from, buffer);
            }
            copy::commit();
            copy::wait::<1>();
            thread::sync_threads();
            let rows = if left < Self::DEPTH { left } else { Self::DEPTH };
            T::gram::<R>(chunk, chunk.at(Self::AT.c as u32), rows, &mut sums);
            thread::sync_threads();
        }
        for c in 0..4 {
            for r in 0..own_rows(R) {
                let (reflector, column) = T::gram_place::<R>(r, c);
                self.shared.product.set(reflector * Self::PRODUCT_LD + column, sums[c][r]);
            }
        }
    }

    /// Begins to stage [`depth`] rows of the vectors and of the strip; zero past the last row and column.
    #[inline(always)]
    fn stage(&self, vectors: &Vectors<T>, from: u32, buffer: u32) {
        let chunk = self.shared.chunks.at(buffer * Self::AT.chunk as u32);
        vectors.stage(chunk, Self::STAGED_LD, from, (Self::DEPTH, R as u32));
        let c = Chunk {
            source: self.c.as_global(),
            ld: self.ld,
            is_aligned: self.is_aligned,
            from,
            to: chunk.at(Self::AT.c as u32),
            to_ld: Self::STAGED_LD,
        };
        c.stage((Self::DEPTH, STRIP as u32), |column| {
            let end = if column < self.columns { self.rows } else { 0 };
            Live { start: 0, end, is_led: false }
        });
    }

    /// Makes the product `-T` (or `-T^H`) times it, in its place; a barrier is to follow. The first rows of V for the update are
    /// on their way.
    #[inline(always)]
    fn multiply_factor(&self, vectors: &Vectors<T>, t: Global<T>, adjoint: bool) {
        vectors.stage(self.shared.chunks, Self::V_LD, vectors.first, (R as u32, R as u32));
        copy::commit();
        let factor = self.shared.chunks.at(Self::AT.rows as u32);
        let mut at = thread::thread_idx_x();
        let end = if self.rows == 0 { 0 } else { (R * R) as u32 };
        while at < end {
            // Four loads in flight.
            let mut elements = [T::ZERO; 4];
            for s in 0..4 {
                elements[s] = t.get(at as usize + s * TILE_THREADS as usize);
            }
            for s in 0..4 {
                let (row, column) = (at % R as u32, at / R as u32 + s as u32 * (TILE_THREADS / R as u32));
                if adjoint {
                    factor.set(row * Self::V_LD + column, elements[s].conj());
                } else {
                    factor.set(column * Self::V_LD + row, elements[s]);
                }
            }
            // Keeps the loop rolled.
            warp::sync_warp(warp::FULL_MASK);
            at += 4 * TILE_THREADS;
        }
        thread::sync_threads();
        let mut sums: Sums<T> = [[T::ZERO; 4]; 4];
        T::product::<R>(factor, self.shared.product, vectors.used(R as u32), &mut sums);
        thread::sync_threads();
        for c in 0..4 {
            for r in 0..own_rows(R) {
                let (row, column) = T::product_place::<R>(c);
                let at = (row + T::row_offset(r)) * Self::PRODUCT_LD + column;
                self.shared.product.set(at, -sums[c][r]);
            }
        }
    }

    /// `C += V` times the factor. A barrier lies after.
    #[inline(always)]
    fn update(&self, vectors: &Vectors<T>) {
        let mut from = vectors.first;
        let mut buffer = 0;
        while from < self.rows {
            let rows = self.shared.chunks.at(buffer * Self::AT.rows as u32);
            buffer = 1 - buffer;
            let next = from + R as u32;
            if next < self.rows {
                let to = self.shared.chunks.at(buffer * Self::AT.rows as u32);
                vectors.stage(to, Self::V_LD, next, (R as u32, R as u32));
            }
            copy::commit();
            let mut sums = self.load(from);
            copy::wait::<1>();
            thread::sync_threads();
            T::product::<R>(rows, self.shared.product, vectors.used(R as u32), &mut sums);
            self.store(from, &sums);
            thread::sync_threads();
            from = next;
        }
    }

    /// Whether this thread's elements of `R` rows from `from` on are all there and begin with words of 16 bytes.
    #[inline(always)]
    fn has_words(&self, from: u32) -> bool {
        let (row, column) = T::product_place::<R>(3);
        let last = row + T::row_offset(own_rows(R) - 1);
        T::ROWS_TOGETHER && self.is_aligned && from + last < self.rows && column < self.columns
    }

    /// This thread's column `c` from the first of its rows on, and how many rows from there on there are.
    #[inline(always)]
    fn place(&self, from: u32, c: usize) -> (GlobalMut<T>, u32) {
        let (row, column) = T::product_place::<R>(c);
        // In 32 bits and anew at each use, for registers.
        let place = self.c.at((column * hint::opaque(self.ld) + from + row) as usize);
        let is_there = from + row < self.rows && column < self.columns;
        (place, if is_there { self.rows - from - row } else { 0 })
    }

    /// This thread's elements of `R` rows of the strip.
    #[inline(always)]
    fn load(&self, from: u32) -> Sums<T> {
        let mut elements = [[T::ZERO; 4]; 4];
        let has_words = self.has_words(from);
        for c in 0..4 {
            let (place, left) = self.place(from, c);
            if has_words {
                for r in (0..own_rows(R)).step_by(T::LANES) {
                    let word = place.get_vector(r);
                    for e in 0..T::LANES {
                        elements[c][(r + e) % 4] = word.as_ref()[e];
                    }
                }
            } else {
                for r in 0..own_rows(R) {
                    if T::row_offset(r) < left {
                        elements[c][r] = place.get(T::row_offset(r) as usize);
                    }
                }
            }
        }
        elements
    }

    /// Stores them.
    #[inline(always)]
    fn store(&self, from: u32, elements: &Sums<T>) {
        let has_words = self.has_words(from);
        for c in 0..4 {
            let (place, left) = self.place(from, c);
            if has_words {
                for r in (0..own_rows(R)).step_by(T::LANES) {
                    let mut word = T::ZERO.splat();
                    for e in 0..T::LANES {
                        word.as_mut()[e] = elements[c][(r + e) % 4];
                    }
                    place.set_vector(r, word);
                }
            } else {
                for r in 0..own_rows(R) {
                    if T::row_offset(r) < left {
                        place.set(T::row_offset(r) as usize, elements[c][r]);
                    }
                }
            }
        }
    }
}
