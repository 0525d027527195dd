//! Which family computes a product, and the account of it.

use super::family::{Family, Plan, built};
use super::{OPERATION, Problem, Target};
use crate::device::Arch;
use crate::error::Result;
use crate::ops::decide::{self, Explanation, Routed};
use crate::routes::{Operation, Params, Pin, ShapeKey};

/// The family that computes a product, and why it was taken.
pub type Decision = decide::Decision<Problem>;

impl Routed for Problem {
    type Family = dyn Family;
    const OPERATION: &'static Operation = &OPERATION;

    fn key(&self) -> ShapeKey {
        Problem::key(self)
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        vec![("ops", format!("{}{}", self.op_a, self.op_b))]
    }

    fn built(name: &str) -> std::result::Result<&'static dyn Family, String> {
        built(name)
    }

    fn can_run(
        &self,
        family: &dyn Family,
        params: &Params,
        target: &Target,
    ) -> std::result::Result<(), String> {
        family.can_run(self, params, target)
    }

    fn plan(&self, family: &dyn Family, params: &Params, target: &Target) -> Result<Plan> {
        family.plan(self, params, target)
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
