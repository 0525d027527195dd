//! Plane rotations and the 2x2 eigenproblem.

use cuda_std::math::Real;

/// A rotation with `c f + s g = r` and `c g - s f = 0`.
#[derive(Clone, Copy, Debug)]
pub struct Givens<T> {
    /// Cosine.
    pub c: T,
    /// Sine.
    pub s: T,
    /// Length of `(f, g)`, with the sign of `f` where `g = 0`.
    pub r: T,
}

/// The rotation that turns `(f, g)` into `(r, 0)`, as LAPACK's `dlartg` up to signs.
///
/// In range it costs a reciprocal square root and no division: `c`, `s` and `r` are within a few ulp. Outside
/// of it (where a square would over- or underflow, NaN included) the pair is scaled by a power of two first.
/// `g = 0` gives `(1, 0, f)` by a select, so that identity rotations do not diverge.
#[inline(always)]
pub fn lartg<T: Real>(f: T, g: T) -> Givens<T> {
    let (f_abs, g_abs) = (f.abs(), g.abs());
    let large = f_abs.max(g_abs);
    let in_range = large < T::ROOT_MAX && large > T::ROOT_MIN;
    let rotation = if in_range { unscaled(f, g) } else { scaled(f, g, large) };
    let identity = g == T::ZERO;
    Givens {
        c: if identity { T::ONE } else { rotation.c },
        s: if identity { T::ZERO } else { rotation.s },
        r: if identity { f } else { rotation.r },
    }
}

#[inline(always)]
fn unscaled<T: Real>(f: T, g: T) -> Givens<T> {
    let square = f.mul_add(f, g * g);
    let inverse = square.rsqrt();
    Givens { c: inverse.times(f), s: inverse.times(g), r: inverse.times(square) }
}

#[inline(always)]
fn scaled<T: Real>(f: T, g: T, large: T) -> Givens<T> {
    let scale = large.normalizer();
    let rotation = unscaled(f * scale, g * scale);
    Givens { r: rotation.r / scale, ..rotation }
}

/// Eigenvalues and a vector of a symmetric 2x2 matrix.
#[derive(Clone, Copy, Debug)]
pub struct Laev2<T> {
    /// Eigenvalue of larger modulus.
    pub rt1: T,
    /// Eigenvalue of smaller modulus.
    pub rt2: T,
    /// Unit right eigenvector of `rt1` is `(cs1, sn1)`.
    pub cs1: T,
    /// See `cs1`.
    pub sn1: T,
}

/// Eigen-decomposition of `[[a, b], [b, c]]`, as LAPACK's `dlaev2`: no overflow unless the result does, the
/// small eigenvalue from the determinant, so that it keeps its digits.
#[inline(always)]
pub fn laev2<T: Real>(a: T, b: T, c: T) -> Laev2<T> {
    let sum = a + c;
    let difference = a - c;
    let twice_b = b + b;
    let root = hypot(difference.abs(), twice_b.abs());
    let (large, small) = if a.abs() > c.abs() { (a, c) } else { (c, a) };
    let negative = sum < T::ZERO;
    let rt1 =
        if sum == T::ZERO { T::HALF * root } else { T::HALF * (sum + if negative { -root } else { root }) };
    let rt2 = if sum == T::ZERO { -(T::HALF * root) } else { (large / rt1) * small - (b / rt1) * b };
    // The vector comes from whichever of the two rows does not cancel.
    let (cs, sign2) =
        if difference >= T::ZERO { (difference + root, T::ONE) } else { (difference - root, -T::ONE) };
    let sign1 = if negative { -T::ONE } else { T::ONE };
    let (cs1, sn1) = if cs.abs() > twice_b.abs() {
        let ct = -(twice_b / cs);
        let sn1 = T::ONE / ct.mul_add(ct, T::ONE).sqrt();
        (ct * sn1, sn1)
    } else if b == T::ZERO {
        (T::ONE, T::ZERO)
    } else {
        let tn = -(cs / twice_b);
        let cs1 = T::ONE / tn.mul_add(tn, T::ONE).sqrt();
        (cs1, tn * cs1)
    };
    if sign1 == sign2 { Laev2 { rt1, rt2, cs1: -sn1, sn1: cs1 } } else { Laev2 { rt1, rt2, cs1, sn1 } }
}

/// `sqrt(x^2 + y^2)` of two non-negative numbers without overflow.
#[inline(always)]
pub fn hypot<T: Real>(x: T, y: T) -> T {
    let (large, small) = if x > y { (x, y) } else { (y, x) };
    if large == T::ZERO {
        return T::ZERO;
    }
    let ratio = small / large;
    large * ratio.mul_add(ratio, T::ONE).sqrt()
}
