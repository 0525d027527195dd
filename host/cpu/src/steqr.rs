//! Eigenvalues and eigenvectors of a real symmetric tridiagonal matrix by the
//! implicit QL and QR iterations with Wilkinson's shift. Blocks, scaling and
//! budget: [`blocks`](crate::blocks).

use crate::apply::{Rotation, ascending, descending};
use crate::blocks::{Limits, Shift, Sweeps, from_first, iterate, pair};
use crate::element::Real;
use crate::lanes::{Plane, madd};
use crate::scale::to_one;

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
    let mut sweeps = Rotating::<_, W, F> { z, rotations, shift: limits.shift };
    iterate(d, e, &mut sweeps, limits.sweeps_per_value)
}

/// Sweeps by plane rotations, which are applied to vectors.
struct Rotating<'a, R, const W: usize, const F: bool> {
    z: &'a mut [Plane<R, W>],
    rotations: &'a mut Vec<Rotation<R>>,
    shift: Shift,
}

impl<R: Real, const W: usize, const F: bool> Sweeps<R> for Rotating<'_, R, W, F> {
    #[inline(always)]
    fn prepare(&self, _: &mut [R]) {}

    #[inline(always)]
    fn square(x: R) -> R {
        x * x
    }

    #[inline(always)]
    fn pair(&mut self, d: &mut [R], e: &mut [R], l: usize) {
        let (first, second, turn) = pair(d[l], d[l + 1], e[l]);
        d[l] = first;
        d[l + 1] = second;
        e[l] = R::ZERO;
        self.rotations.clear();
        self.rotations.push(turn);
        for plane in self.z.iter_mut() {
            ascending::<R, W, F>(plane, l, self.rotations);
        }
    }

    #[inline(always)]
    fn ql(&mut self, d: &mut [R], e: &mut [R], l: usize, m: usize) {
        ql_sweep::<R, F>(d, e, l, m, self.shift, self.rotations);
        for plane in self.z.iter_mut() {
            descending::<R, W, F>(plane, l, self.rotations);
        }
    }

    #[inline(always)]
    fn qr(&mut self, d: &mut [R], e: &mut [R], m: usize, last: usize) {
        qr_sweep::<R, F>(d, e, m, last, self.shift, self.rotations);
        for plane in self.z.iter_mut() {
            ascending::<R, W, F>(plane, m, self.rotations);
        }
    }
}

/// `origin` less the eigenvalue of [[a, x], [x, b]] nearer to a.
#[inline(always)]
fn shift_from<R: Real>(shift: Shift, a: R, b: R, x: R, origin: R) -> R {
    origin - a + from_first(shift, a, b, x)
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
