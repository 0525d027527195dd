//! A column of the reduction, between two barriers.

use crate::product::{MOST_UNITS, Product, Vectors};
use crate::triangle::Triangle;
use cuda_std::prelude::*;
use device_linalg::fold::choose;
use device_linalg::layout::Item;
use device_linalg::reduce::needs_reflector;
use device_linalg::reflector::Scalars;

/// Where the results of an item go: `n` elements of `d`, one less of `e` and `tau`; the reflectors into the matrix.
#[derive(Clone, Copy)]
pub(crate) struct Results<T: Scalar> {
    pub item: Item<T>,
    pub d: GlobalMut<T::Real>,
    pub e: GlobalMut<T::Real>,
    pub tau: GlobalMut<T>,
}

/// What makes `w` and `v` of a step.
#[derive(Clone, Copy)]
struct Factors<T: Scalar> {
    /// The reflector's.
    tau: T,
    /// `v` is so many times `x` below the pivot.
    inverse: T,
    /// `tau inverse`.
    of_product: T,
    /// `- |tau|^2 v^H A v / 2`.
    of_v: T::Real,
}

/// What a step reads before its reflector is known.
#[derive(Clone, Copy)]
struct Loaded<T, const ROWS: usize> {
    column: [T; ROWS],
    product: [T; ROWS],
    is_product: bool,
}

impl<T: Scalar> Factors<T> {
    /// `w = tau (A e + inverse A x) - (|tau|^2 / 2) (v^H A v) v`, for an element of the column `A e`, of the product and of `v`.
    #[inline(always)]
    fn w(&self, column: T, product: T, v: T) -> T {
        v.scale_add(self.of_v, self.of_product.mul_add(product, self.tau.mul(column)))
    }
}

