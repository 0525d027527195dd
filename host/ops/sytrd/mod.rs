//! `sytrd`: symmetric or Hermitian matrices reduced to real tridiagonal form, `A = Q T Q^H`.
//!
//! [`solve()`] works in place on device memory and does not wait for a GPU. `Q` is a product of Householder reflectors,
//! which [`ormqr`](crate::ops::ormqr) applies.

mod arrays;
#[cfg(feature = "kernels")]
pub(crate) mod blocked;
mod decide;
mod problem;
mod solve;
#[cfg(feature = "kernels")]
mod tail;

pub use decide::{Decision, Plan, explain};
pub use problem::Problem;
pub use solve::{Options, Tridiagonal, plan, solve};

use crate::routes::{Family, Key, Kind, Operation, Param};

/// Keys and families of `sytrd`.
pub static OPERATION: Operation = Operation {
    name: "sytrd",
    keys: &[
        Key::Word { name: "dtype", words: &["f32", "f64", "c32", "c64"] },
        Key::Size { name: "n" },
        Key::Size { name: "batch" },
    ],
    families: &[Family { name: "blocked", kind: Kind::Native, params: BLOCKED }],
};

/// Parameters of the blocked reduction, for `syev` too.
pub(crate) const BLOCKED: &[Param] = &[
    // Columns of a panel.
    Param::Named { name: "nb", min: 1, max: 32 },
    // Warps of a block that reduces a panel: 1, 2, 4, 8 or 16.
    Param::Named { name: "warps", min: 1, max: 16 },
    // Blocks that reduce a panel of one matrix together, by a cooperative launch: a power of two.
    Param::Named { name: "grid", min: 1, max: 128 },
    // Most columns of V and W that a block keeps in shared memory, beside its last 8; as many as fit. Left out: what lets
    // the other blocks of a multiprocessor have their share.
    Param::Named { name: "staged", min: 0, max: 32 },
    // Most columns that are reduced by one launch at the end: 0, 64, 96, 128, 160, 192, 224, 256 or 320, as far as a type has them.
    Param::Named { name: "tail", min: 0, max: 320 },
];
