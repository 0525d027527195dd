//! The choice of a family: pins first, then the table's row, then the rest.

use super::error::{Refusal, RouteError};
use super::operation::{Candidate, Kind, Operation};
use super::pin::{Pin, Pinned, unknown};
use super::table::{ShapeKey, Table};

/// Whether a candidate can run the shape at hand, and why not.
///
/// Only correctness speaks here; what is preferred is the table's.
pub type CanRun<'a> = dyn Fn(&Candidate) -> Result<(), String> + 'a;

/// What decided: who named the candidate. The pins `auto` and `native` name none, and leave it to the table's row and the
/// rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// An option of the call.
    Call,
    /// A scoped pin.
    Scope,
    /// The environment.
    Environment,
    /// The table's row.
    Table,
    /// No candidate of the row can run: the first of the other families.
    Rest,
    /// The device has one family.
    Device,
}

impl Source {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Source::Call => "call",
            Source::Scope => "scope",
            Source::Environment => "environment",
            Source::Table => "table",
            Source::Rest => "rest",
            Source::Device => "device",
        }
    }
}

/// The family that was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The family and its parameters.
    pub candidate: Candidate,
    /// What decided.
    pub source: Source,
    /// The row that was used.
    pub row: Option<ShapeKey>,
}

/// Takes the pinned family, or else the first candidate of the nearest row
/// that can run, or else the first other family that can. Without a table (on
/// the CPU) the operation's families are tried in their order.
///
/// # Errors
/// [`RouteError::Unknown`] where the pin is a family of another operation, [`RouteError::Pinned`] where it cannot run the
/// shape, and [`RouteError::None`] where nothing can; the last two say why for each family.
pub fn choose(
    operation: &'static Operation,
    key: &ShapeKey,
    table: Option<&Table>,
    pin: Option<&Pinned>,
    can_run: &CanRun<'_>,
) -> Result<Choice, RouteError> {
    let row = table.map(|t| t.nearest(key));
    let row_key = row.map(|r| r.key.clone());
    let allowed =
        |c: &Candidate| !matches!(pin, Some(p) if p.pin == Pin::Native && c.family().kind == Kind::Vendor);
    if let Some(pinned) = pin
        && let Pin::Family(candidate) = &pinned.pin
    {
        // Another operation may have a family of this name, which takes other parameters.
        if !operation.families.iter().any(|family| std::ptr::eq(family, candidate.family())) {
            return Err(unknown(operation, pinned.described()));
        }
        can_run(candidate).map_err(|reason| {
            let refused = vec![Refusal { family: candidate.to_string(), reason }];
            pin_error(operation, key, pinned, refused, can_run)
        })?;
        let source = pinned.source;
        return Ok(Choice { candidate: candidate.clone(), source, row: None });
    }
    let mut refused = Vec::new();
    let listed = row.map_or(&[][..], |r| &r.candidates[..]);
    let after = if row.is_some() { Source::Rest } else { Source::Device };
    let tagged = listed.iter().cloned().map(|c| (c, Source::Table));
    let tagged = tagged.chain(rest(operation, listed).map(|c| (c, after)));
    for (candidate, source) in tagged.filter(|(c, _)| allowed(c)) {
        match can_run(&candidate) {
            Ok(()) => return Ok(Choice { candidate, source, row: row_key }),
            Err(reason) => refused.push(Refusal { family: candidate.to_string(), reason }),
        }
    }
    match pin {
        Some(pinned) if pinned.pin == Pin::Native => Err(pin_error(operation, key, pinned, refused, can_run)),
        _ => Err(RouteError::None { op: operation.name, shape: key.describe(operation), refused }),
    }
}

/// What is tried where no candidate of a row can run: every family without parameters, in the order of reports. Those of
/// the row among them where it has them with parameters only, for these may be what does not suit the shape.
pub(crate) fn rest<'a>(
    operation: &'static Operation,
    listed: &'a [Candidate],
) -> impl Iterator<Item = Candidate> + use<'a> {
    operation.families.iter().map(Candidate::plain).filter(|plain| !listed.contains(plain))
}

fn pin_error(
    operation: &'static Operation,
    key: &ShapeKey,
    pinned: &Pinned,
    refused: Vec<Refusal>,
    can_run: &CanRun<'_>,
) -> RouteError {
    let (mut runnable, mut others) = (Vec::new(), Vec::new());
    for family in operation.families {
        match can_run(&Candidate::plain(family)) {
            Ok(()) => runnable.push(family.name.to_owned()),
            Err(reason) => others.push(Refusal { family: family.name.to_owned(), reason }),
        }
    }
    // A family is not told of twice, unless its parameters have a reason of their own.
    others.retain(|other| {
        let of_family = |r: &Refusal| r.family.split(':').next() == Some(&other.family);
        !refused.iter().any(|r| of_family(r) && r.reason == other.reason)
    });
    RouteError::Pinned {
        op: operation.name,
        pin: pinned.described(),
        shape: key.describe(operation),
        refused,
        runnable: runnable.into(),
        others: others.into(),
    }
}
