//! The matrices of a product as kernels see them.

use cuda_std::prelude::*;

/// The left matrix is transposed.
pub const TRANS_A: u32 = 1;
/// The left matrix is conjugated.
pub const CONJ_A: u32 = 2;
/// The right matrix is transposed.
pub const TRANS_B: u32 = 4;
/// The right matrix is conjugated.
pub const CONJ_B: u32 = 8;
/// One factor, from some row on: "rows" are those of op(A), or the columns of op(B).
#[derive(Clone, Copy, Debug)]
pub struct Side<T> {
    view: Global<T>,
    /// Elements from a line of memory to the next.
    pub ld: usize,
    /// Rows from here on.
    pub rows: u32,
    /// Whether elements that follow each other in memory follow each other in k; else in the rows.
    pub along_k: bool,
    conj: bool,
}

impl<T: Scalar> Side<T> {
    /// The rows of op(A) in an item.
    #[inline(always)]
    pub fn left(item: Global<T>, ld: usize, rows: u32, flags: u32) -> Self {
        let (trans, conj) = (flags & TRANS_A != 0, flags & CONJ_A != 0);
        Side { view: item, ld, rows, along_k: trans, conj }
    }

    /// The columns of op(B) in an item.
    #[inline(always)]
    pub fn right(item: Global<T>, ld: usize, rows: u32, flags: u32) -> Self {
        let (trans, conj) = (flags & TRANS_B != 0, flags & CONJ_B != 0);
        Side { view: item, ld, rows, along_k: !trans, conj }
    }

    /// The rows from `first` on, which is below their number.
    #[inline(always)]
    pub fn from_row(self, first: u32) -> Self {
        Side { rows: self.rows - first, ..self.moved(first, 0) }
    }

    /// The same, seen from an element on; `rows` is not touched.
    #[inline(always)]
    pub fn moved(self, row: u32, k: u32) -> Self {
        let (row, k) = (row as usize, k as usize);
        let at = if self.along_k { row * self.ld + k } else { k * self.ld + row };
        Side { view: self.view.at(at), ..self }
    }

    /// What it lies in, as it is: not conjugated.
    #[inline(always)]
    pub fn view(self) -> Global<T> {
        self.view
    }

    /// Whether its numbers are to be conjugated.
    #[inline(always)]
    pub fn is_conjugated(self) -> bool {
        T::COMPLEX && self.conj
    }

    /// Element of a row at depth `k`, conjugated where that is asked for.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn get(self, row: u32, k: u32) -> T {
        self.moved(row, k).at(0)
    }

    /// Element `at` in the order of memory, likewise.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn at(self, at: usize) -> T {
        // Elements of 16 bytes lie at multiples of them.
        let x = if T::LANES == 1 { self.view.get_vector(at).as_ref()[0] } else { self.view.get(at) };
        self.conjugated(x)
    }

    /// The 16 bytes from there on, by one load.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn vector_at(self, at: usize) -> T::Vector {
        let mut vector = self.view.get_vector(at);
        for x in vector.as_mut() {
            *x = self.conjugated(*x);
        }
        vector
    }

    #[inline(always)]
    fn conjugated(self, x: T) -> T {
        if self.is_conjugated() { x.conj() } else { x }
    }
}

/// C of one item, from some row and column on, and what becomes of it.
#[derive(Clone, Copy, Debug)]
pub struct Target<T> {
    view: GlobalMut<T>,
    ld: usize,
    /// Rows from here on.
    pub rows: u32,
    /// Columns from here on.
    pub columns: u32,
    alpha: T,
    beta: T,
}

impl<T: Scalar> Target<T> {
    /// C of an item, and the factors.
    #[inline(always)]
    pub fn new(
        item: GlobalMut<T>,
        ld: usize,
        rows: u32,
        columns: u32,
        alpha: [f64; 2],
        beta: [f64; 2],
    ) -> Self {
        let scalar = |[re, im]: [f64; 2]| T::from_parts(T::Real::from_f64(re), T::Real::from_f64(im));
        let (alpha, beta) = (scalar(alpha), scalar(beta));
        Target { view: item, ld, rows, columns, alpha, beta }
    }

    /// From this element on, which is one of the item's.
    #[inline(always)]
    pub fn from(self, row: u32, column: u32) -> Self {
        let at = column as usize * self.ld + row as usize;
        Target { view: self.view.at(at), rows: self.rows - row, columns: self.columns - column, ..self }
    }

    /// Whether C is read.
    #[inline(always)]
    pub fn is_read(self) -> bool {
        self.beta != T::ZERO
    }

    /// alpha times a sum, plus beta C where `READ`. Nothing outside of the item.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn put<const READ: bool>(self, row: u32, column: u32, sum: T) {
        if T::LANES == 1 {
            return self.put_vector::<READ>(row, column, sum.splat());
        }
        if row < self.rows && column < self.columns {
            let at = column as usize * self.ld + row as usize;
            let old = if READ { self.view.get(at) } else { T::ZERO };
            self.view.set(at, self.result::<READ>(sum, old));
        }
    }

    /// The same for the sums of 16 bytes of a column, which lie in the item or outside of it, all of them.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn put_vector<const READ: bool>(self, row: u32, column: u32, sums: T::Vector) {
        if row >= self.rows || column >= self.columns {
            return;
        }
        let at = column as usize * self.ld + row as usize;
        let old = if READ { self.view.get_vector(at) } else { T::ZERO.splat() };
        let mut vector = sums;
        for (x, old) in vector.as_mut().iter_mut().zip(old.as_ref()) {
            *x = self.result::<READ>(*x, *old);
        }
        self.view.set_vector(at, vector);
    }

    #[inline(always)]
    fn result<const READ: bool>(self, sum: T, old: T) -> T {
        let product = self.alpha.mul(sum);
        if READ { self.beta.mul_add(old, product) } else { product }
    }
}

/// The item and the first row and column of C of a block, where each item has a grid of tiles; tiles that follow each
/// other lie below each other.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Index of the item.
    pub item: usize,
    /// First row.
    pub row: u32,
    /// First column.
    pub column: u32,
}

impl Place {
    /// The running block's, with `tiles_m` by `tiles_n` tiles of `m` by `n` an item.
    #[inline(always)]
    pub fn of_block(tiles_m: u32, tiles_n: u32, m: u32, n: u32) -> Self {
        // Never 0, which lets the compiler drop the check of a division.
        let tiles_m = if tiles_m == 0 { 1 } else { tiles_m };
        let tiles = if tiles_n == 0 { 1 } else { tiles_m * tiles_n };
        let (block, tiles) = (thread::block_idx_x(), if tiles == 0 { 1 } else { tiles });
        let tile = block % tiles;
        Place { item: (block / tiles) as usize, row: tile % tiles_m * m, column: tile / tiles_m * n }
    }
}
