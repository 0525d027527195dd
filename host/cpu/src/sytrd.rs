//! Reduction of a small symmetric or Hermitian matrix to real tridiagonal form
//! by Householder reflections, unblocked, and the product of the reflections.
//!
//! The matrix is held whole (both triangles), real and imaginary parts in two
//! planes, so that every inner loop runs along columns. A reflection is
//! H = I - tau v v^H with a real tau and a v that begins with 1; a complex subdiagonal's phase
//! goes into Q. Golub and Van Loan, Matrix Computations, 8.3.1.

use crate::element::Real;
use crate::lanes::{Lanes, Plane, madd};
use crate::scale::{column_scale, to_one};

/// Working storage of one solve; grows to the largest order seen.
#[derive(Debug)]
pub(crate) struct Tridiagonalisation<R, const W: usize> {
    /// The matrix; afterwards the vectors v below the diagonal, zeros above.
    pub(crate) a: [Plane<R, W>; 2],
    /// The product of the reflections and phases.
    pub(crate) q: [Plane<R, W>; 2],
    /// Diagonal.
    pub(crate) d: Vec<R>,
    /// Off-diagonal: `e[k]` couples k and k + 1; the last one is not used.
    pub(crate) e: Vec<R>,
    tau: Vec<R>,
    phase: Vec<[R; 2]>,
    w: [Vec<Lanes<R, W>>; 2],
}

impl<R: Real, const W: usize> Tridiagonalisation<R, W> {
    pub(crate) fn new() -> Self {
        Tridiagonalisation {
            a: [Plane::new(), Plane::new()],
            q: [Plane::new(), Plane::new()],
            d: Vec::new(),
            e: Vec::new(),
            tau: Vec::new(),
            phase: Vec::new(),
            w: [Vec::new(), Vec::new()],
        }
    }

    /// Makes room for order n.
    #[inline(always)]
    pub(crate) fn resize<const C: bool>(&mut self, n: usize) {
        for part in 0..1 + usize::from(C) {
            self.a[part].resize(n);
            self.q[part].resize(n);
            let height = n.div_ceil(W);
            if self.w[part].len() < height {
                self.w[part].resize(height, Lanes::ZERO);
            }
        }
        self.resize_values(n);
        if self.tau.len() < n {
            self.tau.resize(n, R::ZERO);
        }
        if self.phase.len() < n {
            self.phase.resize(n, [R::ONE, R::ZERO]);
        }
    }

    /// Makes room for the tridiagonal matrix alone.
    pub(crate) fn resize_values(&mut self, n: usize) {
        for buffer in [&mut self.d, &mut self.e] {
            if buffer.len() < n {
                buffer.resize(n, R::ZERO);
            }
        }
    }

    /// Reduces `a` (order n, both triangles filled) to `d` and `e`.
    #[inline(always)]
    pub(crate) fn reduce<const C: bool, const F: bool>(&mut self, n: usize) {
        self.phase[0] = [R::ONE, R::ZERO];
        for k in 0..n {
            self.d[k] = self.a[0].get(k, k);
            if k + 1 == n {
                break;
            }
            self.reflector::<C, F>(k, n);
            if self.tau[k] != R::ZERO {
                self.product_with_trailing::<C, F>(k, n);
                self.rank_two_update::<C, F>(k, n);
            }
        }
    }

