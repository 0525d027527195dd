//! Eigenvalues and eigenvectors of a real symmetric tridiagonal matrix by the
//! implicit QL and QR iterations with Wilkinson's shift.
//!
//! Parlett, The Symmetric Eigenvalue Problem, chapter 8. The choices are those
//! of LAPACK's steqr: a block is a run of off-diagonals that are not
//! negligible beside their neighbours on the diagonal; it is scaled to about 1
//! before anything is squared; QL where its top is the smaller end, else QR;
//! blocks of two in closed form; a budget of sweeps an eigenvalue.

use crate::apply::{Rotation, ascending, descending};
use crate::element::Real;
use crate::lanes::{Plane, madd};
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

/// Diagonalises `d`, `e` (order n) and multiplies the columns of the first
/// `planes` of `z` by the rotations. Returns how many off-diagonals are left.
/// The eigenvalues are not sorted.
#[inline(always)]
pub(crate) fn steqr<R: Real, const W: usize, const F: bool>(
    d: &mut [R],
    e: &mut [R],
    z: &mut [Plane<R, W>],
    rotations: &mut Vec<Rotation<R>>,
    limits: Limits,
) -> usize {
    let n = d.len();
    let mut budget = limits.sweeps_per_value.saturating_mul(n);
    let mut unconverged = 0;
    let mut top = 0;
    while top < n {
        let bottom = block_end(d, e, top);
        if bottom > top {
            let scale = scale_block(d, e, top, bottom);
            solve_block::<R, W, F>(d, e, top, bottom, z, rotations, limits.shift, &mut budget);
            unconverged += remaining(&e[top..bottom]);
            unscale_block(d, e, top, bottom, scale);
        }
        top = bottom + 1;
    }
    unconverged
}

/// How many off-diagonals are not zero.
#[inline(always)]
pub(crate) fn remaining<R: Real>(e: &[R]) -> usize {
    e.iter().filter(|x| **x != R::ZERO).count()
}

