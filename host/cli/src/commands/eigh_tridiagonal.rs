//! `batchlas eigh-tridiagonal`: check the outputs, read, solve, write, report.

use std::process::ExitCode;

use batchlas::check::{self, Quality};
use batchlas::linalg::{Eigh, EighTridiagonalOptions, Method, decide_tridiagonal, eigh_tridiagonal_with};
use batchlas::ops::Target;
use batchlas::ops::steqr::{Decision, Options, Problem, Shift};
use batchlas::routes::Pin;
use batchlas::{Jobz, Queue, Real, Status};
use ndarray_npy::WritableElement;

use super::finish::{Files, finish};
use super::report::Subject;
use super::solve::{Job, Settings};
use crate::args::EighTridiagonalArgs;
use crate::failure::Failure;
use crate::input::{self, Tridiagonal, Tridiagonals};

/// Runs the command.
pub fn run(args: &EighTridiagonalArgs) -> Result<ExitCode, Failure> {
    let files = Files::check(&args.input, &args.solve)?;
    let by_ql = matches!(args.method, Method::Auto | Method::Qr);
    if !by_ql && (args.form.0.is_some() || args.update.is_some() || args.shift.is_some()) {
        return Err(Failure::new(format!(
            "--method {} has none of --form, --update and --shift",
            args.method
        )));
    }
    if let Some(route) = args.solve.route.as_deref() {
        check_method(args.method, route)?;
    }
    let complete = |route| {
        let options = Options { route, form: args.form.0, update: args.update, ..Options::default() };
        if by_ql { options.pin() } else { Ok(options.route) }
    };
    let settings = Settings::open(args.method.operation(), &args.solve, complete)?;
    match input::read_tridiagonal(&args.input)? {
        Tridiagonals::F32(items) => solve(args, &settings, &files, items),
        Tridiagonals::F64(items) => solve(args, &settings, &files, items),
    }
}

/// Refuses a route that another method's operation has: that one is meant.
fn check_method(method: Method, route: &str) -> Result<(), Failure> {
    let Err(error) = Pin::parse(method.operation(), route) else { return Ok(()) };
    let has = |other: &&Method| Pin::parse(other.operation(), route).is_ok();
    match [Method::Qr, Method::Dc, Method::Bisection].iter().find(has) {
        Some(meant) => Err(Failure::new(format!("{error}; '{route}' goes with --method {meant}"))),
        None => Ok(()),
    }
}

fn solve<T>(
    args: &EighTridiagonalArgs,
    settings: &Settings,
    files: &Files<'_>,
    items: Tridiagonal<T>,
) -> Result<ExitCode, Failure>
where
    T: Real + WritableElement,
{
    let (jobz, shift) = (settings.jobz, args.shift);
    let problem = Problem { dtype: T::DTYPE, n: items.n, batch: items.batch, jobz };
    // One for all parts, the CPU in a device's place included.
    let method = args.method.resolve(&problem, &Target::of(&settings.queue), settings.route.as_ref())?;
    let job = Chains { items, jobz, shift, method };
    finish(Subject::Tridiagonals(args.shift.unwrap_or_default()), &args.solve, settings, files, &job)
}

/// A batch of tridiagonal matrices. Form and update are in the pin.
struct Chains<T> {
    items: Tridiagonal<T>,
    jobz: Jobz,
    shift: Option<Shift>,
    method: Method,
}

impl<T> Chains<T> {
    fn options(&self, route: Option<&Pin>) -> EighTridiagonalOptions {
        let Chains { jobz, shift, method, .. } = *self;
        EighTridiagonalOptions { jobz, shift, method, route: route.cloned(), ..Default::default() }
    }
}

impl<T: Real> Job<T> for Chains<T> {
    type Problem = Problem;
    /// First item and number of items.
    type Part = (usize, usize);

    fn batch(&self) -> usize {
        self.items.batch
    }

    fn n(&self) -> usize {
        self.items.n
    }

    fn decide(&self, target: &Target, route: Option<&Pin>) -> batchlas::Result<Decision> {
        let problem = Problem { dtype: T::DTYPE, n: self.n(), batch: self.batch(), jobz: self.jobz };
        decide_tridiagonal(&problem, target, &self.options(route))
    }

    fn part(&self, first: usize, count: usize) -> Result<(usize, usize), Failure> {
        Ok((first, count))
    }

    fn solve(
        &self,
        queue: &Queue,
        part: &(usize, usize),
        route: Option<&Pin>,
        or_cpu: bool,
    ) -> batchlas::Result<Eigh<T, Problem>> {
        let options = EighTridiagonalOptions { or_cpu, ..self.options(route) };
        let (d, e) = self.items.part(*part);
        let mut solved = eigh_tridiagonal_with(queue, d, e, self.n(), &options)?;
        if self.n() == 0 {
            // No element tells the library how many there are.
            solved.status = vec![Status::CONVERGED; part.1];
        }
        Ok(solved)
    }

    fn quality(&self, part: &(usize, usize), solved: &Eigh<T, Problem>) -> batchlas::Result<Quality> {
        if self.n() == 0 {
            return Ok(Quality::default());
        }
        let (d, e) = self.items.part(*part);
        check::quality_tridiagonal(d, e, self.n(), solved)
    }
}
