//! The pass over the triangle: the update by the step before, and the product with the column that is next to be reduced.

use crate::triangle::Triangle;
use cuda_std::prelude::*;
use cuda_std::vector::Vectors as Wide;
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

/// What a warp's part of the product is made of.
#[derive(Clone, Copy)]
pub(crate) struct Product<T, const ROWS: usize> {
    /// What the columns give to this lane's rows.
    pub rows: [T; ROWS],
    /// What the rows give to a column of each [unit](Triangle::UNIT), which is this lane's.
    pub columns: [T; MOST_UNITS],
}

/// Most [units](Triangle::UNITS) of a form that there is.
pub(crate) const MOST_UNITS: usize = 4;

impl<T: Scalar, const ROWS: usize, const COLUMNS: usize, const SHARED: usize>
    Triangle<T, ROWS, COLUMNS, SHARED>
{
    /// Groups whose sums over the rows are added up together.
    const UNIT: usize = 4 / Self::WORDS;
    /// Words of 16 bytes in a row of a group.
    const WORDS: usize = Self::GROUP / T::LANES;
    /// Groups of a warp with elements below the tiles on the diagonal.
    const SUMMED: usize = (ROWS - 1) * Self::GROUPS;
    /// Columns of the groups that the warps have beside each other.
    const SLOT: u32 = (Self::GROUP * Self::WARPS) as u32;
    /// Whether groups are done with by slots: elsewhere registers are spilled with it.
    const HAS_SLOTS: bool = size_of::<T>() == 4 && COLUMNS == 8 && ROWS != 6 || Self::WARPS == 1;
    /// Units of a warp.
    pub const UNITS: usize = Self::SUMMED.div_ceil(Self::UNIT);

    /// `A -= v w^H + w v^H`, and this warp's part of `A x`, in the columns from `from` on; column `from` as it is after that is left
    /// for all warps in buffer `from % 2`.
    #[inline(always)]
    pub fn update_and_multiply(&mut self, from: u32, vectors: &Vectors<T, ROWS>) -> Product<T, ROWS> {
        let mut product = Product { rows: [T::ZERO; ROWS], columns: [T::ZERO; MOST_UNITS] };
        macro_rules! blocks {
            ($is_first:literal: $($b:literal)*) => { $(
                if $b < ROWS && $is_first == ($b < ROWS / 2) {
                    self.block::<$b>(from, vectors, &mut product);
                }
            )* };
        }
        // Not a branch for each group that has been done with.
        if Self::has_first_half(from) {
            blocks!(true: 0 1 2 3 4);
        }
        blocks!(false: 1 2 3 4 5 6 7 8 9);
        product
    }

    /// Whether group `q` in column `b` of tiles has been done with when column `from` is the next: by slots it is so for all warps
    /// when it is for the last one, for which they wait anyway, and a comparison with a constant.
    #[inline(always)]
    pub fn is_done(&self, b: usize, q: usize, from: u32) -> bool {
        if !Self::HAS_SLOTS {
            self.first_column(b, q) + Self::GROUP as u32 <= from
        } else {
            32 * b as u32 + Self::SLOT * (q as u32 + 1) <= from
        }
    }

    /// The column `B` of tiles.
    #[inline(always)]
    fn block<const B: usize>(
        &mut self,
        from: u32,
        vectors: &Vectors<T, ROWS>,
        product: &mut Product<T, ROWS>,
    ) {
        for q in 0..Self::GROUPS {
            self.group::<B>(q, from, vectors, &mut product.rows);
            let group = B * Self::GROUPS + q;
            let ends_unit = group % Self::UNIT + 1 == Self::UNIT || group + 1 == Self::SUMMED;
            if group < Self::SUMMED && ends_unit {
                product.columns[group / Self::UNIT] = self.add_rows(from, group);
            }
        }
    }

    /// Group `q` of the column `B` of tiles. An element below its tile on the diagonal counts on both sides: what it gives to
    /// the column is left in shared memory, by lane.
    #[inline(always)]
    fn group<const B: usize>(
        &mut self,
        q: usize,
        from: u32,
        vectors: &Vectors<T, ROWS>,
        product: &mut [T; ROWS],
    ) {
        let first = self.first_column(B, q);
        if self.is_done(B, q, from) {
            return;
        }
        let (v, w, x) = (self.own::<B>(0, q), self.own::<B>(1, q), self.own::<B>(2, q));
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
        let group = B * Self::GROUPS + q;
        if group < Self::SUMMED {
            let to = self.turned();
            for word in 0..Self::WORDS {
                let mut vector = <T as Wide>::splat(T::ZERO);
                for lane in 0..T::LANES {
                    vector.as_mut()[lane] = sums[word * T::LANES + lane];
                }
                let stream = group % Self::UNIT * Self::WORDS + word;
                to.set_vector((32 * stream * T::LANES) as u32, vector);
            }
        }
        let c = from.wrapping_sub(first);
        let slot = 32 * B as u32 + Self::SLOT * q as u32;
        if (!Self::HAS_SLOTS || Self::WARPS == 1 || from >= slot) && c < Self::GROUP as u32 {
            self.publish::<B>(q, c, from);
        }
    }

    /// This lane's words of what [`add_rows`](Self::add_rows) adds up.
    #[inline(always)]
    fn turned(&self) -> Shared<T> {
        self.memory.turned.at(T::LANES as u32 * (128 * self.warp + self.tile.rank()))
    }

    /// Zeros them.
    #[inline(always)]
    pub fn clear(&self) {
        for stream in 0..4 {
            self.turned().set_vector((32 * stream * T::LANES) as u32, <T as Wide>::splat(T::ZERO));
        }
    }

    /// The sum over the lanes of what `group` and the others of its unit left, for a column of this lane; nothing where the group
    /// has no columns from `from` on.
    ///
    /// Eight lanes have a word of a row in common, of which each takes every eighth row; that is less than an exchange
    /// group by group, and does not hold up the next group.
    #[inline(always)]
    fn add_rows(&self, from: u32, group: usize) -> T {
        if self.is_done(group / Self::GROUPS, group % Self::GROUPS, from) {
            return T::ZERO;
        }
        let (tile, rank) = (self.tile, self.tile.rank());
        tile.sync();
        let from = self.memory.turned.at(T::LANES as u32 * (128 * self.warp + rank / 8 * 32 + rank % 8));
        let mut sums = [T::ZERO; 4];
        for step in 0..4 {
            let vector = from.get_vector((8 * step * T::LANES) as u32);
            for lane in 0..T::LANES {
                sums[lane] += vector.as_ref()[lane];
            }
        }
        tile.sync();
        if T::LANES == 4 {
            fold::<T, 2, 4>(tile, &mut sums);
        }
        if T::LANES >= 2 {
            fold::<T, 1, 4>(tile, &mut sums);
        }
        let mut total = sums[0];
        if T::LANES == 1 {
            total += tile.shuffle_xor(total, 1);
        }
        if T::LANES <= 2 {
            total += tile.shuffle_xor(total, 2);
        }
        total + tile.shuffle_xor(total, 4)
    }

    /// The column of this lane in a unit, if it has one among those from `from` on, and no other lane has it.
    #[inline(always)]
    pub fn unit_column(&self, unit: usize, from: u32) -> Option<u32> {
        let (stream, part) = (self.tile.rank() / 8, self.tile.rank() % 8);
        let group = (Self::UNIT * unit) as u32 + stream / Self::WORDS as u32;
        let first = Self::GROUP as u32 * (Self::WARPS as u32 * group + self.warp);
        let column = first + T::LANES as u32 * (stream % Self::WORDS as u32) + part;
        let is_there = part < T::LANES as u32 && group < Self::SUMMED as u32;
        if is_there && column >= from { Some(column) } else { None }
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