    /// Makes the reflection that clears column k below the subdiagonal. Its
    /// vector replaces the column, with zeros in the rows above it.
    #[inline(always)]
    fn reflector<const C: bool, const F: bool>(&mut self, k: usize, n: usize) {
        let [re, im] = &mut self.a;
        let first = (k + 1) / W;
        for i in first * W..k + 1 {
            re.set(i, k, R::ZERO);
            if C {
                im.set(i, k, R::ZERO);
            }
        }
        let x0 = [re.get(k + 1, k), if C { im.get(k + 1, k) } else { R::ZERO }];
        re.set(k + 1, k, R::ZERO);
        if C {
            im.set(k + 1, k, R::ZERO);
        }
        let mut tail = sum_of_squares::<R, W, C, F>(re, im, k, first);
        let mut head = madd::<R, F>(x0[0], x0[0], x0[1] * x0[1]);
        let mut up = R::ONE;
        // Squares of a column far below the norm would underflow and spoil the reflection.
        if (tail + head) < R::SQUARE_MIN {
            up = column_scale::<R, W, C>(re, im, k, n, x0);
            scale_column::<R, W, C>(re, im, k, first, up);
            tail = sum_of_squares::<R, W, C, F>(re, im, k, first);
            let scaled = [x0[0] * up, x0[1] * up];
            head = madd::<R, F>(scaled[0], scaled[0], scaled[1] * scaled[1]);
        }
        let x0 = [x0[0] * up, x0[1] * up];
        let (modulus, unit) = if C { polar::<R, F>(x0, head) } else { (x0[0].abs(), sign_of(x0[0])) };
        if tail == R::ZERO {
            self.tau[k] = R::ZERO;
            self.set_subdiagonal::<C>(k, modulus / up, unit);
            return;
        }
        let norm = (head + tail).sqrt();
        self.tau[k] = (norm + modulus) / norm;
        // v = x / (unit (norm + modulus)): one division, then products.
        let inverse = R::ONE / (norm + modulus);
        let factor = [unit[0] * inverse, -unit[1] * inverse];
        multiply_column::<R, W, C, F>(re, im, k, first, factor);
        re.set(k + 1, k, R::ONE);
        self.set_subdiagonal::<C>(k, norm / up, [-unit[0], -unit[1]]);
    }

    /// Records the subdiagonal element `modulus * unit`: a real one with its
    /// sign, a complex one as its modulus with the phase carried into Q.
    #[inline(always)]
    fn set_subdiagonal<const C: bool>(&mut self, k: usize, modulus: R, unit: [R; 2]) {
        if C {
            self.e[k] = modulus;
            let [c, s] = self.phase[k];
            self.phase[k + 1] = [unit[0] * c - unit[1] * s, unit[0] * s + unit[1] * c];
        } else {
            self.e[k] = modulus * unit[0];
        }
    }

    /// w = tau (A v - (tau / 2)(v^H A v) v), for the block below row k.
    #[inline(always)]
    fn product_with_trailing<const C: bool, const F: bool>(&mut self, k: usize, n: usize) {
        let first = (k + 1) / W;
        let height = self.a[0].height;
        let mut c = first;
        while c < height {
            // Four, two or one lanes at a time: independent chains of multiply-adds.
            c += match height - c {
                4.. => self.product_rows::<C, F, 4>(k, n, c),
                2.. => self.product_rows::<C, F, 2>(k, n, c),
                _ => self.product_rows::<C, F, 1>(k, n, c),
            };
        }
        for i in first * W..k + 1 {
            for part in 0..1 + usize::from(C) {
                self.w[part][first].0[i - first * W] = R::ZERO;
            }
        }
        let tau = self.tau[k];
        let v = [self.a[0].column(k), if C { self.a[1].column(k) } else { &[] }];
        let mut dot = Lanes::ZERO;
        for c in first..height {
            dot = dot.add_product::<F>(v[0][c], self.w[0][c]);
            if C {
                dot = dot.add_product::<F>(v[1][c], self.w[1][c]);
            }
        }
        let correction = -(R::HALF * tau * tau * dot.sum());
        for part in 0..1 + usize::from(C) {
            for c in first..height {
                self.w[part][c] = self.w[part][c].scaled(tau).add_scaled::<F>(v[part][c], correction);
            }
        }
    }

