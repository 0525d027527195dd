//! `stedc`: eigenvalues and eigenvectors of real symmetric tridiagonal matrices, by divide and conquer.
//!
//! [`solve()`] works on device memory and does not wait for a GPU; [`crate::linalg::eigh_tridiagonal`] is the same with
//! upload and download around it, where its method is divide and conquer.
//!
//! An item's diagonal `d` (n elements) and off-diagonals `e` (n - 1) are only read; `w` takes its n eigenvalues,
//! ascending, `q` the vectors as columns. Each vector's component of largest modulus, the first of equal ones, is positive.

mod arrays;
mod cpu;
mod decide;
#[cfg(feature = "kernels")]
pub(crate) mod levels;
#[cfg(feature = "kernels")]
mod merge;
mod problem;
mod solve;

pub use decide::{Decided, Decision, Plan, explain};
pub use problem::Problem;
pub use solve::{Options, plan, solve};

pub use super::{Explanation, Jobz, Target};
use crate::routes::{Family, Key, Kind, Operation, Param};

/// Keys and families of `stedc`.
pub static OPERATION: Operation = Operation {
    name: "stedc",
    keys: &[
        Key::Word { name: "dtype", words: &["f32", "f64"] },
        Key::Word { name: "jobz", words: &["V", "N"] },
        Key::Size { name: "n" },
        Key::Size { name: "batch" },
    ],
    families: &[
        Family {
            name: "levels",
            kind: Kind::Native,
            // Rows that a thread of the products takes at most: 2, 4 or (f32) 8; 0: as many as there are.
            params: &[Param::Named { name: "rows", min: 0, max: 8 }],
        },
        Family { name: "cpu", kind: Kind::Cpu, params: &[] },
    ],
};
