//! Reduction to tridiagonal form with the matrix in registers, one barrier a column.
//!
//! Lane = row: lane `l` holds rows `l`, `l + 32`, ...; a warp holds columns, in groups that are dealt out in turn, so
//! that all warps stay busy to the end. Every warp computes every vector of a step whole, and the same bits: only the
//! parts of the product and the next column pass between warps.

use crate::shape::{Offsets, group, held, padded, threads, warps};
use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::layout::Item;
use device_linalg::reduce::needs_reflector;
use device_linalg::reflector::{Reflector, larfg};
use device_linalg::rows::{broadcast, row_of};

/// Shared memory of a reduction.
#[derive(Clone, Copy)]
struct Parts<T: Scalar> {
    tail: Shared<T>,
    partial: Shared<T>,
    column: Shared<T>,
    own: Shared<T>,
    diagonal: Shared<T::Real>,
    largest: Shared<T::Real>,
}

/// A warp's columns of the matrix, and its share of shared memory.
#[derive(Clone, Copy)]
pub struct Columns<T: Scalar, const ROWS: usize, const COLUMNS: usize> {
    slots: [[T; COLUMNS]; ROWS],
    parts: Parts<T>,
    tile: Tile,
    warp: u32,
    n: u32,
}

/// The vectors of a step, at this lane's rows.
#[derive(Clone, Copy)]
struct Vectors<T, const ROWS: usize> {
    v: [T; ROWS],
    w: [T; ROWS],
}

impl<T: Scalar, const ROWS: usize, const COLUMNS: usize> Columns<T, ROWS, COLUMNS> {
    const WARPS: usize = warps(ROWS, COLUMNS);
    const PADDED: usize = padded(ROWS);
    const GROUP: usize = group(size_of::<T>());
    const GROUPS: usize = COLUMNS / Self::GROUP;
    const HELD: usize = held(size_of::<T>(), ROWS, COLUMNS);

    /// Reads the item from the triangle `upper` (else lower), unscaled.
    #[inline(always)]
    pub fn load(item: Item<T>, upper: bool, offsets: &Offsets) -> Self {
        let n = item.n;
        // SAFETY: the launch gives Offsets::end bytes; the parts are disjoint, and aligned as Offsets rounds them.
        let parts = unsafe {
            let tail_elements = (offsets.partial - offsets.tail) / size_of::<T>();
            Parts {
                tail: dynamic_shared_mem::<T>(offsets.tail, tail_elements),
                partial: dynamic_shared_mem::<T>(offsets.partial, 2 * Self::WARPS * Self::PADDED),
                column: dynamic_shared_mem::<T>(offsets.column, 2 * Self::PADDED),
                own: dynamic_shared_mem::<T>(offsets.own, 3 * Self::PADDED),
                diagonal: dynamic_shared_mem::<T::Real>(offsets.tridiagonal, 2 * Self::PADDED),
                largest: dynamic_shared_mem::<T::Real>(offsets.largest, Self::WARPS),
            }
        };
        let mut columns = Columns {
            slots: [[T::ZERO; COLUMNS]; ROWS],
            parts,
            tile: Tile::native(32),
            warp: thread::thread_idx_x() / 32,
            n,
        };
        for g in 0..Self::GROUPS {
            if columns.first_column(g) < n {
                for c in 0..Self::GROUP {
                    let column = columns.first_column(g) + c as u32;
                    for r in 0..ROWS {
                        let row = row_of(columns.tile, r);
                        let mut x = T::ZERO;
                        if row < n && column < n {
                            let stored = if upper { row <= column } else { row >= column };
                            let (i, j) = if stored { (row, column) } else { (column, row) };
                            let element = item.column(j).get(i as usize);
                            let zero = <T::Real as Real>::ZERO;
                            let im = if row == column { zero } else { element.im() };
                            x = T::from_parts(element.re(), if stored { im } else { -im });
                        }
                        columns.set(r, g * Self::GROUP + c, x);
                    }
                }
            }
        }
        columns
    }

