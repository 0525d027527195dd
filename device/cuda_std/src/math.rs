//! Real arithmetic: every operation rounds once, as written.

use crate::export::ExportName;
use crate::shared::Pairs;
use crate::shuffle::Shuffle;
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// `f32` or `f64` in device code.
pub trait Real:
    Copy
    + PartialEq
    + PartialOrd
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
    + DivAssign
    + ExportName
    + Shuffle
    + Pairs
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// 2.
    const TWO: Self;
    /// 1/2.
    const HALF: Self;
    /// Not a number.
    const NAN: Self;
    /// Distance from 1 to the next larger number: twice LAPACK's `dlamch('E')`.
    const EPSILON: Self;
    /// Unit roundoff: LAPACK's `dlamch('E')`.
    const UNIT_ROUNDOFF: Self;
    /// Larger than every number.
    const INFINITY: Self;
    /// Smallest normal number: LAPACK's `dlamch('S')`.
    const SAFE_MIN: Self;
    /// Largest finite number.
    const MAX: Self;
    /// A block with a larger norm is scaled down to it: a power of two near dsteqr's `SSFMAX`.
    const SCALE_MAX: Self;
    /// A block with a smaller norm is scaled up to it: a power of two near dsteqr's `SSFMIN`.
    const SCALE_MIN: Self;
    /// A norm for iterations without guards: squares of ten times as much are finite, and what their underflow drops
    /// is as far below the norm as can be. A power of two.
    const HIGH_NORM: Self;
    /// Below it `x * x` underflows: a power of two at or above the root of `SAFE_MIN`.
    const ROOT_MIN: Self;
    /// Above it `x * x + y * y` may overflow: a power of two.
    const ROOT_MAX: Self;

    /// Correctly rounded square root.
    fn sqrt(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// `self * a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// `1 / self`, correctly rounded.
    #[inline(always)]
    fn recip(self) -> Self {
        Self::ONE / self
    }
    /// The larger of two numbers; the other one where one is NaN.
    fn max(self, other: Self) -> Self;
    /// The smaller of two numbers; the other one where one is NaN.
    fn min(self, other: Self) -> Self;
    /// Neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// Conversion from an integer, exact up to the mantissa.
    fn from_u32(x: u32) -> Self;
    /// The nearest number of this type.
    fn from_f64(x: f64) -> Self;
    /// The power of two that brings `|self|` into [1, 2): exact scaling. Clamped to what has a normal inverse.
    fn normalizer(self) -> Self;
    /// Significand in [1, 2) and exponent of `|self|`, a normal number. Of 0, subnormal numbers, infinities and NaN some
    /// significand, beside the exponent below or above all others.
    fn split(self) -> (Self, i32);
    /// 1 where the sign bit is set, else 0: of a negative number without a comparison.
    fn sign_bit(self) -> u32;
    /// Two to the `exponent`, clamped to normal numbers.
    fn power_of_two(exponent: i32) -> Self;
    /// The reciprocal square root of a normal number, before the step of iteration that [`Rsqrt::times`] does.
    ///
    /// Bits differ between the executor and a GPU.
    fn rsqrt(self) -> Rsqrt<Self>;
    /// `product` multiplied by the step of iteration for a residual.
    #[doc(hidden)]
    fn refine_rsqrt(product: Self, residual: Self) -> Self;
    /// An approximation of `1 / sqrt(self)` to about 2 ulp, for normal numbers: the hardware's and one step of
    /// iteration.
    ///
    /// Bits differ between the executor and a GPU.
    #[inline(always)]
    fn rsqrt_approx(self) -> Self {
        self.rsqrt().times(Self::ONE)
    }
    /// An approximation of `1 / self` to about 2 ulp, for normal results.
    ///
    /// Bits differ between the executor and a GPU.
    fn recip_approx(self) -> Self;
}

/// A reciprocal square root as the hardware's approximation and what that misses.
///
/// A product with it takes two or three dependent instructions after the approximation, where the product with the
/// finished reciprocal root takes two more.
#[derive(Clone, Copy, Debug)]
pub struct Rsqrt<R> {
    approximation: R,
    /// `(1 - x y^2) / 2` for the approximation `y`.
    residual: R,
}

impl<R: Real> Rsqrt<R> {
    /// `a / sqrt(x)` to about 2 ulp.
    #[inline(always)]
    pub fn times(self, a: R) -> R {
        R::refine_rsqrt(a * self.approximation, self.residual)
    }
}

