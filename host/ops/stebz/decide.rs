//! Which family solves a problem, and the account of it.

use super::arrays::Operands;
use super::{OPERATION, Problem};
use crate::device::Arch;
use crate::error::Result;
use crate::ops::cpu::Cpu;
use crate::ops::decide::{self, Explanation};
use crate::ops::family::{Family, Routed};
use crate::ops::tridiagonal;
use crate::ops::typed::for_real;
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
    /// The most passes.
    type How = Option<u32>;
    const OPERATION: &'static Operation = &OPERATION;
    const FAMILIES: &'static [&'static dyn Family<Self>] = &[
        #[cfg(feature = "kernels")]
        &super::bisect::Bisect,
        &Cpu,
    ];

    fn key(&self) -> ShapeKey {
        Problem::key(self)
    }

    fn check(&self) -> Result<()> {
        tridiagonal::check_type(&OPERATION, self.dtype)
    }

    fn label(&self, route: &Candidate) -> String {
        let Problem { dtype, n, batch } = self;
        format!("stebz {dtype} n={n} batch={batch} {route}")
    }

    fn with_batch(self, batch: usize) -> Self {
        Problem { batch, ..self }
    }

    fn is_empty(&self) -> bool {
        Problem::is_empty(self)
    }

    /// Orders of 0 are solved; there is no item without an answer.
    fn finish_empty(queue: &Queue, operands: Operands<'_>) -> Result<()> {
        for_real!(operands, arrays => queue.fill_bytes(arrays.status, 0))
    }
}

/// Answers for a GPU of an architecture that need not be here. Touches no
/// device and leaves no record.
///
/// # Errors
/// A complex type, a malformed table or a malformed pin of the environment.
pub fn explain(problem: &Problem, arch: Arch, pin: Option<&Pin>) -> Result<Explanation> {
    decide::explain(problem, arch, pin)
}
