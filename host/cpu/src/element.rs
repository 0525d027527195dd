//! What the solvers ask of the real types, and of the elements made of them.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use num_complex::Complex;

/// f32 or f64, with the constants of its arithmetic.
pub(crate) trait Real:
    Copy
    + PartialOrd
    + Debug
    + Default
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Sum
{
    const ZERO: Self;
    const ONE: Self;
    const HALF: Self;
    const TWO: Self;
    const NAN: Self;
    /// 2^-24 or 2^-53.
    const UNIT_ROUNDOFF: Self;
    /// The least normal number.
    const SAFE_MIN: Self;
    /// Sums of squares of numbers between these two neither overflow nor lose accuracy.
    const SQUARE_MIN: Self;
    const SQUARE_MAX: Self;
    /// The greatest |k| for which both 2^k and 2^-k are normal.
    const MAX_EXPONENT: i32;
    /// Halvings that bring the interval from -x to x to an eighth of the roundoff of x.
    const HALVINGS: u32;

    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn mul_add(self, a: Self, b: Self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn is_finite(self) -> bool;
    fn is_nan(self) -> bool;
    /// Of a whole number that is not negative.
    fn to_usize(self) -> usize;
    /// 2^k, for |k| up to [`Self::MAX_EXPONENT`].
    fn exp2i(k: i32) -> Self;
    /// floor(log2 |x|) of a number that is neither 0 nor NaN nor infinite.
    fn exponent(self) -> i32;
    fn total_cmp(&self, other: &Self) -> std::cmp::Ordering;
}

macro_rules! real {
    ($t:ident, $bits:ty, $square_exponent:literal, $max_exponent:literal, $halvings:literal) => {
        impl Real for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const HALF: Self = 0.5;
            const TWO: Self = 2.0;
            const NAN: Self = $t::NAN;
            const UNIT_ROUNDOFF: Self = $t::EPSILON / 2.0;
            const SAFE_MIN: Self = $t::MIN_POSITIVE;
            const SQUARE_MIN: Self = power_of_two::$t(-$square_exponent);
            const SQUARE_MAX: Self = power_of_two::$t($square_exponent);
            const MAX_EXPONENT: i32 = $max_exponent;
            const HALVINGS: u32 = $halvings;

            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                self.mul_add(a, b)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                self.copysign(sign)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn to_usize(self) -> usize {
                self as usize
            }
            fn exp2i(k: i32) -> Self {
                power_of_two::$t(k)
            }
            fn exponent(self) -> i32 {
                const MANTISSA: u32 = $t::MANTISSA_DIGITS - 1;
                const BIAS: i32 = $t::MAX_EXP - 1;
                let magnitude = self.abs().to_bits();
                if magnitude >> MANTISSA == 0 {
                    // Subnormal: the leading bit tells the exponent.
                    return (<$bits>::BITS - 1 - magnitude.leading_zeros()) as i32 - MANTISSA as i32 - BIAS
                        + 1;
                }
                (magnitude >> MANTISSA) as i32 - BIAS
            }
            fn total_cmp(&self, other: &Self) -> std::cmp::Ordering {
                $t::total_cmp(self, other)
            }
        }
    };
}
real!(f32, u32, 40, 126, 28);
real!(f64, u64, 400, 1022, 57);

/// 2^k as a bit pattern, usable in constants.
mod power_of_two {
    pub(super) const fn f32(k: i32) -> f32 {
        f32::from_bits(((k + 127) as u32) << 23)
    }
    pub(super) const fn f64(k: i32) -> f64 {
        f64::from_bits(((k + 1023) as u64) << 52)
    }
}

/// An element of a matrix.
pub(crate) trait Element: Copy + Send + Sync + 'static {
    type Part: Real;
    const COMPLEX: bool;

    fn re(self) -> Self::Part;
    fn im(self) -> Self::Part;
    fn from_parts(re: Self::Part, im: Self::Part) -> Self;
}

impl<R: Real> Element for R {
    type Part = R;
    const COMPLEX: bool = false;

    #[inline(always)]
    fn re(self) -> R {
        self
    }
    #[inline(always)]
    fn im(self) -> R {
        R::ZERO
    }
    #[inline(always)]
    fn from_parts(re: R, _im: R) -> R {
        re
    }
}

macro_rules! complex {
    ($t:ty) => {
        impl Element for Complex<$t> {
            type Part = $t;
            const COMPLEX: bool = true;

            #[inline(always)]
            fn re(self) -> $t {
                self.re
            }
            #[inline(always)]
            fn im(self) -> $t {
                self.im
            }
            #[inline(always)]
            fn from_parts(re: $t, im: $t) -> Self {
                Complex::new(re, im)
            }
        }
    };
}
complex!(f32);
complex!(f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_and_exponents() {
        for k in [-1022, -400, -1, 0, 1, 52, 1022] {
            assert_eq!(f64::exp2i(k), 2f64.powi(k));
            assert_eq!(f64::exp2i(k).exponent(), k);
        }
        assert_eq!((-1.5f64).exponent(), 0);
        assert_eq!(5e-324f64.exponent(), -1074);
        assert_eq!(f64::MAX.exponent(), 1023);
        assert_eq!(1e-45f32.exponent(), -149);
        assert_eq!(f32::MIN_POSITIVE.exponent(), -126);
        assert_eq!(f32::exp2i(-126), 2f32.powi(-126));
    }
}