#[cfg(target_os = "cuda")]
mod imp {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.rsqrt.approx.ftz.f"]
        fn rsqrt_approx_f(x: f32) -> f32;
        #[link_name = "llvm.nvvm.rsqrt.approx.ftz.d"]
        fn rsqrt_approx_d(x: f64) -> f64;
        #[link_name = "llvm.nvvm.rcp.approx.ftz.f"]
        fn rcp_approx_f(x: f32) -> f32;
        #[link_name = "llvm.nvvm.rcp.approx.ftz.d"]
        fn rcp_approx_d(x: f64) -> f64;
    }
    #[inline(always)]
    pub fn sqrt_f32(x: f32) -> f32 {
        core::intrinsics::sqrtf32(x)
    }
    #[inline(always)]
    pub fn sqrt_f64(x: f64) -> f64 {
        core::intrinsics::sqrtf64(x)
    }
    #[inline(always)]
    pub fn fma_f32(x: f32, a: f32, b: f32) -> f32 {
        core::intrinsics::fmaf32(x, a, b)
    }
    #[inline(always)]
    pub fn fma_f64(x: f64, a: f64, b: f64) -> f64 {
        core::intrinsics::fmaf64(x, a, b)
    }
    #[inline(always)]
    pub fn rsqrt_f32(x: f32) -> f32 {
        // SAFETY: an arithmetic instruction.
        unsafe { rsqrt_approx_f(x) }
    }
    #[inline(always)]
    pub fn rsqrt_f64(x: f64) -> f64 {
        // SAFETY: an arithmetic instruction.
        unsafe { rsqrt_approx_d(x) }
    }
    #[inline(always)]
    pub fn rcp_f32(x: f32) -> f32 {
        // SAFETY: an arithmetic instruction.
        unsafe { rcp_approx_f(x) }
    }
    #[inline(always)]
    pub fn rcp_f64(x: f64) -> f64 {
        // SAFETY: an arithmetic instruction.
        let y = unsafe { rcp_approx_d(x) };
        let e = fma_f64(-x, y, 1.0);
        fma_f64(y, e, y)
    }
}

#[cfg(not(target_os = "cuda"))]
mod imp {
    pub fn sqrt_f32(x: f32) -> f32 {
        x.sqrt()
    }
    pub fn sqrt_f64(x: f64) -> f64 {
        x.sqrt()
    }
    pub fn fma_f32(x: f32, a: f32, b: f32) -> f32 {
        x.mul_add(a, b)
    }
    pub fn fma_f64(x: f64, a: f64, b: f64) -> f64 {
        x.mul_add(a, b)
    }
    pub fn rsqrt_f32(x: f32) -> f32 {
        1.0 / x.sqrt()
    }
    pub fn rsqrt_f64(x: f64) -> f64 {
        1.0 / x.sqrt()
    }
    pub fn rcp_f32(x: f32) -> f32 {
        1.0 / x
    }
    pub fn rcp_f64(x: f64) -> f64 {
        1.0 / x
    }
}

macro_rules! real {
    ($t:ty, $bits:ty, $sqrt:ident, $fma:ident, $rsqrt:ident, $rcp:ident, $scale_max:literal, $scale_min:literal,
     $root_min:literal, $root_max:literal, $high_norm:literal) => {
        impl Real for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const TWO: Self = 2.0;
            const HALF: Self = 0.5;
            const NAN: Self = <$t>::NAN;
            const EPSILON: Self = <$t>::EPSILON;
            const INFINITY: Self = <$t>::INFINITY;
            const UNIT_ROUNDOFF: Self = <$t>::EPSILON * 0.5;
            const SAFE_MIN: Self = <$t>::MIN_POSITIVE;
            const MAX: Self = <$t>::MAX;
            const SCALE_MAX: Self =
                <$t>::from_bits(exponent_bits(<$t>::MANTISSA_DIGITS, $scale_max) as $bits);
            const HIGH_NORM: Self =
                <$t>::from_bits(exponent_bits(<$t>::MANTISSA_DIGITS, $high_norm) as $bits);
            const SCALE_MIN: Self =
                <$t>::from_bits(exponent_bits(<$t>::MANTISSA_DIGITS, $scale_min) as $bits);
            const ROOT_MIN: Self = <$t>::from_bits(exponent_bits(<$t>::MANTISSA_DIGITS, $root_min) as $bits);
            const ROOT_MAX: Self = <$t>::from_bits(exponent_bits(<$t>::MANTISSA_DIGITS, $root_max) as $bits);

            #[inline(always)]
            fn sqrt(self) -> Self {
                imp::$sqrt(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$t>::abs(self)
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                imp::$fma(self, a, b)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                <$t>::copysign(self, sign)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                <$t>::max(self, other)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                <$t>::min(self, other)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                <$t>::is_finite(self)
            }
            #[inline(always)]
            fn from_u32(x: u32) -> Self {
                x as $t
            }
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn normalizer(self) -> Self {
                const SHIFT: u32 = <$t>::MANTISSA_DIGITS - 1;
                const BIAS: $bits = <$t>::MAX_EXP as $bits - 1;
                let exponent = (self.abs().to_bits() >> SHIFT).clamp(1, 2 * BIAS - 1);
                <$t>::from_bits((2 * BIAS - exponent) << SHIFT)
            }
            #[inline(always)]
            fn split(self) -> (Self, i32) {
                const SHIFT: u32 = <$t>::MANTISSA_DIGITS - 1;
                const BIAS: $bits = <$t>::MAX_EXP as $bits - 1;
                let bits = self.abs().to_bits();
                let significand = <$t>::from_bits((bits & ((1 << SHIFT) - 1)) | (BIAS << SHIFT));
                (significand, (bits >> SHIFT) as i32 - BIAS as i32)
            }
            #[inline(always)]
            fn sign_bit(self) -> u32 {
                (self.to_bits() >> (<$bits>::BITS - 1)) as u32
            }
            #[inline(always)]
            fn power_of_two(exponent: i32) -> Self {
                const BIAS: i32 = <$t>::MAX_EXP - 1;
                let biased = exponent.clamp(1 - BIAS, BIAS) + BIAS;
                <$t>::from_bits((biased as $bits) << (<$t>::MANTISSA_DIGITS - 1))
            }
            #[inline(always)]
            fn rsqrt(self) -> Rsqrt<Self> {
                let approximation = imp::$rsqrt(self);
                let residual = (-(Self::HALF * self) * approximation).mul_add(approximation, Self::HALF);
                Rsqrt { approximation, residual }
            }
            #[inline(always)]
            fn refine_rsqrt(product: Self, residual: Self) -> Self {
                if size_of::<Self>() == 4 {
                    return product.mul_add(residual, product);
                }
                // From about 20 bits to all of f64's in one step of third order: shorter than two of second.
                (product * residual).mul_add(residual.mul_add(1.5, 1.0), product)
            }
            #[inline(always)]
            fn recip_approx(self) -> Self {
                let y = imp::$rcp(self);
                let e = (-self).mul_add(y, 1.0);
                y.mul_add(e, y)
            }
        }
    };
}

