//! What a command says of a solve, as text and as JSON.

use std::fmt::Write as _;
use std::path::Path;

use batchlas::check::{self, Quality};
use batchlas::ops::steqr::Shift;
use batchlas::{Dtype, Jobz, LaunchRecord, Real, Scalar, Status, Uplo};
use indicatif::HumanBytes;
use serde::{Serialize, Serializer};

use super::solve::{Settings, Solved};
use crate::args::SolveArgs;
use crate::table::Table;

/// Items whose eigenvalues the text shows where no file is written.
const SHOWN_ITEMS: usize = 3;
/// Eigenvalues that it shows of each.
const SHOWN_VALUES: usize = 8;
/// Failed items that a complaint names.
const NAMED_FAILURES: usize = 3;

/// What was solved.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// Symmetric or Hermitian matrices, of which this triangle was read.
    Matrices(Uplo),
    /// Tridiagonal matrices, shifted so.
    Tridiagonals(Shift),
}

/// The line of `--json`.
#[derive(Debug, Serialize)]
pub struct Report {
    op: &'static str,
    #[serde(serialize_with = "text_of")]
    dtype: Dtype,
    n: usize,
    batch: usize,
    #[serde(serialize_with = "text_of")]
    jobz: Jobz,
    #[serde(skip_serializing_if = "Option::is_none")]
    uplo: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shift: Option<String>,
    device: String,
    route: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    seconds: f64,
    device_bytes: u64,
    failed_items: usize,
    #[serde(flatten)]
    check: Option<Check>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<Vec<KernelCounters>>,
}

/// What `--check` found.
#[derive(Debug, Serialize)]
struct Check {
    checked_items: usize,
    /// `None`, null in JSON, where nothing was measured. A NaN is null there too.
    max_residual: Option<f64>,
    max_orthogonality: Option<f64>,
    #[serde(skip)]
    passed: bool,
}

impl Check {
    fn new(quality: &Quality) -> Self {
        let measured = |x: f64| (quality.checked_items > 0).then_some(x);
        Check {
            checked_items: quality.checked_items,
            max_residual: measured(quality.max_residual),
            max_orthogonality: measured(quality.max_orthogonality),
            passed: quality.is_ok(),
        }
    }

    /// The figures and the limit, or that there are none.
    fn figures(&self) -> Option<String> {
        let (residual, orthogonality) = (self.max_residual?, self.max_orthogonality?);
        Some(format!("residual {residual:.3}, orthogonality {orthogonality:.3}, at most {}", check::LIMIT))
    }

    fn text(&self) -> String {
        match self.figures() {
            Some(figures) => format!("{figures}: {}", if self.passed { "passed" } else { "NOT passed" }),
            None => "nothing was checked: no item has a result to measure".to_string(),
        }
    }
}

fn text_of<S: Serializer>(value: &impl ToString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.to_string())
}

/// The executor's counters of one kernel, summed over its launches: a model.
#[derive(Debug, Serialize)]
struct KernelCounters {
    kernel: &'static str,
    launches: u64,
    collectives: u64,
    barriers: u64,
    bank_conflicts: u64,
    shared_accesses: u64,
    global_accesses: u64,
    global_sectors: u64,
    sectors_per_access: f64,
    divergence: f64,
}

impl Report {
    /// The report of a solve.
    pub fn new<T: Scalar>(
        subject: Subject,
        args: &SolveArgs,
        settings: &Settings,
        solved: &Solved<T>,
    ) -> Self {
        let (uplo, shift) = match subject {
            Subject::Matrices(uplo) => (Some(uplo.to_string()), None),
            Subject::Tridiagonals(shift) => (None, (solved.operation == "steqr").then(|| shift.to_string())),
        };
        Report {
            op: solved.operation,
            dtype: T::DTYPE,
            n: solved.n,
            batch: solved.batch,
            jobz: settings.jobz,
            uplo,
            shift,
            device: solved.device.to_string(),
            route: solved.route.clone(),
            note: solved.note.clone(),
            seconds: solved.time.as_secs_f64(),
            device_bytes: settings.queue.memory_use().peak,
            failed_items: solved.status.iter().filter(|s| **s != 0).count(),
            check: solved.quality.as_ref().map(Check::new),
            counters: args.counters.then(|| counters(&solved.launches)),
        }
    }

