//! One status an item.

use std::fmt;

/// What became of one item of a batch.
///
/// `0`: converged. `k > 0`: k off-diagonal elements did not converge.
/// `-1`: the triangle read holds a NaN or an infinity. An item whose status is
/// not 0 has NaN outputs, and no other item is touched by it.
///
/// An eigenvalue of finite input may lie beyond the type's range. That is no
/// failure: the status is 0, the value is an infinity of its sign, as rounding
/// has it, and the vectors and the other values are right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Status(pub i32);

impl Status {
    /// The item converged.
    pub const CONVERGED: Status = Status(0);
    /// The triangle read holds a NaN or an infinity.
    pub const NOT_FINITE: Status = Status(-1);

    /// Whether the item's outputs are results.
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// The number as kernels and files hold it.
    pub const fn code(self) -> i32 {
        self.0
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("converged"),
            -1 => f.write_str("NaN or infinity in the input"),
            k => write!(f, "{k} off-diagonal element(s) did not converge"),
        }
    }
}

// SAFETY: Status is a transparent i32, for which every bit pattern is valid.
unsafe impl bytemuck::Zeroable for Status {}
// SAFETY: as above; no padding, no pointers, Copy and 'static.
unsafe impl bytemuck::Pod for Status {}
