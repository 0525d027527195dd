//! Implicit QL and QR over the blocks of a real symmetric tridiagonal matrix: what solvers with and without vectors share.
//!
//! Parlett, The Symmetric Eigenvalue Problem, chapter 8. The choices are those
//! of LAPACK's steqr: a block is a run of off-diagonals that are not
//! negligible beside their neighbours on the diagonal; it is scaled to about 1
//! before anything is squared; QL where its top is the smaller end, else QR;
//! blocks of two in closed form; a budget of sweeps an eigenvalue.

use crate::apply::Rotation;
use crate::element::Real;
use crate::lanes::madd;
use crate::scale::to_one;

/// What the iteration may spend, and how it shifts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Sweeps for each eigenvalue before the matrix counts as not converged.
    pub(crate) sweeps_per_value: usize,
    /// The formula of the shift.
    pub(crate) shift: Shift,
}

impl Limits {
    /// LAPACK's.
    pub(crate) const LAPACK: Limits = Limits { sweeps_per_value: 30, shift: Shift::Lapack };
}

/// How the eigenvalue of the leading 2x2 block nearest its first element is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shift {
    /// dsteqr's formula.
    #[default]
    Lapack,
    /// The root of the characteristic polynomial, rationalised against cancellation.
    Wilkinson,
}

/// One step of an iteration on a scaled block, whose off-diagonals stand in `e` as they are or squared.
pub(crate) trait Sweeps<R: Real> {
    /// Brings the off-diagonals of a block to the form that the sweeps take.
    fn prepare(&self, e: &mut [R]);

    /// The square of an off-diagonal, from its form in `e`.
    fn square(x: R) -> R;

    /// Solves rows `l` and `l + 1`, which nothing couples to others.
    fn pair(&mut self, d: &mut [R], e: &mut [R], l: usize);

    /// One QL sweep of rows `l..=m`.
    fn ql(&mut self, d: &mut [R], e: &mut [R], l: usize, m: usize);

    /// One QR sweep of rows `m..=last`.
    fn qr(&mut self, d: &mut [R], e: &mut [R], m: usize, last: usize);
}

/// Turns `d` into the eigenvalues, not sorted. Returns how many off-diagonals are left.
#[inline(always)]
pub(crate) fn iterate<R: Real, S: Sweeps<R>>(
    d: &mut [R],
    e: &mut [R],
    sweeps: &mut S,
    sweeps_per_value: usize,
) -> usize {
    let n = d.len();
    let mut budget = sweeps_per_value.saturating_mul(n);
    let mut unconverged = 0;
    let mut top = 0;
    while top < n {
        let bottom = block_end(d, e, top);
        if bottom > top {
            let scale = scale_block(d, e, top, bottom);
            sweeps.prepare(&mut e[top..bottom]);
            if d[top].abs() <= d[bottom].abs() {
                ql_block(d, e, top, bottom, sweeps, &mut budget);
            } else {
                qr_block(d, e, top, bottom, sweeps, &mut budget);
            }
            unconverged += remaining(&e[top..bottom]);
            unscale_block(d, e, top, bottom, scale);
        }
        top = bottom + 1;
    }
    unconverged
}

/// How many off-diagonals are not zero.
#[inline(always)]
fn remaining<R: Real>(e: &[R]) -> usize {
    e.iter().filter(|x| **x != R::ZERO).count()
}

/// The last row of the block that begins at `top`; the off-diagonal after it
/// is set to zero.
#[inline(always)]
fn block_end<R: Real>(d: &[R], e: &mut [R], top: usize) -> usize {
    let n = d.len();
    for k in top..n - 1 {
        let x = e[k].abs();
        // Roots, not a product: nothing underflows on an unscaled block.
        if x == R::ZERO || x <= R::UNIT_ROUNDOFF * d[k].abs().sqrt() * d[k + 1].abs().sqrt() {
            e[k] = R::ZERO;
            return k;
        }
    }
    n - 1
}

