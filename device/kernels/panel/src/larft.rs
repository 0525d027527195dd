//! `larft`: the triangular factors of products of reflectors.

use crate::shape::{Larft, STRIP, TILE_THREADS, depth, product_ld, staged_ld};
use crate::units::{Sums, Units, own_rows};
use crate::vectors::{Vectors, is_aligned};
use cuda_std::copy;
use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// The factor `T` of `H_0 H_1 .. = I - V T V^H` for each `R` reflectors of an item.
///
/// # Layout and shapes
/// `v`: items of `n` rows, column-major with `ld` and `stride`; the vector of reflector `k` lies in column `k` below row
/// `k + shift`, where it is 1, whatever is stored. `tau`: `tau_stride` an item, `count` of them used. `t`: `R` by `R`
/// elements for each `R` reflectors, `panels` of them an item; upper triangles, zero below.
///
/// # Lanes
/// A block of 256 threads for `R` reflectors of an item; a warp for each triangle of 32 on the diagonal.
///
/// # Shared memory
/// [`Larft`].
///
/// # Synchronisation
/// Two block barriers for every `R / 2` rows, and five, met by all threads.
///
/// # Numerics
/// Sums over the rows in order; of f64 on the tensor cores, 16 terms at a time. Of 64 reflectors the two triangles are made
/// first, then what lies between: `-T1 (V1^H V2) T2`.
///
/// # Safety
/// The views cover the items that the grid counts, and the launch gives the shared memory.
///
/// # Source
/// R. Schreiber, C. Van Loan, A storage-efficient WY representation for products of Householder transformations, SIAM J.
/// Sci. Stat. Comput. 10 (1989); LAPACK's `zlarft`.
#[kernel(
    group(T = [f32], R = [64], launch_bounds(256)),
    group(T = [f64, c32], R = [32, 64], launch_bounds(256)),
    group(T = [c64], R = [32], launch_bounds(256))
)]
pub unsafe fn larft<T: Units, const R: usize>(
    v: Global<T>,
    tau: Global<T>,
    t: GlobalMut<T>,
    n: u32,
    ld: u32,
    stride: u64,
    tau_stride: u64,
    count: u32,
    shift: u32,
    panels: u32,
) {
    let panels = if panels == 0 { 1 } else { panels };
    let block = thread::block_idx_x();
    let (item, panel) = ((block / panels) as usize, block % panels);
    let first = panel * R as u32;
    let v = v.at(item * stride as usize);
    let vectors = Vectors { v, n, ld, first, count, shift, is_aligned: is_aligned(v, ld) };
    let tau = tau.at(item * tau_stride as usize + first as usize);
    let factor = Factor::<T, R>::new();
    factor.gram(&vectors);
    factor.triangles(tau, count - first);
    if R > 32 {
        factor.between();
    }
    factor.store(t.at(block as usize * R * R));
}

/// A block's factor in shared memory.
#[derive(Clone, Copy)]
struct Factor<T, const R: usize> {
    /// Two chunks of the vectors.
    chunks: Shared<T>,
    /// In their place: the factor, column by column.
    t: Shared<T>,
    /// `V^H V`, row by row, of which the upper triangle counts.
    gram: Shared<T>,
}

impl<T: Units, const R: usize> Factor<T, R> {
    const AT: Larft = Larft::new(R, size_of::<T>(), T::COMPLEX);
    const T_LD: u32 = R as u32 + 1;
    const GRAM_LD: u32 = product_ld(STRIP, size_of::<T>(), T::COMPLEX) as u32;

    #[inline(always)]
    fn new() -> Self {
        let at = const { Larft::new(R, size_of::<T>(), T::COMPLEX) };
        // SAFETY: the launch gives the elements of Larft. The chunks and the factor, of one type, overlap; a barrier lies
        // between their uses.
        unsafe {
            Factor {
                chunks: dynamic_shared_mem(0, at.gram),
                t: dynamic_shared_mem(0, R * (R + 1)),
                gram: dynamic_shared_mem(at.gram * size_of::<T>(), at.end - at.gram),
            }
        }
    }

