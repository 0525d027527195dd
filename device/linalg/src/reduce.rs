//! Reduction to tridiagonal form with the matrix in registers; and its `Q`.

use crate::fold::choose;
use crate::layout::Items;
use crate::reflector::{Reflector, larfg};
use crate::rows::{SharedRows, row_of};
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

/// Slots of a row that stay in registers: not all where the rows of a lane would take a quarter of all, so that
/// the update has room beside them, and another block in the multiprocessor.
const fn resident(p: usize, rows: usize, bytes: usize) -> usize {
    match rows * p * bytes {
        ..WIDE_BYTES => p,
        WIDE_BYTES => p / 2,
        _ => 5 * p / 8,
    }
}

/// Rows of so many bytes a lane fill a quarter of a thread's registers.
const WIDE_BYTES: usize = 256;

/// Shared elements of a tile for the slots that are not in registers.
pub const fn tail_elements(p: usize, rows: usize, bytes: usize) -> usize {
    p * (p - resident(p, rows, bytes))
}

/// A symmetric or Hermitian matrix in reduction, `R` rows a lane in registers.
///
/// Slot `j` of a row holds column `k + j`, where `k` is the current column: each step shifts the rows left by
/// one, for free, since the update writes slot `j` from slot `j + 1`. So the loop over columns stays rolled (a
/// fully unrolled one overflows the instruction cache) and yet all indices are static.
#[derive(Clone, Copy, Debug)]
pub struct Rows<T, const P: usize, const R: usize> {
    /// This lane's rows.
    pub slots: [[T; P]; R],
}

/// What one step of the reduction leaves on the lanes.
#[derive(Clone, Copy, Debug)]
pub struct Step<T: Scalar, const R: usize> {
    /// Column just reduced.
    pub k: u32,
    /// Its reflector; the identity where the column needed none.
    pub reflector: Reflector<T, R>,
    /// Diagonal element `k`, where a row of this lane is row `k`.
    pub diagonal: [T::Real; R],
}

impl<T: Scalar, const P: usize, const R: usize> Rows<T, P, R> {
    /// Reduces the matrix of order `n`, calling `each` after every column but the last; returns the last
    /// diagonal element, where a row of this lane is row `n - 1`.
    ///
    /// The width of the loops shrinks by 4 every 4 columns.
    #[inline(always)]
    pub fn reduce(
        mut self,
        tile: Tile,
        n: u32,
        vectors: Vectors<T>,
        mut each: impl FnMut(Step<T, R>),
    ) -> [T::Real; R] {
        for r in 0..R {
            for j in const { resident(P, R, size_of::<T>()) }..P {
                self.set_tail(tile, vectors, (r, j), self.slots[r][j]);
            }
        }
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
        self.column_parts()
    }

    /// Real parts of the current column.
    #[inline(always)]
    fn column_parts(&self) -> [T::Real; R] {
        let mut parts = [<T::Real as Real>::ZERO; R];
        for r in 0..R {
            parts[r] = self.slots[r][0].re();
        }
        parts
    }

    /// Slot `j` of row `r`, from registers or shared memory. Only its own lane touches it.
    #[inline(always)]
    fn slot(&self, tile: Tile, vectors: Vectors<T>, (r, j): (usize, usize)) -> T {
        let resident = const { resident(P, R, size_of::<T>()) };
        if j < resident {
            self.slots[r][j]
        } else {
            vectors.tail.get(tail_index::<P, R>(tile, r, j - resident))
        }
    }

    #[inline(always)]
    fn set_slot(&mut self, tile: Tile, vectors: Vectors<T>, (r, j): (usize, usize), x: T) {
        if j < const { resident(P, R, size_of::<T>()) } {
            self.slots[r][j] = x;
        } else {
            self.set_tail(tile, vectors, (r, j), x);
        }
    }

    #[inline(always)]
    fn set_tail(&self, tile: Tile, vectors: Vectors<T>, (r, j): (usize, usize), x: T) {
        let resident = const { resident(P, R, size_of::<T>()) };
        vectors.tail.set(tail_index::<P, R>(tile, r, j - resident), x);
    }

    #[inline(always)]
    fn step<const W: usize>(
        &mut self,
        tile: Tile,
        n: u32,
        k: &mut u32,
        vectors: Vectors<T>,
        each: &mut impl FnMut(Step<T, R>),
    ) {
        let mut column = [T::ZERO; R];
        for r in 0..R {
            column[r] = self.slots[r][0];
        }
        let reflector = if needs_reflector::<T>(*k, n) {
            larfg(tile, *k + 1, column)
        } else {
            Reflector::identity(tile, *k + 1, column)
        };
        each(Step { k: *k, reflector, diagonal: self.column_parts() });
        self.two_sided_update::<W>(tile, *k, reflector, vectors);
        // The next step overwrites the vectors.
        tile.sync();
        *k += 1;
    }

