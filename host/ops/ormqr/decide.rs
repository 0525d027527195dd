//! Which family applies the reflectors, and the account of it.

use super::{OPERATION, Problem};
use crate::device::Arch;
use crate::error::Result;
use crate::ops::Target;
use crate::ops::decide::{self, Explanation, Routed};
use crate::routes::{Operation, Params, Pin, ShapeKey};

/// The family that applies the reflectors, and why it was taken.
pub type Decision = decide::Decision<Problem>;

/// An application with every parameter fixed: the workspace query and the launch share it.
pub type Plan = decide::Plan<Problem>;

/// The one family.
pub(crate) struct Blocked;

impl Routed for Problem {
    type Family = Blocked;
    const OPERATION: &'static Operation = &OPERATION;

    fn key(&self) -> ShapeKey {
        Problem::key(self)
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        vec![("columns", self.columns.to_string()), ("reflectors", self.reflectors.to_string())]
    }

    fn built(_: &str) -> std::result::Result<&'static Blocked, String> {
        if cfg!(feature = "kernels") { Ok(&Blocked) } else { Err(decide::no_kernels()) }
    }

    fn can_run(&self, _: &Blocked, params: &Params, target: &Target) -> std::result::Result<(), String> {
        #[cfg(feature = "kernels")]
        return super::blocked::Panels::new(self, params, target).map(|_| ());
        #[cfg(not(feature = "kernels"))]
        {
            let _ = (params, target);
            Err(decide::no_kernels())
        }
    }

    fn plan(&self, _: &Blocked, params: &Params, target: &Target) -> Result<Plan> {
        #[cfg(feature = "kernels")]
        return super::blocked::plan(self, target, params);
        #[cfg(not(feature = "kernels"))]
        {
            let _ = (params, target);
            unreachable!("no family is built")
        }
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
