//! `latrd`: a panel of the blocked reduction to tridiagonal form.

use crate::factors::{Columns, Factor, Factors, Staged, dots, place_of_dot, subtract};
use crate::shape::{LATRD_THREADS, Latrd, MAX_PANEL, latrd_staged_ld};
use crate::symv::Operands;
use core::ops::{Add, AddAssign};
use cuda_std::hint;
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
/// The first `staged` columns of V and W, a multiple of 8 (which may pass the width), are kept in shared memory too, and
/// read there; the results are the same bits.
///
/// # Lanes
/// One block an item, of 1, 2, 4, 8 or 16 warps. A thread owns rows in turn; in the product a warp has tiles of 32 rows by 16
/// (16-byte scalars: 8) columns, a lane a row.
///
/// # Shared memory
/// [`Latrd`].
///
/// # Synchronisation
/// Three block barriers a column, met by all threads: after the norm, the product and `w^H v`. One more at the beginning.
///
/// # Numerics
/// For elements of about 1: squares are not guarded, as [`Scalars::new`] says. The product is that with the column below
/// the pivot, before the reflector is known; what makes it the product with `v` is the updated next column. The order of all sums depends on `n`,
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
    staged: u32,
) {
    let launch = Launch { a, w, d, e, tau, n, ld, stride, w_stride, e_stride, first, staged };
    let (item, base) = (thread::block_idx_x(), first / 32 * 32);
    let mut panel = launch.panel(item, base);
    panel.shared.clear();
    if thread::thread_idx_x() == 0 {
        panel.shared.state.set(0, item);
        panel.shared.state.set(1, base);
    }
    thread::sync_threads();
    let mut square = panel.first_column(first - base);
    let mut j = 0;
    while j < width {
        let k = first - base + j;
        if k + 1 == panel.n {
            // The last column is its diagonal element.
            break;
        }
        panel.share_norm(square);
        panel.product(k, j);
        // From here on anew, from what is read again: the product needs the registers.
        panel = launch.panel(panel.shared.state.get(0), panel.shared.state.get(1));
        panel.dots(k, j);
        let scalars = panel.reflector(k);
        square = panel.finish(k, j, &scalars, j + 1 < width);
        j += 1;
    }
}

/// The arguments of a launch.
#[derive(Clone, Copy)]
struct Launch<T: Scalar> {
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
    staged: u32,
}

impl<T: Scalar> Launch<T> {
    /// The panel of an item, whose rows count from `base`.
    #[inline(always)]
    fn panel(&self, item: u32, base: u32) -> Panel<T> {
        let (item, start, n, ld) = (item as usize, base as usize, self.n, self.ld);
        let a = self.a.at(item * self.stride as usize + start * ld as usize + start);
        let w = self.w.at(item * self.w_stride as usize + start);
        let shared = Memory::new(n - base);
        Panel {
            a,
            factors: Factors { v: a.at((self.first - base) as usize * ld as usize), ld, w, w_ld: n },
            staged: shared.staged(self.staged),
            d: self.d.at(item * n as usize + start),
            e: self.e.at(item * self.e_stride as usize + start),
            tau: self.tau.at(item * n as usize + start),
            ld,
            n: n - base,
            shared,
            tile: Tile::native(32),
            warp: warp::warp_id(),
            warps: thread::block_dim_x() / 32,
        }
    }
}

/// Views of a block's shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Memory<T: Scalar> {
    pub v: Shared<T>,
    pub parts: Shared<T>,
    /// `V(k, ..)` for the next column `k`, and `W(k, ..)` from `MAX_PANEL` on, conjugated; zero where they have no columns
    /// yet.
    pub row: Shared<T>,
    /// `W^H v`, and `V^H v` from `MAX_PANEL` on; zero likewise.
    pub dots: Shared<T>,
    pub sums: Shared<T>,
    pub squares: Shared<T::Real>,
    /// The item and its first row.
    pub state: Shared<u32>,
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
                state: dynamic_shared_mem(at.state, 2),
                padded,
            }
        }
    }

    /// The staged columns, of which there are `columns`.
    #[inline(always)]
    fn staged(&self, columns: u32) -> Staged<T> {
        let at = const { Latrd::new(size_of::<T>()) };
        let vectors = (thread::block_dim_x() / 32 + 1) * self.padded;
        let ld = latrd_staged_ld(self.padded as usize) as u32;
        let both = 2 * columns * ld;
        // SAFETY: the launch gives Latrd::bytes, which end with them.
        let v: Shared<T> =
            unsafe { dynamic_shared_mem(at.v + vectors as usize * size_of::<T>(), both as usize) };
        Staged { v, w: v.at(columns * ld), ld, columns }
    }

    /// Zeros `row` and `dots`, and what warps that are not there would leave.
    #[inline(always)]
    pub fn clear(&self) {
        let mut at = thread::thread_idx_x();
        while at < 2 * SECOND {
            self.row.set(at, T::ZERO);
            self.dots.set(at, T::ZERO);
            if at < WARPS {
                self.sums.set(at, T::ZERO);
                self.squares.set(at, <T::Real as Real>::ZERO);
            }
            at += thread::block_dim_x();
        }
    }

    /// By what the rows of V and W are multiplied to update a column: `row`.
    #[inline(always)]
    pub fn of_row(&self) -> Factor<T> {
        Factor { of_v: self.row.at(SECOND), of_w: self.row }
    }

    /// By what they are multiplied to update the product: `dots`.
    #[inline(always)]
    pub fn of_dots(&self) -> Factor<T> {
        Factor { of_v: self.dots, of_w: self.dots.at(SECOND) }
    }

    /// The sum of the parts of element `row`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn product(&self, row: u32) -> T {
        let warps = thread::block_dim_x() / 32;
        let mut sums = [T::ZERO; 4];
        let mut warp = 0;
        // All in flight before the first is added.
        while warp + 4 <= warps {
            for s in 0..4 {
                sums[s] += self.parts.get((warp + s as u32) * self.padded + row);
            }
            warp += 4;
        }
        while warp < warps {
            sums[0] += self.parts.get(warp * self.padded + row);
            warp += 1;
        }
        (sums[0] + sums[1]) + (sums[2] + sums[3])
    }
}