/// Brings the block's largest element to about 1 where its squares would not
/// be safe, and returns the factor.
#[inline(always)]
fn scale_block<R: Real>(d: &mut [R], e: &mut [R], top: usize, bottom: usize) -> R {
    let mut max = R::ZERO;
    for k in top..=bottom {
        max = max.max(d[k].abs());
        if k < bottom {
            max = max.max(e[k].abs());
        }
    }
    let scale = to_one(max, 8);
    unscale_block(d, e, top, bottom, R::ONE / scale);
    scale
}

#[inline(always)]
fn unscale_block<R: Real>(d: &mut [R], e: &mut [R], top: usize, bottom: usize, scale: R) {
    if scale == R::ONE {
        return;
    }
    let inverse = R::ONE / scale;
    for k in top..=bottom {
        d[k] *= inverse;
        if k < bottom {
            e[k] *= inverse;
        }
    }
}

/// Whether an off-diagonal x between a and b can be dropped: small beside them,
/// or so small that its square means nothing beside a block of norm 1.
#[inline(always)]
fn negligible<R: Real, S: Sweeps<R>>(x: R, a: R, b: R) -> bool {
    let eps = R::UNIT_ROUNDOFF;
    S::square(x) <= (eps * a.abs()) * (eps * b.abs()) + R::SAFE_MIN / eps
}

/// QL: eigenvalues settle from the top down.
#[inline(always)]
fn ql_block<R: Real, S: Sweeps<R>>(
    d: &mut [R],
    e: &mut [R],
    top: usize,
    bottom: usize,
    sweeps: &mut S,
    budget: &mut usize,
) {
    let mut l = top;
    while l <= bottom {
        let split = (l..bottom).find(|&k| negligible::<R, S>(e[k], d[k], d[k + 1]));
        let m = split.unwrap_or(bottom);
        if m < bottom {
            e[m] = R::ZERO;
        }
        if m == l {
            l += 1;
            continue;
        }
        if m == l + 1 {
            sweeps.pair(d, e, l);
            l += 2;
            continue;
        }
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        sweeps.ql(d, e, l, m);
    }
}

/// QR: eigenvalues settle from the bottom up.
#[inline(always)]
fn qr_block<R: Real, S: Sweeps<R>>(
    d: &mut [R],
    e: &mut [R],
    top: usize,
    bottom: usize,
    sweeps: &mut S,
    budget: &mut usize,
) {
    // `l` counts rows still open, so that it can reach the row before `top`.
    let mut l = bottom + 1;
    while l > top {
        let last = l - 1;
        let split = (top..last).rev().find(|&k| negligible::<R, S>(e[k], d[k], d[k + 1]));
        let m = split.map_or(top, |k| k + 1);
        if m > top {
            e[m - 1] = R::ZERO;
        }
        if m == last {
            l -= 1;
            continue;
        }
        if m + 1 == last {
            sweeps.pair(d, e, m);
            l -= 2;
            continue;
        }
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        sweeps.qr(d, e, m, last);
    }
}

/// How far below a the eigenvalue of [[a, x], [x, b]] nearer to a is.
#[inline(always)]
pub(crate) fn from_first<R: Real>(shift: Shift, a: R, b: R, x: R) -> R {
    match shift {
        Shift::Lapack => {
            let half = (b - a) / (R::TWO * x);
            let root = madd::<R, false>(half, half, R::ONE).sqrt();
            x / (half + root.copysign(half))
        }
        Shift::Wilkinson => {
            // The block is scaled: squares are safe, and x is not 0.
            let half = (b - a) * R::HALF;
            let root = madd::<R, false>(half, half, x * x).sqrt();
            x / (half + root.copysign(half)) * x
        }
    }
}

/// The rotation that diagonalises [[a, x], [x, b]], with the two eigenvalues
/// in the places of a and b.
#[inline(always)]
pub(crate) fn pair<R: Real>(a: R, b: R, x: R) -> (R, R, Rotation<R>) {
    let half = (b - a) / (R::TWO * x);
    let root = madd::<R, false>(half, half, R::ONE).sqrt();
    let t = R::ONE.copysign(half) / (half.abs() + root);
    let c = R::ONE / madd::<R, false>(t, t, R::ONE).sqrt();
    (a - t * x, b + t * x, Rotation { c, s: -(t * c) })
}
