//! The columns of V and W that a panel has so far.

use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// `V`, below the diagonal of the panel's columns, and `W`, both from row 0 on.
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

    /// `x - V(row, 0..j) y - W(row, 0..j) z`, where `y` and `z` are the elements from `of_v` and `of_w` on, or their
    /// conjugates.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn without(&self, (j, row): (u32, u32), x: T, of_v: Shared<T>, of_w: Shared<T>, conj: bool) -> T {
        let (v, w) = (self.v.at(row as usize), self.w.at(row as usize));
        let (ld, w_ld) = (self.ld as usize, self.w_ld as usize);
        let turn = |x: T| if conj { x.conj() } else { x };
        let mut sums = [x, T::ZERO];
        let mut q = 0;
        // Eight loads in flight.
        while q + 4 <= j {
            let mut v4 = [T::ZERO; 4];
            let mut w4 = [T::ZERO; 4];
            for s in 0..4 {
                v4[s] = v.get((q as usize + s) * ld);
                w4[s] = w.get((q as usize + s) * w_ld);
            }
            for s in 0..4 {
                sums[0] = (-v4[s]).mul_add(turn(of_v.get(q + s as u32)), sums[0]);
                sums[1] = (-w4[s]).mul_add(turn(of_w.get(q + s as u32)), sums[1]);
            }
            q += 4;
        }
        while q < j {
            sums[0] = (-v.get(q as usize * ld)).mul_add(turn(of_v.get(q)), sums[0]);
            sums[1] = (-w.get(q as usize * w_ld)).mul_add(turn(of_w.get(q)), sums[1]);
            q += 1;
        }
        sums[0] + sums[1]
    }

    /// `W^H x` and `V^H x` for column `q`, over the rows `k + 1..n`; on every lane of the warp.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn dots(&self, tile: Tile, q: u32, (k, n): (u32, u32), x: Shared<T>) -> (T, T) {
        let (v, w) = (self.v_column(q), self.w_column(q));
        let (mut of_w, mut of_v) = (T::ZERO, T::ZERO);
        let mut row = (k + 1) / 32 * 32 + tile.rank();
        while row < n {
            if row > k {
                let x = x.get(row);
                of_w = w.get(row as usize).conj().mul_add(x, of_w);
                of_v = v.get(row as usize).conj().mul_add(x, of_v);
            }
            row += 32;
        }
        (tile.reduce(of_w, |x, y| x + y), tile.reduce(of_v, |x, y| x + y))
    }
}
