//! Runs programs and keeps what they print: `log.txt`, `junit.xml`, `bench.jsonl`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::junit::{self, Outcome, Suite};
use crate::{Failure, Kind, Program, at, bench, compare};

/// Rows of the first run in a folder of results; later runs are compared with it.
const FIRST: &str = "first.jsonl";

/// Where programs run, and where results go.
#[derive(Debug, Clone)]
pub struct Places {
    /// Working folder of the programs: `examples/data` lies in it.
    pub work: PathBuf,
    /// Folder of the results; it is made where it is missing.
    pub results: PathBuf,
}

/// Runs the test programs, then the short bench if nothing failed: a wrong result's time means nothing.
/// Writes `junit.xml`, `log.txt` (all output and the summary) and `bench.jsonl`. The first run's rows stay in
/// `first.jsonl`, with which later runs are compared; it may also lie in the working folder.
///
/// An error where a test or an arm of the bench failed, and where no test ran.
pub fn tests_then_bench(programs: &[Program], places: &Places) -> Result<(), Failure> {
    let mut report = Report::run_tests(programs, places)?;
    if report.totals() != (0, 0) && report.totals().1 == 0 {
        report.run_bench(programs, places)?;
    }
    report.finish(places)
}

/// [`tests_then_bench`] without the bench.
pub fn tests(programs: &[Program], places: &Places) -> Result<(), Failure> {
    Report::run_tests(programs, places)?.finish(places)
}

/// Runs every bench program in full: what it prints goes to `NAME.jsonl`, its complaints to `NAME.err`. An
/// error where one failed, or where there is none.
pub fn benches(programs: &[Program], places: &Places) -> Result<(), Failure> {
    std::fs::create_dir_all(&places.results).map_err(at(&places.results))?;
    let mut failed = vec![];
    let mut count = 0;
    for program in programs.iter().filter(|program| program.kind == Kind::Bench) {
        count += 1;
        println!("== {}", program.name);
        let file = |suffix: &str| {
            let path = places.results.join(format!("{}.{suffix}", program.name));
            File::create(&path).map_err(at(&path))
        };
        let mut command = on_a_gpu(program, places);
        command.arg("--bench").stdout(file("jsonl")?).stderr(file("err")?);
        if !command.status().map_err(at(&program.path))?.success() {
            failed.push(program.name.as_str());
        }
    }
    match (count, failed.is_empty()) {
        (0, _) => Err(Failure::new("there are no bench programs")),
        (_, true) => Ok(()),
        (_, false) => Err(Failure::new(format!("failed: {}", failed.join(", ")))),
    }
}

struct Report {
    suites: Vec<Suite>,
    log: String,
}

impl Report {
    fn run_tests(programs: &[Program], places: &Places) -> Result<Self, Failure> {
        std::fs::create_dir_all(&places.results).map_err(at(&places.results))?;
        let mut report = Self { suites: vec![], log: String::new() };
        for program in programs.iter().filter(|program| program.kind == Kind::Test) {
            println!("== {}", program.name);
            let start = Instant::now();
            let (output, succeeded) = run_and_show(on_a_gpu(program, places))?;
            let _ = writeln!(report.log, "== {}\n{output}", program.name);
            let seconds = start.elapsed().as_secs_f64();
            report.suites.push(Suite::read(&program.name, seconds, &output, succeeded));
        }
        Ok(report)
    }

