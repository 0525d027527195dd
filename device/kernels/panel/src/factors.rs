//! The columns of V and W that a panel has so far.

use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::fold::fold;

/// Columns of `V` and `W`, wherever they lie.
pub trait Columns<T: Scalar>: Copy {
    /// `V(row, q)`.
    fn v(self, q: u32, row: u32) -> T;
    /// `W(row, q)`.
    fn w(self, q: u32, row: u32) -> T;
}

/// `V`, below the diagonal of the panel's columns, and `W`, both from row 0 on, in global memory.
#[derive(Clone, Copy)]
pub struct Factors<T> {
    /// The panel's first column.
    pub v: GlobalMut<T>,
    /// Distance between columns of `V`.
    pub ld: u32,
    /// The first column of `W`.
    pub w: GlobalMut<T>,
    /// Distance between columns of `W`.
    pub w_ld: u32,
}

impl<T: Scalar> Factors<T> {
    /// Column `q` of `V`.
    #[inline(always)]
    pub fn v_column(&self, q: u32) -> GlobalMut<T> {
        self.v.at(q as usize * self.ld as usize)
    }

    /// Column `q` of `W`.
    #[inline(always)]
    pub fn w_column(&self, q: u32) -> GlobalMut<T> {
        self.w.at(q as usize * self.w_ld as usize)
    }
}

impl<T: Scalar> Columns<T> for Factors<T> {
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn v(self, q: u32, row: u32) -> T {
        self.v.get(q as usize * self.ld as usize + row as usize)
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn w(self, q: u32, row: u32) -> T {
        self.w.get(q as usize * self.w_ld as usize + row as usize)
    }
}

/// The first columns of both again, in shared memory.
#[derive(Clone, Copy)]
pub struct Staged<T> {
    pub v: Shared<T>,
    pub w: Shared<T>,
    /// Distance between columns: odd, so that a row is read without bank conflicts.
    pub ld: u32,
    /// Columns that there is room for, a multiple of 8.
    pub columns: u32,
}

impl<T: Scalar> Staged<T> {
    /// Leaves `V(row, q)`, where there is room for column `q`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn set_v(self, q: u32, row: u32, x: T) {
        if q < self.columns {
            self.v.set(q * self.ld + row, x);
        }
    }

    /// Leaves `W(row, q)`, where there is room for column `q`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn set_w(self, q: u32, row: u32, x: T) {
        if q < self.columns {
            self.w.set(q * self.ld + row, x);
        }
    }
}

impl<T: Scalar> Columns<T> for Staged<T> {
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn v(self, q: u32, row: u32) -> T {
        self.v.get(q * self.ld + row)
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn w(self, q: u32, row: u32) -> T {
        self.w.get(q * self.ld + row)
    }
}

/// What a row of `V` and of `W` is multiplied by; zero from the last column to the next multiple of 4.
#[derive(Clone, Copy)]
pub struct Factor<T> {
    pub of_v: Shared<T>,
    pub of_w: Shared<T>,
}

/// Columns that are in flight together.
const fn in_flight(scalar_bytes: usize) -> usize {
    if scalar_bytes > 8 { 4 } else { 8 }
}

/// `sums[m][0] -= V(row, q) factors[m].of_v[q]` and `sums[m][1] -= W(row, q) factors[m].of_w[q]` for `q` from `from`, a
/// multiple of 4, to `to`.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn subtract<T: Scalar, C: Columns<T>, const N: usize>(
    columns: C,
    (from, to): (u32, u32),
    row: u32,
    factors: [Factor<T>; N],
    sums: &mut [[T; 2]; N],
) {
    let many = const { in_flight(size_of::<T>()) };
    let mut q = from;
    while q + many as u32 <= to {
        let (mut v, mut w) = ([T::ZERO; 8], [T::ZERO; 8]);
        for s in 0..many {
            v[s] = columns.v(q + s as u32, row);
            w[s] = columns.w(q + s as u32, row);
        }
        for quad in 0..many / 4 {
            subtract_four([&v, &w], 4 * quad, q + 4 * quad as u32, factors, sums);
        }
        q += many as u32;
    }
    while q < to {
        let (mut v, mut w) = ([T::ZERO; 8], [T::ZERO; 8]);
        // Past the last column that again, which the factors make nothing.
        for s in 0..4 {
            let column = if q + (s as u32) < to { q + s as u32 } else { to - 1 };
            v[s] = columns.v(column, row);
            w[s] = columns.w(column, row);
        }
        subtract_four([&v, &w], 0, q, factors, sums);
        q += 4;
    }
}

/// Four columns from `q` on, whose elements are those of `v` and `w` from `at` on.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn subtract_four<T: Scalar, const N: usize>(
    [v, w]: [&[T; 8]; 2],
    at: usize,
    q: u32,
    factors: [Factor<T>; N],
    sums: &mut [[T; 2]; N],
) {
    for m in 0..N {
        let (of_v, of_w) = (factors[m].of_v.get_array::<4>(q), factors[m].of_w.get_array::<4>(q));
        for s in 0..4 {
            sums[m][0] = (-v[at + s]).mul_add(of_v[s], sums[m][0]);
            sums[m][1] = (-w[at + s]).mul_add(of_w[s], sums[m][1]);
        }
    }
}

/// `W^H x` and `V^H x` of the columns `q` and, if it is below `to`, `q + 1`, over the rows `k + 1..n`; `x` is zero in the
/// other rows of their tiles. Lanes of a rank of 0, 1, 2, 3 modulo 4 have `W^H x` of both columns, then `V^H x`.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn dots<T: Scalar, C: Columns<T>>(
    columns: C,
    tile: Tile,
    (q, to): (u32, u32),
    (k, n): (u32, u32),
    x: Shared<T>,
) -> T {
    // Tiles of rows in flight.
    let many = const { in_flight(size_of::<T>()) / 2 };
    let next = if q + 1 < to { q + 1 } else { q };
    let mut sums = [T::ZERO; 4];
    let mut first = (k + 1) / 32 * 32;
    while first < n {
        let mut elements = [[T::ZERO; 4]; 4];
        let mut factor = [T::ZERO; 4];
        for r in 0..many {
            let row = first + 32 * r as u32 + tile.rank();
            let known = if row > k { row } else { k + 1 };
            let known = if known < n { known } else { n - 1 };
            elements[r] =
                [columns.w(q, known), columns.w(next, known), columns.v(q, known), columns.v(next, known)];
            let there = x.get(known);
            factor[r] = if row == known { there } else { T::ZERO };
        }
        for r in 0..many {
            for s in 0..4 {
                sums[s] = elements[r][s].conj().mul_add(factor[r], sums[s]);
            }
        }
        first += 32 * many as u32;
    }
    fold::<T, 2, 4>(tile, &mut sums);
    fold::<T, 1, 4>(tile, &mut sums);
    let mut total = sums[0];
    total += tile.shuffle_xor(total, 4);
    total += tile.shuffle_xor(total, 8);
    total + tile.shuffle_xor(total, 16)
}

/// Where a lane's result of [`dots`] belongs, among `W^H x` and, from `second` on, `V^H x`; none if another lane has it.
#[inline(always)]
pub fn place_of_dot(tile: Tile, (q, to): (u32, u32), second: u32) -> Option<u32> {
    let lane = tile.rank();
    let column = q + lane % 2;
    if lane < 4 && column < to { Some(lane / 2 * second + column) } else { None }
}