    /// Why the exit status is 3, if it is.
    pub fn complaint(&self, status: &[i32]) -> Option<String> {
        let mut parts = Vec::new();
        if self.failed_items > 0 {
            parts.push(format!("{} of {} items failed: {}", self.failed_items, self.batch, failures(status)));
        }
        let failed_check = self.check.as_ref().filter(|check| !check.passed);
        parts.extend(
            failed_check.and_then(Check::figures).map(|f| format!("the check did not pass: {f} allowed")),
        );
        if parts.is_empty() { None } else { Some(parts.join("; ")) }
    }

    /// The report for people.
    pub fn text<T: Scalar>(&self, input: &Path, args: &SolveArgs, solved: &Solved<T>) -> String {
        let mut text = format!("input    {}: {}\n", self.input(), input.display());
        let _ = writeln!(text, "device   {}, route {}", self.device, self.route);
        if let Some(note) = &self.note {
            let _ = writeln!(text, "         {note}");
        }
        let what = if self.jobz == Jobz::V { "eigenvalues and vectors" } else { "eigenvalues" };
        let _ = writeln!(
            text,
            "solved   {what} of {} in {:.4} s{}",
            self.batch - self.failed_items,
            self.seconds,
            self.rate()
        );
        let _ = writeln!(text, "memory   {} at most", HumanBytes(self.device_bytes));
        if self.failed_items > 0 {
            let _ = writeln!(text, "failed   {}: {}", self.failed_items, failures(&solved.status));
        }
        if let Some(check) = &self.check {
            let _ = writeln!(text, "check    {}", check.text());
        }
        self.outputs(&mut text, args);
        if args.output.is_none() {
            spectra(&mut text, solved);
        }
        if let Some(kernels) = &self.counters {
            counter_table(&mut text, kernels);
        }
        text
    }

    fn input(&self) -> String {
        let (b, n) = (self.batch, self.n);
        let matrices = if b == 1 { "matrix" } else { "matrices" };
        match &self.uplo {
            Some(uplo) => format!("{b} {matrices} of {n}x{n}, {}, {uplo} triangle", self.dtype),
            None => format!("{b} tridiagonal {matrices} of {n}x{n}, {}", self.dtype),
        }
    }

    fn rate(&self) -> String {
        if self.batch == 0 || self.seconds <= 0.0 {
            return String::new();
        }
        let rate = self.batch as f64 / self.seconds;
        if rate >= 10.0 { format!(" ({rate:.0} a second)") } else { format!(" ({rate:.3} a second)") }
    }

    fn outputs(&self, text: &mut String, args: &SolveArgs) {
        let (b, n) = (self.batch, self.n);
        if let Some(path) = &args.output {
            let v = if self.jobz == Jobz::V { format!(", v ({b}, {n}, {n})") } else { String::new() };
            let _ = writeln!(text, "wrote    {}: w ({b}, {n}){v}, status ({b},)", path.display());
        }
        if let Some(path) = &args.plot {
            let _ = writeln!(text, "wrote    {}", path.display());
        }
    }
}

/// The first failed items with their reasons.
fn failures(status: &[i32]) -> String {
    let failed = status.iter().enumerate().filter(|(_, s)| **s != 0);
    let count = failed.clone().count();
    let named: Vec<String> =
        failed.take(NAMED_FAILURES).map(|(item, s)| format!("item {item} ({})", Status(*s))).collect();
    let more = count.saturating_sub(NAMED_FAILURES);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", named.join(", "))
}

/// The first items' eigenvalues, for want of a file.
fn spectra<T: Scalar>(text: &mut String, solved: &Solved<T>) {
    let (b, n) = (solved.batch, solved.n);
    if n == 0 {
        return;
    }
    for item in 0..b.min(SHOWN_ITEMS) {
        let values: Vec<f64> = solved.w[item * n..(item + 1) * n].iter().map(|x| x.widen()).collect();
        let show = |part: &[f64]| part.iter().map(|x| short(*x)).collect::<Vec<_>>().join(" ");
        let line = if n <= SHOWN_VALUES {
            show(&values)
        } else {
            let half = SHOWN_VALUES / 2;
            format!("{} ... {}", show(&values[..half]), show(&values[n - half..]))
        };
        let _ = writeln!(text, "item {item}   {line}");
    }
    if b > SHOWN_ITEMS {
        let _ = writeln!(text, "         and {} more; -o OUT.npz writes all", b - SHOWN_ITEMS);
    }
}