/// Calls `f` for each of rows `from..to` that falls to the thread `rank` of `threads`, a power of two.
#[inline(always)]
pub(crate) fn own_rows((from, to): (u32, u32), threads: u32, rank: u32, mut f: impl FnMut(u32)) {
    let mut row = (from & !(threads - 1)) + rank;
    if row < from {
        row += threads;
    }
    while row < to {
        f(row);
        row += threads;
    }
}

/// The sum of what each warp left.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn total<T: Copy + Add<Output = T> + AddAssign>(slots: Shared<T>) -> T {
    let mut sums = slots.get_array::<4>(0);
    for quad in 1..WARPS / 4 {
        let four = slots.get_array::<4>(4 * quad);
        for s in 0..4 {
            sums[s] += four[s];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// An item from the first multiple of 32 not above the panel.
#[derive(Clone, Copy)]
struct Panel<T: Scalar> {
    a: GlobalMut<T>,
    factors: Factors<T>,
    staged: Staged<T>,
    d: GlobalMut<T::Real>,
    e: GlobalMut<T::Real>,
    tau: GlobalMut<T>,
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
    fn own_rows(&self, from: u32, to: u32, f: impl FnMut(u32)) {
        own_rows((from, to), thread::block_dim_x(), thread::thread_idx_x(), f);
    }

    /// Takes element `row` of column `k`, which has all updates, and leaves what is below the pivot, zero above, in shared
    /// memory; returns `square` and what it adds to the norm.
    #[inline(always)]
    fn take(&self, (k, row): (u32, u32), x: T, square: T::Real) -> T::Real {
        let memory = self.shared;
        if row == k {
            self.d.set(k as usize, x.re());
        }
        if row == k + 1 {
            memory.sums.set(WARPS, x);
        }
        let below = row > k + 1;
        memory.v.set(row, if below { x } else { T::ZERO });
        if below { x.abs_sq_add(square) } else { square }
    }

    /// Takes the panel's first column; returns this thread's sum of the squares below `k + 1`.
    #[inline(always)]
    fn first_column(&self, k: u32) -> T::Real {
        let memory = self.shared;
        let column = self.a.at(k as usize * self.ld as usize);
        let mut square = <T::Real as Real>::ZERO;
        self.own_rows(k / 32 * 32, memory.padded, |row| {
            if row >= k && row < self.n {
                square = self.take((k, row), column.get(row as usize), square);
            } else {
                memory.v.set(row, T::ZERO);
            }
        });
        square
    }

    /// Adds up what threads have of the norm. A barrier lies after.
    #[inline(always)]
    fn share_norm(&self, square: T::Real) {
        let square = self.tile.reduce(square, |x, y| x + y);
        if self.tile.rank() == 0 {
            self.shared.squares.set(self.warp, square);
        }
        thread::sync_threads();
    }

    /// The reflector of column `k`; stores what is left of the column beside its vector.
    #[inline(always)]
    fn reflector(&self, k: u32) -> Scalars<T> {
        let alpha = self.shared.sums.get(WARPS);
        let scalars = if needs_reflector::<T>(k, self.n) {
            Scalars::new(alpha, total(self.shared.squares))
        } else {
            Scalars::identity(alpha)
        };
        if thread::thread_idx_x() == 0 {
            self.e.set(k as usize, scalars.beta);
            self.tau.set(k as usize, scalars.tau);
        }
        scalars
    }

    /// Leaves the parts of `A x`, for the column `x` below the pivot, and row `k + 1` of V and W, in shared memory.
    #[inline(always)]
    fn product(&self, k: u32, j: u32) {
        let memory = self.shared;
        let q = thread::thread_idx_x();
        if q < j {
            let (v, w) = if q < self.staged.columns {
                let row = (self.staged.v(q, k + 1), self.staged.w(q, k + 1));
                // Or both branches become one load, which knows no memory space.
                hint::fence();
                row
            } else {
                (self.factors.v(q, k + 1), self.factors.w(q, k + 1))
            };
            memory.row.set(q, v.conj());
            memory.row.set(SECOND + q, w.conj());
        }
        let operands = Operands { a: self.a, ld: self.ld, n: self.n, done: k, v: memory.v };
        operands.multiply(self.tile, self.warp, self.warps, memory.parts.at(self.warp * memory.padded));
    }

    /// Leaves `W^H x` and `V^H x` in shared memory. A barrier lies after.
    #[inline(always)]
    fn dots(&self, k: u32, j: u32) {
        let memory = self.shared;
        // From the last warp on: the first tiles, whose strips are long, are the first warps'.
        let mut q = 2 * (self.warps - 1 - self.warp);
        while q < j {
            let sum = if q < self.staged.columns {
                dots(self.staged, self.tile, (q, j), (k, self.n), memory.v)
            } else {
                dots(self.factors, self.tile, (q, j), (k, self.n), memory.v)
            };
            if let Some(place) = place_of_dot(self.tile, (q, j), SECOND) {
                memory.dots.set(place, sum);
            }
            q += 2 * self.warps;
        }
        thread::sync_threads();
    }

    /// Column `j` of V, and of W: `w = tau (A - V W^H - W V^H) v`, less `(tau / 2)(w^H v) v`; and if there is a `next`
    /// column of the panel, that with all updates. A barrier lies between.
    ///
    /// `v` is `x` times a number, and 1 on the pivot. So the product with `v` is that number times the one with `x`, and the
    /// next column, to which the product with the unit vector of the pivot is the same as its update by the columns before
    /// `j`. Both take the same rows of V and W, which are read once.
    #[inline(always)]
    fn finish(&self, k: u32, j: u32, scalars: &Scalars<T>, next: bool) -> T::Real {
        let memory = self.shared;
        let next_column = self.a.at((k as usize + 1) * self.ld as usize);
        let (v_column, w_column) = (self.factors.v_column(j), self.factors.w_column(j));
        // The next column on its way. One warp has no second part: its rows of V are read again from the matrix.
        let alone = self.warps == 1;
        let held = if alone { memory.v } else { memory.parts.at(memory.padded) };
        let factors = [memory.of_dots(), memory.of_row()];
        let staged = if j < self.staged.columns { j } else { self.staged.columns };
        let mut dot = T::ZERO;
        self.own_rows(k + 1, self.n, |row| {
            let x = next_column.get(row as usize);
            let x = if row == k + 1 { T::from_real(x.re()) } else { x };
            let mut sums = [[memory.product(row), T::ZERO], [x, T::ZERO]];
            subtract(self.staged, (0, staged), row, factors, &mut sums);
            subtract(self.factors, (staged, j), row, factors, &mut sums);
            let x = sums[1][0] + sums[1][1];
            let y = scalars.tau.mul(x + scalars.component(sums[0][0] + sums[0][1]));
            let v = if row == k + 1 { T::ONE } else { scalars.component(memory.v.get(row)) };
            v_column.set(row as usize, v);
            self.staged.set_v(j, row, v);
            memory.v.set(row, v);
            dot = y.conj().mul_add(v, dot);
            memory.parts.set(row, y);
            held.set(row, x);
        });
        let dot = self.tile.reduce(dot, |x, y| x + y);
        if self.tile.rank() == 0 {
            memory.sums.set(self.warp, dot);
        }
        thread::sync_threads();
        let factor = scalars.tau.mul(total(memory.sums)).scale(-<T::Real as Real>::HALF);
        // V is 1 there.
        let of_row = factor.mul_add(T::ONE, memory.parts.get(k + 1)).conj();
        let mut square = <T::Real as Real>::ZERO;
        self.own_rows(k + 1, self.n, |row| {
            let v = if alone {
                let v = v_column.get(row as usize);
                // As in `product`.
                hint::fence();
                v
            } else {
                memory.v.get(row)
            };
            let w = factor.mul_add(v, memory.parts.get(row));
            w_column.set(row as usize, w);
            self.staged.set_w(j, row, w);
            if next {
                let x = (-v).mul_add(of_row, held.get(row)) - w;
                square = self.take((k + 1, row), x, square);
            }
        });
        square
    }
}
