//! `steqr`: eigenvalues and eigenvectors of real symmetric tridiagonal matrices, by implicit QL.
//!
//! [`solve()`] works in place on device memory and does not wait for a GPU;
//! [`crate::linalg::eigh_tridiagonal`] is the same with upload and download around it.
//!
//! An item's diagonal `d` (n elements) becomes its eigenvalues, its off-diagonals `e` (n - 1) are only read. The
//! vectors start from the identity, or from a basis that `q` holds on entry: then `q` times the vectors comes out,
//! which are the vectors of `q T q^T`. Each vector's component of largest modulus, the first of equal ones, is
//! positive.

mod arrays;
mod choices;
#[cfg(feature = "kernels")]
mod config;
pub(super) mod cpu;
#[cfg(feature = "kernels")]
pub(crate) mod cta;
mod decide;
mod decisions;
mod problem;
mod solve;
#[cfg(feature = "kernels")]
mod wg;

pub use choices::{Form, Layout, Partition, Shift, Update};
pub use decide::{Decided, Decision, Plan, explain};
pub use decisions::{SHIPPED, Shipped, shipped};
pub use problem::Problem;
pub use solve::{Options, plan, solve};

pub use super::{Explanation, Jobz, Target};
use crate::routes::{Family, Key, Kind, Operation, Param};

/// Keys and families of `steqr`.
pub static OPERATION: Operation = Operation {
    name: "steqr",
    keys: &[
        Key::Word { name: "dtype", words: &["f32", "f64"] },
        Key::Word { name: "jobz", words: &["V", "N"] },
        Key::Size { name: "n" },
        Key::Size { name: "batch" },
    ],
    families: &[
        Family {
            name: "cta",
            kind: Kind::Native,
            params: &[
                Param::Word(choices::FORMS),
                Param::Word(choices::UPDATES),
                Param::Word(choices::LAYOUTS),
                Param::Word(choices::PARTITIONS),
                // Warps a block; 0: as measured.
                Param::Named { name: "warps", min: 0, max: 4 },
                // Rows of the vectors a lane of the decoupled form; 0: as measured.
                Param::Named { name: "rows", min: 0, max: 32 },
                Param::Named { name: "shared", min: 0, max: 2 },
            ],
        },
        Family { name: "wg", kind: Kind::Native, params: &[] },
        Family { name: "cpu", kind: Kind::Cpu, params: &[] },
    ],
};
