//! `batchlas tune`: every family at every shape, and the route table that follows.

mod report;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use batchlas::routes::{self as library, Found};
use batchlas::{Arch, Device, Jobz, Queue};
use batchlas_bench::race::Effort;
use batchlas_bench::tune::table::{self, Head};
use batchlas_bench::tune::verify::Outcome;
use batchlas_bench::tune::{FAR, Journal, Request, Tuner, verdicts, verify};
use batchlas_bench::{Cell, Op, Provenance, Row, Sides, routes};

use super::bench::{check_jobz, check_types, open};
use super::{complain, print};
use crate::args::{TuneArgs, sides};
use crate::failure::Failure;
use crate::output::Target;
use crate::progress;

/// Exit status where a family of ours gave a wrong result.
const WRONG: u8 = 3;
/// Exit status where the table's choices are too slow.
const SLOW: u8 = 4;
/// Exit status where no time of `--verify` can be trusted.
const UNKNOWN: u8 = 5;

/// Runs the command.
pub fn run(args: &TuneArgs) -> Result<ExitCode, Failure> {
    let files = Files::check(args)?;
    let request = request(args)?;
    let queue = open(args.device)?;
    let arch = arch(args, &queue)?;
    let in_place = library::table(args.op.operation(), arch)?;
    let provenance = Provenance::of(&queue);
    let rows = measure(args, &request, &queue, &in_place, &provenance)?;
    let run = Run { request: &request, arch, queue: &queue, in_place: &in_place, provenance: &provenance };
    if args.verify { verified(&run, &files, &rows) } else { tuned(&run, &files, &rows) }
}

/// What a run is about.
struct Run<'a> {
    request: &'a Request,
    arch: Arch,
    queue: &'a Queue,
    in_place: &'a Found,
    provenance: &'a Provenance,
}

fn request(args: &TuneArgs) -> Result<Request, Failure> {
    check_types(args.op, &args.dtype)?;
    check_jobz(args.op, &args.jobz)?;
    let sizes = args.n.0.iter().chain(&args.batch.sizes).chain(&args.m).chain(&args.k);
    if sizes.into_iter().any(|size| *size == 0) {
        return Err(Failure::new("orders and batches of a table are at least 1"));
    }
    Ok(Request {
        op: args.op,
        dtypes: args.dtype.clone(),
        jobz: match args.op {
            Op::Gemm => vec![Jobz::V],
            op => args.jobz.iter().copied().filter(|jobz| op.gives(*jobz)).collect(),
        },
        sides: if args.op == Op::Gemm { sides(&args.ops, args.m, args.k) } else { vec![Sides::default()] },
        n: args.n.0.clone(),
        batches: args.batch.sizes.clone(),
        saturation: args.batch.saturation,
        asked: routes::parse(args.op.operation(), &args.routes).map_err(Failure::new)?,
        effort: Effort { rounds: args.rounds as usize, limit: args.seconds, once_from: Some(FAR) },
        memory: args.memory,
        vendor: args.vendor,
        auto: args.verify,
    })
}

/// The architecture of the table: the device's.
fn arch(args: &TuneArgs, queue: &Queue) -> Result<Arch, Failure> {
    match (queue.device(), queue.limits(), args.arch) {
        (Device::Simt, ..) => {
            Err(Failure::new("the executor has no times to tune by: --device cuda, or cpu for a rehearsal"))
        }
        (_, Some(limits), Some(wanted)) if wanted != limits.arch => Err(Failure::new(format!(
            "--arch {wanted}: {} is {}, and its times say nothing of another one",
            queue.device_name(),
            limits.arch
        ))),
        (_, Some(limits), _) => Ok(limits.arch),
        (_, None, Some(wanted)) => Ok(wanted),
        (_, None, None) => Err(Failure::new(
            "the cpu has no architecture and one family: --arch sm_90 names the table to rehearse with",
        )),
    }
}

