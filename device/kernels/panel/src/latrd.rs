//! `latrd`: a panel of the blocked reduction to tridiagonal form.

use crate::factors::Factors;
use crate::shape::{LATRD_THREADS, Latrd, MAX_PANEL};
use crate::symv::Operands;
use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::reduce::needs_reflector;
use device_linalg::reflector::Scalars;

/// Reduces `width` columns of each matrix from column `first` on, and leaves what `syr2k` needs for the rest.
///
/// # Layout and shapes
/// `a`: items of order `n`, column-major with `ld` and `stride`, of which the lower triangle is read and written: below
/// the diagonal of each reduced column lies its reflector's vector, beginning with 1. The rest of the triangle is left
/// as it was. `w`: `n` by `width` an item, `w_stride` apart; rows up to a column's own are not set. `d`, `tau`: `n` an
/// item; `e`: `e_stride` an item, of which `n - 1` are used. Of the last column only `d` is set. `width` is at most 32,
/// and `first + width` at most `n`.
///
/// # Lanes
/// One block an item, of 1, 2, 4, 8 or 16 warps. A thread owns rows in turn; in the product a warp has tiles of 32 rows by 16
/// (16-byte scalars: 8) columns, a lane a row.
///
/// # Shared memory
/// [`Latrd`].
///
/// # Synchronisation
/// Five block barriers a column, met by all threads.
///
/// # Numerics
/// For elements of about 1: squares are not guarded, as [`Scalars::new`] says. The order of all sums depends on `n`,
/// `first` and the number of warps alone.
///
/// # Safety
/// The views cover the items that the grid counts, and the launch gives the shared memory.
///
/// # Source
/// J. Dongarra, D. Sorensen, S. Hammarling, Block reduction of matrices to condensed forms for eigenvalue computations,
/// J. Comput. Appl. Math. 27 (1989); LAPACK's `zlatrd`. The product that reads each element once is ours.
#[kernel(T = [f32, f64, c32, c64], launch_bounds(512))]
pub unsafe fn latrd<T: Scalar>(
    a: GlobalMut<T>,
    w: GlobalMut<T>,
    d: GlobalMut<T::Real>,
    e: GlobalMut<T::Real>,
    tau: GlobalMut<T>,
    n: u32,
    ld: u32,
    stride: u64,
    w_stride: u64,
    e_stride: u64,
    first: u32,
    width: u32,
) {
    let item = thread::block_idx_x() as usize;
    let base = first / 32 * 32;
    let start = base as usize;
    let a = a.at(item * stride as usize + start * ld as usize + start);
    let w = w.at(item * w_stride as usize + start);
    let factors = Factors { v: a.at((first - base) as usize * ld as usize), ld, w, w_ld: n };
    let panel = Panel {
        a,
        factors,
        ld,
        n: n - base,
        shared: Memory::new(n - base),
        tile: Tile::native(32),
        warp: warp::warp_id(),
        warps: thread::block_dim_x() / 32,
    };
    let (d, tau) = (d.at(item * n as usize + start), tau.at(item * n as usize + start));
    let e = e.at(item * e_stride as usize + start);
    let mut j = 0;
    while j < width {
        let k = first - base + j;
        let square = panel.updated_column(k, j);
        if k + 1 == panel.n {
            // The last column is its diagonal element.
            if thread::thread_idx_x() == k & (thread::block_dim_x() - 1) {
                d.set(k as usize, panel.shared.v.get(k).re());
            }
            break;
        }
        let scalars = panel.reflect(k, square);
        if thread::thread_idx_x() == k & (thread::block_dim_x() - 1) {
            d.set(k as usize, panel.shared.diagonal().re());
            e.set(k as usize, scalars.beta);
            tau.set(k as usize, scalars.tau);
        }
        panel.multiply(k, j);
        panel.finish_w(k, j, scalars.tau);
        j += 1;
    }
}

/// Views of a block's shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Memory<T: Scalar> {
    pub v: Shared<T>,
    pub parts: Shared<T>,
    /// `V(k, ..)` for the next column `k`, and `W(k, ..)` from `MAX_PANEL` on.
    pub row: Shared<T>,
    /// `W^H v`, and `V^H v` from `MAX_PANEL` on.
    pub dots: Shared<T>,
    pub sums: Shared<T>,
    pub squares: Shared<T::Real>,
    pub padded: u32,
}

/// Where the second half of `row` and `dots` begins.
pub(crate) const SECOND: u32 = MAX_PANEL as u32;
/// Most warps of a block.
const WARPS: u32 = LATRD_THREADS / 32;

impl<T: Scalar> Memory<T> {
    #[inline(always)]
    pub fn new(rows: u32) -> Self {
        let at = const { Latrd::new(size_of::<T>()) };
        let warps = thread::block_dim_x() / 32;
        let padded = rows.div_ceil(32) * 32;
        // SAFETY: the launch gives Latrd::bytes; the parts are disjoint and aligned as Latrd rounds them.
        unsafe {
            Memory {
                v: dynamic_shared_mem(at.v, padded as usize),
                parts: dynamic_shared_mem(at.v + padded as usize * size_of::<T>(), (warps * padded) as usize),
                row: dynamic_shared_mem(at.row, 2 * MAX_PANEL),
                dots: dynamic_shared_mem(at.dots, 2 * MAX_PANEL),
                sums: dynamic_shared_mem(at.sums, WARPS as usize + 1),
                squares: dynamic_shared_mem(at.squares, WARPS as usize),
                padded,
            }
        }
    }

    #[inline(always)]
    fn diagonal(&self) -> T {
        self.sums.get(WARPS)
    }
}