impl<T: Scalar, const ROWS: usize, const COLUMNS: usize, const SHARED: usize>
    Triangle<T, ROWS, COLUMNS, SHARED>
{
    /// Reduces the matrix, which has been loaded.
    #[inline(always)]
    pub fn reduce(mut self, results: Results<T>) {
        let start = Self::PADDED - results.item.n;
        let zero = [T::ZERO; ROWS];
        let mut vectors = Vectors { v: zero, w: zero, x: zero };
        self.publish_first(start);
        self.clear();
        thread::sync_threads();
        let identity =
            Factors { tau: T::ZERO, inverse: T::ZERO, of_product: T::ZERO, of_v: <T::Real as Real>::ZERO };
        // The column before the first has no reflector, and its product counts for nothing.
        let buffer = self.memory.column.at(start % 2 * Self::PADDED);
        let diagonal = buffer.get(start);
        let mut loaded = self.loaded(start, false);
        self.rows(start, &mut vectors, &mut loaded, &identity, T::ZERO);
        if thread::thread_idx_x() == 0 {
            results.d.set(0, diagonal.re());
        }
        let mut k = start;
        while k + 1 < Self::PADDED {
            self.tile.sync();
            let product = self.update_and_multiply(k + 1, &vectors);
            self.share(k, &vectors, &product);
            thread::sync_threads();
            self.finish(k, start, &mut vectors, results);
            k += 1;
        }
    }

    /// Leaves column `start` as it was loaded for all warps.
    #[inline(always)]
    fn publish_first(&self, start: u32) {
        macro_rules! blocks {
            ($($b:literal)*) => { $(
                if $b < ROWS {
                    for q in 0..Self::GROUPS {
                        let c = start.wrapping_sub(self.first_column($b, q));
                        if c < Self::GROUP as u32 {
                            self.publish::<$b>(q, c, start);
                        }
                    }
                }
            )* };
        }
        blocks!(0 1 2 3 4 5 6 7 8 9);
    }

    /// Whether rows of the first half are looked at when column `column` is the next.
    #[inline(always)]
    pub fn has_first_half(column: u32) -> bool {
        column / 32 < ROWS as u32 / 2
    }

    /// Leaves this warp's part of the product for the others, and of `x^H A x`; and the square of `x`.
    #[inline(always)]
    fn share(&self, k: u32, vectors: &Vectors<T, ROWS>, product: &Product<T, ROWS>) {
        let (mut form, mut square) = (<T::Real as Real>::ZERO, <T::Real as Real>::ZERO);
        let parts = self.parts(k).at(self.warp * Self::PADDED);
        let own = parts.at(self.tile.rank());
        for r in 0..ROWS {
            let x = vectors.x[r];
            form = real_product_add(x, product.rows[r], form);
            square = x.abs_sq_add(square);
            if r >= ROWS / 2 || Self::has_first_half(k + 1) {
                own.set(32 * r as u32, product.rows[r]);
            }
        }
        self.tile.sync();
        // All reads before the first store, or each waits for it.
        let (mut sums, mut x) = ([T::ZERO; MOST_UNITS], [T::ZERO; MOST_UNITS]);
        for unit in 0..Self::UNITS {
            if let Some(column) = self.unit_column(unit, k + 1) {
                sums[unit] = parts.get(column);
                x[unit] = self.memory.own.get(2 * Self::PADDED + column);
            }
        }
        for unit in 0..Self::UNITS {
            if let Some(column) = self.unit_column(unit, k + 1) {
                parts.set(column, sums[unit] + product.columns[unit]);
                form = real_product_add(x[unit], product.columns[unit], form);
            }
        }
        // Lanes of the upper half add up the squares, the others the form.
        let tile = self.tile;
        let upper = tile.rank() & 16 != 0;
        let given = tile.shuffle_xor(if upper { form } else { square }, 16);
        let mut sum = if upper { square } else { form } + given;
        let mut step = 8;
        while step > 0 {
            sum += tile.shuffle_xor(sum, step);
            step /= 2;
        }
        if tile.rank().is_multiple_of(16) {
            self.sums(k).set(2 * self.warp + tile.rank() / 16, sum);
        }
    }

    #[inline(always)]
    fn parts(&self, k: u32) -> Shared<T> {
        self.memory.parts.at(k % 2 * Self::WARPS as u32 * Self::PADDED)
    }

    #[inline(always)]
    fn sums(&self, k: u32) -> Shared<T::Real> {
        self.memory.sums.at(k % 2 * 2 * Self::WARPS as u32)
    }

    /// Element `at` of the product, of which `parts` are the first warp's.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn product(parts: Shared<T>, at: u32) -> T {
        let mut sums = [T::ZERO; 4];
        for warp in 0..Self::WARPS {
            let part = parts.get(warp as u32 * Self::PADDED + at);
            sums[warp % 4] = if warp < 4 { part } else { sums[warp % 4] + part };
        }
        match Self::WARPS {
            1 => sums[0],
            2 => sums[0] + sums[1],
            _ => (sums[0] + sums[1]) + (sums[2] + sums[3]),
        }
    }

    /// The reflector of column `k`, from what all warps left; the vectors of its update, and the next column.
    #[inline(always)]
    fn finish(&mut self, k: u32, start: u32, vectors: &mut Vectors<T, ROWS>, results: Results<T>) {
        let memory = self.memory;
        let mut loaded = self.loaded(k + 1, true);
        let (mut form, mut square) = (<T::Real as Real>::ZERO, <T::Real as Real>::ZERO);
        if Self::WARPS == 1 {
            (form, square) = (self.sums(k).get(0), self.sums(k).get(1));
        }
        for pair in 0..Self::WARPS / 2 {
            let [first, of_x, second, _] = self.sums(k).get_array::<4>(4 * pair as u32);
            form += first + second;
            // Every warp has the same.
            square = of_x;
        }
        let alpha = memory.pivot.get(k % 2);
        let scalars = if needs_reflector::<T>(k, Self::PADDED) {
            Scalars::new(alpha, square)
        } else {
            Scalars::identity(alpha)
        };
        // Row k + 1, for all threads: v is 1 there.
        let column = memory.column.at((k + 1) % 2 * Self::PADDED).get(k + 1);
        let product = Self::product(self.parts(k).at(k + 1), 0);
        let (tau, inverse) = (scalars.tau, scalars.component(T::ONE));
        // v^H A v: v is a multiple of x and a unit vector.
        let zero = <T::Real as Real>::ZERO;
        let mixed = inverse.mul(product).re();
        let form = inverse.abs_sq_add(zero).mul_add(form, mixed + mixed) + column.re();
        let of_v = -(<T::Real as Real>::HALF * tau.abs_sq_add(zero)) * form;
        let factors = Factors { tau, inverse, of_product: tau.mul(inverse), of_v };
        let w = factors.w(column, product, T::ONE);
        self.rows(k + 1, vectors, &mut loaded, &factors, w.conj());
        if self.warp == k % Self::WARPS as u32 {
            let (at, matrix) = (k - start, results.item.column(k - start));
            let first = (self.tile.rank() as usize).wrapping_sub(start as usize);
            for r in 0..ROWS {
                if self.row_from(r, k + 1) {
                    matrix.set(first.wrapping_add(32 * r), vectors.v[r]);
                }
            }
            if self.tile.rank() == 0 {
                results.d.set(at as usize + 1, ((-T::ONE).mul_add(w.conj(), column) - w).re());
                results.e.set(at as usize, scalars.beta);
                results.tau.set(at as usize, tau);
            }
        }
    }

    /// Whether registers hold what a step reads while its reflector is on its way.
    const LOADS_EARLY: bool = size_of::<T>() == 4 && COLUMNS == 8;

    /// Column `column`, and the product of the one before if there `is_product`, at this lane's rows that are looked at; where
    /// registers are short nothing yet.
    #[inline(always)]
    fn loaded(&self, column: u32, is_product: bool) -> Loaded<T, ROWS> {
        let mut loaded = Loaded { column: [T::ZERO; ROWS], product: [T::ZERO; ROWS], is_product };
        if Self::LOADS_EARLY {
            if Self::has_first_half(column) {
                self.load_half(true, column, &mut loaded);
            }
            self.load_half(false, column, &mut loaded);
        }
        loaded
    }

    /// The rows of a half of the tiles: all reads before the first store, or each waits for it.
    #[inline(always)]
    fn load_half(&self, is_first: bool, column: u32, loaded: &mut Loaded<T, ROWS>) {
        let elements = self.memory.column.at(column % 2 * Self::PADDED + self.tile.rank());
        let parts = self.parts(column.wrapping_sub(1)).at(self.tile.rank());
        let (from, to) = if is_first { (0, ROWS / 2) } else { (ROWS / 2, ROWS) };
        for r in from..to {
            loaded.column[r] = elements.get(32 * r as u32);
            if loaded.is_product {
                loaded.product[r] = Self::product(parts, 32 * r as u32);
            }
        }
    }

    /// The vectors of the update by the reflector of the column before `column`, and column `column` with it; `w` is the
    /// conjugate of `w` in that row.
    #[inline(always)]
    fn rows(
        &mut self,
        column: u32,
        vectors: &mut Vectors<T, ROWS>,
        loaded: &mut Loaded<T, ROWS>,
        factors: &Factors<T>,
        w: T,
    ) {
        if Self::has_first_half(column) {
            self.half(true, column, vectors, loaded, factors, w);
        }
        self.half(false, column, vectors, loaded, factors, w);
    }

    /// The rows of a half of the tiles.
    #[inline(always)]
    fn half(
        &mut self,
        is_first: bool,
        column: u32,
        vectors: &mut Vectors<T, ROWS>,
        loaded: &mut Loaded<T, ROWS>,
        factors: &Factors<T>,
        w: T,
    ) {
        if !Self::LOADS_EARLY {
            self.load_half(is_first, column, loaded);
        }
        let (memory, rank) = (self.memory, self.tile.rank());
        let own = memory.own.at(rank);
        let (from, to) = if is_first { (0, ROWS / 2) } else { (ROWS / 2, ROWS) };
        for r in from..to {
            let at = 32 * r as u32;
            let is_pivot = loaded.is_product && rank == column.wrapping_sub(at);
            let v = choose(is_pivot, T::ONE, factors.inverse.mul(vectors.x[r]));
            let whole = factors.w(loaded.column[r], loaded.product[r], v);
            let below = choose(self.row_from(r, column), whole, T::ZERO);
            let x = (-v).mul_add(w, loaded.column[r]) - below;
            vectors.v[r] = v;
            vectors.w[r] = below;
            vectors.x[r] = choose(self.row_from(r, column + 2), x, T::ZERO);
            // One warp leaves the pivot.
            if self.warp == 0 && rank == (column + 1).wrapping_sub(at) {
                memory.pivot.set(column % 2, x);
            }
            if self.is_own() {
                own.set(at, v);
                own.set(Self::PADDED + at, below);
                own.set(2 * Self::PADDED + at, vectors.x[r]);
            }
        }
    }

    /// Whether row `r` of this lane is `row` or below; without a register for each `r`.
    #[inline(always)]
    fn row_from(&self, r: usize, row: u32) -> bool {
        self.tile.rank() as i32 >= row as i32 - 32 * r as i32
    }
}

/// The real part of `conj(x) y + sum`.
#[inline(always)]
fn real_product_add<T: Scalar>(x: T, y: T, sum: T::Real) -> T::Real {
    let sum = x.re().mul_add(y.re(), sum);
    if T::COMPLEX { x.im().mul_add(y.im(), sum) } else { sum }
}
