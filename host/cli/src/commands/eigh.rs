//! `batchlas eigh`: check the outputs, read, solve, write, report.

mod report;
mod solve;

use std::path::Path;
use std::process::ExitCode;

use batchlas::ops::syev::OPERATION;
use batchlas::routes::{Kind, Pin, effective};
use batchlas::{Device, Queue, Real, Scalar};
use ndarray_npy::WritableElement;

use self::report::Report;
use self::solve::{Settings, Solved};
use super::print;
use crate::args::{DeviceChoice, EighArgs};
use crate::failure::Failure;
use crate::input::{self, Items, Matrices};
use crate::output::{self, Solution, Target};
use crate::plot::{self, Spectra};
use crate::progress;

/// Exit status where items failed or a check did not pass.
const ITEMS_FAILED: u8 = 3;

/// The outputs asked for, found writable.
struct Outputs {
    npz: Option<Target>,
    svg: Option<Target>,
}

/// Runs the command.
pub fn run(args: &EighArgs) -> Result<ExitCode, Failure> {
    let target = |path: &Option<_>, extension| {
        path.as_deref().map(|p: &Path| Target::check(p, extension, &args.input)).transpose()
    };
    let outputs = Outputs { npz: target(&args.output, "npz")?, svg: target(&args.plot, "svg")? };
    let settings = settings(args)?;
    match input::read(&args.input)? {
        Matrices::F32(items) => finish(args, &settings, &outputs, &items),
        Matrices::F64(items) => finish(args, &settings, &outputs, &items),
        Matrices::C32(items) => finish(args, &settings, &outputs, &items),
        Matrices::C64(items) => finish(args, &settings, &outputs, &items),
    }
}

/// Opens the device and reads the pin, before any large file is read.
fn settings(args: &EighArgs) -> Result<Settings, Failure> {
    if args.counters && args.device != DeviceChoice::Exact(Device::Simt) {
        return Err(Failure::new("--counters needs --device simt: only the executor counts"));
    }
    let route = args.route.as_deref().map(|text| Pin::parse(&OPERATION, text)).transpose();
    let route = route.map_err(|e| Failure::new(e.to_string()))?;
    let (device, or_cpu) = match args.device {
        DeviceChoice::Exact(device) => (device, false),
        DeviceChoice::Auto => (automatic(route.as_ref())?, true),
    };
    let queue = Queue::new(device)?;
    let jobz = if args.values_only { batchlas::Jobz::N } else { batchlas::Jobz::V };
    Ok(Settings { queue, jobz, uplo: args.uplo, route, or_cpu, check: args.check })
}

/// The GPU where there is one, unless a family of the CPU is pinned.
fn automatic(route: Option<&Pin>) -> Result<Device, Failure> {
    let pinned = effective(&OPERATION, route)?;
    let to_cpu = pinned.is_some_and(|p| matches!(p.pin, Pin::Family(c) if c.family().kind == Kind::Cpu));
    Ok(if to_cpu { Device::Cpu } else { Device::auto() })
}

fn finish<T>(
    args: &EighArgs,
    settings: &Settings,
    outputs: &Outputs,
    items: &Items<T>,
) -> Result<ExitCode, Failure>
where
    T: Scalar + WritableElement,
    T::Real: WritableElement,
{
    let solved = solve::solve(settings, items)?;
    write(args, outputs, &solved)?;
    let report = Report::new(args, settings, &solved);
    print(&if args.json { super::json_line(&report)? } else { report.text(args, &solved) })?;
    match report.complaint(&solved.status) {
        None => Ok(ExitCode::SUCCESS),
        Some(complaint) => {
            super::complain(&complaint);
            Ok(ExitCode::from(ITEMS_FAILED))
        }
    }
}

/// Writes every output beside its place, then puts all in place.
fn write<T>(args: &EighArgs, outputs: &Outputs, solved: &Solved<T>) -> Result<(), Failure>
where
    T: Scalar + WritableElement,
    T::Real: WritableElement,
{
    let _turning = progress::spinner("writing");
    let mut staged = Vec::new();
    if let Some(target) = &outputs.npz {
        let solution = Solution {
            batch: solved.batch,
            n: solved.n,
            w: &solved.w,
            v: solved.v.as_deref(),
            status: &solved.status,
        };
        staged.push(target.stage(|file| output::write_npz(file, &solution))?);
    }
    if let Some(target) = &outputs.svg {
        let values: Vec<f64> = solved.w.iter().map(|x| x.widen()).collect();
        let name = args.input.file_name().unwrap_or(args.input.as_os_str()).to_string_lossy();
        let spectra = Spectra { values: &values, batch: solved.batch, n: solved.n, name: &name };
        staged.push(target.stage(|file| plot::write_svg(file, &spectra))?);
    }
    staged.into_iter().try_for_each(|staged| staged.commit())
}
