//! Cyclic Jacobi on one matrix in the registers of one thread.

use crate::fold::choose;
use cuda_std::math::Real;
use cuda_std::scalar::Scalar;
use cuda_std::warp;

/// A matrix on its way to diagonal form, with the vectors so far.
#[derive(Clone, Copy, Debug)]
pub struct Pencil<T: Scalar, const N: usize> {
    /// Diagonal.
    d: [T::Real; N],
    /// Strict lower triangle: element (row, column) at `[row][column]`, `row > column`.
    a: [[T; N]; N],
    /// Column `k` of the vectors at `[k]`.
    v: [[T; N]; N],
}

/// Pair `index` of round `round` of a round-robin among `players` (even): everybody meets everybody once.
const fn pairing(players: usize, round: usize, index: usize) -> (usize, usize) {
    let ring = players - 1;
    let (x, y) = if index == 0 {
        (players - 1, round % ring)
    } else {
        ((round + index) % ring, (round + ring - index) % ring)
    };
    if x < y { (x, y) } else { (y, x) }
}

impl<T: Scalar, const N: usize> Pencil<T, N> {
    /// The zero matrix, with the identity as vectors.
    #[inline(always)]
    pub fn zero() -> Self {
        let mut pencil = Pencil { d: [T::Real::ZERO; N], a: [[T::ZERO; N]; N], v: [[T::ZERO; N]; N] };
        for k in 0..N {
            pencil.v[k][k] = T::ONE;
        }
        pencil
    }