/// The last row of the block that begins at `top`; the off-diagonal after it
/// is set to zero.
#[inline(always)]
pub(crate) fn block_end<R: Real>(d: &[R], e: &mut [R], top: usize) -> usize {
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
pub(crate) fn scale_block<R: Real>(d: &mut [R], e: &mut [R], top: usize, bottom: usize) -> R {
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
pub(crate) fn unscale_block<R: Real>(d: &mut [R], e: &mut [R], top: usize, bottom: usize, scale: R) {
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
fn negligible<R: Real>(x: R, a: R, b: R) -> bool {
    let eps = R::UNIT_ROUNDOFF;
    x * x <= (eps * a.abs()) * (eps * b.abs()) + R::SAFE_MIN / eps
}

#[inline(always)]
fn solve_block<R: Real, const W: usize, const F: bool>(
    d: &mut [R],
    e: &mut [R],
    top: usize,
    bottom: usize,
    z: &mut [Plane<R, W>],
    rotations: &mut Vec<Rotation<R>>,
    shift: Shift,
    budget: &mut usize,
) {
    if d[top].abs() <= d[bottom].abs() {
        ql_block::<R, W, F>(d, e, top, bottom, z, rotations, shift, budget);
    } else {
        qr_block::<R, W, F>(d, e, top, bottom, z, rotations, shift, budget);
    }
}

/// QL: eigenvalues settle from the top down.
#[inline(always)]
fn ql_block<R: Real, const W: usize, const F: bool>(
    d: &mut [R],
    e: &mut [R],
    top: usize,
    bottom: usize,
    z: &mut [Plane<R, W>],
    rotations: &mut Vec<Rotation<R>>,
    shift: Shift,
    budget: &mut usize,
) {
    let mut l = top;
    while l <= bottom {
        let split = (l..bottom).find(|&k| negligible(e[k], d[k], d[k + 1]));
        let m = split.unwrap_or(bottom);
        if m < bottom {
            e[m] = R::ZERO;
        }
        if m == l {
            l += 1;
            continue;
        }
        if m == l + 1 {
            solve_pair::<R, W, F>(d, e, l, z, rotations);
            l += 2;
            continue;
        }
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        ql_sweep::<R, F>(d, e, l, m, shift, rotations);
        for plane in z.iter_mut() {
            descending::<R, W, F>(plane, l, rotations);
        }
    }
}

/// QR: eigenvalues settle from the bottom up.
#[inline(always)]
fn qr_block<R: Real, const W: usize, const F: bool>(
    d: &mut [R],
    e: &mut [R],
    top: usize,
    bottom: usize,
    z: &mut [Plane<R, W>],
    rotations: &mut Vec<Rotation<R>>,
    shift: Shift,
    budget: &mut usize,
) {
    // `l` counts rows still open, so that it can reach the row before `top`.
    let mut l = bottom + 1;
    while l > top {
        let last = l - 1;
        let split = (top..last).rev().find(|&k| negligible(e[k], d[k], d[k + 1]));
        let m = split.map_or(top, |k| k + 1);
        if m > top {
            e[m - 1] = R::ZERO;
        }
        if m == last {
            l -= 1;
            continue;
        }
        if m + 1 == last {
            solve_pair::<R, W, F>(d, e, m, z, rotations);
            l -= 2;
            continue;
        }
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        qr_sweep::<R, F>(d, e, m, last, shift, rotations);
        for plane in z.iter_mut() {
            ascending::<R, W, F>(plane, m, rotations);
        }
    }
}

/// `origin` less the eigenvalue of [[a, x], [x, b]] nearer to a.
#[inline(always)]
fn shift_from<R: Real>(shift: Shift, a: R, b: R, x: R, origin: R) -> R {
    origin - a + from_first(shift, a, b, x)
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

/// One QL sweep of rows l..=m; rotation k acts on columns l + k and l + k + 1.
#[inline(always)]
fn ql_sweep<R: Real, const F: bool>(
    d: &mut [R],
    e: &mut [R],
    l: usize,
    m: usize,
    shift: Shift,
    rotations: &mut Vec<Rotation<R>>,
) {
    rotations.clear();
    rotations.resize(m - l, Rotation { c: R::ONE, s: R::ZERO });
    let mut g = shift_from(shift, d[l], d[l + 1], e[l], d[m]);
    let (mut c, mut s, mut p) = (R::ONE, R::ONE, R::ZERO);
    for k in (l..m).rev() {
        let f = s * e[k];
        let b = c * e[k];
        let r;
        (c, s, r) = rotation::<R, F>(g, f);
        if k + 1 < m {
            e[k + 1] = r;
        }
        g = d[k + 1] - p;
        let t = madd::<R, F>(d[k] - g, s, R::TWO * c * b);
        p = s * t;
        d[k + 1] = g + p;
        g = madd::<R, F>(c, t, -b);
        rotations[k - l] = Rotation { c, s: -s };
    }
    d[l] -= p;
    e[l] = g;
}

/// One QR sweep of rows m..=last; rotation k acts on columns m + k and m + k + 1.
#[inline(always)]
fn qr_sweep<R: Real, const F: bool>(
    d: &mut [R],
    e: &mut [R],
    m: usize,
    last: usize,
    shift: Shift,
    rotations: &mut Vec<Rotation<R>>,
) {
    rotations.clear();
    let mut g = shift_from(shift, d[last], d[last - 1], e[last - 1], d[m]);
    let (mut c, mut s, mut p) = (R::ONE, R::ONE, R::ZERO);
    for k in m..last {
        let f = s * e[k];
        let b = c * e[k];
        let r;
        (c, s, r) = rotation::<R, F>(g, f);
        if k > m {
            e[k - 1] = r;
        }
        g = d[k] - p;
        let t = madd::<R, F>(d[k + 1] - g, s, R::TWO * c * b);
        p = s * t;
        d[k] = g + p;
        g = madd::<R, F>(c, t, -b);
        rotations.push(Rotation { c, s });
    }
    d[last] -= p;
    e[last - 1] = g;
}

/// c, s, r with c f + s g = r and c g - s f = 0.
#[inline(always)]
fn rotation<R: Real, const F: bool>(f: R, g: R) -> (R, R, R) {
    let h = madd::<R, F>(f, f, g * g);
    if h > R::SQUARE_MIN && h < R::SQUARE_MAX {
        let r = h.sqrt();
        return (f / r, g / r, r);
    }
    if g == R::ZERO {
        return (R::ONE, R::ZERO, f);
    }
    let scale = to_one(f.abs().max(g.abs()), 0);
    let (fs, gs) = (f * scale, g * scale);
    let r = madd::<R, F>(fs, fs, gs * gs).sqrt();
    (fs / r, gs / r, r / scale)
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

#[inline(always)]
fn solve_pair<R: Real, const W: usize, const F: bool>(
    d: &mut [R],
    e: &mut [R],
    l: usize,
    z: &mut [Plane<R, W>],
    rotations: &mut Vec<Rotation<R>>,
) {
    let (first, second, turn) = pair(d[l], d[l + 1], e[l]);
    d[l] = first;
    d[l + 1] = second;
    e[l] = R::ZERO;
    rotations.clear();
    rotations.push(turn);
    for plane in z.iter_mut() {
        ascending::<R, W, F>(plane, l, rotations);
    }
}
