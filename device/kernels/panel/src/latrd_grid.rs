//! `latrd_grid`: a panel of the reduction by several blocks a matrix.

use crate::factors::{Factors, dots, place_of_dot, subtract};
use crate::latrd::{Memory, SECOND, own_rows};
use crate::symv::Operands;
use cuda_std::grid::sync_grid;
use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::reduce::needs_reflector;
use device_linalg::reflector::Scalars;

/// What `latrd` does, with `blocks` blocks an item: for batches that do not fill a GPU.
///
/// # Layout and shapes
/// `a`, `w`, `d`, `e`, `tau`: as [`latrd`](mod@crate::latrd) has them. Of scratch memory an item has `n` elements of
/// `x`, `blocks * n` of `parts`, 64 of `dots` and `2 * blocks` of `norms`. `counter`: one word, zero before the first
/// launch.
///
/// # Lanes
/// `blocks` (a power of two) blocks an item, of 1, 2, 4 or 8 warps; rows and tiles are dealt to all threads and warps
/// of an item as `latrd` deals them to those of a block.
///
/// # Shared memory
/// [`Latrd`](crate::shape::Latrd).
///
/// # Synchronisation
/// A cooperative launch. Two barriers of the grid a column: a column's norm, then the product. What follows the product
/// needs no third one, since `w^H v` comes from `v^H A v` and the dots, and each block computes the next row of `W` by
/// itself. All items take the same number of steps.
///
/// # Numerics
/// As `latrd`, in another order of sums, which depends on `n`, `first`, `blocks` and the warps of a block.
///
/// # Safety
/// The views cover the items, the grid is `blocks` times their number and co-resident, and the launch gives the shared
/// memory.
///
/// # Source
/// As `latrd`; the two barriers are ours.
#[kernel(T = [f32, f64, c32, c64], launch_bounds(256))]
pub unsafe fn latrd_grid<T: Scalar>(
    a: GlobalMut<T>,
    w: GlobalMut<T>,
    d: GlobalMut<T::Real>,
    e: GlobalMut<T::Real>,
    tau: GlobalMut<T>,
    x: GlobalMut<T>,
    parts: GlobalMut<T>,
    dots: GlobalMut<T>,
    norms: GlobalMut<T::Real>,
    counter: GlobalMut<u32>,
    n: u32,
    ld: u32,
    stride: u64,
    w_stride: u64,
    e_stride: u64,
    first: u32,
    width: u32,
    blocks: u32,
) {
    let shift = blocks.trailing_zeros();
    let (item, block) = ((thread::block_idx_x() >> shift) as usize, thread::block_idx_x() & (blocks - 1));
    let base = first / 32 * 32;
    let start = base as usize;
    let a = a.at(item * stride as usize + start * ld as usize + start);
    let w = w.at(item * w_stride as usize + start);
    let share = Share {
        a,
        factors: Factors { v: a.at((first - base) as usize * ld as usize), ld, w, w_ld: n },
        x: x.at(item * n as usize),
        parts: parts.at(item * n as usize * blocks as usize),
        dots: dots.at(item * 2 * SECOND as usize),
        norms: norms.at(item * 2 * blocks as usize),
        ld,
        n: n - base,
        block,
        blocks,
        shared: Memory::new(n - base),
        tile: Tile::native(32),
    };
    let (d, tau) = (d.at(item * n as usize + start), tau.at(item * n as usize + start));
    let e = e.at(item * e_stride as usize + start);
    share.shared.clear();
    thread::sync_threads();
    let mut j = 0;
    while j < width {
        let k = first - base + j;
        share.update_column(k, j, d);
        if k + 1 == share.n {
            break;
        }
        sync_grid(counter);
        let scalars = share.reflect(k);
        share.multiply(k, j);
        sync_grid(counter);
        share.finish(k, j, scalars.tau);
        if block == 0 && thread::thread_idx_x() == 0 {
            e.set(k as usize, scalars.beta);
            tau.set(k as usize, scalars.tau);
        }
        j += 1;
    }
}

/// Sets the counter of [`latrd_grid`](mod@crate::latrd_grid) to zero.
///
/// # Layout and shapes
/// `counter`: one word.
///
/// # Lanes
/// One.
///
/// # Shared memory
/// None.
///
/// # Synchronisation
/// None.
///
/// # Numerics
/// None.
///
/// # Safety
/// The view holds the word.
///
/// # Source
/// Ours.
#[kernel(launch_bounds(32))]
pub unsafe fn latrd_clear(counter: GlobalMut<u32>) {
    if thread::thread_idx_x() == 0 {
        counter.set(0, 0);
    }
}

