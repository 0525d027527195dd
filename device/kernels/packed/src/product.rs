//! The pass over the triangle: the update by the step before, and the product with the column that is next to be reduced.

use crate::triangle::Triangle;
use cuda_std::prelude::*;
use device_linalg::fold::{choose, fold};

/// The vectors of a step, at this lane's rows.
#[derive(Clone, Copy)]
pub(crate) struct Vectors<T, const ROWS: usize> {
    /// Of the pending update.
    pub v: [T; ROWS],
    /// Of the pending update.
    pub w: [T; ROWS],
    /// The column to be reduced below its pivot, else zero.
    pub x: [T; ROWS],
}

impl<T: Scalar, const ROWS: usize, const COLUMNS: usize, const SHARED: usize>
    Triangle<T, ROWS, COLUMNS, SHARED>
{
    /// `A -= v w^H + w v^H`, and this warp's part of `A x`, in the columns from `from` on; column `from` as it is after that is left
    /// for all warps in buffer `from % 2`.
    #[inline(always)]
    pub fn update_and_multiply(&mut self, from: u32, vectors: &Vectors<T, ROWS>) -> [T; ROWS] {
        let mut product = [T::ZERO; ROWS];
        macro_rules! blocks {
            ($($b:literal)*) => { $(
                if $b < ROWS {
                    for q in 0..Self::GROUPS {
                        self.group::<$b>(q, from, vectors, &mut product);
                    }
                }
            )* };
        }
        blocks!(0 1 2 3 4 5 6 7 8 9);
        product
    }

    /// Group `q` of the column `B` of tiles. An element below its tile on the diagonal counts on both sides.
    #[inline(always)]
    fn group<const B: usize>(
        &mut self,
        q: usize,
        from: u32,
        vectors: &Vectors<T, ROWS>,
        product: &mut [T; ROWS],
    ) {
        let first = self.first_column(B, q);
        if first + (Self::GROUP as u32) <= from {
            return;
        }
        let (v, w, x) = (self.own::<B>(0, q), self.own::<B>(1, q), self.own::<B>(2, q));
        // What the columns give to the elements of the product that are theirs.
        let mut sums = [T::ZERO; 4];
        for r in B..ROWS {
            let mut a = self.get(r, B, q);
            for c in 0..Self::GROUP {
                a[c] = (-vectors.v[r]).mul_add(w[c].conj(), a[c]);
                a[c] = (-vectors.w[r]).mul_add(v[c].conj(), a[c]);
                product[r] = a[c].mul_add(x[c], product[r]);
                if r > B {
                    sums[c] = a[c].conj().mul_add(vectors.x[r], sums[c]);
                }
            }
            self.set(r, B, q, a);
        }
        if B + 1 < ROWS {
            if Self::GROUP == 4 {
                fold::<T, 2, 4>(self.tile, &mut sums);
            }
            fold::<T, 1, 4>(self.tile, &mut sums);
            let mut total = sums[0];
            if Self::GROUP == 2 {
                total += self.tile.shuffle_xor(total, 2);
            }
            total += self.tile.shuffle_xor(total, 4);
            total += self.tile.shuffle_xor(total, 8);
            total += self.tile.shuffle_xor(total, 16);
            // Lanes have the column that is their rank modulo a group, so the one whose row it is has it too.
            let is_here = self.tile.rank() / Self::GROUP as u32 == first % 32 / Self::GROUP as u32;
            let sum = product[B] + total;
            product[B] = choose(is_here, sum, product[B]);
        }
        let c = from.wrapping_sub(first);
        if c < Self::GROUP as u32 {
            self.publish::<B>(q, c, from);
        }
    }

    /// Leaves column `c` of a group for all warps, in buffer `column % 2`; zero in rows above, as far as they are looked at.
    #[inline(always)]
    pub fn publish<const B: usize>(&self, q: usize, c: u32, column: u32) {
        let buffer = self.memory.column.at(column % 2 * Self::PADDED + self.tile.rank());
        for r in 0..ROWS {
            if r >= B {
                let a = self.get(r, B, q);
                let mut x = a[0];
                for other in 1..Self::GROUP {
                    x = choose(c == other as u32, a[other], x);
                }
                buffer.set(32 * r as u32, x);
            } else if B < ROWS / 2 || r >= ROWS / 2 {
                buffer.set(32 * r as u32, T::ZERO);
            }
        }
    }

    /// Group `q`'s elements of vector `which`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn own<const B: usize>(&self, which: u32, q: usize) -> [T; 4] {
        // What depends on the warp is one base for all groups.
        let own = self.memory.own.at(Self::GROUP as u32 * self.warp);
        let at = which * Self::PADDED + (32 * B + Self::GROUP * Self::WARPS * q) as u32;
        if Self::GROUP == 4 {
            own.get_array::<4>(at)
        } else {
            let [a, b] = own.get_array::<2>(at);
            [a, b, T::ZERO, T::ZERO]
        }
    }
}