/// Bits of 2^k in a format with so many mantissa digits.
const fn exponent_bits(mantissa_digits: u32, k: i64) -> u64 {
    let bias = if mantissa_digits == 24 { 127 } else { 1023 };
    ((k + bias) as u64) << (mantissa_digits - 1)
}

// SSFMAX = sqrt(safmax) / 3 and SSFMIN = sqrt(safmin) / eps^2 in dsteqr, here as powers of two.
real!(f32, u32, sqrt_f32, fma_f32, rsqrt_f32, rcp_f32, 60, -15, -62, 62, 40);
real!(f64, u64, sqrt_f64, fma_f64, rsqrt_f64, rcp_f64, 508, -405, -510, 510, 400);

#[cfg(all(test, not(target_os = "cuda")))]
mod tests {
    use super::*;

    /// Of a type whose normal numbers have exponents from `least` to `most`.
    fn parts_of_numbers<R: Real + std::fmt::Debug>(least: i32, most: i32) {
        let significand = R::ONE + R::HALF;
        for exponent in [least, -1, 0, 1, most] {
            let x = significand * R::power_of_two(exponent);
            assert_eq!(x.split(), (significand, exponent));
            assert_eq!((-x).split(), (significand, exponent));
            assert_eq!((x.sign_bit(), (-x).sign_bit()), (0, 1));
        }
        assert_eq!(R::SAFE_MIN.split(), (R::ONE, least));
        // Below and above all others.
        let subnormal = R::SAFE_MIN * R::HALF;
        for x in [R::ZERO, -R::ZERO, subnormal, -subnormal] {
            assert_eq!(x.split().1, least - 1);
        }
        for x in [R::INFINITY, -R::INFINITY, R::NAN] {
            assert_eq!(x.split().1, most + 1);
        }
        assert_eq!([R::ZERO, -R::ZERO, R::INFINITY, -R::INFINITY].map(R::sign_bit), [0, 1, 0, 1]);
    }

    #[test]
    fn significands_exponents_and_signs() {
        parts_of_numbers::<f32>(-126, 127);
        parts_of_numbers::<f64>(-1022, 1023);
    }

    #[test]
    fn powers_of_two_are_normal() {
        for k in [-126, -1, 0, 1, 100, 127] {
            assert_eq!(f32::power_of_two(k), 2f32.powi(k));
            assert_eq!(f64::power_of_two(k), 2f64.powi(k));
        }
        assert_eq!([1000, i32::MAX].map(<f32 as Real>::power_of_two), [2f32.powi(127); 2]);
        assert_eq!([-127, -1000, i32::MIN].map(<f32 as Real>::power_of_two), [2f32.powi(-126); 3]);
        assert_eq!([1023, 10_000, i32::MAX].map(<f64 as Real>::power_of_two), [2f64.powi(1023); 3]);
        assert_eq!([-1022, -10_000, i32::MIN].map(<f64 as Real>::power_of_two), [2f64.powi(-1022); 3]);
    }
}