    /// Applies `A := H^H A H` to the trailing matrix and shifts it left by one slot.
    ///
    /// `w = tau A v - (tau / 2)(tau A v)^H v * v`, then `A -= v w^H + w v^H`, as LAPACK's `zhetd2`. Rows up to
    /// `k` hold nothing of the trailing matrix; they clear the slots that run out of it.
    #[inline(always)]
    fn two_sided_update<const W: usize>(
        &mut self,
        tile: Tile,
        k: u32,
        reflector: Reflector<T, R>,
        vectors: Vectors<T>,
    ) {
        let (v, tau) = (reflector.v, reflector.tau);
        for r in 0..R {
            vectors.v.set(slot_of::<P>(tile, r, k), v[r]);
        }
        tile.sync();
        let w = self.updating_vector::<W>(tile, k, (v, tau), vectors);
        for r in 0..R {
            vectors.w.set(slot_of::<P>(tile, r, k), w[r]);
        }
        tile.sync();
        for start in (0..W).step_by(4) {
            fence_wide::<T>(tile, P * R);
            let v4 = vectors.v.get_array::<4>(start as u32);
            let w4 = vectors.w.get_array::<4>(start as u32);
            for r in 0..R {
                for c in 0..4 {
                    let j = start + c;
                    let x = if j + 1 < W {
                        let updated = (-v[r]).mul_add(w4[c].conj(), self.slot(tile, vectors, (r, j + 1)));
                        (-w[r]).mul_add(v4[c].conj(), updated)
                    } else {
                        T::ZERO
                    };
                    self.set_slot(tile, vectors, (r, j), x);
                }
            }
        }
    }

    /// `w` of the update; `v` stands in shared memory.
    #[inline(always)]
    fn updating_vector<const W: usize>(
        &self,
        tile: Tile,
        k: u32,
        (v, tau): ([T; R], T),
        vectors: Vectors<T>,
    ) -> [T; R] {
        let mut partial = [[T::ZERO; 4]; R];
        for start in (0..W).step_by(4) {
            fence_wide::<T>(tile, P * R);
            let v4 = vectors.v.get_array::<4>(start as u32);
            for r in 0..R {
                for c in 0..4 {
                    if start + c + 1 < W {
                        let element = self.slot(tile, vectors, (r, start + c + 1));
                        partial[r][c] = element.mul_add(v4[c], partial[r][c]);
                    }
                }
            }
        }
        let mut w = [T::ZERO; R];
        let mut dot = T::ZERO;
        for r in 0..R {
            let sum = (partial[r][0] + partial[r][1]) + (partial[r][2] + partial[r][3]);
            w[r] = if row_of(tile, r) > k { tau.mul(sum) } else { T::ZERO };
            dot = w[r].conj().mul_add(v[r], dot);
        }
        let dot = tile.reduce(dot, |a, b| a + b);
        let factor = tau.mul(dot).scale(-<T::Real as Real>::HALF);
        for r in 0..R {
            w[r] = factor.mul_add(v[r], w[r]);
        }
        w
    }
}

/// Index among the shared slots: consecutive lanes in consecutive places.
#[inline(always)]
fn tail_index<const P: usize, const R: usize>(tile: Tile, r: usize, j: usize) -> u32 {
    (j * P) as u32 + row_of(tile, r)
}

/// Place of row `r` of this lane in the vectors of column `k`: row `k + 1` comes first.
#[inline(always)]
fn slot_of<const P: usize>(tile: Tile, r: usize, k: u32) -> u32 {
    row_of(tile, r).wrapping_sub(k + 1) & (P as u32 - 1)
}