/// The rows of all steps, from the journal as far as it goes.
fn measure(
    args: &TuneArgs,
    request: &Request,
    queue: &Queue,
    in_place: &Found,
    provenance: &Provenance,
) -> Result<Vec<Row>, Failure> {
    let settings = request.settings(&in_place.table, provenance);
    let (mut journal, mut done) = match journal_path(args) {
        Some(path) => {
            let (journal, done) = Journal::open(&path, &settings, &provenance.date).map_err(Failure::new)?;
            (Some(journal), done)
        }
        None => (None, Default::default()),
    };
    let tuner = Tuner::new(request, queue, in_place.table.clone(), provenance)?;
    let steps = request.steps();
    let bar = progress::steps(steps.len());
    if !done.is_empty() {
        complain(&format!("{} of {} cells are in the journal", done.len(), steps.len()));
    }
    let is_same_shape = |x: &Cell, y: &Cell| Cell { batch: y.batch, ..*x } == *y;
    // `shape` is where the rows of the shape at hand begin.
    let (mut rows, mut shape): (Vec<Row>, usize) = (vec![], 0);
    for (at, step) in steps.iter().enumerate() {
        if at > 0 && !is_same_shape(&steps[at - 1].cell, &step.cell) {
            shape = rows.len();
        }
        let name = step.to_string();
        let of_step = match done.remove(&name) {
            Some(rows) => rows,
            None => {
                let of_step =
                    tuner.measure(step, &rows[shape..], |cell| bar.set_message(cell.to_string()))?;
                if let Some(journal) = &mut journal {
                    journal.add(&name, &of_step).map_err(Failure::new)?;
                }
                of_step
            }
        };
        rows.extend(of_step);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(rows)
}

/// Where finished cells are kept: beside the table unless told otherwise.
fn journal_path(args: &TuneArgs) -> Option<PathBuf> {
    args.journal.clone().or_else(|| args.output.as_ref().map(|path| path.with_extension("journal.jsonl")))
}

fn tuned(run: &Run<'_>, files: &Files, rows: &[Row]) -> Result<ExitCode, Failure> {
    let verdicts = verdicts(&run.in_place.table, rows, run.request.vendor);
    let Some(target) = &files.table else { return Err(Failure::new("no place for the table")) };
    if verdicts.is_empty() {
        let reason = rows.iter().find_map(|row| row.error.clone());
        let reason = reason.unwrap_or_else(|| "no family can run any of these shapes".to_owned());
        return Err(Failure::new(format!("no cell has a time: {reason}")));
    }
    let is_gpu = matches!(run.queue.device(), Device::Cuda(_));
    let head = Head { arch: run.arch, is_gpu, request: run.request, provenance: run.provenance };
    let text = table::text(&head, &run.in_place.table, &verdicts).map_err(Failure::new)?;
    let mut staged = vec![target.stage(|out| out.write_all(text.as_bytes()))?];
    if let Some(plot) = &files.plot {
        let svg = report::figure(run.request, run.provenance, &verdicts).svg()?;
        staged.push(plot.stage(|out| out.write_all(svg.as_bytes()))?);
    }
    staged.into_iter().try_for_each(|file| file.commit())?;
    let text = report::of_changes(run, rows, &verdicts);
    print(&format!("{text}{}", files.said))?;
    end(rows)
}

fn verified(run: &Run<'_>, files: &Files, rows: &[Row]) -> Result<ExitCode, Failure> {
    let ratios = verify::ratios(rows, run.request.vendor);
    if ratios.is_empty() {
        let reason = rows.iter().find_map(|row| row.error.clone());
        return Err(Failure::new(format!("no cell has a time: {}", reason.unwrap_or_default())));
    }
    if let Some(plot) = &files.plot {
        let svg = report::figure_of_ratios(run.provenance, &ratios).svg()?;
        plot.stage(|out| out.write_all(svg.as_bytes()))?.commit()?;
    }
    let (text, outcome) = report::of_ratios(run, rows, &ratios);
    print(&format!("{text}{}", files.said))?;
    match outcome {
        Outcome::Passed => end(rows),
        Outcome::Slow => {
            complain("the table's choices are slower than the limits allow");
            Ok(ExitCode::from(SLOW))
        }
        Outcome::Unknown => {
            complain(
                "nothing is known of the table: in every cell the spread is above 0.10; measure on an idle machine, \
                 or with more --rounds and --seconds",
            );
            Ok(ExitCode::from(UNKNOWN))
        }
    }
}

/// The exit status where the table is good.
fn end(rows: &[Row]) -> Result<ExitCode, Failure> {
    let wrong = |row: &&Row| row.reached.is_some() && row.error.is_some() && !row.is_vendor();
    let Some(first) = rows.iter().find(wrong) else { return Ok(ExitCode::SUCCESS) };
    let (count, reason) = (rows.iter().filter(wrong).count(), first.error.as_deref().unwrap_or_default());
    complain(&format!("{count} arms of ours gave no right result; the first: {} {reason}", first.route));
    Ok(ExitCode::from(WRONG))
}

/// The outputs, found writable.
struct Files {
    table: Option<Target>,
    plot: Option<Target>,
    /// What is written, for the report.
    said: String,
}

impl Files {
    fn check(args: &TuneArgs) -> Result<Self, Failure> {
        let target = |path: &Option<PathBuf>, extension| {
            path.as_deref().map(|p| Target::check(p, extension, Path::new(""))).transpose()
        };
        let journal = journal_path(args);
        if let Some(journal) = &journal {
            // The same refusal for a folder or a name that no journal has; the journal itself is opened later.
            Target::check(journal, "jsonl", Path::new(""))?;
        }
        let paths = [&args.output, &args.plot, &journal];
        let said = paths.into_iter().flatten().map(|path| format!("wrote  {}\n", path.display())).collect();
        Ok(Files { table: target(&args.output, "txt")?, plot: target(&args.plot, "svg")?, said })
    }
}
