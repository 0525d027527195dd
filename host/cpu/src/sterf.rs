//! Eigenvalues of a real symmetric tridiagonal matrix by the square-root-free
//! QL and QR iterations of Pal, Walker and Kahan (Parlett, The Symmetric
//! Eigenvalue Problem, 8.15). Blocks, scaling and budget as in `steqr`.

use crate::element::Real;
use crate::steqr::{Limits, Shift, block_end, from_first, pair, remaining, scale_block, unscale_block};

/// Turns `d` into the eigenvalues, not sorted, and returns how many
/// off-diagonals did not converge.
#[inline(always)]
pub(crate) fn sterf<R: Real>(d: &mut [R], e: &mut [R], limits: Limits) -> usize {
    let n = d.len();
    let mut budget = limits.sweeps_per_value.saturating_mul(n);
    let mut unconverged = 0;
    let mut top = 0;
    while top < n {
        let bottom = block_end(d, e, top);
        if bottom > top {
            let scale = scale_block(d, e, top, bottom);
            for x in &mut e[top..bottom] {
                *x *= *x;
            }
            if d[top].abs() <= d[bottom].abs() {
                ql_block(d, e, top, bottom, limits.shift, &mut budget);
            } else {
                qr_block(d, e, top, bottom, limits.shift, &mut budget);
            }
            unconverged += remaining(&e[top..bottom]);
            unscale_block(d, e, top, bottom, scale);
        }
        top = bottom + 1;
    }
    unconverged
}

/// As in `steqr`, for the square of an off-diagonal.
#[inline(always)]
fn negligible<R: Real>(square: R, a: R, b: R) -> bool {
    let eps = R::UNIT_ROUNDOFF;
    square <= (eps * a.abs()) * (eps * b.abs()) + R::SAFE_MIN / eps
}

#[inline(always)]
fn ql_block<R: Real>(d: &mut [R], e2: &mut [R], top: usize, bottom: usize, kind: Shift, budget: &mut usize) {
    let mut l = top;
    while l <= bottom {
        let split = (l..bottom).find(|&k| negligible(e2[k], d[k], d[k + 1]));
        let m = split.unwrap_or(bottom);
        if m < bottom {
            e2[m] = R::ZERO;
        }
        if m == l {
            l += 1;
            continue;
        }
        if m == l + 1 {
            solve_pair(d, e2, l);
            l += 2;
            continue;
        }
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        ql_sweep(d, e2, l, m, kind);
    }
}

#[inline(always)]
fn qr_block<R: Real>(d: &mut [R], e2: &mut [R], top: usize, bottom: usize, kind: Shift, budget: &mut usize) {
    let mut l = bottom + 1;
    while l > top {
        let last = l - 1;
        let split = (top..last).rev().find(|&k| negligible(e2[k], d[k], d[k + 1]));
        let m = split.map_or(top, |k| k + 1);
        if m > top {
            e2[m - 1] = R::ZERO;
        }
        if m == last {
            l -= 1;
            continue;
        }
        if m + 1 == last {
            solve_pair(d, e2, m);
            l -= 2;
            continue;
        }
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        qr_sweep(d, e2, m, last, kind);
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

#[inline(always)]
fn ql_sweep<R: Real>(d: &mut [R], e2: &mut [R], l: usize, m: usize, kind: Shift) {
    let sigma = shift(kind, d[l], d[l + 1], e2[l]);
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
fn qr_sweep<R: Real>(d: &mut [R], e2: &mut [R], m: usize, last: usize, kind: Shift) {
    let sigma = shift(kind, d[last], d[last - 1], e2[last - 1]);
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

#[inline(always)]
fn solve_pair<R: Real>(d: &mut [R], e2: &mut [R], l: usize) {
    let (first, second, _) = pair(d[l], d[l + 1], e2[l].sqrt());
    d[l] = first;
    d[l + 1] = second;
    e2[l] = R::ZERO;
}
