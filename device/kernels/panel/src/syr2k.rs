//! `syr2k`: the rank-2k update of a lower triangle.

use crate::shape::{STAGED, TILE_THREADS, syr2k_tile};
use cuda_std::prelude::*;

/// `A -= V W^H + W V^H` for the rows and columns of each matrix from `first` on.
///
/// # Layout and shapes
/// `a`: items of order `n`, column-major with `ld` and `stride`; the lower triangle from row and column `first` on is
/// updated, its diagonal is made real. `V`: columns `first - width..first` of `a`, of which rows from `first` on are
/// read; `w`: `n` by `width` an item with `ld` `n`, `w_stride` apart.
///
/// # Lanes
/// A block of 256 threads a square tile of 64 (16-byte scalars: 32); a thread 4 by 4 (2 by 2) elements. `tiles` tiles an
/// item, those of the triangle row by row.
///
/// # Shared memory
/// [`syr2k_bytes`](crate::shape::syr2k_bytes).
///
/// # Synchronisation
/// Two block barriers for every 16 columns, and one, met by all threads.
///
/// # Numerics
/// An element's sum runs over the columns in order, and is subtracted from it at the end.
///
/// # Safety
/// The views cover the items that the grid counts, and the launch gives the shared memory.
///
/// # Source
/// BLAS's `zher2k`.
#[kernel(T = [f32, f64, c32, c64], launch_bounds(256))]
pub unsafe fn syr2k<T: Scalar>(
    a: GlobalMut<T>,
    w: Global<T>,
    n: u32,
    ld: u32,
    stride: u64,
    w_stride: u64,
    first: u32,
    width: u32,
    tiles: u32,
) {
    let tiles = if tiles == 0 { 1 } else { tiles };
    let block = thread::block_idx_x();
    let (item, tile) = ((block / tiles) as usize, block % tiles);
    let (tile_row, tile_column) = triangle(tile);
    let size = const { syr2k_tile(size_of::<T>()) } as u32;
    let matrix = a.at(item * stride as usize);
    let operands = Operands {
        v: matrix.at((first - width) as usize * ld as usize).as_global(),
        ld,
        w: w.at(item * w_stride as usize),
        n,
        row: first + tile_row * size,
        column: first + tile_column * size,
    };
    let sums = operands.product(width);
    operands.subtract(matrix, &sums);
}

/// Row and column of tile `index` of a lower triangle, whose rows have 1, 2, 3, .. tiles.
#[inline(always)]
fn triangle(index: u32) -> (u32, u32) {
    // Within one of the row for every 32-bit index.
    let guess = (f32::from_u32(2 * index) + 0.25).sqrt() - 0.5;
    let mut row = guess as u32;
    if row * (row + 1) / 2 > index {
        row -= 1;
    }
    if (row + 1) * (row + 2) / 2 <= index {
        row += 1;
    }
    (row, index - row * (row + 1) / 2)
}

/// What a block multiplies.
#[derive(Clone, Copy)]
struct Operands<T> {
    v: Global<T>,
    ld: u32,
    w: Global<T>,
    n: u32,
    row: u32,
    column: u32,
}

impl<T: Scalar> Operands<T> {
    const TILE: usize = syr2k_tile(size_of::<T>());
    /// Rows and columns of a thread.
    const OWN: usize = Self::TILE / 16;

    /// The four staged panels: V and W at the tile's rows, V and W at its columns.
    #[inline(always)]
    fn panel(which: usize) -> Shared<T> {
        let elements = STAGED * Self::TILE;
        // SAFETY: the launch gives syr2k_bytes, which hold four panels.
        unsafe { dynamic_shared_mem(which * elements * size_of::<T>(), elements) }
    }

    #[inline(always)]
    fn own() -> (u32, u32) {
        let thread = thread::thread_idx_x();
        (thread % 16 * Self::OWN as u32, thread / 16 * Self::OWN as u32)
    }

    /// Columns `from..from + STAGED` of the panels; zero from `width` on and past the last row.
    #[inline(always)]
    fn stage(&self, from: u32, width: u32) {
        let mut at = thread::thread_idx_x();
        while at < (STAGED * Self::TILE) as u32 {
            let (place, k) = (at % Self::TILE as u32, from + at / Self::TILE as u32);
            for side in 0..2 {
                let row = place + if side == 0 { self.row } else { self.column };
                let inside = row < self.n && k < width;
                let (mut v, mut w) = (T::ZERO, T::ZERO);
                if inside {
                    v = self.v.get(k as usize * self.ld as usize + row as usize);
                    w = self.w.get(k as usize * self.n as usize + row as usize);
                }
                Self::panel(2 * side).set(at, v);
                Self::panel(2 * side + 1).set(at, w);
            }
            at += TILE_THREADS;
        }
    }

    /// `OWN` elements from `at` on.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn elements(from: Shared<T>, at: u32) -> [T; 4] {
        if Self::OWN == 4 {
            from.get_array::<4>(at)
        } else {
            [from.get(at), from.get(at + 1), T::ZERO, T::ZERO]
        }
    }

    /// This thread's elements of `V W^H + W V^H`. A barrier lies after.
    #[inline(always)]
    fn product(&self, width: u32) -> [[T; 4]; 4] {
        let (row, column) = Self::own();
        let mut sums = [[T::ZERO; 4]; 4];
        let mut from = 0;
        while from < width {
            self.stage(from, width);
            thread::sync_threads();
            let mut k = 0;
            while k < (STAGED * Self::TILE) as u32 {
                let (v_row, w_row) =
                    (Self::elements(Self::panel(0), k + row), Self::elements(Self::panel(1), k + row));
                let (v_column, w_column) =
                    (Self::elements(Self::panel(2), k + column), Self::elements(Self::panel(3), k + column));
                for c in 0..Self::OWN {
                    for r in 0..Self::OWN {
                        let sum = v_row[r].mul_add(w_column[c].conj(), sums[c][r]);
                        sums[c][r] = w_row[r].mul_add(v_column[c].conj(), sum);
                    }
                }
                k += Self::TILE as u32;
            }
            thread::sync_threads();
            from += STAGED as u32;
        }
        sums
    }

    /// Subtracts the product, which passes through shared memory so that consecutive threads meet consecutive rows.
    #[inline(always)]
    fn subtract(&self, matrix: GlobalMut<T>, sums: &[[T; 4]; 4]) {
        let ld = Self::TILE as u32 + 1;
        // SAFETY: the launch gives syr2k_bytes, which hold the tile; a barrier lies behind the staged panels.
        let out = unsafe { dynamic_shared_mem::<T>(0, Self::TILE * ld as usize) };
        let (row, column) = Self::own();
        for c in 0..Self::OWN {
            for r in 0..Self::OWN {
                out.set((column + c as u32) * ld + row + r as u32, sums[c][r]);
            }
        }
        thread::sync_threads();
        let mut at = thread::thread_idx_x();
        while at < (Self::TILE * Self::TILE) as u32 {
            let (row, column) = (at % Self::TILE as u32, at / Self::TILE as u32);
            let (i, j) = (self.row + row, self.column + column);
            if i < self.n && j <= i {
                let place = j as usize * self.ld as usize + i as usize;
                let x = matrix.get(place) - out.get(column * ld + row);
                matrix.set(place, if i == j { T::from_real(x.re()) } else { x });
            }
            at += TILE_THREADS;
        }
    }
}
