//! `ormqr`: products of Householder reflectors applied from the left.
//!
//! [`solve()`] works in place on device memory and does not wait for a GPU.

mod arrays;
#[cfg(feature = "kernels")]
pub(crate) mod blocked;
mod decide;
mod problem;
mod solve;

pub use decide::{Decision, Plan, explain};
pub use problem::Problem;
pub use solve::{Options, plan, solve};

use crate::routes::{Family, Key, Kind, Operation, Param};

/// Keys and families of `ormqr`.
pub static OPERATION: Operation = Operation {
    name: "ormqr",
    keys: &[
        Key::Word { name: "dtype", words: &["f32", "f64", "c32", "c64"] },
        Key::Size { name: "n" },
        Key::Size { name: "batch" },
    ],
    families: &[Family {
        name: "blocked",
        kind: Kind::Native,
        // Reflectors of a panel: 32 (not f32) or 64 (not c64). Left out: 64 where shared memory has room.
        params: &[Param::Named { name: "nb", min: 32, max: 64 }],
    }],
};
