//! Statuses: numbers from the driver, checked before they become cust's enum.

use std::ffi::{CStr, c_int};

use cust::sys::CUresult;

/// The driver's status as cust's enum. Newer drivers have statuses that the
/// enum lacks, and such a value would be undefined behaviour: they become
/// `CUDA_ERROR_UNKNOWN`.
pub(crate) fn result(code: c_int) -> CUresult {
    match code {
        0..=8
        | 34
        | 100..=102
        | 200..=202
        | 205..=224
        | 300..=304
        | 400
        | 401
        | 500
        | 600
        | 700..=705
        | 708..=720
        | 800..=809
        | 900..=911 => {
            // SAFETY: each of these is a discriminant of the enum, which is a C int.
            unsafe { std::mem::transmute::<c_int, CUresult>(code) }
        }
        _ => CUresult::CUDA_ERROR_UNKNOWN,
    }
}

/// A text for a status where there is no driver to ask.
pub(crate) fn text_without_driver(error: CUresult) -> &'static CStr {
    match error {
        CUresult::CUDA_ERROR_NO_DEVICE => c"CUDA_ERROR_NO_DEVICE: no NVIDIA driver",
        CUresult::CUDA_ERROR_NOT_FOUND => c"CUDA_ERROR_NOT_FOUND: the driver lacks the function",
        _ => c"CUDA error (no NVIDIA driver to name it)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_keep_their_numbers_and_unknown_ones_are_unknown() {
        for code in [0, 1, 2, 100, 209, 218, 700, 719, 720, 801, 911, 999] {
            assert_eq!(result(code) as c_int, code);
        }
        for code in [-1, 9, 33, 203, 225, 402, 706, 721, 810, 912, 914, 100_100] {
            assert_eq!(result(code), CUresult::CUDA_ERROR_UNKNOWN, "{code}");
        }
    }
}
