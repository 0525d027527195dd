//! The four element types and their names.

use std::fmt;
use std::str::FromStr;

use num_complex::Complex;

use crate::error::Error;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for num_complex::Complex<f32> {}
    impl Sealed for num_complex::Complex<f64> {}
}

/// An element type, as options, tables, JSON and kernels name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dtype {
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// `Complex<f32>`
    C32,
    /// `Complex<f64>`
    C64,
}

impl Dtype {
    /// Every type, in the order of reports.
    pub const ALL: [Dtype; 4] = [Dtype::F32, Dtype::F64, Dtype::C32, Dtype::C64];

    /// `f32`, `f64`, `c32` or `c64`.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
            Dtype::C32 => "c32",
            Dtype::C64 => "c64",
        }
    }

    /// Bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            Dtype::F32 => 4,
            Dtype::F64 | Dtype::C32 => 8,
            Dtype::C64 => 16,
        }
    }

    /// The type of the real and imaginary parts.
    pub const fn real(self) -> Dtype {
        match self {
            Dtype::F32 | Dtype::C32 => Dtype::F32,
            Dtype::F64 | Dtype::C64 => Dtype::F64,
        }
    }

    /// Whether elements have an imaginary part.
    pub const fn is_complex(self) -> bool {
        matches!(self, Dtype::C32 | Dtype::C64)
    }

    /// The unit roundoff's double: 2^-23 or 2^-52.
    pub const fn epsilon(self) -> f64 {
        match self.real() {
            Dtype::F32 => f32::EPSILON as f64,
            _ => f64::EPSILON,
        }
    }

    /// The smallest positive number, 2^-149 or 2^-1074: what rounding costs where numbers are subnormal.
    pub const fn smallest(self) -> f64 {
        match self.real() {
            Dtype::F32 => f32::from_bits(1) as f64,
            _ => f64::from_bits(1),
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dtype {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wanted = text.to_ascii_lowercase();
        Dtype::ALL
            .into_iter()
            .find(|d| d.name() == wanted)
            .ok_or_else(|| Error::argument(format!("unknown type '{text}': one of f32, f64, c32, c64")))
    }
}

/// An element of a matrix: `f32`, `f64`, `Complex<f32>` or `Complex<f64>`.
pub trait Scalar:
    sealed::Sealed
    + num_traits::NumAssign
    + std::ops::Neg<Output = Self>
    + crate::memory::DeviceElement
    + Default
    + fmt::Debug
    + fmt::Display
    + Send
    + Sync
{
    /// The type of eigenvalues and norms.
    type Real: Real;
    /// The type's name.
    const DTYPE: Dtype;

    /// The complex conjugate; a real number itself.
    fn conj(self) -> Self;
    /// The real part.
    fn re(self) -> Self::Real;
    /// The imaginary part, 0 for a real type.
    fn im(self) -> Self::Real;
    /// re + i im; a real type drops the imaginary part.
    fn from_parts(re: Self::Real, im: Self::Real) -> Self;

    /// A real number as this type.
    fn from_real(re: Self::Real) -> Self {
        Self::from_parts(re, num_traits::Zero::zero())
    }
    /// A number given in double precision, rounded to this type.
    fn from_f64(re: f64, im: f64) -> Self {
        Self::from_parts(Self::Real::round_from(re), Self::Real::round_from(im))
    }
    /// |x|^2, without a guard against overflow.
    fn abs_sq(self) -> Self::Real {
        let (re, im) = (self.re(), self.im());
        re * re + im * im
    }
    /// Whether neither part is a NaN or an infinity.
    fn is_finite(self) -> bool {
        num_traits::Float::is_finite(self.re()) && num_traits::Float::is_finite(self.im())
    }
    /// NaN in every part.
    fn nan() -> Self {
        let nan = <Self::Real as num_traits::Float>::nan();
        Self::from_parts(nan, nan)
    }
}

/// A real element type: `f32` or `f64`.
pub trait Real: Scalar<Real = Self> + num_traits::Float {
    /// The nearest number of this type.
    fn round_from(x: f64) -> Self;
    /// This number in double precision, exactly.
    fn widen(self) -> f64;
}

macro_rules! real {
    ($t:ty, $dtype:ident) => {
        impl Scalar for $t {
            type Real = $t;
            const DTYPE: Dtype = Dtype::$dtype;
            fn conj(self) -> Self {
                self
            }
            fn re(self) -> $t {
                self
            }
            fn im(self) -> $t {
                0.0
            }
            fn from_parts(re: $t, _im: $t) -> Self {
                re
            }
        }
        impl Real for $t {
            fn round_from(x: f64) -> Self {
                x as $t
            }
            fn widen(self) -> f64 {
                self as f64
            }
        }
    };
}
real!(f32, F32);
real!(f64, F64);

macro_rules! complex {
    ($t:ty, $dtype:ident) => {
        impl Scalar for Complex<$t> {
            type Real = $t;
            const DTYPE: Dtype = Dtype::$dtype;
            fn conj(self) -> Self {
                Complex::conj(&self)
            }
            fn re(self) -> $t {
                self.re
            }
            fn im(self) -> $t {
                self.im
            }
            fn from_parts(re: $t, im: $t) -> Self {
                Complex::new(re, im)
            }
        }
    };
}
complex!(f32, C32);
complex!(f64, C64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtype_names_round_trip() {
        for d in Dtype::ALL {
            assert_eq!(d.to_string().parse::<Dtype>().unwrap(), d);
        }
        assert!("float".parse::<Dtype>().is_err());
    }

    #[test]
    fn parts_and_conjugate() {
        let z = Complex::<f32>::from_f64(3.0, -4.0);
        assert_eq!(z.abs_sq(), 25.0);
        assert_eq!(Scalar::conj(z).im(), 4.0);
        assert!(!<Complex<f64> as Scalar>::nan().is_finite());
    }
}
