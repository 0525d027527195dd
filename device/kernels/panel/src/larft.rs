//! `larft`: the triangular factors of products of reflectors.

use crate::gram::{Gram, Quarter, halves, offset, quarter_rows};
use crate::shape::{LARFT_THREADS, Larft, depth, staged_ld};
use crate::vectors::{Vectors, is_aligned};
use cuda_std::prelude::*;
use cuda_std::{copy, hint};

/// The factor `T` of `H_0 H_1 .. = I - V T V^H` for each `R` reflectors of an item.
///
/// # Layout and shapes
/// `v`: items of `n` rows, column-major with `ld` and `stride`; the vector of reflector `k` lies in column `k` below row
/// `k + shift`, where it is 1, whatever is stored. `tau`: `tau_stride` an item, `count` of them used. `t`: `R` by `R`
/// elements for each `R` reflectors, `panels` of them an item; upper triangles, zero below.
///
/// # Lanes
/// A block of 128 threads for `R` reflectors of an item. Of `V^H V` three warps make a quarter each, the one below the
/// diagonal being none of the factor's; of the factor two warps make a triangle of `R / 2`, a row a lane, and all what lies
/// between. Which warp does what differs from block to block, so that each of a multiprocessor's four parts has as much to
/// do.
///
/// # Shared memory
/// [`Larft`].
///
/// # Synchronisation
/// Two block barriers for every `R / 2` rows, and three, met by all threads.
///
/// # Numerics
/// `T = D M` with `D` of the `tau` and `M = (I + U D)^-1`, where `U` is what `V^H V` has above the diagonal: so a `tau` of
/// 0 needs no division. Sums over the rows in order; of f64 on the tensor cores, 16 terms at a time. The two triangles of
/// `M` are made first, then what lies between: `-M1 (V1^H V2 D2) M2`.
///
/// # Safety
/// The views cover the items that the grid counts, and the launch gives the shared memory. `t` is aligned to 16 bytes.
///
/// # Source
/// R. Schreiber, C. Van Loan, A storage-efficient WY representation for products of Householder transformations, SIAM J.
/// Sci. Stat. Comput. 10 (1989); LAPACK's `zlarft`. The inverse: C. Puglisi, Modification of the Householder method based
/// on the compact WY representation, SIAM J. Sci. Stat. Comput. 13 (1992).
#[kernel(
    group(T = [f32], R = [64], launch_bounds(128, 5)),
    group(T = [f64], R = [32, 64], launch_bounds(128, 3)),
    group(T = [c32], R = [32, 64], launch_bounds(128, 4)),
    group(T = [c64], R = [32], launch_bounds(128, 5))
)]
pub unsafe fn larft<T: Gram, const R: usize>(
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
    let factor = Factor::<T, R>::new(t.at(block as usize * R * R));
    let mut sums: Quarter<T> = [[[T::ZERO; 4]; 4]; 2];
    factor.multiply(&vectors, tau, &mut sums);
    factor.leave(&sums);
    factor.triangles();
    factor.between();
}

/// A block's factor.
#[derive(Clone, Copy)]
struct Factor<T, const R: usize> {
    /// Two chunks of the vectors.
    chunks: Shared<T>,
    /// In their place, row by row: `-U D`, later `M`, and in the quarter below the diagonal half of the product between.
    m: Shared<T>,
    /// `D`.
    tau: Shared<T>,
    t: GlobalMut<T>,
    /// What this warp does.
    role: u32,
}

impl<T: Gram, const R: usize> Factor<T, R> {
    const AT: Larft = Larft::new(R, size_of::<T>(), T::COMPLEX);
    const LD: u32 = Larft::line(R, size_of::<T>()) as u32;
    /// Reflectors of a triangle.
    const HALF: u32 = R as u32 / 2;
    /// Warps that make the triangles.
    const TRIANGLE_WARPS: u32 = R as u32 / 32;
    /// Columns of a thread of what lies between the triangles.
    const COLUMNS: usize = R * R / 4 / LARFT_THREADS as usize;

