//! Which family solves a problem, and the account of it.

use super::arrays::Operands;
use super::{OPERATION, Problem};
use crate::device::Arch;
use crate::error::Result;
use crate::ops::cpu::Cpu;
use crate::ops::decide::{self, Explanation};
use crate::ops::family::{Family, Routed};
use crate::ops::typed::for_scalar;
use crate::queue::Queue;
use crate::routes::{Candidate, Operation, Pin, ShapeKey};

/// The family that solves a problem, and why it was taken.
pub type Decision = decide::Decision<Problem>;

/// A solve with every parameter fixed: the workspace query and the launch share it.
pub type Plan = decide::Plan<Problem>;

/// A decision with the family that it names: the same shape again costs no more than its launches.
pub type Decided = decide::Decided<Problem>;

impl Routed for Problem {
    type Operands<'a> = Operands<'a>;
    type How = ();
    const OPERATION: &'static Operation = &OPERATION;
    const FAMILIES: &'static [&'static dyn Family<Self>] = &[
        #[cfg(feature = "kernels")]
        &super::thread::Thread,
        #[cfg(feature = "kernels")]
        &super::cta::Cta,
        #[cfg(feature = "kernels")]
        &super::cta_fused::CtaFused,
        #[cfg(feature = "kernels")]
        &super::jacobi::Jacobi,
        #[cfg(feature = "kernels")]
        &super::block::Block,
        #[cfg(feature = "kernels")]
        &super::blocked::Blocked,
        #[cfg(feature = "vendor")]
        &super::vendor::Vendor,
        &Cpu,
    ];
    const NOT_YET: &'static [&'static str] = &["two_stage"];

    fn key(&self) -> ShapeKey {
        Problem::key(self)
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        vec![("uplo", self.uplo.to_string())]
    }

    fn label(&self, route: &Candidate) -> String {
        let Problem { dtype, n, batch, jobz, .. } = self;
        format!("syev {dtype} {jobz} n={n} batch={batch} {route}")
    }

    fn with_batch(self, batch: usize) -> Self {
        Problem { batch, ..self }
    }

    fn is_empty(&self) -> bool {
        Problem::is_empty(self)
    }

    /// Orders of 0 are solved; there is no item without an answer.
    fn finish_empty(queue: &Queue, operands: Operands<'_>) -> Result<()> {
        for_scalar!(operands, arrays => queue.fill_bytes(arrays.status, 0))
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