/// An item from the first multiple of 32 not above the panel.
#[derive(Clone, Copy)]
struct Panel<T: Scalar> {
    a: GlobalMut<T>,
    factors: Factors<T>,
    ld: u32,
    n: u32,
    shared: Memory<T>,
    tile: Tile,
    warp: u32,
    warps: u32,
}

impl<T: Scalar> Panel<T> {
    /// Calls `f` for each row of this thread in `from..to`.
    #[inline(always)]
    fn own_rows(&self, from: u32, to: u32, mut f: impl FnMut(u32)) {
        let threads = thread::block_dim_x();
        let mut row = (from & !(threads - 1)) + thread::thread_idx_x();
        if row < from {
            row += threads;
        }
        while row < to {
            f(row);
            row += threads;
        }
    }

    /// Leaves column `k` with the updates of the panel in shared memory, zero above `k`; returns the sum of the squares
    /// below `k + 1`. A barrier lies after.
    #[inline(always)]
    fn updated_column(&self, k: u32, j: u32) -> T::Real {
        let memory = self.shared;
        let column = self.a.at(k as usize * self.ld as usize);
        let mut square = <T::Real as Real>::ZERO;
        self.own_rows(k / 32 * 32, memory.padded, |row| {
            let mut x = T::ZERO;
            if row >= k && row < self.n {
                let (v_k, w_k) = (memory.row, memory.row.at(SECOND));
                x = self.factors.without((j, row), column.get(row as usize), w_k, v_k, true);
            }
            if row == k {
                memory.sums.set(WARPS, x);
            }
            if row > k + 1 {
                square = x.abs_sq_add(square);
            }
            memory.v.set(row, x);
        });
        let square = self.tile.reduce(square, |x, y| x + y);
        if self.tile.rank() == 0 {
            memory.squares.set(self.warp, square);
        }
        thread::sync_threads();
        let mut total = memory.squares.get(0);
        for warp in 1..self.warps {
            total += memory.squares.get(warp);
        }
        total
    }

    /// Makes the column in shared memory the reflector's vector, and stores it. A barrier lies after.
    #[inline(always)]
    fn reflect(&self, k: u32, square: T::Real) -> Scalars<T> {
        let memory = self.shared;
        let alpha = memory.v.get(k + 1);
        let scalars = if needs_reflector::<T>(k, self.n) {
            Scalars::new(alpha, square)
        } else {
            Scalars::identity(alpha)
        };
        let column = self.a.at(k as usize * self.ld as usize);
        // Everybody has the pivot.
        thread::sync_threads();
        self.own_rows(k / 32 * 32, self.n, |row| {
            let component = if row > k { scalars.component(memory.v.get(row)) } else { T::ZERO };
            let component = if row == k + 1 { T::ONE } else { component };
            memory.v.set(row, component);
            if row > k {
                column.set(row as usize, component);
            }
        });
        thread::sync_threads();
        scalars
    }

    /// Leaves the parts of `A v`, and `W^H v` and `V^H v`, in shared memory. A barrier lies after.
    #[inline(always)]
    fn multiply(&self, k: u32, j: u32) {
        let memory = self.shared;
        let operands = Operands { a: self.a, ld: self.ld, n: self.n, done: k, v: memory.v };
        operands.multiply(self.tile, self.warp, self.warps, memory.parts.at(self.warp * memory.padded));
        // From the last warp on: the first tiles, whose strips are long, are the first warps'.
        let mut q = self.warps - 1 - self.warp;
        while q < j {
            let (of_w, of_v) = self.factors.dots(self.tile, q, (k, self.n), memory.v);
            if self.tile.rank() == 0 {
                memory.dots.set(q, of_w);
                memory.dots.set(SECOND + q, of_v);
            }
            q += self.warps;
        }
        thread::sync_threads();
    }

    /// Column `j` of W: `w = tau (A v - V (W^H v) - W (V^H v))`, less `(tau / 2)(w^H v) v`. A barrier lies after.
    #[inline(always)]
    fn finish_w(&self, k: u32, j: u32, tau: T) {
        let memory = self.shared;
        let mut dot = T::ZERO;
        self.own_rows(k + 1, self.n, |row| {
            let mut y = memory.parts.get(row);
            for warp in 1..self.warps {
                y += memory.parts.get(warp * memory.padded + row);
            }
            let (of_w, of_v) = (memory.dots, memory.dots.at(SECOND));
            let y = tau.mul(self.factors.without((j, row), y, of_w, of_v, false));
            dot = y.conj().mul_add(memory.v.get(row), dot);
            memory.parts.set(row, y);
        });
        // The row of the next column, as far as it is known.
        let mut q = thread::thread_idx_x();
        while q < j {
            memory.row.set(q, self.factors.v_column(q).get(k as usize + 1));
            memory.row.set(SECOND + q, self.factors.w_column(q).get(k as usize + 1));
            q += thread::block_dim_x();
        }
        let dot = self.tile.reduce(dot, |x, y| x + y);
        if self.tile.rank() == 0 {
            memory.sums.set(self.warp, dot);
        }
        thread::sync_threads();
        let mut dot = memory.sums.get(0);
        for warp in 1..self.warps {
            dot += memory.sums.get(warp);
        }
        let factor = tau.mul(dot).scale(-<T::Real as Real>::HALF);
        let column = self.factors.w_column(j);
        self.own_rows(k + 1, self.n, |row| {
            let x = factor.mul_add(memory.v.get(row), memory.parts.get(row));
            column.set(row as usize, x);
            if row == k + 1 {
                memory.row.set(j, T::ONE);
                memory.row.set(SECOND + j, x);
            }
        });
        thread::sync_threads();
    }
}
