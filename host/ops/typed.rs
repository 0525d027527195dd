//! Arrays under the name that their type has in one arm of a choice by type.

use std::any::Any;

/// Arrays of a real type: `OfReal<Arrays<f32>, Arrays<f64>>`.
pub(crate) enum OfReal<F32, F64> {
    F32(F32),
    F64(F64),
}

/// Arrays of any type.
pub(crate) enum OfScalar<F32, F64, C32, C64> {
    F32(F32),
    F64(F64),
    C32(C32),
    C64(C64),
}

/// The arm of [`OfReal`] for a `Dtype`. The arrays' expression stands in every arm, where [`cast`] and its like give its
/// parts the arm's type.
macro_rules! of_real {
    ($dtype:expr, $arrays:expr) => {
        match $dtype {
            $crate::scalar::Dtype::F32 => $crate::ops::typed::OfReal::F32($arrays),
            _ => $crate::ops::typed::OfReal::F64($arrays),
        }
    };
}
pub(crate) use of_real;

/// As [`of_real`], of [`OfScalar`].
macro_rules! of_scalar {
    ($dtype:expr, $arrays:expr) => {
        match $dtype {
            $crate::scalar::Dtype::F32 => $crate::ops::typed::OfScalar::F32($arrays),
            $crate::scalar::Dtype::F64 => $crate::ops::typed::OfScalar::F64($arrays),
            $crate::scalar::Dtype::C32 => $crate::ops::typed::OfScalar::C32($arrays),
            $crate::scalar::Dtype::C64 => $crate::ops::typed::OfScalar::C64($arrays),
        }
    };
}
pub(crate) use of_scalar;

/// Runs an expression on the arrays of [`OfReal`], whichever type they have.
macro_rules! for_real {
    ($operands:expr, $arrays:ident => $body:expr) => {
        match $operands {
            $crate::ops::typed::OfReal::F32($arrays) => $body,
            $crate::ops::typed::OfReal::F64($arrays) => $body,
        }
    };
}
pub(crate) use for_real;

/// Runs an expression on the arrays of [`OfScalar`], whichever type they have.
macro_rules! for_scalar {
    ($operands:expr, $arrays:ident => $body:expr) => {
        match $operands {
            $crate::ops::typed::OfScalar::F32($arrays) => $body,
            $crate::ops::typed::OfScalar::F64($arrays) => $body,
            $crate::ops::typed::OfScalar::C32($arrays) => $body,
            $crate::ops::typed::OfScalar::C64($arrays) => $body,
        }
    };
}
pub(crate) use for_scalar;

/// The same reference under the name that its type has in this arm.
pub(crate) fn cast<T: 'static, U: 'static>(x: &T) -> &U {
    (x as &dyn Any).downcast_ref().expect("DTYPE names the type")
}

/// As [`cast`].
pub(crate) fn cast_mut<T: 'static, U: 'static>(x: &mut T) -> &mut U {
    (x as &mut dyn Any).downcast_mut().expect("DTYPE names the type")
}

/// As [`cast`], of a value.
pub(crate) fn value<T: 'static, U: Copy + 'static>(x: T) -> U {
    *cast(&x)
}
