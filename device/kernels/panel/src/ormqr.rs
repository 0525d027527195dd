//! `ormqr`: many reflectors applied to a matrix.

use crate::apply::{Apply, Band, Corner, Depth, Extent, Sums, own_rows};
use crate::shape::{Ormqr, STRIP, depth, factor_ld, inner_ld, rows_ld};
use crate::vectors::{Chunk, Live, Vectors, is_aligned};
use cuda_std::prelude::*;
use cuda_std::{copy, hint};

/// `C := Q C` or `Q^H C`, where `Q = H_0 H_1 ..` is a product of reflectors in panels of `R`.
///
/// # Layout and shapes
/// `v`, `shift`, `count`, `panels`: as [`larft`](mod@crate::larft) has them, and `t` as it leaves them, from a
/// multiple of 16 bytes on. `c`: items of `n` by `columns`, column-major with `c_ld` and `c_stride`, overwritten.
///
/// # Lanes
/// A block of 256 threads (f32: 128) a strip of 64 columns, for all panels; `strips` strips an item. Warps without columns
/// stage and wait.
///
/// # Shared memory
/// [`Ormqr`]: two chunks of `R / 2` rows of V and C for `V^H C`, in their place two of `R` rows of V for the update, and the
/// product.
///
/// # Synchronisation
/// Two block barriers a chunk and two a panel, met by all threads. While a chunk is multiplied the next one is copied.
///
/// # Numerics
/// Sums run over rows, and from an element of C on over reflectors, in order; of f64 and c64 on the tensor cores, 16 terms at a time.
/// Terms with zeros of the triangles are left out.
///
/// # Safety
/// The views cover the items that the grid counts, and the launch gives the shared memory.
///
/// # Source
/// R. Schreiber, C. Van Loan, SIAM J. Sci. Stat. Comput. 10 (1989); LAPACK's `zlarfb`. That a block keeps its columns
/// through all panels is ours.
#[kernel(
    group(T = [f32], R = [64], launch_bounds(128, 4)),
    group(T = [f64, c32], R = [32, 64], launch_bounds(256, 2)),
    group(T = [c64], R = [32], launch_bounds(256, 1))
)]
pub unsafe fn ormqr<T: Apply, const R: usize>(
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
    let (item, at) = (block / strips, block % strips * STRIP as u32);
    let left = columns - at;
    let target = Strip::<T, R> {
        v,
        stride,
        c,
        c_stride,
        ld: c_ld,
        item,
        at,
        rows: n,
        columns: if left < STRIP as u32 { left } else { STRIP as u32 },
        shared: Memory::new::<R>(),
    };
    let mut step = 0;
    while step < panels {
        // Q applies its last panel first, Q^H its first.
        let panel = if adjoint != 0 { step } else { panels - 1 - step };
        let first = panel * R as u32;
        // Where they lie is found anew at each use.
        let vectors = Vectors { v, n, ld, first, count, shift, is_aligned: false };
        target.multiply(&vectors);
        target.multiply_factor(
            &vectors,
            t.at((hint::opaque(item) as usize * panels as usize + panel as usize) * R * R),
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

impl<T: Apply> Memory<T> {
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
    /// The vectors and the matrices of all items.
    v: Global<T>,
    stride: u64,
    c: GlobalMut<T>,
    c_stride: u64,
    ld: u32,
    item: u32,
    /// The first column.
    at: u32,
    rows: u32,
    columns: u32,
    shared: Memory<T>,
}

impl<T: Apply, const R: usize> Strip<T, R> {
    const AT: Ormqr = Ormqr::new(R, size_of::<T>(), T::COMPLEX);
    const DEPTH: u32 = depth(R) as u32;
    const STAGED_LD: u32 = inner_ld(R, size_of::<T>(), T::COMPLEX);
    const V_LD: u32 = rows_ld(R, size_of::<T>(), T::COMPLEX);
    const PRODUCT_LD: u32 = factor_ld(size_of::<T>(), T::COMPLEX);

    #[inline(always)]
    fn corner(&self) -> Corner {
        Corner::new(self.item)
    }

    /// The vectors of the item, anew at each use: pointers are not held in registers from phase to phase.
    #[inline(always)]
    fn item_v(&self) -> Global<T> {
        self.v.at(hint::opaque(self.item) as usize * self.stride as usize)
    }

    /// The strip, anew at each use.
    #[inline(always)]
    fn strip(&self) -> GlobalMut<T> {
        let item = hint::opaque(self.item) as usize;
        self.c.at(item * self.c_stride as usize + self.at as usize * self.ld as usize)
    }

    /// Whether this warp has columns.
    #[inline(always)]
    fn has_columns(&self) -> bool {
        self.corner().column < self.columns
    }

    /// Leaves `V^H C` in shared memory; the chunks are free behind the barrier that follows.
    #[inline(always)]
    fn multiply(&self, vectors: &Vectors<T>) {
        let mut sums: Sums<T> = [[T::ZERO; 8]; 4];
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
            if self.has_columns() {
                let offset = from - Self::DEPTH - vectors.first;
                let depth = Depth { rows, offset, used: vectors.used(R as u32) };
                T::gram::<R>(self.corner(), chunk, chunk.at(Self::AT.c as u32), depth, &mut sums);
            }
            thread::sync_threads();
        }
        if self.has_columns() {
            let corner = self.corner();
            for c in 0..4 {
                for r in 0..own_rows::<T>(R) {
                    let (reflector, column) = T::gram_place::<R>(corner, r, c);
                    self.shared.product.set(reflector * Self::PRODUCT_LD + column, T::turned(sums[c][r]));
                }
            }
        }
    }

    /// Begins to stage [`depth`] rows of the vectors and of the strip; zero past the last row and column.
    #[inline(always)]
    fn stage(&self, vectors: &Vectors<T>, from: u32, buffer: u32) {
        let chunk = self.shared.chunks.at(buffer * Self::AT.chunk as u32);
        self.stage_vectors(vectors, chunk, Self::STAGED_LD, from, Self::DEPTH);
        let strip = self.strip().as_global();
        let c = Chunk {
            source: strip,
            ld: self.ld,
            is_aligned: is_aligned(strip, self.ld),
            from,
            to: chunk.at(Self::AT.c as u32),
            to_ld: Self::STAGED_LD,
        };
        let is_whole = self.columns == STRIP as u32 && from + Self::DEPTH <= self.rows;
        stage_chunk(c, (Self::DEPTH, STRIP as u32), is_whole, |column| {
            let end = if column < self.columns { self.rows } else { 0 };
            Live { start: 0, end, is_led: false }
        });
    }

    /// Begins to stage `rows` rows of the vectors.
    #[inline(always)]
    fn stage_vectors(&self, vectors: &Vectors<T>, to: Shared<T>, to_ld: u32, from: u32, rows: u32) {
        let (shape, v) = ((rows, R as u32), self.item_v());
        let vectors = Vectors { v, is_aligned: is_aligned(v, vectors.ld), ..*vectors };
        if T::THREADS == 128 {
            vectors.stage::<128>(to, to_ld, from, shape, vectors.is_live(from, shape));
        } else {
            vectors.stage::<256>(to, to_ld, from, shape, vectors.is_live(from, shape));
        }
    }

    /// Makes the product `-T` (or `-T^H`) times it, in its place; a barrier is to follow. The first rows of V for the update are
    /// on their way.
    #[inline(always)]
    fn multiply_factor(&self, vectors: &Vectors<T>, t: Global<T>, adjoint: bool) {
        let factor = self.shared.chunks.at(Self::AT.rows as u32);
        if adjoint {
            Self::transpose(t, factor);
        } else {
            let (ld, to_ld) = (R as u32, Self::V_LD);
            let chunk = Chunk { source: t, ld, is_aligned: true, from: 0, to: factor, to_ld };
            let live = |_| Live { start: 0, end: R as u32, is_led: false };
            stage_chunk(chunk, (R as u32, R as u32), true, live);
        }
        copy::commit();
        self.stage_vectors(vectors, self.shared.chunks, Self::V_LD, vectors.first, R as u32);
        copy::commit();
        copy::wait::<1>();
        thread::sync_threads();
        let mut sums: Sums<T> = [[T::ZERO; 8]; 4];
        if self.has_columns() {
            let band = if adjoint { Band::Lower } else { Band::Upper };
            let used = vectors.used(R as u32);
            T::product::<R>(
                self.corner(),
                factor,
                self.shared.product,
                Extent { rows: used, columns: used, band },
                &mut sums,
            );
        }
        thread::sync_threads();
        if self.has_columns() {
            let corner = self.corner();
            for c in 0..4 {
                let (row, column) = T::product_place::<R>(corner, c);
                for r in 0..own_rows::<T>(R) {
                    let at = (row + T::row_offset::<R>(r)) * Self::PRODUCT_LD + column;
                    self.shared.product.set(at, -sums[c][r]);
                }
            }
        }
    }

    /// Leaves the adjoint of `t`.
    #[inline(always)]
    fn transpose(t: Global<T>, factor: Shared<T>) {
        let mut at = thread::thread_idx_x();
        // A bound that is not known keeps the loop rolled.
        let end = hint::opaque((R * R) as u32);
        while at < end {
            // Four loads in flight.
            let mut elements = [T::ZERO; 4];
            for s in 0..4 {
                elements[s] = t.get(at as usize + s * T::THREADS as usize);
            }
            for s in 0..4 {
                let (row, column) = (at % R as u32, at / R as u32 + s as u32 * (T::THREADS / R as u32));
                factor.set(row * Self::V_LD + column, elements[s].conj());
            }
            at += 4 * T::THREADS;
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
                self.stage_vectors(vectors, to, Self::V_LD, next, R as u32);
            }
            copy::commit();
            let mut sums: Sums<T> = [[T::ZERO; 8]; 4];
            if self.has_columns() {
                self.load(from, &mut sums);
            }
            copy::wait::<1>();
            thread::sync_threads();
            if self.has_columns() {
                let band = if from == vectors.first { Band::Lower } else { Band::Full };
                T::product::<R>(
                    self.corner(),
                    rows,
                    self.shared.product,
                    Extent { rows: self.rows - from, columns: vectors.used(R as u32), band },
                    &mut sums,
                );
                self.store(from, &sums);
            }
            thread::sync_threads();
            from = next;
        }
    }

    /// How this thread's elements of `R` rows from `from` on are accessed: all there, by words of 16 bytes; all there; or some
    /// of them.
    #[inline(always)]
    fn access(&self, strip: GlobalMut<T>, from: u32) -> (bool, bool) {
        let is_whole = T::RUNS && from + R as u32 <= self.rows && self.columns == STRIP as u32;
        let has_words = own_rows::<T>(R) / 2 >= T::LANES && is_aligned(strip.as_global(), self.ld);
        (is_whole && has_words, is_whole)
    }

    /// This thread's column `c` from the first of its rows on, and how many rows from there on there are.
    #[inline(always)]
    fn place(&self, strip: GlobalMut<T>, from: u32, c: usize) -> (GlobalMut<T>, u32) {
        let (row, column) = T::product_place::<R>(self.corner(), c);
        // In 32 bits and anew at each use, for registers.
        let place = strip.at((column * hint::opaque(self.ld) + from + row) as usize);
        let is_there = from + row < self.rows && column < self.columns;
        (place, if is_there { self.rows - from - row } else { 0 })
    }

    /// This thread's elements of `R` rows of the strip.
    #[inline(always)]
    fn load(&self, from: u32, elements: &mut Sums<T>) {
        let strip = self.strip();
        let (has_words, is_whole) = self.access(strip, from);
        if has_words {
            for c in 0..4 {
                let (place, _) = self.place(strip, from, c);
                for r in (0..own_rows::<T>(R)).step_by(T::LANES) {
                    let word = place.get_vector(T::row_offset::<R>(r) as usize);
                    for e in 0..T::LANES {
                        elements[c][(r + e) % 8] = T::turned(word.as_ref()[e]);
                    }
                }
            }
        } else {
            for c in 0..4 {
                let (place, left) = self.place(strip, from, c);
                for r in 0..own_rows::<T>(R) {
                    if is_whole || T::row_offset::<R>(r) < left {
                        elements[c][r] = T::turned(place.get(T::row_offset::<R>(r) as usize));
                    }
                }
            }
        }
    }

    /// Stores them.
    #[inline(always)]
    fn store(&self, from: u32, elements: &Sums<T>) {
        let strip = self.strip();
        let (has_words, is_whole) = self.access(strip, from);
        if has_words {
            for c in 0..4 {
                let (place, _) = self.place(strip, from, c);
                for r in (0..own_rows::<T>(R)).step_by(T::LANES) {
                    let mut word = T::ZERO.splat();
                    for e in 0..T::LANES {
                        word.as_mut()[e] = T::turned(elements[c][(r + e) % 8]);
                    }
                    place.set_vector(T::row_offset::<R>(r) as usize, word);
                }
            }
        } else {
            for c in 0..4 {
                let (place, left) = self.place(strip, from, c);
                for r in 0..own_rows::<T>(R) {
                    if is_whole || T::row_offset::<R>(r) < left {
                        place.set(T::row_offset::<R>(r) as usize, T::turned(elements[c][r]));
                    }
                }
            }
        }
    }
}

/// Begins to copy a chunk by all threads of the block.
#[inline(always)]
fn stage_chunk<T: Apply>(chunk: Chunk<T>, shape: (u32, u32), is_live: bool, live: impl Fn(u32) -> Live) {
    if T::THREADS == 128 {
        chunk.stage::<128>(shape, is_live, live);
    } else {
        chunk.stage::<256>(shape, is_live, live);
    }
}