    /// Leaves `V^H V`, for 64 columns of V whatever `R` is. A barrier lies after.
    #[inline(always)]
    fn gram(&self, vectors: &Vectors<T>) {
        let ld = const { staged_ld(R, size_of::<T>(), T::COMPLEX) as u32 };
        let shape = const { (depth(R) as u32, STRIP as u32) };
        let mut sums: Sums<T> = [[T::ZERO; 4]; 4];
        let (mut from, mut buffer) = (vectors.first, 0);
        vectors.stage(self.chunks, ld, from, shape);
        copy::commit();
        while from < vectors.n {
            let chunk = self.chunks.at(buffer * Self::AT.buffer as u32);
            buffer = 1 - buffer;
            let left = vectors.n - from;
            from += shape.0;
            if from < vectors.n {
                vectors.stage(self.chunks.at(buffer * Self::AT.buffer as u32), ld, from, shape);
            }
            copy::commit();
            copy::wait::<1>();
            thread::sync_threads();
            T::gram::<R>(chunk, chunk, if left < shape.0 { left } else { shape.0 }, &mut sums);
            thread::sync_threads();
        }
        for c in 0..4 {
            for r in 0..own_rows(R) {
                let (i, j) = T::gram_place::<R>(r, c);
                self.gram.set(i * Self::GRAM_LD + j, sums[c][r]);
            }
        }
        thread::sync_threads();
    }

    /// The triangles of 32 on the diagonal, and zeros below. A barrier lies after.
    #[inline(always)]
    fn triangles(&self, tau: Global<T>, left: u32) {
        let (warp, row) = (warp::warp_id(), Tile::native(32).rank());
        if warp < (R / 32) as u32 {
            let first = 32 * warp;
            let used = left.saturating_sub(first);
            self.triangle(first, row, tau.at(first as usize), if used < 32 { used } else { 32 });
        }
        thread::sync_threads();
    }

    /// From `V^H V` and the factors of the reflectors: lane = row, which needs only its own row of what is there so far.
    #[inline(always)]
    fn triangle(&self, first: u32, row: u32, tau: Global<T>, used: u32) {
        let (t, gram) = (self.t.at(first * Self::T_LD + first), self.gram.at(first * Self::GRAM_LD + first));
        for j in used..32 {
            t.set(j * Self::T_LD + row, T::ZERO);
        }
        for j in 0..used {
            let tau = tau.get(j as usize);
            let mut sum = T::ZERO;
            let mut p = row;
            while p < j {
                sum = t.get(p * Self::T_LD + row).mul_add(gram.get(p * Self::GRAM_LD + j), sum);
                p += 1;
            }
            let above = (-tau).mul(sum);
            let x = if row == j { tau } else { T::ZERO };
            t.set(j * Self::T_LD + row, if row < j { above } else { x });
        }
        if first == 0 {
            // Below the first triangle, where another one follows.
            for j in 0..R as u32 - 32 {
                t.set(j * Self::T_LD + 32 + row, T::ZERO);
            }
        }
    }

    /// What lies between two triangles. A barrier lies after.
    #[inline(always)]
    fn between(&self) {
        let (i, j) = (thread::thread_idx_x() % 32, thread::thread_idx_x() / 32);
        let (t, gram) = (self.t, self.gram);
        // (V1^H V2) T2, in the lower triangle, which nobody reads.
        for s in 0..4 {
            let column = j + 8 * s;
            let mut sum = T::ZERO;
            for p in 0..column + 1 {
                let x = t.get((32 + column) * Self::T_LD + 32 + p);
                sum = gram.get(i * Self::GRAM_LD + 32 + p).mul_add(x, sum);
            }
            gram.set((32 + i) * Self::GRAM_LD + column, sum);
        }
        thread::sync_threads();
        for s in 0..4 {
            let column = j + 8 * s;
            let mut sum = T::ZERO;
            for p in i..32 {
                sum = t.get(p * Self::T_LD + i).mul_add(gram.get((32 + p) * Self::GRAM_LD + column), sum);
            }
            t.set((32 + column) * Self::T_LD + i, -sum);
        }
        thread::sync_threads();
    }

    #[inline(always)]
    fn store(&self, out: GlobalMut<T>) {
        let (row, column) = (thread::thread_idx_x() % R as u32, thread::thread_idx_x() / R as u32);
        let step = TILE_THREADS / R as u32;
        for s in 0..R as u32 / step {
            let column = column + s * step;
            out.set((column * R as u32 + row) as usize, self.t.get(column * Self::T_LD + row));
        }
    }
}
