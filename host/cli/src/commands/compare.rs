//! `batchlas compare`: two runs, or two captures of routes.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use batchlas::routes::coverage::{self, Comparison, Record};
use batchlas_bench::compare::{Pair, Report, Rule, compare};
use batchlas_bench::row;

use super::print;
use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::output::Target;
use crate::table::Table;

/// Exit status where something is flagged.
const FLAGGED: u8 = 4;

/// Runs the command.
pub fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let target = |input: &Path| args.json.as_deref().map(|p| Target::check(p, "jsonl", input)).transpose();
    target(&args.second)?;
    let json = target(&args.first)?;
    let (lines, text, flagged) = if args.routes { of_routes(args)? } else { of_runs(args)? };
    if let Some(json) = json {
        json.stage(|out| out.write_all(lines.as_bytes()))?.commit()?;
    }
    print(&text)?;
    Ok(if flagged > 0 { ExitCode::from(FLAGGED) } else { ExitCode::SUCCESS })
}

/// JSON lines, the text, and how many are flagged.
type Told = (String, String, usize);

fn of_runs(args: &CompareArgs) -> Result<Told, Failure> {
    let read = |path: &Path| {
        row::read(path).map_err(|error| match coverage::read(path) {
            Ok(decisions) if !decisions.is_empty() => {
                Failure::at(path, "these are decisions, not runs: --routes compares them")
            }
            _ => Failure::new(error),
        })
    };
    let (first, second) = (read(&args.first)?, read(&args.second)?);
    let rule = Rule { times: args.threshold, bits: !args.tolerate_bits, ..Rule::default() };
    let report = compare(&first, &second, &rule, args.seed).map_err(Failure::new)?;
    if report.pairs.is_empty() {
        return Err(nothing_in_common(args, report.only_first.len(), report.only_second.len()));
    }
    let lines = report.pairs.iter().map(line).collect::<Result<String, Failure>>()?;
    Ok((lines, text(&report, args.all), report.flagged()))
}

/// Nothing was compared: a gate must not take that for no difference.
fn nothing_in_common(args: &CompareArgs, first: usize, second: usize) -> Failure {
    let (a, b) = (args.first.display(), args.second.display());
    Failure::new(format!("nothing to compare: none of the {first} keys of {a} is among the {second} of {b}"))
}

fn line(pair: &Pair) -> Result<String, Failure> {
    super::json_line(pair)
}

fn text(report: &Report, all: bool) -> String {
    let shown: Vec<&Pair> = report.pairs.iter().filter(|p| all || p.flag.is_some()).collect();
    let mut text = String::new();
    if !shown.is_empty() {
        let header = ["pair", "measure", "A", "B", "B / A", "95 % interval", "same bits", "flag or remark"];
        let mut table = Table::new(&header, 2);
        shown.into_iter().for_each(|pair| table.row(cells(pair)));
        text = table.render() + "\n";
    }
    for (name, keys) in [("A", &report.only_first), ("B", &report.only_second)] {
        keys.iter().for_each(|key| text += &format!("only in {name}: {key}\n"));
    }
    let noted = report.pairs.iter().filter(|p| p.flag.is_none() && p.note.is_some()).count();
    let remarks =
        if noted > 0 { format!(", {noted} with a remark (--all shows them)") } else { String::new() };
    text + &format!("{} pairs, {} flagged{remarks}\n", report.pairs.len(), report.flagged())
}

fn cells(pair: &Pair) -> Vec<String> {
    let none = || "-".to_owned();
    let number = |x: Option<f64>| x.map_or_else(none, |x| format!("{x:.4}"));
    let remark = match (&pair.flag, &pair.note) {
        (Some(flag), _) => format!("FLAG {flag}"),
        (None, Some(note)) => note.clone(),
        (None, None) => String::new(),
    };
    vec![
        pair.key.clone(),
        pair.measure.to_owned(),
        number(pair.first),
        number(pair.second),
        pair.ratio.map_or_else(none, |x| format!("{x:.3}")),
        pair.interval.map_or_else(none, |[low, high]| format!("{low:.3}..{high:.3}")),
        pair.same_bits.map_or_else(none, |[same, all]| format!("{same}/{all}")),
        remark,
    ]
}

fn of_routes(args: &CompareArgs) -> Result<Told, Failure> {
    let (first, second) = (coverage::read(&args.first)?, coverage::read(&args.second)?);
    let compared = coverage::compare(&first, &second);
    if compared.same == 0 && compared.changed.is_empty() {
        return Err(nothing_in_common(args, compared.only_first.len(), compared.only_second.len()));
    }
    let mut lines = String::new();
    for (before, after) in &compared.changed {
        lines += &super::json_line(&serde_json::json!({ "changed": [before, after] }))?;
    }
    for (name, records) in [("only_first", &compared.only_first), ("only_second", &compared.only_second)] {
        for record in records {
            lines += &super::json_line(&serde_json::json!({ name: record }))?;
        }
    }
    lines += &super::json_line(&serde_json::json!({ "same": compared.same }))?;
    Ok((lines, routes_text(&compared), compared.changed.len()))
}

fn routes_text(compared: &Comparison) -> String {
    let mut text = String::new();
    if !compared.changed.is_empty() {
        let mut table = Table::new(&["shape", "A", "B"], 3);
        for (before, after) in &compared.changed {
            table.row(vec![shape(&before[0]), reached(before), reached(after)]);
        }
        text = table.render() + "\n";
    }
    for (name, records) in [("A", &compared.only_first), ("B", &compared.only_second)] {
        for record in records {
            text += &format!("only in {name}: {} {}\n", shape(record), reached(std::slice::from_ref(record)));
        }
    }
    let only = compared.only_first.len() + compared.only_second.len();
    text + &format!("{} same, {} changed, {only} in one alone\n", compared.same, compared.changed.len())
}

fn shape(record: &Record) -> String {
    let keys: Vec<String> = record.shape.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let arch = record.arch.as_deref().unwrap_or("-");
    format!("{} {} on {} {arch}", record.op, keys.join(" "), record.device)
}

/// The families, with what decided.
fn reached(records: &[Record]) -> String {
    records.iter().map(|r| format!("{} ({})", r.route, r.source)).collect::<Vec<_>>().join(", ")
}
