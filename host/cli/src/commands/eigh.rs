//! `batchlas eigh`: check the outputs, read, solve, write, report.

use std::process::ExitCode;

use batchlas::check::{self, Quality};
use batchlas::linalg::{Eigh, EighOptions, eigh_with};
use batchlas::ops::Target;
use batchlas::ops::syev::{self, Decision, OPERATION, Problem};
use batchlas::routes::Pin;
use batchlas::{Batch, Jobz, Queue, Scalar, Uplo};
use ndarray_npy::WritableElement;

use super::finish::{Files, finish};
use super::report::Subject;
use super::solve::{Job, Settings};
use crate::args::EighArgs;
use crate::failure::Failure;
use crate::input::{self, Items, Matrices};

/// Runs the command.
pub fn run(args: &EighArgs) -> Result<ExitCode, Failure> {
    let files = Files::check(&args.input, &args.solve)?;
    let settings = Settings::open(&OPERATION, &args.solve, Ok)?;
    match input::read(&args.input)? {
        Matrices::F32(items) => solve(args, &settings, &files, items),
        Matrices::F64(items) => solve(args, &settings, &files, items),
        Matrices::C32(items) => solve(args, &settings, &files, items),
        Matrices::C64(items) => solve(args, &settings, &files, items),
    }
}

fn solve<T>(
    args: &EighArgs,
    settings: &Settings,
    files: &Files<'_>,
    items: Items<T>,
) -> Result<ExitCode, Failure>
where
    T: Scalar + WritableElement,
    T::Real: WritableElement,
{
    let job = Dense { items, jobz: settings.jobz, uplo: args.uplo };
    finish(Subject::Matrices(args.uplo), &args.solve, settings, files, &job)
}

/// A batch of matrices.
struct Dense<T> {
    items: Items<T>,
    jobz: Jobz,
    uplo: Uplo,
}

impl<T: Scalar> Job<T> for Dense<T> {
    type Problem = Problem;
    type Part = Batch<T>;

    fn batch(&self) -> usize {
        self.items.batch()
    }

    fn n(&self) -> usize {
        self.items.n()
    }

    fn decide(&self, target: &Target, route: Option<&Pin>) -> batchlas::Result<Decision> {
        let (n, batch) = (self.n(), self.batch());
        let problem = Problem { dtype: T::DTYPE, n, batch, jobz: self.jobz, uplo: self.uplo };
        Ok(syev::plan(&problem, target, route)?.0)
    }

    fn part(&self, first: usize, count: usize) -> Result<Batch<T>, Failure> {
        self.items.chunk(first, count)
    }

    fn solve(
        &self,
        queue: &Queue,
        part: &Batch<T>,
        route: Option<&Pin>,
        or_cpu: bool,
    ) -> batchlas::Result<Eigh<T>> {
        let options = EighOptions { jobz: self.jobz, uplo: self.uplo, route: route.cloned(), or_cpu };
        eigh_with(queue, part, &options)
    }

    fn quality(&self, part: &Batch<T>, solved: &Eigh<T>) -> batchlas::Result<Quality> {
        check::quality(part, self.uplo, solved)
    }
}
