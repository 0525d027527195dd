//! Which family solves a problem, and the account of it: the same for every operation.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::Target;
use super::family::{Family, Routed, built};
use crate::device::Arch;
use crate::error::Result;
use crate::queue::Queue;
use crate::routes::{
    self, Candidate, Choice, Found, Key, Kind, Operation, Params, Pin, Refusal, RouteError, ShapeKey, Source,
    coverage, effective,
};

/// The family that solves a problem `P` of an operation, and why it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<P> {
    /// The operation whose family it is.
    pub operation: &'static str,
    /// The problem.
    pub problem: P,
    /// The family and its parameters; its text is the route's name in reports.
    pub route: Candidate,
    /// What decided.
    pub source: Source,
    /// The table's row that was used.
    pub row: Option<ShapeKey>,
    /// What a user should know: a borrowed table, or the CPU in a GPU's place.
    pub note: Option<String>,
}

impl<P> Decision<P> {
    /// The same about the problem of a caller.
    pub(crate) fn about<Q>(self, problem: Q) -> Decision<Q> {
        let Decision { operation, route, source, row, note, .. } = self;
        Decision { operation, problem, route, source, row, note }
    }
}

impl<P> fmt::Display for Decision<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.route, f)
    }
}

/// A solve of a problem `P` with every parameter fixed: the workspace query and the launch share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan<P> {
    /// The problem.
    pub problem: P,
    /// The family.
    pub family: &'static str,
    /// All parameters of the family, chosen where the route gave none.
    pub params: Params,
    /// Bytes that the launch takes of the queue's workspace.
    pub workspace_bytes: usize,
}

/// The oldest architecture that the kernels are compiled for.
const OLDEST: Arch = Arch(80);

fn can_run<P: Routed>(
    candidate: &Candidate,
    problem: &P,
    target: &Target,
) -> std::result::Result<(), String> {
    let too_old = target.limits().is_some_and(|limits| limits.arch < OLDEST);
    if too_old && candidate.family().kind == Kind::Native {
        return Err(format!("needs {OLDEST} or newer"));
    }
    built::<P>(candidate.family())?.can_run(problem, candidate.params(), target)
}

/// A decision with the family that it names: the same shape again costs no more than its launches.
// Operations make it, each for its own problem; the trait is theirs.
#[expect(private_bounds)]
pub struct Decided<P: Routed> {
    pub(crate) decision: Decision<P>,
    family: &'static dyn Family<P>,
    target: Target,
    plan: Plan<P>,
    pub(crate) how: P::How,
}

#[expect(private_bounds)]
impl<P: Routed> Decided<P> {
    /// Decides, plans, and records the decision with what the plan came to.
    pub(crate) fn decide(problem: &P, target: &Target, pin: Option<&Pin>, how: P::How) -> Result<Self> {
        problem.check()?;
        let operation = P::OPERATION;
        let pinned = effective(operation, pin)?;
        let found = target.limits().map(|limits| routes::table(operation, limits.arch)).transpose()?;
        let table = found.as_ref().map(|f| &*f.table);
        let check = |c: &Candidate| can_run(c, problem, target);
        let choice = routes::choose(operation, &problem.key(), table, pinned.as_ref(), &check)?;
        let family = built(choice.candidate.family()).map_err(|reason| RouteError::None {
            op: operation.name,
            shape: problem.key().describe(operation),
            refused: vec![Refusal { family: choice.candidate.to_string(), reason }],
        })?;
        let plan = family.plan(problem, choice.candidate.params(), target)?;
        record(problem, target, &choice, &plan.params)?;
        let Choice { candidate, source, row } = choice;
        let (operation, note) = (operation.name, found.and_then(|f| f.note));
        let decision = Decision { operation, problem: *problem, route: candidate, source, row, note };
        Ok(Decided { decision, family, target: *target, plan, how })
    }

    /// With every parameter of the plan in the route, not only what the row or the pin gave: where none of them depends
    /// on the batch, which may be another one in a solve.
    pub(crate) fn with_every_parameter(mut self) -> Self {
        self.decision.route = self.decision.route.with_params(self.plan.params.clone());
        self
    }

    /// The family and why it was taken, with every parameter where none depends on the batch.
    pub fn decision(&self) -> &Decision<P> {
        &self.decision
    }

    /// The decision, and the plan for the problem decided about.
    pub(crate) fn into_parts(self) -> (Decision<P>, Plan<P>) {
        (self.decision, self.plan)
    }

    /// The plan for a batch of this size, which may be a part of the one decided about.
    pub(crate) fn plan(&self, batch: usize, target: &Target) -> Result<Plan<P>> {
        let problem = self.decision.problem.with_batch(batch);
        if (problem, *target) == (self.decision.problem, self.target) {
            return Ok(self.plan.clone());
        }
        self.family.plan(&problem, self.decision.route.params(), target)
    }

