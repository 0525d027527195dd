//! `batchlas bench`: a grid of cells, its table, its files.

mod figures;
mod page;
mod table;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use batchlas::{Device, Dtype, Jobz, Queue};
use batchlas_bench::grid::{Batches, Grid};
use batchlas_bench::race::Effort;
use batchlas_bench::{Op, Provenance, Row, Sides, routes};

use super::{complain, print};
use crate::args::{BenchArgs, DeviceChoice, sides};
use crate::failure::Failure;
use crate::output::Target;
use crate::progress;

/// Exit status where a family of ours gave a wrong result.
const WRONG: u8 = 3;

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<ExitCode, Failure> {
    let files = Files::check(args)?;
    let queue = open(args.device)?;
    let grid = grid(args, queue.device())?;
    let provenance = Provenance::of(&queue);
    let (rows, left_out) = measure(&queue, &grid, &provenance)?;
    if rows.iter().all(|row| row.reached.is_none()) {
        let reason = rows.iter().find_map(|row| row.error.clone());
        return Err(Failure::new(reason.unwrap_or_else(|| "no arm can run any of these shapes".to_owned())));
    }
    files.write(&rows, &provenance)?;
    for cell in &left_out {
        complain(&format!("left out: none of the families can run {cell}"));
    }
    print(&format!("{}\n{}{}", table::heading(&grid, &provenance), table::table(&rows), files.said(args)))?;
    let wrong = |row: &&Row| row.reached.is_some() && row.error.is_some() && !row.is_vendor();
    let wrong: Vec<&Row> = rows.iter().filter(wrong).collect();
    let Some(first) = wrong.first() else { return Ok(ExitCode::SUCCESS) };
    let reason = first.error.as_deref().unwrap_or_default();
    complain(&format!(
        "{} of {} arms gave no right result; the first: {} {reason}",
        wrong.len(),
        rows.len(),
        first.route
    ));
    Ok(ExitCode::from(WRONG))
}

/// The device's queue.
pub(super) fn open(choice: DeviceChoice) -> Result<Queue, Failure> {
    let device = match choice {
        DeviceChoice::Auto => Device::auto(),
        DeviceChoice::Exact(device) => device,
    };
    Ok(Queue::new(device)?)
}

/// Refuses a type that the operation does not have.
pub(super) fn check_types(op: Op, dtypes: &[Dtype]) -> Result<(), Failure> {
    match dtypes.iter().find(|dtype| !op.takes(**dtype)) {
        Some(dtype) => Err(Failure::new(format!("{op} is for real types, f32 and f64, not for {dtype}"))),
        None => Ok(()),
    }
}

/// Refuses vectors of an operation that finds none.
pub(super) fn check_jobz(op: Op, jobz: &[Jobz]) -> Result<(), Failure> {
    match jobz.iter().any(|jobz| op.gives(*jobz)) {
        true => Ok(()),
        false => Err(Failure::new(format!("{op} finds values only: --jobz N"))),
    }
}

fn grid(args: &BenchArgs, device: Device) -> Result<Grid, Failure> {
    check_types(args.op, &args.dtype)?;
    let batches = args.batch.clone().unwrap_or(Batches::List(vec![match device {
        Device::Cpu => 1024,
        Device::Simt => 16,
        Device::Cuda(_) => 16_384,
    }]));
    if device == Device::Simt && batches == Batches::Auto {
        return Err(Failure::new("--batch auto searches by times, and the executor has none"));
    }
    Ok(Grid {
        op: args.op,
        dtypes: args.dtype.clone(),
        n: args.n.0.clone(),
        batches,
        jobz: if args.op == Op::Gemm { vec![Jobz::V] } else { args.jobz.clone() },
        sides: if args.op == Op::Gemm { sides(&args.ops, args.m, args.k) } else { vec![Sides::default()] },
        paddings: args.layout.clone(),
        shift: args.shift,
        asked: routes::parse(args.op.operation(), &args.routes).map_err(Failure::new)?,
        effort: Effort { rounds: args.rounds as usize, limit: args.seconds, once_from: None },
        memory: args.memory,
    })
}

/// The rows, and the cells without one.
fn measure(queue: &Queue, grid: &Grid, provenance: &Provenance) -> Result<(Vec<Row>, Vec<String>), Failure> {
    let cells = grid.cells();
    let bar = progress::steps(cells.len());
    let (mut rows, mut left_out) = (vec![], vec![]);
    for cell in &cells {
        let of_cell = grid.measure(queue, cell, provenance, |cell| bar.set_message(cell.to_string()))?;
        if of_cell.is_empty() {
            left_out.push(cell.to_string());
        }
        rows.extend(of_cell);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((rows, left_out))
}

/// The outputs, found writable.
struct Files {
    json: Option<Target>,
    svg: Option<Target>,
    html: Option<Target>,
}

impl Files {
    fn check(args: &BenchArgs) -> Result<Self, Failure> {
        let target = |path: &Option<_>, extension| {
            path.as_deref().map(|p: &Path| Target::check(p, extension, Path::new(""))).transpose()
        };
        Ok(Files {
            json: target(&args.json, "jsonl")?,
            svg: target(&args.plot, "svg")?,
            html: target(&args.html, "html")?,
        })
    }

    /// Stages all, then puts them in their places.
    fn write(&self, rows: &[Row], provenance: &Provenance) -> Result<(), Failure> {
        let mut staged = vec![];
        if let Some(json) = &self.json {
            let lines: String = rows.iter().map(Row::line).collect();
            staged.push(json.stage(|out| out.write_all(lines.as_bytes()))?);
        }
        if let Some(svg) = &self.svg {
            let text = figures::all(rows).svg()?;
            staged.push(svg.stage(|out| out.write_all(text.as_bytes()))?);
        }
        if let Some(html) = &self.html {
            let text = page::page(rows, provenance)?;
            staged.push(html.stage(|out| out.write_all(text.as_bytes()))?);
        }
        staged.into_iter().try_for_each(|file| file.commit())
    }

    fn said(&self, args: &BenchArgs) -> String {
        let paths = [&args.json, &args.plot, &args.html];
        paths.into_iter().flatten().map(|path| format!("wrote  {}\n", path.display())).collect()
    }
}
