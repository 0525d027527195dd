//! Reduction to tridiagonal form with the matrix in registers, one row a lane; and its `Q`.

use crate::layout::Items;
use crate::reflector::{Reflector, larfg};
use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// Shared memory of a reduction: the two vectors that every lane reads whole.
#[derive(Clone, Copy, Debug)]
pub struct Vectors<T> {
    /// `P` elements, aligned to 16 bytes.
    pub v: Shared<T>,
    /// `P` elements, aligned to 16 bytes.
    pub w: Shared<T>,
    /// [`tail_elements`] elements: what the rows' registers do not hold.
    pub tail: Shared<T>,
}

/// Slots of a row that stay in registers: a row of 32 c64 would take half of all.
const fn resident(p: usize, bytes: usize) -> usize {
    if p * bytes > 256 { 5 * p / 8 } else { p }
}

/// Shared elements of a tile for the slots that are not in registers.
pub const fn tail_elements(p: usize, bytes: usize) -> usize {
    p * (p - resident(p, bytes))
}

/// A symmetric or Hermitian matrix in reduction, one row a lane in registers.
///
/// Slot `j` of the row holds column `k + j`, where `k` is the current column: each step shifts the row left by
/// one, for free, since the update writes slot `j` from slot `j + 1`. So the loop over columns stays rolled (a
/// fully unrolled one overflows the instruction cache) and yet all indices are static.
#[derive(Clone, Copy, Debug)]
pub struct Rows<T, const P: usize> {
    /// This lane's row.
    pub slots: [T; P],
}

/// What one step of the reduction leaves on the lanes.
#[derive(Clone, Copy, Debug)]
pub struct Step<T: Scalar> {
    /// Column just reduced.
    pub k: u32,
    /// Its reflector; the identity where the column needed none.
    pub reflector: Reflector<T>,
    /// Diagonal element `k`, on lane `k`.
    pub diagonal: T::Real,
}

impl<T: Scalar, const P: usize> Rows<T, P> {
    /// Reduces the matrix of order `n`, calling `each` after every column but the last; returns the last
    /// diagonal element, on lane `n - 1`.
    ///
    /// The width of the loops shrinks by 4 every 4 columns.
    #[inline(always)]
    pub fn reduce(
        mut self,
        tile: Tile,
        n: u32,
        vectors: Vectors<T>,
        mut each: impl FnMut(Step<T>),
    ) -> T::Real {
        self.store_tail(tile, vectors);
        let mut k = 0;
        macro_rules! stages {
            ($($width:literal)*) => { $(
                if P >= $width {
                    let last = (P - $width + 4) as u32;
                    while k + 1 < n && k < last {
                        self.step::<$width>(tile, n, &mut k, vectors, &mut each);
                    }
                }
            )* };
        }
        stages!(32 28 24 20 16 12 8 4);
        self.slots[0].re()
    }

    #[inline(always)]
    fn store_tail(&self, tile: Tile, vectors: Vectors<T>) {
        for j in resident(P, size_of::<T>())..P {
            self.set_tail(tile, vectors, j, self.slots[j]);
        }
    }

    /// Slot `j`, from registers or shared memory. Only its own lane touches it.
    #[inline(always)]
    fn slot(&self, tile: Tile, vectors: Vectors<T>, j: usize) -> T {
        let resident = const { resident(P, size_of::<T>()) };
        if j < resident { self.slots[j] } else { vectors.tail.get(((j - resident) * P) as u32 + tile.rank()) }
    }

    #[inline(always)]
    fn set_slot(&mut self, tile: Tile, vectors: Vectors<T>, j: usize, x: T) {
        if j < const { resident(P, size_of::<T>()) } {
            self.slots[j] = x;
        } else {
            self.set_tail(tile, vectors, j, x);
        }
    }

    #[inline(always)]
    fn set_tail(&self, tile: Tile, vectors: Vectors<T>, j: usize, x: T) {
        let resident = const { resident(P, size_of::<T>()) };
        vectors.tail.set(((j - resident) * P) as u32 + tile.rank(), x);
    }

    #[inline(always)]
    fn step<const W: usize>(
        &mut self,
        tile: Tile,
        n: u32,
        k: &mut u32,
        vectors: Vectors<T>,
        each: &mut impl FnMut(Step<T>),
    ) {
        let column = self.slots[0];
        let reflector = if needs_reflector::<T>(*k, n) {
            larfg(tile, *k + 1, column)
        } else {
            Reflector::identity(column)
        };
        each(Step { k: *k, reflector, diagonal: column.re() });
        self.two_sided_update::<W>(tile, *k, reflector, vectors);
        // The next step overwrites the vectors.
        tile.sync();
        *k += 1;
    }