    #[inline(always)]
    fn new(t: GlobalMut<T>) -> Self {
        let at = const { Larft::new(R, size_of::<T>(), T::COMPLEX) };
        // Multiplicative hashing: the blocks that a multiprocessor has come in steps.
        let turn = thread::block_idx_x().wrapping_mul(0x9e37_79b1) >> 30;
        // SAFETY: the launch gives the elements of Larft. The chunks and M, of one type, overlap; a barrier lies between
        // their uses.
        unsafe {
            Factor {
                chunks: dynamic_shared_mem(0, at.tau),
                m: dynamic_shared_mem(0, at.tau),
                tau: dynamic_shared_mem(at.tau * size_of::<T>(), R),
                t,
                role: (warp::warp_id() + turn) % 4,
            }
        }
    }

    /// Adds this warp's quarter of `V^H V`, and leaves `D`. A barrier lies after.
    #[inline(always)]
    fn multiply(&self, vectors: &Vectors<T>, tau: Global<T>, sums: &mut Quarter<T>) {
        let ld = const { staged_ld(R, size_of::<T>(), T::COMPLEX) as u32 };
        let shape = const { (depth(R) as u32, R as u32) };
        let used = vectors.used(R as u32);
        let thread = thread::thread_idx_x();
        if thread < R as u32 {
            self.tau.copy_async(thread, tau, thread as usize, thread < used);
        }
        // The first row of the second half of the vectors, and of this warp's quarter.
        let second = if used > Self::HALF { vectors.first + Self::HALF + vectors.shift } else { u32::MAX };
        let begin = match self.role {
            0 => vectors.first,
            1 | 2 => second,
            _ => u32::MAX,
        };
        let stage = |from: u32, buffer: u32| {
            let to = self.chunks.at(buffer * Self::AT.buffer as u32);
            let columns = if from + shape.0 > second { shape.1 } else { Self::HALF };
            vectors.stage::<LARFT_THREADS>(to, ld, from, (shape.0, columns), false);
        };
        let (left, right) = (self.role / 2 * Self::HALF * ld, u32::from(self.role > 0) * Self::HALF * ld);
        let (mut from, mut buffer) = (vectors.first, 0);
        stage(from, buffer);
        copy::commit();
        while from < vectors.n {
            let chunk = self.chunks.at(buffer * Self::AT.buffer as u32);
            buffer = 1 - buffer;
            let rows = if vectors.n - from < shape.0 { vectors.n - from } else { shape.0 };
            from += shape.0;
            if from < vectors.n {
                stage(from, buffer);
            }
            copy::commit();
            copy::wait::<1>();
            thread::sync_threads();
            if from > begin {
                T::add_gram::<R>(chunk.at(left), chunk.at(right), rows, sums);
            }
            thread::sync_threads();
        }
    }

    /// Leaves `-U D` of this warp's quarter; what lies on the diagonal and below is read by nobody. A barrier lies after.
    #[inline(always)]
    fn leave(&self, sums: &Quarter<T>) {
        let (i, j) = T::corner();
        let column = u32::from(self.role > 0) * Self::HALF + j;
        let m = self.m.at((self.role / 2 * Self::HALF + i) * Self::LD + column);
        let tau = self.tau.at(column);
        if self.role < 3 {
            for half in 0..halves(R) {
                for run in 0..2 {
                    let c = 2 * run;
                    let at = offset(half, c);
                    let pair = [-tau.get(at), -tau.get(at + 1)];
                    for r in 0..quarter_rows(R) {
                        let place = 8 * r as u32 * Self::LD + at;
                        let x = [pair[0].mul(sums[half][c][r]), pair[1].mul(sums[half][c + 1][r])];
                        if T::LANES == 2 {
                            let mut word = T::ZERO.splat();
                            for e in 0..T::LANES {
                                word.as_mut()[e] = x[e % 2];
                            }
                            m.set_vector(place, word);
                        } else {
                            m.set(place, x[0]);
                            m.set(place + 1, x[1]);
                        }
                    }
                }
            }
        }
        thread::sync_threads();
    }

    /// The triangles on the diagonal, of M in place and of T, and zeros below. A barrier lies after.
    #[inline(always)]
    fn triangles(&self) {
        if self.role < Self::TRIANGLE_WARPS {
            self.triangle();
        } else {
            self.clear();
        }
        thread::sync_threads();
    }

