//! `stebz`: all eigenvalues of real symmetric tridiagonal matrices, by bisection.
//!
//! [`solve()`] works on device memory and does not wait for a GPU; [`crate::linalg::eigh_tridiagonal`] is the same with
//! upload and download around it, where its method is bisection.
//!
//! An item's diagonal `d` (n elements) and off-diagonals `e` (n - 1) are only read; `w` takes its n eigenvalues,
//! ascending. Each is within a few units of the roundoff of the norm.

mod arrays;
#[cfg(feature = "kernels")]
pub(crate) mod bisect;
mod cpu;
mod decide;
mod fastest;
mod problem;
mod solve;

pub use decide::{Decided, Decision, Plan, explain};
pub(crate) use fastest::is_fastest;
pub use problem::Problem;
pub use solve::{Options, plan, solve};

pub use super::{Explanation, Target};
use crate::routes::{Family, Key, Kind, Operation, Param};

/// Keys and families of `stebz`.
pub static OPERATION: Operation = Operation {
    name: "stebz",
    keys: &[
        Key::Word { name: "dtype", words: &["f32", "f64"] },
        Key::Size { name: "n" },
        Key::Size { name: "batch" },
    ],
    families: &[
        Family {
            name: "bisect",
            kind: Kind::Native,
            params: &[
                // Values a lane: 1, 2 or 4; 0: by the order.
                Param::Named { name: "values", min: 0, max: 4 },
                // 1: rows lie in shared memory; 0: they are read from memory again and again.
                Param::Named { name: "staged", min: 0, max: 1 },
            ],
        },
        Family { name: "cpu", kind: Kind::Cpu, params: &[] },
    ],
};