    /// Reads one triangle through `element(row, column)`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn load(&mut self, upper: bool, element: impl Fn(usize, usize) -> T) {
        for column in 0..N {
            self.d[column] = element(column, column).re();
            for row in column + 1..N {
                let x = if upper { element(column, row) } else { element(row, column) };
                let im = if upper { -x.im() } else { x.im() };
                self.a[row][column] = T::from_parts(x.re(), im);
            }
        }
    }

    /// Whether all elements are finite.
    #[inline(always)]
    pub fn is_finite(&self) -> bool {
        let mut finite = true;
        for column in 0..N {
            finite &= self.d[column].is_finite();
            for row in column + 1..N {
                finite &= self.a[row][column].re().is_finite() && self.a[row][column].im().is_finite();
            }
        }
        finite
    }

    /// Makes it the zero matrix; returns the scale 1.
    #[inline(always)]
    pub fn clear(&mut self) -> T::Real {
        for column in 0..N {
            self.d[column] = T::Real::ZERO;
            for row in column + 1..N {
                self.a[row][column] = T::ZERO;
            }
        }
        T::Real::ONE
    }

    /// Scales by the power of two that brings the largest element near 1; returns it.
    #[inline(always)]
    pub fn normalize(&mut self) -> T::Real {
        let mut largest = T::Real::ZERO;
        for column in 0..N {
            largest = largest.max(self.d[column].abs());
            for row in column + 1..N {
                largest = largest.max(self.a[row][column].re().abs()).max(self.a[row][column].im().abs());
            }
        }
        let scale = largest.normalizer();
        for column in 0..N {
            self.d[column] *= scale;
            for row in column + 1..N {
                self.a[row][column] = self.a[row][column].scale(scale);
            }
        }
        scale
    }

    /// Sweeps until no lane of the warp has rotated, or the budget is spent; returns how many pairs the last
    /// sweep still rotated. Every lane of the warp must call it.
    #[inline(always)]
    pub fn diagonalize<const VECTORS: bool>(&mut self, max_sweeps: u32) -> u32 {
        let mut left = max_sweeps;
        loop {
            let rotated = self.sweep::<VECTORS>();
            left -= 1;
            if !warp::warp_vote_any(warp::FULL_MASK, rotated != 0) || left == 0 {
                return rotated;
            }
        }
    }

    #[inline(always)]
    fn sweep<const VECTORS: bool>(&mut self) -> u32 {
        let players = N + N % 2;
        let mut rotated = 0;
        for round in 0..players.saturating_sub(1) {
            for index in 0..players / 2 {
                let (p, q) = pairing(players, round, index);
                if q < N {
                    rotated += self.rotate::<VECTORS>(p, q) as u32;
                }
            }
        }
        rotated
    }

    /// Annihilates element `(q, p)`, `p < q`, unless it is negligible beside its diagonal elements.
    ///
    /// With `a_qp = |a_qp| u`, the rotation is the real one of the basis `(p, u q)`.
    #[inline(always)]
    fn rotate<const VECTORS: bool>(&mut self, p: usize, q: usize) -> bool {
        let one = T::Real::ONE;
        let zero = T::Real::ZERO;
        let apq = self.a[q][p];
        // The modulus with a sign for real types; u is then 1. A modulus whose square is below the normal range has
        // no digits, and u would be no unit.
        let (size, unit, known) = if T::COMPLEX {
            let square = apq.abs_sq_add(zero);
            let modulus = square.sqrt();
            let inverse = if modulus > zero { one / modulus } else { zero };
            (modulus, apq.scale(inverse), square > T::Real::SAFE_MIN)
        } else {
            (apq.re(), T::ONE, true)
        };
        let bound = T::Real::EPSILON * (self.d[p] * self.d[q]).abs().sqrt();
        // Near the end of the normal range tau overflows, and nothing is lost: the norm is 1.
        let least = T::Real::SAFE_MIN * (T::Real::EPSILON.recip());
        let active = known && size.abs() > bound.max(least);
        let tau = (self.d[q] - self.d[p]) * (size + size).recip_approx();
        // Where the square would overflow the root is |tau|. A smaller tau in its place would be too large an angle:
        // what that brings into other elements is never negligible beside a zero on the diagonal.
        let limit = T::Real::ROOT_MAX;
        let near = tau.max(-limit).min(limit);
        let square = near.mul_add(near, one);
        let root = (square * square.rsqrt_approx()).max(tau.abs());
        let t = (tau.abs() + root).recip_approx().copysign(tau);
        let t = if active { t } else { zero };
        let c = t.mul_add(t, one).rsqrt_approx();
        let s = t * c;
        self.d[p] = (-t).mul_add(if active { size } else { zero }, self.d[p]);
        self.d[q] = t.mul_add(if active { size } else { zero }, self.d[q]);
        self.a[q][p] = if active { T::ZERO } else { apq };

        // New columns: p' = c p - s u q, q' = s conj(u) p + c q.
        let su = unit.scale(s);
        for k in 0..N {
            if k != p && k != q {
                let (kp, kq) = (self.element(k, p), self.element(k, q));
                let new_p = kp.scale_add(c, -kq.mul(su));
                let new_q = kq.scale_add(c, kp.mul(su.conj()));
                self.set_element(k, p, new_p);
                self.set_element(k, q, new_q);
            }
        }
        if VECTORS {
            for k in 0..N {
                let (x, y) = (self.v[p][k], self.v[q][k]);
                self.v[p][k] = x.scale_add(c, -y.mul(su));
                self.v[q][k] = y.scale_add(c, x.mul(su.conj()));
            }
        }
        active
    }

    #[inline(always)]
    fn element(&self, row: usize, column: usize) -> T {
        if row > column { self.a[row][column] } else { self.a[column][row].conj() }
    }

    #[inline(always)]
    fn set_element(&mut self, row: usize, column: usize, x: T) {
        if row > column {
            self.a[row][column] = x;
        } else {
            self.a[column][row] = x.conj();
        }
    }

    /// Sorts ascending by a network of compare-exchanges, vectors along.
    #[inline(always)]
    pub fn sort<const VECTORS: bool>(&mut self) {
        for pass in 0..N {
            for i in (pass % 2..N.saturating_sub(1)).step_by(2) {
                let swap = self.d[i + 1] < self.d[i];
                let (x, y) = (self.d[i], self.d[i + 1]);
                self.d[i] = if swap { y } else { x };
                self.d[i + 1] = if swap { x } else { y };
                if VECTORS {
                    for k in 0..N {
                        let (x, y) = (self.v[i][k], self.v[i + 1][k]);
                        self.v[i][k] = choose(swap, y, x);
                        self.v[i + 1][k] = choose(swap, x, y);
                    }
                }
            }
        }
    }

    /// Turns each vector so that its component of largest modulus, the first of equals, is real and positive.
    #[inline(always)]
    pub fn fix_phases(&mut self) {
        let zero = T::Real::ZERO;
        let one = T::Real::ONE;
        for column in 0..N {
            let mut best = -one;
            let (mut largest, mut largest_row) = (T::ONE, 0);
            for row in 0..N {
                let x = self.v[column][row];
                let size = if T::COMPLEX { x.abs_sq_add(zero) } else { x.abs1() };
                let better = size > best;
                best = if better { size } else { best };
                largest = choose(better, x, largest);
                largest_row = if better { row } else { largest_row };
            }
            let inverse = if T::COMPLEX { one / best.sqrt() } else { one };
            for row in 0..N {
                let x = self.v[column][row];
                self.v[column][row] = if T::COMPLEX {
                    let turned = x.mul(largest.conj().scale(inverse));
                    let im = if row == largest_row { zero } else { turned.im() };
                    T::from_parts(turned.re(), im)
                } else {
                    x.scale(one.copysign(largest.re()))
                };
            }
        }
    }

    /// Eigenvalue `k`.
    #[inline(always)]
    pub fn value(&self, k: usize) -> T::Real {
        self.d[k]
    }

    /// Component `row` of vector `column`.
    #[inline(always)]
    pub fn vector(&self, row: usize, column: usize) -> T {
        self.v[column][row]
    }
}
