//! Which family solves a problem, and the account of it.

use std::fmt;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::family::{Family, built};
use super::{OPERATION, Problem, Target};
use crate::device::Arch;
use crate::error::Result;
use crate::routes::{
    self, Candidate, Choice, Found, Pin, Refusal, RouteError, ShapeKey, Source, coverage, effective,
};

/// The family that solves a problem, and why it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The problem.
    pub problem: Problem,
    /// The family and its parameters; its text is the route's name in reports.
    pub route: Candidate,
    /// What decided.
    pub source: Source,
    /// The table's row that was used.
    pub row: Option<ShapeKey>,
    /// What a user should know: a borrowed table, or the CPU in a GPU's place.
    pub note: Option<String>,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.route, f)
    }
}

/// Whether a candidate can run, with the family's own reason if not.
pub(super) fn can_run(
    candidate: &Candidate,
    problem: &Problem,
    target: &Target,
) -> std::result::Result<(), String> {
    let family = candidate.family();
    if target.is_assumed() && family.kind == routes::Kind::Vendor {
        return Ok(());
    }
    built(family.name)?.can_run(problem, candidate.params(), target)
}

/// Decides, and records the decision.
pub(super) fn decide(
    problem: &Problem,
    target: &Target,
    pin: Option<&Pin>,
) -> Result<(Decision, &'static dyn Family)> {
    let pinned = effective(&OPERATION, pin)?;
    let found = table(target)?;
    let table = found.as_ref().map(|f| &*f.table);
    let choice =
        routes::choose(&OPERATION, &problem.key(), table, pinned.as_ref(), &|c| can_run(c, problem, target))?;
    let family = built(choice.candidate.family().name).map_err(|reason| RouteError::None {
        op: OPERATION.name,
        shape: problem.key().describe(&OPERATION),
        refused: vec![Refusal { family: choice.candidate.to_string(), reason }],
    })?;
    record(problem, target, &choice)?;
    let Choice { candidate, source, row } = choice;
    let note = found.and_then(|f| f.note);
    Ok((Decision { problem: *problem, route: candidate, source, row, note }, family))
}

fn table(target: &Target) -> Result<Option<Found>> {
    target.limits().map(|limits| routes::table(&OPERATION, limits.arch)).transpose()
}

fn record(problem: &Problem, target: &Target, choice: &Choice) -> Result<()> {
    let pairs = |key: &ShapeKey| key.pairs(&OPERATION).into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    let mut shape: std::collections::BTreeMap<String, String> = pairs(&problem.key());
    shape.insert("uplo".into(), problem.uplo.to_string());
    let device = target.device().to_string();
    coverage::record(coverage::Record {
        op: OPERATION.name.into(),
        shape,
        device: device.split(':').next().unwrap_or_default().to_owned(),
        arch: target.limits().map(|l| l.arch.to_string()),
        route: choice.candidate.to_string(),
        source: choice.source.name().into(),
        row: choice.row.as_ref().map(pairs),
    })
}

/// A shape's row with its candidates unfiltered, and what each of them says.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The architecture asked about.
    pub arch: Arch,
    /// The table's file.
    pub table: String,
    /// How its rows came about: measured, transcribed or provisional.
    pub status: String,
    /// Says that the table is borrowed.
    pub note: Option<String>,
    /// The row.
    pub row: ShapeKey,
    /// Its candidates, most preferred first.
    pub candidates: Vec<Candidate>,
    /// Families of the row and all others that cannot run the shape, and why.
    pub refused: Vec<Refusal>,
    /// The decision, with the pins in force, or why there is none.
    pub decision: std::result::Result<Candidate, RouteError>,
}

/// Answers for a GPU of an architecture that need not be here. Touches no
/// device and leaves no record.
///
/// # Errors
/// A malformed table or a malformed pin of the environment.
pub fn explain(problem: &Problem, arch: Arch, pin: Option<&Pin>) -> Result<Explanation> {
    let target = Target::assumed(arch);
    let Found { table, note } = routes::table(&OPERATION, arch)?;
    let pinned = effective(&OPERATION, pin)?;
    let key = problem.key();
    let row = table.nearest(&key);
    let check = |c: &Candidate| can_run(c, problem, &target);
    let others =
        OPERATION.families.iter().filter(|f| !row.candidates.iter().any(|c| c.family().name == f.name));
    let all = row.candidates.iter().cloned().chain(others.map(Candidate::plain));
    let refused =
        all.filter_map(|c| check(&c).err().map(|reason| Refusal { family: c.to_string(), reason })).collect();
    let decision = routes::choose(&OPERATION, &key, Some(&table), pinned.as_ref(), &check);
    Ok(Explanation {
        arch,
        table: table.source().to_owned(),
        status: table.provenance("status").to_owned(),
        note,
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
        let refused: std::collections::BTreeMap<&str, &str> =
            self.refused.iter().map(|r| (r.family.as_str(), r.reason.as_str())).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("op", OPERATION.name)?;
        map.serialize_entry("arch", &self.arch.to_string())?;
        map.serialize_entry("row", &RowOf(&self.row))?;
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
struct RowOf<'a>(&'a ShapeKey);

impl Serialize for RowOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let names = OPERATION.keys.iter().map(routes::Key::name);
        for (name, word) in names.clone().zip(&self.0.words) {
            map.serialize_entry(name, word)?;
        }
        for (name, size) in names.skip(self.0.words.len()).zip(&self.0.sizes) {
            map.serialize_entry(name, size)?;
        }
        map.end()
    }
}