/// Seven significant digits, without an exponent where it needs none.
fn short(x: f64) -> String {
    let magnitude = x.abs();
    if x == 0.0 {
        return "0".to_string();
    }
    if !x.is_finite() {
        return x.to_string();
    }
    if !(1e-3..1e7).contains(&magnitude) {
        return format!("{x:.6e}");
    }
    let digits = (6.0 - magnitude.log10().floor()).max(0.0) as usize;
    format!("{x:.digits$}")
}

/// Sums the launches of each kernel.
fn counters(launches: &[LaunchRecord]) -> Vec<KernelCounters> {
    let mut names: Vec<&'static str> = Vec::new();
    for launch in launches {
        if !names.contains(&launch.entry) {
            names.push(launch.entry);
        }
    }
    names.into_iter().filter_map(|name| total(name, launches)).collect()
}

fn total(kernel: &'static str, launches: &[LaunchRecord]) -> Option<KernelCounters> {
    let mut own = launches.iter().filter(|launch| launch.entry == kernel);
    let mut sum = own.next()?.counters.clone();
    let mut count = 1;
    for launch in own {
        sum.add(&launch.counters);
        count += 1;
    }
    Some(KernelCounters {
        kernel,
        launches: count,
        collectives: sum.collectives,
        barriers: sum.barriers,
        bank_conflicts: sum.bank_conflicts,
        shared_accesses: sum.shared_accesses,
        global_accesses: sum.global_accesses,
        global_sectors: sum.global_sectors,
        sectors_per_access: sum.sectors_per_access(),
        divergence: sum.divergence(),
    })
}

fn counter_table(text: &mut String, kernels: &[KernelCounters]) {
    let mut table = Table::new(
        &[
            "kernel",
            "launches",
            "collectives",
            "barriers",
            "bank conflicts",
            "shared accesses",
            "global accesses",
            "sectors an access",
            "divergence",
        ],
        1,
    );
    for k in kernels {
        table.row(vec![
            k.kernel.to_string(),
            k.launches.to_string(),
            k.collectives.to_string(),
            k.barriers.to_string(),
            k.bank_conflicts.to_string(),
            k.shared_accesses.to_string(),
            k.global_accesses.to_string(),
            format!("{:.2}", k.sectors_per_access),
            format!("{:.3}", k.divergence),
        ]);
    }
    let _ = write!(
        text,
        "\ncounters of the executor: a model of a GPU's warps, not a measurement\n{}",
        table.render()
    );
    text.push_str(
        "bank conflicts: extra passes over the banks; sectors: of 32 bytes, a warp access to global memory; \
         divergence: lane slots over active lanes\n",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (x, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (f64::NAN, "NaN"),
            (332.62981234, "332.6298"),
            (-0.2455366, "-0.2455366"),
            (9999999.5, "10000000"),
            (1e7, "1.000000e7"),
            (-1e-14, "-1.000000e-14"),
        ] {
            assert_eq!(short(x), text);
        }
    }

    #[test]
    fn a_check_of_nothing_has_no_figures() {
        let json = |quality: &Quality| serde_json::to_string(&Check::new(quality)).unwrap();
        let nothing = Quality { failed_items: 3, ..Quality::default() };
        assert_eq!(json(&nothing), r#"{"checked_items":0,"max_residual":null,"max_orthogonality":null}"#);
        assert!(Check::new(&nothing).text().starts_with("nothing was checked"));
        let zero = Quality { checked_items: 1, ..Quality::default() };
        assert_eq!(json(&zero), r#"{"checked_items":1,"max_residual":0.0,"max_orthogonality":0.0}"#);
        assert_eq!(Check::new(&zero).text(), "residual 0.000, orthogonality 0.000, at most 10: passed");
        let nan = Check::new(&Quality { max_residual: f64::NAN, ..zero });
        assert_eq!(nan.text(), "residual NaN, orthogonality 0.000, at most 10: NOT passed");
    }

    #[test]
    fn failures_name_the_first_and_count_the_rest() {
        assert_eq!(
            failures(&[0, -1, 2]),
            "item 1 (NaN or infinity in the input), item 2 (2 off-diagonal element(s) did not converge)"
        );
        assert!(failures(&[-1; 9]).ends_with(" and 6 more"));
    }
}
