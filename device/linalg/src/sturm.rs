//! Eigenvalues of a symmetric tridiagonal matrix one by one: Sturm counts, several intervals a lane.

use cuda_std::prelude::*;

/// A symmetric tridiagonal matrix of norm near 1, as a count reads it.
pub trait Band<R>: Copy {
    /// Diagonal element `i`, and the square of the coupling of rows `i` and `i + 1`: 0 behind the last row.
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn row(self, i: u32) -> (R, R);
}

/// What one pass over the matrix tells of a point `x`.
#[derive(Clone, Copy, Debug)]
pub struct Sturm<R> {
    /// How many eigenvalues lie below it: the negative pivots of `T - x`.
    pub below: u32,
    /// The determinant of `T - x` without its sign.
    pub size: Size<R>,
}

/// A magnitude beyond the exponents of its type.
#[derive(Clone, Copy, Debug)]
pub struct Size<R> {
    significand: R,
    exponent: i32,
}

impl<R: Real> Size<R> {
    /// One.
    pub const ONE: Self = Size { significand: R::ONE, exponent: 0 };
    /// Not known.
    pub const UNKNOWN: Self = Size { significand: R::NAN, exponent: 0 };

    /// With what `f` makes of significand and exponent.
    #[inline(always)]
    pub(crate) fn map(self, f: impl Fn(R, i32) -> (R, i32)) -> Self {
        let (significand, exponent) = f(self.significand, self.exponent);
        Size { significand, exponent }
    }

    /// The significand back to [1, 2).
    #[inline(always)]
    fn normalized(self) -> Self {
        let (significand, exponent) = self.significand.split();
        Size { significand, exponent: self.exponent + exponent }
    }

    /// `self / (self + other)`; NaN where one is not known.
    #[inline(always)]
    pub fn share(self, other: Self) -> R {
        let scale = R::power_of_two((other.exponent - self.exponent).clamp(-100, 100));
        self.significand * other.significand.mul_add(scale, self.significand).recip_approx()
    }
}

/// Pivots between two normalizations of a determinant: few enough for the exponents of `f32`.
const PIVOTS: u32 = 8;

/// What a pass over the matrix tells of each point.
///
/// The pivots' reciprocals are approximate: each pivot is then exact for elements that are a few ulp off, so the count
/// is right for a matrix as near. Pivots near 0 are moved away from it.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn pass<R: Real, const P: usize, const V: usize>(
    band: impl Band<R>,
    n: u32,
    points: [[R; P]; V],
) -> [[Sturm<R>; P]; V] {
    let least = R::SAFE_MIN * R::UNIT_ROUNDOFF.recip();
    let mut found = [[Sturm { below: 0, size: Size::ONE }; P]; V];
    let mut pivots = [[R::ONE; P]; V];
    let mut square = R::ZERO;
    let mut first = 0;
    while first < n {
        for i in first..(first + PIVOTS).min(n) {
            let (d_i, next) = band.row(i);
            for v in 0..V {
                for p in 0..P {
                    let pivot = (-square).mul_add(pivots[v][p].recip_approx(), d_i - points[v][p]);
                    let pivot = if pivot.abs() < least { -least } else { pivot };
                    pivots[v][p] = pivot;
                    found[v][p].below += pivot.sign_bit();
                    found[v][p].size.significand *= pivot;
                }
            }
            square = next;
        }
        for v in 0..V {
            for p in 0..P {
                found[v][p].size = found[v][p].size.normalized();
            }
        }
        first += PIVOTS;
    }
    found
}

/// Gershgorin's interval of row `i`, from the diagonal element and the couplings at both sides.
#[inline(always)]
pub fn disc<R: Real>(d: R, left: R, right: R) -> (R, R) {
    let radius = left.abs() + right.abs();
    (d - radius, d + radius)
}

/// An interval a little wider: sums of [`disc`] are rounded.
#[inline(always)]
pub fn widened<R: Real>((low, high): (R, R)) -> (R, R) {
    let margin = R::EPSILON * R::TWO * low.abs().max(high.abs());
    (low - margin, high + margin)
}