    /// Solves arrays that fit and belong to the queue, of the batch decided about or another one.
    pub(crate) fn run(&self, queue: &Queue, batch: usize, operands: P::Operands<'_>) -> Result<()> {
        let Decision { problem, route, .. } = &self.decision;
        let label = || problem.label(route);
        queue.traced_call(label, || {
            let plan = self.plan(batch, &Target::of(queue))?;
            if plan.problem.is_empty() {
                return P::finish_empty(queue, operands);
            }
            self.family.launch(queue, &plan, operands)
        })
    }
}

fn record<P: Routed>(problem: &P, target: &Target, choice: &Choice, reached: &Params) -> Result<()> {
    let pairs =
        |key: &ShapeKey| key.pairs(P::OPERATION).into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    let mut shape: BTreeMap<String, String> = pairs(&problem.key());
    shape.extend(problem.details().into_iter().map(|(name, value)| (name.to_owned(), value)));
    let device = target.device().to_string();
    coverage::record(coverage::Record {
        op: P::OPERATION.name.into(),
        shape,
        device: device.split(':').next().unwrap_or_default().to_owned(),
        arch: target.limits().map(|l| l.arch.to_string()),
        route: choice.candidate.with_params(reached.clone()).to_string(),
        source: choice.source.name().into(),
        row: choice.row.as_ref().map(pairs),
    })
}

/// A shape's row with its candidates unfiltered, and what each of them says.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The operation.
    pub operation: &'static Operation,
    /// The architecture asked about.
    pub arch: Arch,
    /// The table's file.
    pub table: String,
    /// How its rows came about: measured, transcribed or provisional.
    pub status: String,
    /// Says that the table is borrowed.
    pub note: Option<String>,
    /// The shape asked about.
    pub shape: ShapeKey,
    /// The row.
    pub row: ShapeKey,
    /// Its candidates, most preferred first.
    pub candidates: Vec<Candidate>,
    /// Families of the row and all others that cannot run the shape, and why.
    pub refused: Vec<Refusal>,
    /// The decision, with the pins in force, or why there is none.
    pub decision: std::result::Result<Candidate, RouteError>,
}

/// Answers for a GPU of an architecture that need not be here.
pub(crate) fn explain<P: Routed>(problem: &P, arch: Arch, pin: Option<&Pin>) -> Result<Explanation> {
    problem.check()?;
    let operation = P::OPERATION;
    let target = Target::assumed(arch);
    let Found { table, note } = routes::table(operation, arch)?;
    let pinned = effective(operation, pin)?;
    let key = problem.key();
    let row = table.nearest(&key);
    // The vendor's library counts as present, whatever this build has; its own bounds hold where they are known.
    let is_vendor = |c: &Candidate| c.family().kind == Kind::Vendor;
    let check = |c: &Candidate| {
        let absent = is_vendor(c) && built::<P>(c.family()).is_err();
        if absent { Ok(()) } else { can_run(c, problem, &target) }
    };
    let all = row.candidates.iter().cloned().chain(routes::rest(operation, &row.candidates));
    let refused =
        all.filter_map(|c| check(&c).err().map(|reason| Refusal { family: c.to_string(), reason })).collect();
    let decision = routes::choose(operation, &key, Some(&table), pinned.as_ref(), &check);
    Ok(Explanation {
        operation,
        arch,
        table: table.source().to_owned(),
        status: table.provenance("status").to_owned(),
        note,
        shape: key,
        row: row.key.clone(),
        candidates: row.candidates.clone(),
        refused,
        decision: decision.map(|c| c.candidate),
    })
}

/// `{"op":..,"row":{..},"candidates":[..],"decision":..}`, and what else is known.
impl Serialize for Explanation {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let names: Vec<String> = self.candidates.iter().map(Candidate::to_string).collect();
        let refused: BTreeMap<&str, &str> =
            self.refused.iter().map(|r| (r.family.as_str(), r.reason.as_str())).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("op", self.operation.name)?;
        map.serialize_entry("arch", &self.arch.to_string())?;
        map.serialize_entry("row", &RowOf(self.operation, &self.row))?;
        map.serialize_entry("candidates", &names)?;
        map.serialize_entry("decision", &self.decision.as_ref().ok().map(Candidate::to_string))?;
        if let Err(error) = &self.decision {
            map.serialize_entry("error", &error.to_string())?;
        }
        map.serialize_entry("refused", &refused)?;
        map.serialize_entry("table", &self.table)?;
        map.serialize_entry("status", &self.status)?;
        if let Some(note) = &self.note {
            map.serialize_entry("note", note)?;
        }
        map.end()
    }
}

/// A row's keys, sizes as numbers.
struct RowOf<'a>(&'static Operation, &'a ShapeKey);

impl Serialize for RowOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let RowOf(operation, key) = self;
        let names = operation.keys.iter().map(Key::name);
        for (name, word) in names.clone().zip(&key.words) {
            map.serialize_entry(name, word)?;
        }
        for (name, size) in names.skip(key.words.len()).zip(&key.sizes) {
            map.serialize_entry(name, size)?;
        }
        map.end()
    }
}
