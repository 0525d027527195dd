//! Which family computes a product, and the account of it.

use super::arrays::Operands;
use super::{OPERATION, Problem};
use crate::device::Arch;
use crate::error::Result;
use crate::ops::cpu::Cpu;
use crate::ops::decide::{self, Explanation};
use crate::ops::family::{Family, Routed};
use crate::routes::{Candidate, Operation, Pin, ShapeKey};

/// The family that computes a product, and why it was taken.
pub type Decision = decide::Decision<Problem>;

/// A product with every parameter fixed.
pub type Plan = decide::Plan<Problem>;

/// A decision with the family that it names: the same shape again costs no more than its launches.
pub type Decided = decide::Decided<Problem>;

impl Routed for Problem {
    type Operands<'a> = Operands<'a>;
    type How = ();
    const OPERATION: &'static Operation = &OPERATION;
    const FAMILIES: &'static [&'static dyn Family<Self>] = &[
        #[cfg(feature = "kernels")]
        &super::direct::Direct,
        #[cfg(feature = "kernels")]
        &super::small::Small,
        #[cfg(feature = "kernels")]
        &super::tiled::Tiled,
        #[cfg(feature = "kernels")]
        &super::reg::Reg,
        #[cfg(feature = "kernels")]
        &super::wide::Wide,
        #[cfg(feature = "vendor")]
        &super::vendor::Vendor,
        &Cpu,
    ];

    fn key(&self) -> ShapeKey {
        Problem::key(self)
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        vec![("ops", format!("{}{}", self.op_a, self.op_b))]
    }

    fn label(&self, route: &Candidate) -> String {
        let Problem { dtype, op_a, op_b, m, n, k, batch } = self;
        format!("gemm {dtype} {op_a}{op_b} m={m} n={n} k={k} batch={batch} {route}")
    }

    fn with_batch(self, batch: usize) -> Self {
        Problem { batch, ..self }
    }

    fn is_empty(&self) -> bool {
        Problem::is_empty(self)
    }
}

/// Answers for a GPU of an architecture that need not be here. Touches no
/// device and leaves no record.
///
/// # Errors
/// A malformed table or a malformed pin of the environment.
pub fn explain(problem: &Problem, arch: Arch, pin: Option<&Pin>) -> Result<Explanation> {
    decide::explain(problem, arch, pin)
}
