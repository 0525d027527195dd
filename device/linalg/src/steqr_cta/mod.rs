//! Implicit QL of one symmetric tridiagonal matrix by the lanes of a tile.
//!
//! Lane `i` holds `d[i]` and `e[i]` (which couples rows `i` and `i + 1`); it also owns row `i` of the basis whose
//! columns the rotations mix. Scalars of a sweep are computed by every lane from the same broadcast values, so
//! they agree without communication.

mod block;
mod chase;
pub mod decoupled;
mod deflate;
mod flat;
mod nested;
mod recurrence;
mod shift;

pub use chase::{Explicit, ParlettGray, Update};
pub use flat::Flat;
pub use nested::Nested;
pub use recurrence::Recurrence;

use cuda_std::math::Real;
use cuda_std::partition::Tile;
use cuda_std::scalar::Scalar;
use cuda_std::shared::Shared;

/// One lane's part of a tridiagonal matrix.
#[derive(Clone, Copy, Debug)]
pub struct Tridiagonal<T> {
    /// Diagonal element of this lane's row; 0 on lanes past the matrix.
    pub d: T,
    /// Element that couples this lane's row with the next; 0 on the last row and past it.
    pub e: T,
}

impl<T: Real> Tridiagonal<T> {
    /// A lane past the matrix.
    #[inline(always)]
    pub fn zero() -> Self {
        Tridiagonal { d: T::ZERO, e: T::ZERO }
    }
}

/// How the shift of a sweep is computed; both give the eigenvalue of the leading 2x2 block nearest `d[l]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shift {
    /// dsteqr's formula, free of cancellation.
    Lapack,
    /// The root of the characteristic polynomial.
    Wilkinson,
}

impl Shift {
    /// The kernel argument's meaning: 0 is LAPACK's, anything else Wilkinson's.
    #[inline(always)]
    pub fn from_u32(x: u32) -> Self {
        if x == 0 { Shift::Lapack } else { Shift::Wilkinson }
    }
}

/// What a solve may spend and how it shifts.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Sweeps in total: LAPACK allows 30 an eigenvalue.
    pub max_sweeps: u32,
    /// Shift formula.
    pub shift: Shift,
}

/// How the loops over blocks, eigenvalues and sweeps are arranged. All forms do the same operations on a matrix in
/// the same order, so they give the same bits.
pub trait Form {
    /// Diagonalises the matrix of order `n` in `rows`; returns how many off-diagonals did not converge.
    ///
    /// On return `rows.d` holds the eigenvalues, unsorted, and the columns of `basis` are rotated to match.
    fn solve<T: Real, U: Update, B: Basis<T>>(
        tile: Tile,
        n: u32,
        rows: &mut Tridiagonal<T>,
        basis: B,
        options: Options,
    ) -> u32;
}

/// Couplings that are left.
#[inline(always)]
fn unconverged<T: Real>(tile: Tile, n: u32, rows: &Tridiagonal<T>) -> u32 {
    tile.ballot(tile.rank() + 1 < n && rows.e != T::ZERO).count_ones()
}

/// The matrix whose columns follow the rotations: one row a lane.
pub trait Basis<R: Real>: Copy {
    /// What a row holds; real, or complex under real rotations.
    type Element: Copy;
    /// Element of column `column` in this lane's row.
    fn load(self, column: u32) -> Self::Element;
    /// Overwrites the element of column `column`.
    fn store(self, column: u32, value: Self::Element);
    /// `c x + s y`.
    fn combine(c: R, x: Self::Element, s: R, y: Self::Element) -> Self::Element;
}

/// No vectors wanted.
#[derive(Clone, Copy, Debug)]
pub struct NoBasis;

impl<R: Real> Basis<R> for NoBasis {
    type Element = ();
    #[inline(always)]
    fn load(self, _column: u32) {}
    #[inline(always)]
    fn store(self, _column: u32, _value: ()) {}
    #[inline(always)]
    fn combine(_c: R, _x: (), _s: R, _y: ()) {}
}

/// A basis in shared memory, column by column: element (row, column) at `column * ld + row`.
#[derive(Clone, Copy, Debug)]
pub struct SharedBasis<T> {
    /// This lane's row: element of column `j` at `j * ld`.
    pub row: Shared<T>,
    /// Distance between columns.
    pub ld: u32,
}

impl<T: Scalar> Basis<T::Real> for SharedBasis<T> {
    type Element = T;
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn load(self, column: u32) -> T {
        self.row.get(column * self.ld)
    }
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn store(self, column: u32, value: T) {
        self.row.set(column * self.ld, value)
    }
    #[inline(always)]
    fn combine(c: T::Real, x: T, s: T::Real, y: T) -> T {
        x.scale_add(c, y.scale(s))
    }
}