    /// Applies `A := H^H A H` to the trailing matrix and shifts it left by one slot.
    ///
    /// `w = tau A v - (tau / 2)(tau A v)^H v * v`, then `A -= v w^H + w v^H`, as LAPACK's `zhetd2`. Lanes up to
    /// `k` hold nothing of the trailing matrix; they clear the slots that run out of it.
    #[inline(always)]
    fn two_sided_update<const W: usize>(
        &mut self,
        tile: Tile,
        k: u32,
        reflector: Reflector<T>,
        vectors: Vectors<T>,
    ) {
        let (v, tau) = (reflector.v, reflector.tau);
        let slot = tile.rank().wrapping_sub(k + 1) & (P as u32 - 1);
        let trailing = tile.rank() > k;
        vectors.v.set(slot, v);
        tile.sync();
        let mut partial = [T::ZERO; 4];
        for start in (0..W).step_by(4) {
            fence_wide::<T, P>(tile);
            let v4 = vectors.v.get_array::<4>(start as u32);
            for c in 0..4 {
                if start + c + 1 < W {
                    partial[c] = self.slot(tile, vectors, start + c + 1).mul_add(v4[c], partial[c]);
                }
            }
        }
        let product = tau.mul((partial[0] + partial[1]) + (partial[2] + partial[3]));
        let p = if trailing { product } else { T::ZERO };
        let dot = tile.reduce(p.conj().mul(v), |a, b| a + b);
        let w = tau.mul(dot).scale(-<T::Real as Real>::HALF).mul_add(v, p);
        vectors.w.set(slot, w);
        tile.sync();
        for start in (0..W).step_by(4) {
            fence_wide::<T, P>(tile);
            let v4 = vectors.v.get_array::<4>(start as u32);
            let w4 = vectors.w.get_array::<4>(start as u32);
            for c in 0..4 {
                let j = start + c;
                let x = if j + 1 < W {
                    let updated = (-v).mul_add(w4[c].conj(), self.slot(tile, vectors, j + 1));
                    (-w).mul_add(v4[c].conj(), updated)
                } else {
                    T::ZERO
                };
                self.set_slot(tile, vectors, j, x);
            }
        }
    }
}

/// Where a row fills half of the registers, keeps the compiler from loading vectors ahead: it would spill.
#[inline(always)]
pub(crate) fn fence_wide<T: Scalar, const P: usize>(tile: Tile) {
    if size_of::<T>() * P > 256 {
        tile.sync();
    }
}

/// Whether column `k` of a matrix of order `n` needs a reflector: complex types need one more, which makes the
/// last off-diagonal real.
#[inline(always)]
pub fn needs_reflector<T: Scalar>(k: u32, n: u32) -> bool {
    let rows_below = if T::COMPLEX { 1 } else { 2 };
    k + rows_below < n
}

/// A row of `Q = H_0 H_1 ...`, built factor by factor.
///
/// Slot `j` holds column `k + j` modulo `P`, where `k` is the number of factors so far: as in [`Rows`].
#[derive(Clone, Copy, Debug)]
pub struct BasisRow<T, const P: usize> {
    /// This lane's row.
    pub slots: [T; P],
}

impl<T: Scalar, const P: usize> BasisRow<T, P> {
    /// Row `rank` of the identity of order `n`.
    #[inline(always)]
    pub fn identity(rank: u32, n: u32) -> Self {
        let mut slots = [T::ZERO; P];
        for c in 0..P {
            slots[c] = if rank as usize == c && rank < n { T::ONE } else { T::ZERO };
        }
        BasisRow { slots }
    }

    /// Multiplies by `I - tau v v^H` from the right; `v` in shared memory, slot `j` for column `k + 1 + j`.
    ///
    /// Each row is touched by itself, so lanes share only `v`.
    #[inline(always)]
    pub fn apply(&mut self, tile: Tile, v: Shared<T>, tau: T) {
        let mut partial = [T::ZERO; 4];
        for start in (0..P).step_by(4) {
            let v4 = v.get_array::<4>(start as u32);
            for c in 0..4 {
                partial[c] = self.slots[(start + c + 1) % P].mul_add(v4[c], partial[c]);
            }
        }
        let factor = -tau.mul((partial[0] + partial[1]) + (partial[2] + partial[3]));
        fence_wide::<T, P>(tile);
        let first = self.slots[0];
        for start in (0..P).step_by(4) {
            let v4 = v.get_array::<4>(start as u32);
            for c in 0..4 {
                let j = start + c;
                let old = if j + 1 < P { self.slots[(j + 1) % P] } else { first };
                self.slots[j] = factor.mul_add(v4[c].conj(), old);
            }
        }
    }
}

/// Row `rank` of `Q = H_0 H_1 ...` after `n - 1` factors, from reflectors in memory: `v_k` below the
/// subdiagonal of column `k`, its `tau` at `(k, k + 1)`. `vector` is `P` shared elements, aligned to 16 bytes.
///
/// A real matrix has one reflector less; the last factor is then the identity. Column `c` ends in slot
/// `(c - n + 1) mod P`.
#[inline(always)]
pub fn form_q<T: Scalar, const P: usize>(
    tile: Tile,
    matrix: GlobalMut<T>,
    items: Items,
    vector: Shared<T>,
) -> BasisRow<T, P> {
    let rank = tile.rank();
    let ld = items.ld as usize;
    let mut row = BasisRow::<T, P>::identity(rank, items.n);
    let mut k = 0;
    while k + 1 < items.n {
        let reflects = needs_reflector::<T>(k, items.n);
        let below = reflects && rank > k + 1 && rank < items.n;
        let stored = if below { matrix.get(k as usize * ld + rank as usize) } else { T::ZERO };
        let here = reflects && rank == k;
        let tau = if here { matrix.get((k + 1) as usize * ld + rank as usize) } else { T::ZERO };
        let slot = rank.wrapping_sub(k + 1) & (P as u32 - 1);
        vector.set(slot, if rank == k + 1 { T::ONE } else { stored });
        let tau = tile.shuffle_idx(tau, k);
        tile.sync();
        row.apply(tile, vector, tau);
        tile.sync();
        k += 1;
    }
    row
}
