//! `gemm`: batched products of matrices, C = alpha op(A) op(B) + beta C.
//!
//! [`gemm()`] works on device memory and does not wait for a GPU; [`crate::linalg::matmul`] is the same with upload and
//! download around it. op(X) is X, its transpose or its conjugate transpose, each side by itself.
//!
//! As BLAS has it, C is not read where beta is 0, and A and B are not where alpha is 0 or there is no k: NaN there does
//! not matter. Everything else follows IEEE arithmetic, NaN and infinities included; products and sums are fused, and
//! each element of C is summed in the order of k (in the order of the hardware on tensor cores, in that of the library
//! in the families `vendor` and `cpu`).

mod arrays;
mod cpu;
mod decide;
#[cfg(feature = "kernels")]
mod direct;
#[cfg(feature = "kernels")]
mod launch;
mod problem;
mod product;
#[cfg(feature = "kernels")]
mod reg;
#[cfg(feature = "kernels")]
mod small;
#[cfg(feature = "kernels")]
mod tiled;
#[cfg(feature = "vendor")]
mod vendor;
#[cfg(feature = "kernels")]
mod wide;

pub use decide::{Decided, Decision, Plan, explain};
pub use problem::{Op, Problem};
pub use product::{gemm, plan};

pub use super::{Explanation, Target};
use crate::routes::{Family, Key, Kind, Operation, Param};

/// The routes of a family that differ by their tile, for whoever wants all of them.
pub fn tiles(family: &str) -> &'static [&'static str] {
    match family {
        "reg" => &["reg:128x128x8", "reg:64x64x16", "reg:128x64x32", "reg:128x32x32"],
        "wide" => &["wide:64x64x16", "wide:128x64x16", "wide:128x128x8", "wide:128x128x16"],
        _ => &[],
    }
}

/// Keys and families of `gemm`.
///
/// `trans` has a letter a side, `n` as it is or `t` transposed; a conjugate counts as transposed, for it costs no more
/// than a change of signs on the way to shared memory. m, n and k are keys each, so that panels and outer products have
/// rows of their own.
pub static OPERATION: Operation = Operation {
    name: "gemm",
    keys: &[
        Key::Word { name: "dtype", words: &["f32", "f64", "c32", "c64"] },
        Key::Word { name: "trans", words: &["nn", "nt", "tn", "tt"] },
        Key::Size { name: "m" },
        Key::Size { name: "n" },
        Key::Size { name: "k" },
        Key::Size { name: "batch" },
    ],
    families: &[
        Family { name: "direct", kind: Kind::Native, params: &[] },
        Family { name: "small", kind: Kind::Native, params: &[] },
        Family { name: "tiled", kind: Kind::Native, params: &[] },
        Family {
            name: "reg",
            kind: Kind::Native,
            // Depths that are multiplied between two loads.
            params: &[Param::Tile, Param::Named { name: "unroll", min: 8, max: 16 }],
        },
        Family { name: "wide", kind: Kind::Native, params: &[Param::Tile] },
        Family { name: "vendor", kind: Kind::Vendor, params: &[] },
        Family { name: "cpu", kind: Kind::Cpu, params: &[] },
    ],
};