    /// Lane = row: `M = I + M (-U D)`, of which a column needs those before it, in the lane's own row. As soon as an
    /// element is known all to its right are added to.
    #[inline(always)]
    fn triangle(&self) {
        let half = const { if R == 64 { 32 } else { 16 } };
        let row = warp::lane_id() % Self::HALF;
        let first = 32 * self.role + warp::lane_id() - row;
        let m = self.m.at(first * Self::LD + first);
        let mut line = [T::ZERO; 32];
        for j in 0..half {
            line[j] = if row == j as u32 { T::ONE } else { T::ZERO };
        }
        for p in 0..half {
            for q in 0..half / T::LANES {
                if (q + 1) * T::LANES > p + 1 {
                    let word = m.get_vector(p as u32 * Self::LD + (q * T::LANES) as u32);
                    for e in 0..T::LANES {
                        let j = (q * T::LANES + e) % 32;
                        if j > p {
                            line[j] = line[p].mul_add(word.as_ref()[e], line[j]);
                        }
                    }
                }
            }
        }
        warp::sync_warp(warp::FULL_MASK);
        let tau = self.tau.get(first + row);
        for q in 0..half / T::LANES {
            let mut word = T::ZERO.splat();
            for e in 0..T::LANES {
                word.as_mut()[e] = line[(q * T::LANES + e) % 32];
            }
            m.set_vector(row * Self::LD + (q * T::LANES) as u32, word);
        }
        let out = self.t.at((first * R as u32 + first + row) as usize);
        for j in 0..half {
            out.set(j * R, tau.mul(line[j]));
        }
    }

    /// Zeros below the triangles, by the other warps.
    #[inline(always)]
    fn clear(&self) {
        let words = const { R as u32 / 2 / T::LANES as u32 };
        let mut at = 32 * (self.role - Self::TRIANGLE_WARPS) + warp::lane_id();
        while at < words * Self::HALF {
            let (row, column) = (Self::HALF + at % words * T::LANES as u32, at / words);
            self.t.set_vector((column * R as u32 + row) as usize, T::ZERO.splat());
            at += LARFT_THREADS - 32 * Self::TRIANGLE_WARPS;
        }
    }

    /// What lies between the triangles.
    #[inline(always)]
    fn between(&self) {
        let (row, group) = (warp::lane_id() % Self::HALF, warp::lane_id() / Self::HALF);
        let columns = Self::COLUMNS as u32 * (32 / Self::HALF);
        let column = self.role * columns + group * Self::COLUMNS as u32;
        let product = self.m.at((Self::HALF + row) * Self::LD);
        let x = self.product(self.m.at(row * Self::LD), self.m.at(Self::HALF + column), Self::HALF);
        for q in 0..Self::COLUMNS / T::LANES {
            let mut word = T::ZERO.splat();
            for e in 0..T::LANES {
                word.as_mut()[e] = x[(q * T::LANES + e) % 8];
            }
            product.set_vector(column + (q * T::LANES) as u32, word);
        }
        thread::sync_threads();
        // M2 is an upper triangle.
        let second = self.m.at(Self::HALF * Self::LD + Self::HALF + column);
        let x = self.product(product, second, (self.role + 1) * columns);
        let tau = self.tau.get(row);
        let out = self.t.at(((Self::HALF + column) * R as u32 + row) as usize);
        for j in 0..Self::COLUMNS {
            out.set(j * R, tau.mul(x[j]));
        }
    }

    /// A row times some columns of a matrix, over `count` terms, a multiple of 4 or 8.
    #[inline(always)]
    fn product(&self, row: Shared<T>, columns: Shared<T>, count: u32) -> [T; 8] {
        let step = const { if size_of::<T>() == 4 { 8 } else { 4 } };
        let mut sums = [T::ZERO; 8];
        // A bound that is not known keeps the loop rolled.
        let count = hint::opaque(count);
        let mut p = 0;
        while p < count {
            for s in 0..step / T::LANES {
                let left = row.get_vector(p + (s * T::LANES) as u32);
                for e in 0..T::LANES {
                    let line = columns.at((p + (s * T::LANES + e) as u32) * Self::LD);
                    for q in 0..Self::COLUMNS / T::LANES {
                        let right = line.get_vector((q * T::LANES) as u32);
                        for k in 0..T::LANES {
                            let sum = &mut sums[(q * T::LANES + k) % 8];
                            *sum = left.as_ref()[e].mul_add(right.as_ref()[k], *sum);
                        }
                    }
                }
            }
            p += step as u32;
        }
        sums
    }
}
