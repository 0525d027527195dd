//! Eigenvalues of a symmetric tridiagonal matrix by bisection: Sturm counts, several intervals a lane.

use cuda_std::prelude::*;

/// A symmetric tridiagonal matrix of norm near 1, as a count reads it.
pub trait Band<R>: Copy {
    /// Diagonal element `i`, and the square of the coupling of rows `i` and `i + 1`: 0 behind the last row.
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn row(self, i: u32) -> (R, R);
}

/// The intervals that hold `V` eigenvalues.
#[derive(Clone, Copy, Debug)]
pub struct Intervals<R, const V: usize> {
    /// Index of each eigenvalue: from 0, ascending.
    pub index: [u32; V],
    /// Lower ends.
    pub low: [R; V],
    /// Upper ends.
    pub high: [R; V],
}

impl<R: Real, const V: usize> Intervals<R, V> {
    /// All values in one interval, which holds the whole spectrum.
    #[inline(always)]
    pub fn new(index: [u32; V], low: R, high: R) -> Self {
        Intervals { index, low: [low; V], high: [high; V] }
    }

    /// `passes` passes over the matrix of order `n`, each of which cuts every interval into `P + 1` parts, `P` of 1 or
    /// 3, and keeps the one that holds the value.
    ///
    /// Lanes that start from one interval and look for different values see the same points until they part, and
    /// part in order: the results ascend whatever the rounding of the counts.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn narrow<const P: usize>(&mut self, band: impl Band<R>, n: u32, passes: u32) {
        let quarter = R::HALF * R::HALF;
        for _ in 0..passes {
            let mut points = [[R::ZERO; P]; V];
            for v in 0..V {
                let width = self.high[v] - self.low[v];
                points[v][P / 2] = self.low[v] + width * R::HALF;
                if P == 3 {
                    points[v][0] = self.low[v] + width * quarter;
                    points[v][P - 1] = self.high[v] - width * quarter;
                }
            }
            let below = counts(band, n, points);
            for v in 0..V {
                // The outermost points that hold it.
                let (mut low, mut high) = (self.low[v], self.high[v]);
                for p in 0..P {
                    let under = below[v][p] <= self.index[v];
                    low = if under { low.max(points[v][p]) } else { low };
                    high = if under { high } else { high.min(points[v][p]) };
                }
                self.low[v] = low;
                self.high[v] = high.max(low);
            }
        }
    }

    /// The middle of interval `v`.
    #[inline(always)]
    pub fn middle(&self, v: usize) -> R {
        self.low[v] + (self.high[v] - self.low[v]) * R::HALF
    }
}

/// How many eigenvalues lie below each point: the negative pivots of `T - x`.
///
/// The pivots' reciprocals are approximate: each pivot is then exact for elements that are a few ulp off, so the count
/// is right for a matrix as near. Pivots near 0 are moved away from it.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn counts<R: Real, const P: usize, const V: usize>(
    band: impl Band<R>,
    n: u32,
    points: [[R; P]; V],
) -> [[u32; P]; V] {
    let least = R::SAFE_MIN * R::UNIT_ROUNDOFF.recip();
    let mut below = [[0; P]; V];
    let mut pivots = [[R::ONE; P]; V];
    let mut square = R::ZERO;
    for i in 0..n {
        let (d_i, next) = band.row(i);
        for v in 0..V {
            for p in 0..P {
                let pivot = (-square).mul_add(pivots[v][p].recip_approx(), d_i - points[v][p]);
                pivots[v][p] = if pivot.abs() < least { -least } else { pivot };
                below[v][p] += (pivots[v][p] < R::ZERO) as u32;
            }
        }
        square = next;
    }
    below
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