    fn run_bench(&mut self, programs: &[Program], places: &Places) -> Result<(), Failure> {
        let is_it = |program: &&Program| program.kind == Kind::Bench && program.name == bench::PROGRAM;
        let Some(program) = programs.iter().find(is_it) else { return Ok(()) };
        println!("== bench {}", program.name);
        let start = Instant::now();
        let mut command = on_a_gpu(program, places);
        command.args(bench::ARGUMENTS);
        let (output, succeeded) = run_and_show(command)?;
        let _ = writeln!(self.log, "== bench {}\n{output}", program.name);
        let is_row = |line: &&str| line.starts_with('{');
        let rows: String = output.lines().filter(is_row).flat_map(|line| [line, "\n"]).collect();
        let path = places.results.join("bench.jsonl");
        std::fs::write(&path, &rows).map_err(at(&path))?;

        let read = bench::read(&rows);
        let suite = bench::suite(&read, start.elapsed().as_secs_f64(), succeeded);
        let is_fine = suite.counts().1 == 0;
        self.suites.push(suite);
        let first = [&places.results, &places.work].map(|folder| folder.join(FIRST));
        match first.iter().find(|path| path.is_file()) {
            Some(first) if !read.is_empty() => self.compare_with(first, &path, programs, places),
            None if is_fine => {
                let path = places.results.join(FIRST);
                std::fs::write(&path, &rows).map_err(at(&path))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// This run's rows against those of the first run. What keeps them from being compared is a failure.
    fn compare_with(&mut self, first: &Path, rows: &Path, programs: &[Program], places: &Places) {
        let start = Instant::now();
        let compared = compare::program(programs)
            .and_then(|program| compare::compare(program, first, rows, &places.results));
        let seconds = start.elapsed().as_secs_f64();
        let name = "bench against the first run";
        let (suite, text) = match compared {
            Ok(compared) => (compare::suite(name, &compared, seconds), compared.text),
            Err(failure) => (Suite::failed(name, seconds, &failure.to_string()), failure.to_string()),
        };
        self.suites.push(suite);
        let head = format!("== against {}; remove it to begin anew", first.display());
        println!("{head}\n{text}");
        let _ = writeln!(self.log, "{head}\n{text}");
    }

    fn finish(self, places: &Places) -> Result<(), Failure> {
        let (xml, text) = (places.results.join("junit.xml"), places.results.join("log.txt"));
        let summary = self.summary();
        std::fs::write(&xml, junit::xml(&self.suites)).map_err(at(&xml))?;
        std::fs::write(&text, format!("{}{summary}", self.log)).map_err(at(&text))?;
        print!("{summary}");
        println!("{} and {}", xml.display(), text.display());
        match self.totals() {
            (0, 0) => Err(Failure::new("no GPU test ran")),
            (_, 0) => Ok(()),
            (_, failed) => Err(Failure::new(format!("{failed} failed"))),
        }
    }

    /// Passed and failed.
    fn totals(&self) -> (usize, usize) {
        self.suites
            .iter()
            .map(Suite::counts)
            .fold((0, 0), |(p, f), (passed, failed, _)| (p + passed, f + failed))
    }

    fn summary(&self) -> String {
        let mut text = String::from("== summary\n");
        for suite in &self.suites {
            let (passed, failed, ignored) = suite.counts();
            let _ = writeln!(
                text,
                "{:<24} {passed:>5} passed {failed:>5} failed {ignored:>5} ignored {:>8.1} s",
                suite.name, suite.seconds
            );
            for case in &suite.cases {
                let _ = match &case.outcome {
                    Outcome::Failed(_) => writeln!(text, "  FAILED {}", case.name),
                    Outcome::Noted(remark) => writeln!(text, "  {}: {remark}", case.name),
                    Outcome::Passed | Outcome::Ignored => Ok(()),
                };
            }
        }
        let (passed, failed) = self.totals();
        let _ = writeln!(text, "{passed} passed, {failed} failed");
        text
    }
}

/// A program that must not pass for want of a GPU.
fn on_a_gpu(program: &Program, places: &Places) -> Command {
    let mut command = Command::new(&program.path);
    command.current_dir(&places.work).env("BATCHLAS_REQUIRE_GPU", "1").stdin(Stdio::null());
    command
}

/// Runs a program, shows what it prints, and keeps it; whether it succeeded.
fn run_and_show(mut command: Command) -> Result<(String, bool), Failure> {
    let program = PathBuf::from(command.get_program());
    let (reader, writer) = std::io::pipe().map_err(at(&program))?;
    command.stdout(writer.try_clone().map_err(at(&program))?).stderr(writer);
    let mut child = command.spawn().map_err(at(&program))?;
    // It holds the pipe's other end, which must close when the child ends.
    drop(command);
    let mut output = String::new();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line.map_err(at(&program))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        output.push_str(&line);
        output.push('\n');
    }
    let status = child.wait().map_err(at(&program))?;
    Ok((output, status.success()))
}

/// Whether there is a device of NVIDIA's, as far as files tell.
pub fn has_device_file() -> bool {
    ["/dev/nvidiactl", "/dev/dxg"].into_iter().any(|path| Path::new(path).exists())
}
