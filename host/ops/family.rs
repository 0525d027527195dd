//! What an operation's problem and a family have to be for a family to be chosen and run: the same for every operation.

use crate::error::Result;
use crate::ops::{Plan, Target};
use crate::queue::Queue;
use crate::routes::{self, Candidate, Kind, Operation, Params, ShapeKey};

/// What the choice of a family, and its run, ask of an operation's problem.
pub(crate) trait Routed: Copy + PartialEq + 'static {
    /// The arrays of a launch with their type, and what else changes the result but not the choice of a family.
    type Operands<'a>;
    /// What a decision keeps for the operands of its solves.
    type How;
    /// The operation.
    const OPERATION: &'static Operation;
    /// The families of this build.
    const FAMILIES: &'static [&'static dyn Family<Self>];
    /// Families of the operation that no build has yet.
    const NOT_YET: &'static [&'static str] = &[];

    /// The problem's place in a route table.
    fn key(&self) -> ShapeKey;

    /// What tells problems apart beside the keys, for the record of decisions.
    fn details(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Refuses what no family is asked about.
    ///
    /// # Errors
    /// As the operation has them.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// The name of a solve in traces.
    fn label(&self, route: &Candidate) -> String;

    /// The same problem of another number of items.
    fn with_batch(self, batch: usize) -> Self;

    /// Whether there is nothing to launch.
    fn is_empty(&self) -> bool;

    /// Does what is left of an empty problem.
    ///
    /// # Errors
    /// Faults of the device.
    fn finish_empty(_: &Queue, _: Self::Operands<'_>) -> Result<()> {
        Ok(())
    }
}

/// One way to solve problems `P`: a file in the operation's folder, an entry of its [`FAMILIES`](Routed::FAMILIES).
pub(crate) trait Family<P: Routed>: Sync {
    /// The name in tables and pins.
    fn name(&self) -> &'static str;

    /// Whether the answer would be right, and if not, why: one clause, such as `n is at most 32`. Speed has no say.
    /// Touches no device.
    fn can_run(&self, problem: &P, params: &Params, target: &Target) -> std::result::Result<(), String>;

    /// Fixes every parameter and the workspace. Called after `can_run`; touches no device. As it stands here for
    /// families that have neither parameters to choose nor a workspace.
    ///
    /// # Errors
    /// As the family has them.
    fn plan(&self, problem: &P, params: &Params, _: &Target) -> Result<Plan<P>> {
        Ok(Plan { problem: *problem, family: self.name(), params: params.clone(), workspace_bytes: 0 })
    }

    /// Runs the plan on the queue, without waiting where the device allows it. The operands fit the plan's problem,
    /// which is not empty, and belong to the queue.
    ///
    /// # Errors
    /// Faults of the device, and what only the arrays at hand can tell.
    fn launch(&self, queue: &Queue, plan: &Plan<P>, operands: P::Operands<'_>) -> Result<()>;
}

/// The family of this build that goes by the name of one that is known, or why there is none.
pub(crate) fn built<P: Routed>(
    known: &routes::Family,
) -> std::result::Result<&'static dyn Family<P>, String> {
    let found = P::FAMILIES.iter().copied().find(|family| family.name() == known.name);
    found.ok_or_else(|| {
        let reason = match known.kind {
            _ if P::NOT_YET.contains(&known.name) => "not built yet",
            Kind::Vendor => "this build lacks the feature `vendor`",
            Kind::Native if !cfg!(feature = "kernels") => "this build lacks the features `cuda` and `simt`",
            Kind::Native | Kind::Cpu => "not built yet",
        };
        reason.to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Arch;
    use crate::ops::{Jobz, Uplo, gemm, ormqr, stebz, stedc, steqr, syev, sytrd};
    use crate::scalar::Dtype;

    /// What is built is known to tables and pins; what is known is built, or says why it is not.
    fn agree<P: Routed>() {
        let names: Vec<&str> = P::FAMILIES.iter().map(|family| family.name()).collect();
        let known: Vec<&str> = P::OPERATION.families.iter().map(|family| family.name).collect();
        assert!(names.iter().chain(P::NOT_YET).all(|name| known.contains(name)), "{names:?} of {known:?}");
        for family in P::OPERATION.families {
            let name = family.name;
            let wanted = match family.kind {
                _ if P::NOT_YET.contains(&name) => Err("not built yet"),
                Kind::Native if !cfg!(feature = "kernels") => {
                    Err("this build lacks the features `cuda` and `simt`")
                }
                Kind::Vendor if !cfg!(feature = "vendor") => Err("this build lacks the feature `vendor`"),
                _ => Ok(name),
            };
            let found = built::<P>(family).map(|family| family.name());
            assert_eq!(found, wanted.map_err(str::to_owned), "{} {name}", P::OPERATION.name);
        }
    }

    #[test]
    fn families_are_those_that_tables_know() {
        agree::<syev::Problem>();
        agree::<steqr::Problem>();
        agree::<stedc::Problem>();
        agree::<stebz::Problem>();
        agree::<sytrd::Problem>();
        agree::<ormqr::Problem>();
        agree::<gemm::Problem>();
    }

    /// Solves follow the route that reports name, with every parameter: it leads to the plan that was reported.
    fn reported_plans_are_followed<P: Routed + std::fmt::Debug>(problem: P) {
        for target in [Target::CPU, Target::assumed(Arch(90)), Target::assumed(Arch(89))] {
            for family in P::FAMILIES {
                let usual = Params::default();
                if family.can_run(&problem, &usual, &target).is_err() {
                    continue;
                }
                let plan = family.plan(&problem, &usual, &target).unwrap();
                let again = family.plan(&problem, &plan.params, &target).unwrap();
                assert_eq!(plan, again, "{}", family.name());
                family.can_run(&problem, &plan.params, &target).unwrap();
            }
        }
    }

    #[test]
    fn a_plan_is_what_its_own_parameters_lead_to() {
        let sizes = [0, 1, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 300, 1025];
        let shapes = sizes.into_iter().flat_map(|n| [1, 2, 4096].map(|batch| (n, batch)));
        for ((n, batch), dtype) in shapes.flat_map(|shape| Dtype::ALL.map(|dtype| (shape, dtype))) {
            for jobz in [Jobz::V, Jobz::N] {
                let uplo = Uplo::Lower;
                reported_plans_are_followed(syev::Problem { dtype, n, batch, jobz, uplo });
                let dtype = dtype.real();
                reported_plans_are_followed(steqr::Problem { dtype, n, batch, jobz });
                reported_plans_are_followed(stedc::Problem { dtype, n, batch, jobz });
            }
            reported_plans_are_followed(stebz::Problem { dtype: dtype.real(), n, batch });
            for (op_a, m, k) in [(gemm::Op::N, n, n), (gemm::Op::C, 64, n), (gemm::Op::T, n, 1)] {
                reported_plans_are_followed(gemm::Problem { dtype, op_a, op_b: gemm::Op::N, m, n, k, batch });
            }
        }
    }
}