    /// First column of group `g`.
    #[inline(always)]
    fn first_column(&self, g: usize) -> u32 {
        Self::GROUP as u32 * ((g * Self::WARPS) as u32 + self.warp)
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn get(&self, r: usize, slot: usize) -> T {
        if slot < Self::HELD { self.slots[r][slot] } else { self.parts.tail.get(Self::tail_index(r, slot)) }
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn set(&mut self, r: usize, slot: usize, x: T) {
        if slot < Self::HELD {
            self.slots[r][slot] = x;
        } else {
            self.parts.tail.set(Self::tail_index(r, slot), x);
        }
    }

    /// Consecutive threads in consecutive places; only its own thread touches an element.
    #[inline(always)]
    fn tail_index(r: usize, slot: usize) -> u32 {
        (((slot - Self::HELD) * ROWS + r) * threads(ROWS, COLUMNS)) as u32 + thread::thread_idx_x()
    }

    /// Calls `f` for each slot that holds a column of the matrix.
    #[inline(always)]
    fn for_each(&mut self, mut f: impl FnMut(T) -> T) {
        for g in 0..Self::GROUPS {
            if self.first_column(g) < self.n {
                for c in 0..Self::GROUP {
                    for r in 0..ROWS {
                        let slot = g * Self::GROUP + c;
                        let x = f(self.get(r, slot));
                        self.set(r, slot, x);
                    }
                }
            }
        }
    }

    /// Brings the largest element near 1 by a power of two, which is returned; `None` where an element is not
    /// finite. The answer is the block's.
    #[inline(always)]
    pub fn normalize(&mut self) -> Option<T::Real> {
        let mut finite = true;
        let mut largest = <T::Real as Real>::ZERO;
        self.for_each(|x| {
            // Parts one by one: the sum of two finite ones may overflow.
            finite &= x.re().is_finite() && x.im().is_finite();
            largest = largest.max(x.re().abs()).max(x.im().abs());
            x
        });
        let largest = self.tile.reduce(largest, Real::max);
        if self.tile.rank() == 0 {
            self.parts.largest.set(self.warp, largest);
        }
        let bad = thread::sync_threads_or(!finite);
        let mut largest = <T::Real as Real>::ZERO;
        for warp in 0..Self::WARPS {
            largest = largest.max(self.parts.largest.get(warp as u32));
        }
        let scale = largest.normalizer();
        if bad {
            return None;
        }
        self.for_each(|x| x.scale(scale));
        Some(scale)
    }

    /// Reduces the matrix. Leaves diagonal and off-diagonals in shared memory, and calls `keep(k, reflector)` in one
    /// warp for each column but the last. A barrier follows before they may be read.
    #[inline(always)]
    pub fn reduce(mut self, mut keep: impl FnMut(u32, &Reflector<T, ROWS>)) {
        let zero = [T::ZERO; ROWS];
        let mut vectors = Vectors { v: zero, w: zero };
        if self.tile.rank() < COLUMNS as u32 {
            // The v of the step before the first.
            self.parts.own.set(self.own_index(1) + self.tile.rank(), T::ZERO);
        }
        self.publish(0);
        thread::sync_threads();
        let mut k = 0;
        macro_rules! stages {
            ($($first:literal)*) => { $(
                if $first < ROWS {
                    // Rows of the blocks before `first` are done with.
                    while k + 1 < self.n && k < 32 * ($first + 1) {
                        self.step::<$first>(k, &mut vectors, &mut keep);
                        k += 1;
                    }
                }
            )* };
        }
        stages!(0 1 2 3);
        let last = self.next_column(k, &vectors);
        self.put_diagonal(k, &last);
    }

    /// Start of vector `which` of this warp: v of even steps, v of odd steps, w.
    #[inline(always)]
    fn own_index(&self, which: usize) -> u32 {
        (which * Self::PADDED) as u32 + self.warp * COLUMNS as u32
    }

    /// Reflects column `k`; on return `vectors` are those of the pending update.
    #[inline(always)]
    fn step<const FIRST: usize>(
        &mut self,
        k: u32,
        vectors: &mut Vectors<T, ROWS>,
        keep: &mut impl FnMut(u32, &Reflector<T, ROWS>),
    ) {
        let x = self.next_column(k, vectors);
        let reflector = if needs_reflector::<T>(k, self.n) {
            larfg(self.tile, k + 1, x)
        } else {
            Reflector::identity(self.tile, k + 1, x)
        };
        self.put_diagonal(k, &x);
        if self.warp == k % Self::WARPS as u32 {
            if self.tile.rank() == 0 {
                self.parts.diagonal.set(Self::PADDED as u32 + k, reflector.beta);
            }
            keep(k, &reflector);
        }
        let odd = k as usize % 2;
        // The vectors at this warp's columns: w of the pending update, v of the next.
        for r in 0..ROWS {
            let column = row_of(self.tile, r);
            let group = column / Self::GROUP as u32;
            if group % Self::WARPS as u32 == self.warp {
                let slot = group / Self::WARPS as u32 * Self::GROUP as u32 + column % Self::GROUP as u32;
                self.parts.own.set(self.own_index(2) + slot, vectors.w[r]);
                self.parts.own.set(self.own_index(odd) + slot, reflector.v[r]);
            }
        }
        self.tile.sync();
        let partial = self.update_and_multiply::<FIRST>(k, vectors);
        let buffer = (odd * Self::WARPS * Self::PADDED) as u32;
        for r in 0..ROWS {
            if r >= FIRST {
                let row = row_of(self.tile, r);
                self.parts.partial.set(buffer + self.warp * Self::PADDED as u32 + row, partial[r]);
            }
        }
        self.publish(k + 1);
        thread::sync_threads();
        *vectors = self.pending::<FIRST>(k, buffer, &reflector);
    }

    /// Column `k` with the pending update.
    #[inline(always)]
    fn next_column(&self, k: u32, vectors: &Vectors<T, ROWS>) -> [T; ROWS] {
        // v is 1 in row k; where it is not, w is 0.
        let w_k = broadcast(self.tile, &vectors.w, k);
        let mut x = [T::ZERO; ROWS];
        for r in 0..ROWS {
            let old = self.parts.column.get(k % 2 * Self::PADDED as u32 + row_of(self.tile, r));
            x[r] = (-vectors.v[r]).mul_add(w_k.conj(), old) - vectors.w[r];
        }
        x
    }

    #[inline(always)]
    fn put_diagonal(&self, k: u32, column: &[T; ROWS]) {
        for r in 0..ROWS {
            if self.warp == 0 && row_of(self.tile, r) == k {
                self.parts.diagonal.set(k, column[r].re());
            }
        }
    }

    /// Hands column `k` to the other warps, where it is this warp's.
    #[inline(always)]
    fn publish(&self, k: u32) {
        let buffer = k % 2 * Self::PADDED as u32;
        for g in 0..Self::GROUPS {
            let c = k.wrapping_sub(self.first_column(g));
            if c < Self::GROUP as u32 {
                for r in 0..ROWS {
                    let mut re = self.get(r, g * Self::GROUP).re();
                    let mut im = self.get(r, g * Self::GROUP).im();
                    for other in 1..Self::GROUP {
                        let x = self.get(r, g * Self::GROUP + other);
                        re = if c == other as u32 { x.re() } else { re };
                        im = if c == other as u32 { x.im() } else { im };
                    }
                    self.parts.column.set(buffer + row_of(self.tile, r), T::from_parts(re, im));
                }
            }
        }
    }

    /// `GROUP` elements of vector `which` at the columns of group `g`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn own(&self, which: usize, g: usize) -> [T; 4] {
        let at = self.own_index(which) + (g * Self::GROUP) as u32;
        if Self::GROUP == 4 {
            self.parts.own.get_array::<4>(at)
        } else {
            [self.parts.own.get(at), self.parts.own.get(at + 1), T::ZERO, T::ZERO]
        }
    }

    /// `A -= v w^H + w v^H`, and this warp's part of `A` times the new `v`. Each element is touched once.
    #[inline(always)]
    fn update_and_multiply<const FIRST: usize>(&mut self, k: u32, vectors: &Vectors<T, ROWS>) -> [T; ROWS] {
        let odd = k as usize % 2;
        let mut sums = [[T::ZERO; 2]; ROWS];
        for g in 0..Self::GROUPS {
            let first = self.first_column(g);
            // Columns up to k are done with.
            if first + Self::GROUP as u32 > k + 1 && first < self.n {
                let (v, w, next) = (self.own(1 - odd, g), self.own(2, g), self.own(odd, g));
                for r in 0..ROWS {
                    if r >= FIRST {
                        for c in 0..Self::GROUP {
                            let slot = g * Self::GROUP + c;
                            let x = (-vectors.v[r]).mul_add(w[c].conj(), self.get(r, slot));
                            let x = (-vectors.w[r]).mul_add(v[c].conj(), x);
                            self.set(r, slot, x);
                            sums[r][c % 2] = x.mul_add(next[c], sums[r][c % 2]);
                        }
                    }
                }
            }
        }
        let mut partial = [T::ZERO; ROWS];
        for r in 0..ROWS {
            partial[r] = sums[r][0] + sums[r][1];
        }
        partial
    }

    /// The vectors of the update by the reflector of column `k`, from the parts of the product:
    /// `w = tau A v - (tau / 2)(tau A v)^H v * v`, as LAPACK's `zhetd2`.
    #[inline(always)]
    fn pending<const FIRST: usize>(
        &self,
        k: u32,
        buffer: u32,
        reflector: &Reflector<T, ROWS>,
    ) -> Vectors<T, ROWS> {
        let (v, tau) = (reflector.v, reflector.tau);
        let mut w = [T::ZERO; ROWS];
        let mut dot = T::ZERO;
        for r in 0..ROWS {
            if r >= FIRST {
                let row = row_of(self.tile, r);
                let mut sum = T::ZERO;
                for warp in 0..Self::WARPS {
                    sum += self.parts.partial.get(buffer + (warp * Self::PADDED) as u32 + row);
                }
                w[r] = if row > k { tau.mul(sum) } else { T::ZERO };
                dot = w[r].conj().mul_add(v[r], dot);
            }
        }
        let dot = self.tile.reduce(dot, |a, b| a + b);
        let factor = tau.mul(dot).scale(-<T::Real as Real>::HALF);
        for r in 0..ROWS {
            w[r] = factor.mul_add(v[r], w[r]);
        }
        Vectors { v, w }
    }
}
