//! From the arguments to the exit status: the same for every command that solves.

use std::path::Path;
use std::process::ExitCode;

use batchlas::{Real, Scalar};
use ndarray_npy::WritableElement;

use super::report::{Report, Subject};
use super::solve::{Job, Settings, Solved, solve};
use super::{complain, json_line, print};
use crate::args::SolveArgs;
use crate::failure::Failure;
use crate::output::{self, Solution, Target};
use crate::plot::{self, Spectra};
use crate::progress;

/// Exit status where items failed or a check did not pass.
const ITEMS_FAILED: u8 = 3;

/// A command's input and outputs, the latter found writable.
pub struct Files<'a> {
    input: &'a Path,
    npz: Option<Target>,
    svg: Option<Target>,
}

impl<'a> Files<'a> {
    /// Checks the outputs.
    pub fn check(input: &'a Path, args: &SolveArgs) -> Result<Self, Failure> {
        let target = |path: &Option<_>, extension| {
            path.as_deref().map(|p: &Path| Target::check(p, extension, input)).transpose()
        };
        Ok(Files { input, npz: target(&args.output, "npz")?, svg: target(&args.plot, "svg")? })
    }
}

/// Solves, writes and reports.
pub fn finish<T, J>(
    subject: Subject,
    args: &SolveArgs,
    settings: &Settings,
    files: &Files<'_>,
    job: &J,
) -> Result<ExitCode, Failure>
where
    T: Scalar + WritableElement,
    T::Real: WritableElement,
    J: Job<T>,
{
    let solved = solve(settings, job)?;
    write(files, &solved)?;
    let report = Report::new(subject, args, settings, &solved);
    print(&if args.json { json_line(&report)? } else { report.text(files.input, args, &solved) })?;
    match report.complaint(&solved.status) {
        None => Ok(ExitCode::SUCCESS),
        Some(complaint) => {
            complain(&complaint);
            Ok(ExitCode::from(ITEMS_FAILED))
        }
    }
}

/// Writes every output beside its place, then puts all in place.
fn write<T>(files: &Files<'_>, solved: &Solved<T>) -> Result<(), Failure>
where
    T: Scalar + WritableElement,
    T::Real: WritableElement,
{
    let _turning = progress::spinner("writing");
    let mut staged = Vec::new();
    if let Some(target) = &files.npz {
        let solution = Solution {
            batch: solved.batch,
            n: solved.n,
            w: &solved.w,
            v: solved.v.as_deref(),
            status: &solved.status,
        };
        staged.push(target.stage(|file| output::write_npz(file, &solution))?);
    }
    if let Some(target) = &files.svg {
        let values: Vec<f64> = solved.w.iter().map(|x| x.widen()).collect();
        let name = files.input.file_name().unwrap_or(files.input.as_os_str()).to_string_lossy();
        let spectra = Spectra { values: &values, batch: solved.batch, n: solved.n, name: &name };
        staged.push(target.stage(|file| plot::write_svg(file, &spectra))?);
    }
    staged.into_iter().try_for_each(|staged| staged.commit())
}
