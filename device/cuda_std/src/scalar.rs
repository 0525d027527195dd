//! Real and complex scalars behind one name.

use crate::export::ExportName;
use crate::math::Real;
use crate::shuffle::Shuffle;
use crate::vector::Vectors;
use core::ops::{Add, AddAssign, Neg, Sub, SubAssign};
use num_complex::Complex;

/// `f32`, `f64`, `Complex<f32>` or `Complex<f64>` in device code.
///
/// Products are written in real arithmetic with fused multiply-adds, never by C's Annex G rules.
pub trait Scalar:
    Copy
    + PartialEq
    + Default
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + ExportName
    + Shuffle
    + Vectors
{
    /// The type of the real part.
    type Real: Real;
    /// Whether the type has an imaginary part.
    const COMPLEX: bool;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// Real part.
    fn re(self) -> Self::Real;
    /// Imaginary part; 0 for real types.
    fn im(self) -> Self::Real;
    /// From a real and an imaginary part; the latter is dropped by real types.
    fn from_parts(re: Self::Real, im: Self::Real) -> Self;
    /// From a real number.
    #[inline(always)]
    fn from_real(re: Self::Real) -> Self {
        Self::from_parts(re, <Self::Real as Real>::ZERO)
    }
    /// Complex conjugate.
    fn conj(self) -> Self;
    /// `self * a + b`.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// `self * a`.
    fn mul(self, a: Self) -> Self;
    /// `self * x` with a real `x`.
    fn scale(self, x: Self::Real) -> Self;
    /// `self * x + b` with a real `x`.
    fn scale_add(self, x: Self::Real, b: Self) -> Self;
    /// `|self|^2 + b`.
    fn abs_sq_add(self, b: Self::Real) -> Self::Real;
    /// `|re| + |im|`: cheap, within a factor of the root of two of the modulus.
    fn abs1(self) -> Self::Real;
}

macro_rules! real_scalar {
    ($($t:ty)*) => { $(
        impl Scalar for $t {
            type Real = $t;
            const COMPLEX: bool = false;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn re(self) -> $t { self }
            #[inline(always)]
            fn im(self) -> $t { 0.0 }
            #[inline(always)]
            fn from_parts(re: $t, _im: $t) -> $t { re }
            #[inline(always)]
            fn conj(self) -> $t { self }
            #[inline(always)]
            fn mul_add(self, a: $t, b: $t) -> $t { Real::mul_add(self, a, b) }
            #[inline(always)]
            fn mul(self, a: $t) -> $t { self * a }
            #[inline(always)]
            fn scale(self, x: $t) -> $t { self * x }
            #[inline(always)]
            fn scale_add(self, x: $t, b: $t) -> $t { Real::mul_add(self, x, b) }
            #[inline(always)]
            fn abs_sq_add(self, b: $t) -> $t { Real::mul_add(self, self, b) }
            #[inline(always)]
            fn abs1(self) -> $t { Real::abs(self) }
        }
    )* };
}
real_scalar!(f32 f64);

impl<R: Real + num_traits::Num> Scalar for Complex<R>
where
    Complex<R>: ExportName + Default + AddAssign + SubAssign + Neg<Output = Self> + Vectors,
{
    type Real = R;
    const COMPLEX: bool = true;
    const ZERO: Self = Complex { re: R::ZERO, im: R::ZERO };
    const ONE: Self = Complex { re: R::ONE, im: R::ZERO };
    #[inline(always)]
    fn re(self) -> R {
        self.re
    }
    #[inline(always)]
    fn im(self) -> R {
        self.im
    }
    #[inline(always)]
    fn from_parts(re: R, im: R) -> Self {
        Complex { re, im }
    }
    #[inline(always)]
    fn conj(self) -> Self {
        Complex { re: self.re, im: -self.im }
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Complex {
            re: self.re.mul_add(a.re, (-self.im).mul_add(a.im, b.re)),
            im: self.re.mul_add(a.im, self.im.mul_add(a.re, b.im)),
        }
    }
    #[inline(always)]
    fn mul(self, a: Self) -> Self {
        Complex { re: self.re.mul_add(a.re, -(self.im * a.im)), im: self.re.mul_add(a.im, self.im * a.re) }
    }
    #[inline(always)]
    fn scale(self, x: R) -> Self {
        Complex { re: self.re * x, im: self.im * x }
    }
    #[inline(always)]
    fn scale_add(self, x: R, b: Self) -> Self {
        Complex { re: self.re.mul_add(x, b.re), im: self.im.mul_add(x, b.im) }
    }
    #[inline(always)]
    fn abs_sq_add(self, b: R) -> R {
        self.re.mul_add(self.re, self.im.mul_add(self.im, b))
    }
    #[inline(always)]
    fn abs1(self) -> R {
        self.re.abs() + self.im.abs()
    }
}