    /// Lanes c..c+B of A v into w; says how many lanes it did.
    #[inline(always)]
    fn product_rows<const C: bool, const F: bool, const B: usize>(
        &mut self,
        k: usize,
        n: usize,
        c: usize,
    ) -> usize {
        let mut re = [Lanes::ZERO; B];
        let mut im = [Lanes::ZERO; B];
        let first = (k + 1) / W;
        let start = k + 1;
        debug_assert!(c >= first);
        for j in start..n {
            let a = &self.a[0].column(j)[c..c + B];
            let v_re = self.a[0].get(j, k);
            for b in 0..B {
                re[b] = re[b].add_scaled::<F>(a[b], v_re);
            }
            if C {
                let a_im = &self.a[1].column(j)[c..c + B];
                let v_im = self.a[1].get(j, k);
                for b in 0..B {
                    re[b] = re[b].add_scaled::<F>(a_im[b], -v_im);
                    im[b] = im[b].add_scaled::<F>(a[b], v_im).add_scaled::<F>(a_im[b], v_re);
                }
            }
        }
        self.w[0][c..c + B].copy_from_slice(&re);
        if C {
            self.w[1][c..c + B].copy_from_slice(&im);
        }
        B
    }

    /// A := A - v w^H - w v^H, for the block below row k.
    #[inline(always)]
    fn rank_two_update<const C: bool, const F: bool>(&mut self, k: usize, n: usize) {
        let first = (k + 1) / W;
        let height = self.a[0].height;
        let [a_re, a_im] = &mut self.a;
        for j in k + 1..n {
            let (lane, at) = (j / W, j % W);
            let w_re = -self.w[0][lane].0[at];
            let (done, rest) = a_re.columns_mut(n).split_at_mut(j * height);
            let v = &done[k * height..(k + 1) * height];
            let column = &mut rest[..height];
            let v_re = -v[lane].0[at];
            if !C {
                for c in first..height {
                    column[c] = column[c].add_scaled::<F>(v[c], w_re).add_scaled::<F>(self.w[0][c], v_re);
                }
                continue;
            }
            let w_im = -self.w[1][lane].0[at];
            let (done_im, rest_im) = a_im.columns_mut(n).split_at_mut(j * height);
            let vi = &done_im[k * height..(k + 1) * height];
            let column_im = &mut rest_im[..height];
            let v_im = -vi[lane].0[at];
            for c in first..height {
                let (wr, wi) = (self.w[0][c], self.w[1][c]);
                column[c] = column[c]
                    .add_scaled::<F>(v[c], w_re)
                    .add_scaled::<F>(vi[c], w_im)
                    .add_scaled::<F>(wr, v_re)
                    .add_scaled::<F>(wi, v_im);
                column_im[c] = column_im[c]
                    .add_scaled::<F>(vi[c], w_re)
                    .add_scaled::<F>(v[c], -w_im)
                    .add_scaled::<F>(wi, v_re)
                    .add_scaled::<F>(wr, -v_im);
            }
        }
    }

    /// Q, the product of the reflections and the phases, such that
    /// A = Q T Q^H; from the last reflection to the first, on growing blocks.
    #[inline(always)]
    pub(crate) fn form_q<const C: bool, const F: bool>(&mut self, n: usize) {
        for part in 0..1 + usize::from(C) {
            self.q[part].clear(n);
        }
        for j in 0..n {
            if C {
                self.q[0].set(j, j, self.phase[j][0]);
                self.q[1].set(j, j, self.phase[j][1]);
            } else {
                self.q[0].set(j, j, R::ONE);
            }
        }
        for k in (0..n.saturating_sub(1)).rev() {
            if self.tau[k] == R::ZERO {
                continue;
            }
            let mut j = k + 1;
            while j < n {
                j += match n - j {
                    4.. => self.reflect_columns::<C, F, 4>(k, j),
                    2.. => self.reflect_columns::<C, F, 2>(k, j),
                    _ => self.reflect_columns::<C, F, 1>(k, j),
                };
            }
        }
    }

