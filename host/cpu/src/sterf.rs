//! Eigenvalues of a real symmetric tridiagonal matrix by the square-root-free
//! QL and QR iterations of Pal, Walker and Kahan (Parlett, The Symmetric
//! Eigenvalue Problem, 8.15). Blocks, scaling and budget: [`blocks`](crate::blocks).

use crate::blocks::{Limits, Shift, Sweeps, from_first, iterate, pair};
use crate::element::Real;

/// Turns `d` into the eigenvalues, not sorted, and returns how many
/// off-diagonals did not converge.
#[inline(always)]
pub(crate) fn sterf<R: Real>(d: &mut [R], e: &mut [R], limits: Limits) -> usize {
    iterate(d, e, &mut RootFree { shift: limits.shift }, limits.sweeps_per_value)
}

/// Sweeps on the squares of off-diagonals.
struct RootFree {
    shift: Shift,
}

impl<R: Real> Sweeps<R> for RootFree {
    #[inline(always)]
    fn prepare(&self, e: &mut [R]) {
        for x in e {
            *x *= *x;
        }
    }

    #[inline(always)]
    fn square(x: R) -> R {
        x
    }

    #[inline(always)]
    fn pair(&mut self, d: &mut [R], e2: &mut [R], l: usize) {
        let (first, second, _) = pair(d[l], d[l + 1], e2[l].sqrt());
        d[l] = first;
        d[l + 1] = second;
        e2[l] = R::ZERO;
    }

    #[inline(always)]
    fn ql(&mut self, d: &mut [R], e2: &mut [R], l: usize, m: usize) {
        let sigma = shift(self.shift, d[l], d[l + 1], e2[l]);
        let mut step = Step::new(d[m] - sigma);
        for k in (l..m).rev() {
            let (settled, diagonal) = step.advance(e2[k], d[k], sigma);
            if k + 1 < m {
                e2[k + 1] = settled;
            }
            d[k + 1] = diagonal;
        }
        e2[l] = step.s * step.p;
        d[l] = sigma + step.gamma;
    }

    #[inline(always)]
    fn qr(&mut self, d: &mut [R], e2: &mut [R], m: usize, last: usize) {
        let sigma = shift(self.shift, d[last], d[last - 1], e2[last - 1]);
        let mut step = Step::new(d[m] - sigma);
        for k in m..last {
            let (settled, diagonal) = step.advance(e2[k], d[k + 1], sigma);
            if k > m {
                e2[k - 1] = settled;
            }
            d[k] = diagonal;
        }
        e2[last - 1] = step.s * step.p;
        d[last] = sigma + step.gamma;
    }
}

/// The eigenvalue of [[a, x], [x, b]] nearer to a.
#[inline(always)]
fn shift<R: Real>(kind: Shift, a: R, b: R, square: R) -> R {
    a - from_first(kind, a, b, square.sqrt())
}

/// One step of the recurrence that both sweeps share.
struct Step<R> {
    c: R,
    s: R,
    gamma: R,
    /// gamma^2 / c, in the limit where c is 0.
    p: R,
}

impl<R: Real> Step<R> {
    #[inline(always)]
    fn new(gamma: R) -> Self {
        Step { c: R::ONE, s: R::ZERO, gamma, p: gamma * gamma }
    }

    /// Takes the square of the next off-diagonal and the next diagonal
    /// element; returns the square that settles behind and the diagonal there.
    #[inline(always)]
    fn advance(&mut self, square: R, alpha: R, sigma: R) -> (R, R) {
        let r = self.p + square;
        let settled = self.s * r;
        let old_c = self.c;
        self.c = self.p / r;
        self.s = square / r;
        let old_gamma = self.gamma;
        self.gamma = self.c * (alpha - sigma) - self.s * old_gamma;
        self.p = if self.c == R::ZERO { old_c * square } else { (self.gamma * self.gamma) / self.c };
        (settled, old_gamma + (alpha - self.gamma))
    }
}