/// A block's share of an item, from the first multiple of 32 not above the panel.
#[derive(Clone, Copy)]
struct Share<T: Scalar> {
    a: GlobalMut<T>,
    factors: Factors<T>,
    /// The column that is reflected.
    x: GlobalMut<T>,
    /// Parts of the product, a block's after another's.
    parts: GlobalMut<T>,
    /// `W^H v`, and `V^H v` from `SECOND` on.
    dots: GlobalMut<T>,
    /// Sums of squares by block, then parts of `v^H A v`.
    norms: GlobalMut<T::Real>,
    ld: u32,
    n: u32,
    block: u32,
    blocks: u32,
    shared: Memory<T>,
    tile: Tile,
}

impl<T: Scalar> Share<T> {
    /// Calls `f` for each row of this thread in `from..n`, dealt to all threads of the item.
    #[inline(always)]
    fn own_rows(&self, from: u32, f: impl FnMut(u32)) {
        let threads = thread::block_dim_x();
        let rank = self.block * threads + thread::thread_idx_x();
        own_rows((from, self.n), self.blocks * threads, rank, f);
    }

    /// The block's sum, known to thread 0. A barrier lies before and after.
    #[inline(always)]
    fn block_sum(&self, x: T::Real) -> T::Real {
        let squares = self.shared.squares;
        let x = self.tile.reduce(x, |x, y| x + y);
        if self.tile.rank() == 0 {
            squares.set(warp::warp_id(), x);
        }
        thread::sync_threads();
        let mut sum = squares.get(0);
        for warp in 1..thread::block_dim_x() / 32 {
            sum += squares.get(warp);
        }
        thread::sync_threads();
        sum
    }

    /// The sum of what each block of the item left, the same on every lane of every block.
    #[inline(always)]
    fn item_sum(&self, from: GlobalMut<T::Real>) -> T::Real {
        let mut sum = <T::Real as Real>::ZERO;
        let mut block = self.tile.rank();
        while block < self.blocks {
            sum += from.get(block as usize);
            block += 32;
        }
        self.tile.reduce(sum, |x, y| x + y)
    }

    /// Leaves this block's rows of column `k`, with the updates of the panel, in `x`, and the sum of their squares.
    #[inline(always)]
    fn update_column(&self, k: u32, j: u32, d: GlobalMut<T::Real>) {
        let column = self.a.at(k as usize * self.ld as usize);
        let mut square = <T::Real as Real>::ZERO;
        self.own_rows(k, |row| {
            let mut sums = [[column.get(row as usize), T::ZERO]];
            subtract(self.factors, (0, j), row, [self.shared.of_row()], &mut sums);
            let x = sums[0][0] + sums[0][1];
            self.x.set(row as usize, x);
            if row == k {
                d.set(k as usize, x.re());
            }
            if row > k + 1 {
                square = x.abs_sq_add(square);
            }
        });
        let square = self.block_sum(square);
        if thread::thread_idx_x() == 0 {
            self.norms.set(self.block as usize, square);
        }
    }

    /// The reflector of the column in `x`; each block has the whole vector in shared memory. A barrier lies after.
    #[inline(always)]
    fn reflect(&self, k: u32) -> Scalars<T> {
        let square = self.item_sum(self.norms);
        let alpha = self.x.get(k as usize + 1);
        let scalars = if needs_reflector::<T>(k, self.n) {
            Scalars::new(alpha, square)
        } else {
            Scalars::identity(alpha)
        };
        let mut row = k / 32 * 32 + thread::thread_idx_x();
        while row < self.shared.padded {
            let mut v = T::ZERO;
            if row > k + 1 && row < self.n {
                v = scalars.component(self.x.get(row as usize));
            }
            self.shared.v.set(row, if row == k + 1 { T::ONE } else { v });
            row += thread::block_dim_x();
        }
        thread::sync_threads();
        scalars
    }

