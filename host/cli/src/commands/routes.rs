//! `batchlas routes`: the table's row for a shape, its candidates, the decision.

use std::fmt::Write as _;
use std::process::ExitCode;

use batchlas::Uplo;
use batchlas::ops::{Explanation, gemm, ormqr, stebz, stedc, steqr, syev, sytrd};
use batchlas::routes::Operation;
use batchlas_bench::Sides;

use super::{json_line, print};
use crate::args::RoutesArgs;
use crate::failure::Failure;
use crate::table::Table;

/// Runs the command.
pub fn run(args: &RoutesArgs) -> Result<ExitCode, Failure> {
    let RoutesArgs { dtype, n, batch, jobz, arch, .. } = *args;
    let explanation = match operation(&args.op)?.name {
        "steqr" => steqr::explain(&steqr::Problem { dtype, n, batch, jobz }, arch, None)?,
        "stedc" => stedc::explain(&stedc::Problem { dtype, n, batch, jobz }, arch, None)?,
        "stebz" => stebz::explain(&stebz::Problem { dtype, n, batch }, arch, None)?,
        "syev" => syev::explain(&syev::Problem { dtype, n, batch, jobz, uplo: Uplo::default() }, arch, None)?,
        "sytrd" => sytrd::explain(&sytrd::Problem { dtype, n, batch, uplo: Uplo::default() }, arch, None)?,
        // Those of a reduction, applied to all vectors.
        "ormqr" => {
            let reflectors = n.saturating_sub(1);
            ormqr::explain(&ormqr::Problem { dtype, n, columns: n, reflectors, batch }, arch, None)?
        }
        "gemm" => {
            let Sides { op_a, op_b, .. } = args.ops;
            let (m, k) = (args.m.unwrap_or(n), args.k.unwrap_or(n));
            gemm::explain(&gemm::Problem { dtype, op_a, op_b, m, n, k, batch }, arch, None)?
        }
        other => return Err(Failure::new(format!("'{other}' has no routes to show"))),
    };
    print(&if args.json { json_line(&explanation)? } else { text(&explanation) })?;
    Ok(ExitCode::SUCCESS)
}

fn operation(name: &str) -> Result<&'static Operation, Failure> {
    let all = batchlas::ops::OPERATIONS;
    all.iter().copied().find(|op| op.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|op| op.name).collect();
        Failure::new(format!("unknown operation '{name}': one of {}", names.join(", ")))
    })
}

/// What a family says that nothing stands against.
const CAN_RUN: &str = "can run";

fn text(explanation: &Explanation) -> String {
    let operation = explanation.operation;
    let shape = explanation.shape.describe(operation);
    let mut text = format!("{} {shape} on {}\n", operation.name, explanation.arch);
    let _ = writeln!(text, "table     {} ({})", explanation.table, explanation.status);
    if let Some(note) = &explanation.note {
        let _ = writeln!(text, "          {note}");
    }
    let _ = writeln!(text, "row       {}\n", explanation.row.describe(operation));
    let reason = |name: &str| {
        let refused = explanation.refused.iter().find(|refusal| refusal.family == name);
        refused.map_or(CAN_RUN.to_string(), |refusal| refusal.reason.clone())
    };
    let mut table = Table::new(&["candidate", "in the row", "can it run"], 3);
    for (at, candidate) in explanation.candidates.iter().enumerate() {
        let name = candidate.to_string();
        let why = reason(&name);
        table.row(vec![name, (at + 1).to_string(), why]);
    }
    // A family of the row has a line without its parameters where it is tried so: all of the row were refused.
    let goes_unlisted = |name: &str| {
        let mut of_row = explanation.candidates.iter().filter(|c| c.family().name == name);
        of_row.all(|c| !c.params().is_empty() && reason(&c.to_string()) != CAN_RUN)
    };
    for family in operation.families.iter().filter(|family| goes_unlisted(family.name)) {
        table.row(vec![family.name.to_string(), "-".to_string(), reason(family.name)]);
    }
    text.push_str(&table.render());
    let _ = match &explanation.decision {
        Ok(candidate) => writeln!(text, "\ndecision  {candidate}"),
        Err(error) => writeln!(text, "\ndecision  none: {error}"),
    };
    text
}
