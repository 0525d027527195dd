//! Which family applies the reflectors, and the account of it.

use super::arrays::Operands;
use super::{OPERATION, Problem};
use crate::device::Arch;
use crate::error::Result;
use crate::ops::decide::{self, Explanation};
use crate::ops::family::{Family, Routed};
use crate::routes::{Candidate, Operation, Pin, ShapeKey};

/// The family that applies the reflectors, and why it was taken.
pub type Decision = decide::Decision<Problem>;

/// An application with every parameter fixed: the workspace query and the launch share it.
pub type Plan = decide::Plan<Problem>;

impl Routed for Problem {
    type Operands<'a> = Operands<'a>;
    type How = ();
    const OPERATION: &'static Operation = &OPERATION;
    const FAMILIES: &'static [&'static dyn Family<Self>] = &[
        #[cfg(feature = "kernels")]
        &super::blocked::Blocked,
    ];

    fn key(&self) -> ShapeKey {
        Problem::key(self)
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        vec![("columns", self.columns.to_string()), ("reflectors", self.reflectors.to_string())]
    }

    fn label(&self, _: &Candidate) -> String {
        let Problem { dtype, n, columns, reflectors, batch } = self;
        format!("ormqr {dtype} n={n} columns={columns} reflectors={reflectors} batch={batch}")
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