    /// Leaves this block's part of `A v` and of `v^H A v`, and its share of the dots, in global memory.
    #[inline(always)]
    fn multiply(&self, k: u32, j: u32) {
        let (memory, warps) = (self.shared, thread::block_dim_x() / 32);
        let operands = Operands { a: self.a, ld: self.ld, n: self.n, done: k, v: memory.v };
        let place = self.block * warps + warp::warp_id();
        let part = memory.parts.at(warp::warp_id() * memory.padded);
        operands.multiply(self.tile, place, warps * self.blocks, part);
        let mut q = 2 * (warps * self.blocks - 1 - place);
        while q < j {
            let sum = dots(self.factors, self.tile, (q, j), (k, self.n), memory.v);
            if let Some(place) = place_of_dot(self.tile, (q, j), SECOND) {
                self.dots.set(place as usize, sum);
            }
            q += 2 * warps * self.blocks;
        }
        thread::sync_threads();
        let out = self.parts.at(self.block as usize * self.n as usize);
        let mut square = <T::Real as Real>::ZERO;
        let mut row = k + 1 + thread::thread_idx_x();
        while row < self.n {
            let y = memory.product(row);
            out.set(row as usize, y);
            square += memory.v.get(row).conj().mul(y).re();
            row += thread::block_dim_x();
        }
        let square = self.block_sum(square);
        if thread::thread_idx_x() == 0 {
            self.norms.set((self.blocks + self.block) as usize, square);
        }
    }

    /// This block's rows of V and W, and for the next column the row of both. A barrier lies before the rows.
    #[inline(always)]
    fn finish(&self, k: u32, j: u32, tau: T) {
        let memory = self.shared;
        let (of_w, of_v) = (memory.dots, memory.dots.at(SECOND));
        let mut q = thread::thread_idx_x();
        while q < j {
            of_w.set(q, self.dots.get(q as usize));
            of_v.set(q, self.dots.get((SECOND + q) as usize));
            q += thread::block_dim_x();
        }
        thread::sync_threads();
        // v^H (A - V W^H - W V^H) v.
        let mut curvature = self.item_sum(self.norms.at(self.blocks as usize));
        for q in 0..j {
            curvature += -(<T::Real as Real>::TWO * of_w.get(q).conj().mul(of_v.get(q)).re());
        }
        let factor = -(<T::Real as Real>::HALF * tau.abs_sq_add(<T::Real as Real>::ZERO) * curvature);
        if warp::warp_id() == 0 {
            self.next_row(k, j, (tau, factor));
        }
        thread::sync_threads();
        let (v_column, w_column) = (self.factors.v_column(j), self.factors.w_column(j));
        self.own_rows(k + 1, |row| {
            let v = memory.v.get(row);
            let mut w = memory.row.get(SECOND + j).conj();
            if row > k + 1 {
                let mut sums = [[self.product(row), T::ZERO]];
                subtract(self.factors, (0, j), row, [memory.of_dots()], &mut sums);
                w = v.scale_add(factor, tau.mul(sums[0][0] + sums[0][1]));
            }
            v_column.set(row as usize, v);
            w_column.set(row as usize, w);
        });
    }

    /// Element `row` of `A v`.
    #[inline(always)]
    fn product(&self, row: u32) -> T {
        let mut y = T::ZERO;
        for block in 0..self.blocks {
            y += self.parts.get(block as usize * self.n as usize + row as usize);
        }
        y
    }

    /// `V(k + 1, 0..=j)` and `W(k + 1, 0..=j)` in shared memory, by one warp; the last element of W anew in every block.
    #[inline(always)]
    fn next_row(&self, k: u32, j: u32, (tau, factor): (T, T::Real)) {
        let (memory, lane, row) = (self.shared, self.tile.rank(), k as usize + 1);
        let mut y = T::ZERO;
        let mut block = lane;
        while block < self.blocks {
            y += self.parts.get(block as usize * self.n as usize + row);
            block += 32;
        }
        if lane < j {
            let (v, w) = (self.factors.v_column(lane).get(row), self.factors.w_column(lane).get(row));
            y = (-v).mul_add(memory.dots.get(lane), y);
            y = (-w).mul_add(memory.dots.get(SECOND + lane), y);
            memory.row.set(lane, v.conj());
            memory.row.set(SECOND + lane, w.conj());
        }
        let y = self.tile.reduce(y, |x, y| x + y);
        if lane == 0 {
            memory.row.set(j, T::ONE);
            memory.row.set(SECOND + j, T::ONE.scale_add(factor, tau.mul(y)).conj());
        }
    }
}