/// Where rows are wide, keeps the compiler from loading ahead: it would spill.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub(crate) fn fence_wide<T: Scalar>(tile: Tile, elements: usize) {
    if elements * size_of::<T>() >= WIDE_BYTES {
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

/// Rows of `Q = H_0 H_1 ...`, built factor by factor, `R` a lane, the last `S` of them in shared memory.
///
/// Slot `j` holds column `k + j` modulo `P`, where `k` is the number of factors so far: as in [`Rows`].
#[derive(Clone, Copy, Debug)]
pub struct BasisRows<T, const P: usize, const R: usize, const S: usize> {
    /// This lane's rows; the last `S` are not in use.
    pub slots: [[T; P]; R],
    /// Slots of the last `S` rows.
    pub shared: SharedRows<T>,
}

impl<T: Scalar, const P: usize, const R: usize, const S: usize> BasisRows<T, P, R, S> {
    /// Rows of the identity of order `n`.
    #[inline(always)]
    pub fn identity(tile: Tile, n: u32, shared: SharedRows<T>) -> Self {
        let mut rows = BasisRows { slots: [[T::ZERO; P]; R], shared };
        for r in 0..R {
            let row = row_of(tile, r);
            for c in 0..P {
                let x = if row as usize == c && row < n { T::ONE } else { T::ZERO };
                rows.set(r, c, x);
            }
        }
        rows
    }

    /// Slot `j` of row `r`.
    #[inline(always)]
    fn get(&self, r: usize, j: usize) -> T {
        if r < R - S { self.slots[r][j] } else { self.shared.get((r + S - R) as u32, j as u32) }
    }

    #[inline(always)]
    fn set(&mut self, r: usize, j: usize, x: T) {
        if r < R - S {
            self.slots[r][j] = x;
        } else {
            self.shared.set((r + S - R) as u32, j as u32, x);
        }
    }

    /// Multiplies by `I - tau v v^H` from the right; `v` in shared memory, slot `j` for column `k + 1 + j`.
    ///
    /// Each row is touched by itself, so lanes share only `v`.
    #[inline(always)]
    pub fn apply(&mut self, tile: Tile, v: Shared<T>, tau: T) {
        if S == 0 {
            self.apply_some::<R>(tile, 0, v, tau);
        } else {
            // One by one: where rows share registers with memory, sums of all would not fit beside them.
            for r in 0..R {
                self.apply_some::<1>(tile, r, v, tau);
            }
        }
    }

    /// The same for `W` rows from row `from` on.
    #[inline(always)]
    fn apply_some<const W: usize>(&mut self, tile: Tile, from: usize, v: Shared<T>, tau: T) {
        let mut partial = [[T::ZERO; 4]; W];
        for start in (0..P).step_by(4) {
            if S > 0 {
                // Or the compiler loads all of the rows in memory ahead, and spills.
                tile.sync();
            }
            let v4 = v.get_array::<4>(start as u32);
            for r in 0..W {
                for c in 0..4 {
                    partial[r][c] = self.get(from + r, (start + c + 1) % P).mul_add(v4[c], partial[r][c]);
                }
            }
        }
        let mut factor = [T::ZERO; W];
        let mut first = [T::ZERO; W];
        for r in 0..W {
            let sum = (partial[r][0] + partial[r][1]) + (partial[r][2] + partial[r][3]);
            factor[r] = -tau.mul(sum);
            first[r] = self.get(from + r, 0);
        }
        fence_wide::<T>(tile, P * R);
        for start in (0..P).step_by(4) {
            if S > 0 {
                // Or the compiler loads all of the rows in memory ahead, and spills.
                tile.sync();
            }
            let v4 = v.get_array::<4>(start as u32);
            for r in 0..W {
                for c in 0..4 {
                    let j = start + c;
                    let old = if j + 1 < P { self.get(from + r, (j + 1) % P) } else { first[r] };
                    self.set(from + r, j, factor[r].mul_add(v4[c].conj(), old));
                }
            }
        }
    }

    /// Puts column `c` of the basis in slot `c`, where the last `n` columns of `P` are those of `Q`; in reverse order,
    /// and then the first `n`, where the tile's matrix is `reversed`.
    #[inline(always)]
    pub fn order(&mut self, reversed: bool) {
        for r in 0..R - S {
            let slots = self.slots[r];
            for c in 0..P / 2 {
                // Pairs, so that the exchange needs no second row of registers.
                let (low, high) = (slots[c + 1], slots[(P - c) % P]);
                self.slots[r][c] = choose(reversed, high, low);
                self.slots[r][P - 1 - c] = choose(reversed, low, high);
            }
        }
        for s in 0..S as u32 {
            if reversed {
                let mut c = 1;
                while 2 * c < P as u32 {
                    let (low, high) = (self.shared.get(s, c), self.shared.get(s, P as u32 - c));
                    self.shared.set(s, c, high);
                    self.shared.set(s, P as u32 - c, low);
                    c += 1;
                }
            } else {
                let first = self.shared.get(s, 0);
                let mut c = 0;
                while c + 1 < P as u32 {
                    self.shared.set(s, c, self.shared.get(s, c + 1));
                    c += 1;
                }
                self.shared.set(s, P as u32 - 1, first);
            }
        }
    }
}

/// This lane's rows of `Q = H_0 H_1 ...` after `n - 1` factors, from reflectors in memory: `v_k` below the
/// subdiagonal of column `k`, its `tau` at `(k, k + 1)`. `vector` is `P` shared elements, aligned to 16 bytes. `matrix`
/// is called for each factor, so that no register has to hold the address meanwhile.
///
/// A real matrix has one reflector less; the last factor is then the identity. Column `c` ends in slot
/// `(c - n + 1) mod P`.
#[inline(always)]
pub fn form_q<T: Scalar, const P: usize, const R: usize, const S: usize>(
    tile: Tile,
    matrix: impl Fn() -> GlobalMut<T>,
    items: Items,
    vector: Shared<T>,
    shared: SharedRows<T>,
) -> BasisRows<T, P, R, S> {
    let ld = items.ld as usize;
    let mut rows = BasisRows::<T, P, R, S>::identity(tile, items.n, shared);
    let mut k = 0;
    while k + 1 < items.n {
        let (matrix, reflects) = (matrix(), needs_reflector::<T>(k, items.n));
        // Every lane reads the one tau; each row its own component.
        let tau = if reflects { matrix.get((k + 1) as usize * ld + k as usize) } else { T::ZERO };
        for r in 0..R {
            let row = row_of(tile, r);
            let below = reflects && row > k + 1 && row < items.n;
            let stored = if below { matrix.get(k as usize * ld + row as usize) } else { T::ZERO };
            vector.set(slot_of::<P>(tile, r, k), if row == k + 1 { T::ONE } else { stored });
        }
        tile.sync();
        rows.apply(tile, vector, tau);
        tile.sync();
        k += 1;
    }
    rows
}
