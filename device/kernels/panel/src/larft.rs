//! `larft`: the triangular factors of products of reflectors.

use crate::shape::{REFLECTORS, TILE_THREADS};
use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// The factor `T` of `H_0 H_1 .. = I - V T V^H` for each 32 reflectors of an item.
///
/// # Layout and shapes
/// `v`: items of `n` rows, column-major with `ld` and `stride`; the vector of reflector `k` lies in column `k` below row
/// `k + shift`, where it is 1, whatever is stored. `tau`: `tau_stride` an item, `count` of them used. `t`: 32 by 32
/// elements for each 32 reflectors, `panels` of them an item; upper triangles, zero below.
///
/// # Lanes
/// A block of 256 threads for 32 reflectors of an item.
///
/// # Shared memory
/// [`larft_bytes`](crate::shape::larft_bytes).
///
/// # Synchronisation
/// Two block barriers for every 32 rows, and one, met by all threads.
///
/// # Numerics
/// Sums over the rows in order.
///
/// # Safety
/// The views cover the items that the grid counts, and the launch gives the shared memory.
///
/// # Source
/// R. Schreiber, C. Van Loan, A storage-efficient WY representation for products of Householder transformations, SIAM J.
/// Sci. Stat. Comput. 10 (1989); LAPACK's `zlarft`.
#[kernel(T = [f32, f64, c32, c64], launch_bounds(256))]
pub unsafe fn larft<T: Scalar>(
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
    let first = panel * REFLECTORS as u32;
    let vectors = Vectors { v: v.at(item * stride as usize), n, ld, first, count, shift };
    let (i, j) = (thread::thread_idx_x() % 32, thread::thread_idx_x() / 32);

    let (gram, chunk) = (square::<T>(0), square::<T>(1));
    let mut sums = [T::ZERO; 4];
    let mut from = first;
    while from < n {
        for s in 0..4 {
            chunk.set((j + 8 * s) * LD + i, vectors.get(from + i, j + 8 * s));
        }
        thread::sync_threads();
        let left = n - from;
        for row in 0..if left < 32 { left } else { 32 } {
            let x = chunk.get(i * LD + row).conj();
            for s in 0..4 {
                sums[s as usize] = x.mul_add(chunk.get((j + 8 * s) * LD + row), sums[s as usize]);
            }
        }
        thread::sync_threads();
        from += REFLECTORS as u32;
    }
    for s in 0..4 {
        gram.set((j + 8 * s) * LD + i, sums[s as usize]);
    }
    thread::sync_threads();
    if thread::thread_idx_x() < 32 {
        let tau = tau.at(item * tau_stride as usize + first as usize);
        triangular(gram, square::<T>(2), tau, vectors.used());
    }
    thread::sync_threads();
    let out = t.at(block as usize * REFLECTORS * REFLECTORS);
    for s in 0..4 {
        out.set(((j + 8 * s) * 32 + i) as usize, square::<T>(2).get((j + 8 * s) * LD + i));
    }
    const { assert!(TILE_THREADS == 256 && REFLECTORS == 32) }
}

/// Distance between columns in shared memory.
const LD: u32 = REFLECTORS as u32 + 1;

#[inline(always)]
fn square<T>(which: usize) -> Shared<T> {
    let elements = REFLECTORS * LD as usize;
    // SAFETY: the launch gives larft_bytes, which hold three squares.
    unsafe { dynamic_shared_mem(which * elements * size_of::<T>(), elements) }
}

/// `T` from `V^H V` and the factors: lane = row, which needs only its own row of what is there so far.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn triangular<T: Scalar>(gram: Shared<T>, t: Shared<T>, tau: Global<T>, used: u32) {
    let row = Tile::native(32).rank();
    for j in used..REFLECTORS as u32 {
        t.set(j * LD + row, T::ZERO);
    }
    for j in 0..used {
        let tau = tau.get(j as usize);
        let mut sum = T::ZERO;
        let mut p = row;
        while p < j {
            sum = t.get(p * LD + row).mul_add(gram.get(j * LD + p), sum);
            p += 1;
        }
        let above = (-tau).mul(sum);
        let x = if row == j { tau } else { T::ZERO };
        t.set(j * LD + row, if row < j { above } else { x });
    }
}

/// The vectors of 32 reflectors of an item.
#[derive(Clone, Copy)]
pub(crate) struct Vectors<T> {
    pub v: Global<T>,
    pub n: u32,
    pub ld: u32,
    /// The first reflector.
    pub first: u32,
    /// Reflectors of the item.
    pub count: u32,
    /// How many rows below the diagonal a vector begins.
    pub shift: u32,
}

impl<T: Scalar> Vectors<T> {
    /// Reflectors from the first on, at most 32.
    #[inline(always)]
    pub fn used(&self) -> u32 {
        let left = self.count - self.first;
        if left < REFLECTORS as u32 { left } else { REFLECTORS as u32 }
    }

    /// Component `row` of vector `first + j`; zero past the last row and the last reflector.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn get(&self, row: u32, j: u32) -> T {
        let (k, mut x) = (self.first + j, T::ZERO);
        if k < self.count && row < self.n {
            let pivot = k + self.shift;
            if row == pivot {
                x = T::ONE;
            } else if row > pivot {
                x = self.v.get(k as usize * self.ld as usize + row as usize);
            }
        }
        x
    }
}