    /// Columns j..j+B of Q := (I - tau v v^H) columns; says how many it did.
    #[inline(always)]
    fn reflect_columns<const C: bool, const F: bool, const B: usize>(&mut self, k: usize, j: usize) -> usize {
        let height = self.a[0].height;
        let first = (k + 1) / W;
        let tau = self.tau[k];
        let v = &self.a[0].column(k)[first..];
        let vi: &[Lanes<R, W>] = if C { &self.a[1].column(k)[first..] } else { &[] };
        let [q_re, q_im] = &mut self.q;
        let q = &mut q_re.columns_mut(j + B)[j * height..];
        let qi: &mut [Lanes<R, W>] = if C { &mut q_im.columns_mut(j + B)[j * height..] } else { &mut [] };
        let mut re = [Lanes::ZERO; B];
        let mut im = [Lanes::ZERO; B];
        for c in 0..height - first {
            for b in 0..B {
                let x = q[b * height + first + c];
                re[b] = re[b].add_product::<F>(v[c], x);
                if C {
                    let y = qi[b * height + first + c];
                    re[b] = re[b].add_product::<F>(vi[c], y);
                    im[b] = im[b].add_product::<F>(v[c], y).add_product::<F>(vi[c].scaled(-R::ONE), x);
                }
            }
        }
        let re = re.map(|x| -tau * x.sum());
        let im = im.map(|x| if C { -tau * x.sum() } else { R::ZERO });
        for c in 0..height - first {
            for b in 0..B {
                let at = b * height + first + c;
                q[at] = q[at].add_scaled::<F>(v[c], re[b]);
                if C {
                    q[at] = q[at].add_scaled::<F>(vi[c], -im[b]);
                    qi[at] = qi[at].add_scaled::<F>(v[c], im[b]).add_scaled::<F>(vi[c], re[b]);
                }
            }
        }
        B
    }
}

#[inline(always)]
fn sum_of_squares<R: Real, const W: usize, const C: bool, const F: bool>(
    re: &Plane<R, W>,
    im: &Plane<R, W>,
    k: usize,
    first: usize,
) -> R {
    let mut sum = Lanes::ZERO;
    for &x in &re.column(k)[first..] {
        sum = sum.add_product::<F>(x, x);
    }
    if C {
        for &x in &im.column(k)[first..] {
            sum = sum.add_product::<F>(x, x);
        }
    }
    sum.sum()
}

#[inline(always)]
fn scale_column<R: Real, const W: usize, const C: bool>(
    re: &mut Plane<R, W>,
    im: &mut Plane<R, W>,
    k: usize,
    first: usize,
    factor: R,
) {
    for x in &mut re.column_mut(k)[first..] {
        *x = x.scaled(factor);
    }
    if C {
        for x in &mut im.column_mut(k)[first..] {
            *x = x.scaled(factor);
        }
    }
}

#[inline(always)]
fn multiply_column<R: Real, const W: usize, const C: bool, const F: bool>(
    re: &mut Plane<R, W>,
    im: &mut Plane<R, W>,
    k: usize,
    first: usize,
    factor: [R; 2],
) {
    if !C {
        scale_column::<R, W, C>(re, im, k, first, factor[0]);
        return;
    }
    for (x, y) in re.column_mut(k)[first..].iter_mut().zip(&mut im.column_mut(k)[first..]) {
        let (a, b) = (*x, *y);
        *x = a.scaled(factor[0]).add_scaled::<F>(b, -factor[1]);
        *y = b.scaled(factor[0]).add_scaled::<F>(a, factor[1]);
    }
}

/// 1 with the sign of a number; 1 for zeros of either sign.
#[inline(always)]
fn sign_of<R: Real>(x: R) -> [R; 2] {
    [if x == R::ZERO { R::ONE } else { R::ONE.copysign(x) }, R::ZERO]
}

/// Modulus and phase of a complex number whose square is `square`; the phase of 0 is 1. A square that underflows
/// has no digits, and the phase from it would be no unit: such a number is brought to about 1 first.
#[inline(always)]
fn polar<R: Real, const F: bool>(x: [R; 2], square: R) -> (R, [R; 2]) {
    let (up, square) = if square < R::SQUARE_MIN {
        let up = to_one(x[0].abs().max(x[1].abs()), 0);
        (up, madd::<R, F>(x[0] * up, x[0] * up, x[1] * up * (x[1] * up)))
    } else {
        (R::ONE, square)
    };
    let modulus = square.sqrt();
    if modulus == R::ZERO {
        return (R::ZERO, [R::ONE, R::ZERO]);
    }
    (modulus / up, [x[0] * up / modulus, x[1] * up / modulus])
}
