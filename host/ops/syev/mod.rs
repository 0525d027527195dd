//! `syev`: eigenvalues and eigenvectors of symmetric or Hermitian matrices.
//!
//! [`solve()`] works in place on device memory and does not wait for a GPU;
//! [`crate::linalg::eigh`] is the same with upload and download around it.
//!
//! Each vector's component of largest modulus, the first of equal ones, is
//! real and positive. Which one is largest is decided on computed values: where
//! two moduli agree to rounding, families and devices may pick different ones,
//! and their vectors then differ by a factor of modulus 1 (a sign, for real
//! types). One family on one device always picks the same. The imaginary parts
//! of the diagonal are not read.
//!
//! An eigenvalue beyond the type's range is an infinity with status 0; see
//! [`Status`](crate::Status).

mod arrays;
#[cfg(feature = "kernels")]
pub(crate) mod block;
#[cfg(feature = "kernels")]
mod blocked;
mod cpu;
#[cfg(feature = "kernels")]
mod cta;
#[cfg(feature = "kernels")]
mod cta_fused;
mod decide;
#[cfg(feature = "kernels")]
mod jacobi;
mod problem;
#[cfg(feature = "kernels")]
mod small;
mod solve;
#[cfg(feature = "kernels")]
mod thread;
#[cfg(feature = "vendor")]
mod vendor;

pub use decide::{Decided, Decision, Plan, explain};
pub use problem::Problem;
pub use solve::{Options, plan, solve};

pub use super::{Explanation, Jobz, Target, Uplo};
use crate::routes::{Family, Key, Kind, Operation, Param};

/// Keys and families of `syev`.
pub static OPERATION: Operation = Operation {
    name: "syev",
    keys: &[
        Key::Word { name: "dtype", words: &["f32", "f64", "c32", "c64"] },
        Key::Word { name: "jobz", words: &["V", "N"] },
        Key::Size { name: "n" },
        Key::Size { name: "batch" },
    ],
    families: &[
        Family {
            name: "thread",
            kind: Kind::Native,
            // Warps a block.
            params: &[Param::Named { name: "warps", min: 1, max: 4 }],
        },
        Family {
            name: "cta",
            kind: Kind::Native,
            // Warps a block.
            params: &[Param::Named { name: "warps", min: 1, max: 4 }],
        },
        Family { name: "cta_fused", kind: Kind::Native, params: &[] },
        Family {
            name: "jacobi",
            kind: Kind::Native,
            // Warps a block.
            params: &[Param::Named { name: "warps", min: 1, max: 4 }],
        },
        Family {
            name: "block",
            kind: Kind::Native,
            // Warps a block.
            params: &[Param::Named { name: "warps", min: 2, max: 8 }],
        },
        Family { name: "blocked", kind: Kind::Native, params: super::sytrd::BLOCKED },
        Family {
            name: "two_stage",
            kind: Kind::Native,
            params: &[Param::Named { name: "kd", min: 1, max: 256 }],
        },
        Family { name: "vendor", kind: Kind::Vendor, params: &[Param::Word(&["xsyev", "syevj"])] },
        Family { name: "cpu", kind: Kind::Cpu, params: &[] },
    ],
};
