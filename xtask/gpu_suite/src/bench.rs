//! The short bench's rows: an arm a case.

use crate::compare::field;
use crate::junit::{Case, Outcome, Suite};

/// The bench program that the suite runs after the tests, and a grid of seconds, not minutes.
pub(crate) const PROGRAM: &str = "syev";
/// Its arguments.
#[rustfmt::skip]
pub(crate) const ARGUMENTS: &[&str] = &[
    "--bench", "--dtype", "f32,f64", "--n", "8,16,32", "--batch", "16384", "--jobz", "V",
    "--routes", "cta,cta_fused,vendor:xsyev", "--rounds", "9", "--seconds", "0.2",
];

/// What names a row, in the order in which it is named.
const KEYS: [&str; 6] = ["op", "dtype", "n", "batch", "jobz", "route"];

/// One arm of a bench.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// The values of the keys.
    key: Vec<String>,
    result: Result<Time, String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Time {
    ms: f64,
    spread: f64,
    trusted: bool,
}

/// The rows in a bench's JSON lines; other lines are left out.
pub(crate) fn read(text: &str) -> Vec<Row> {
    text.lines().filter_map(row).collect()
}

fn row(line: &str) -> Option<Row> {
    let key = KEYS.map(|name| field(line, name).map(str::to_owned));
    let key = key.into_iter().collect::<Option<Vec<_>>>()?;
    let result = match field(line, "error") {
        Some(error) => Err(error.to_owned()),
        None => Ok(Time {
            ms: field(line, "ms")?.parse().ok()?,
            spread: field(line, "spread")?.parse().ok()?,
            trusted: field(line, "trusted")? == "true",
        }),
    };
    Some(Row { key, result })
}

impl Row {
    /// `syev f32 n=16 batch=16384 V cta`.
    fn name(&self) -> String {
        let [op, dtype, n, batch, jobz, route] = &self.key[..] else { return self.key.join(" ") };
        format!("{op} {dtype} n={n} batch={batch} {jobz} {route}")
    }

    /// A vendor's library may be missing; a route of ours that gives no time is a fault.
    fn may_be_missing(&self) -> bool {
        self.key.last().is_some_and(|route| route.starts_with("vendor"))
    }

    fn outcome(&self) -> Outcome {
        match &self.result {
            Ok(Time { ms, spread, trusted: true }) => {
                Outcome::Noted(format!("{ms:.4} ms, spread {spread:.3}"))
            }
            Ok(Time { ms, spread, trusted: false }) => {
                Outcome::Noted(format!("{ms:.4} ms, spread {spread:.3}: too wide to say anything"))
            }
            Err(_) if self.may_be_missing() => Outcome::Ignored,
            Err(error) => Outcome::Failed(error.clone()),
        }
    }
}

/// The rows as a suite: an arm that gave a wrong result or none fails.
pub(crate) fn suite(rows: &[Row], seconds: f64, succeeded: bool) -> Suite {
    let mut cases: Vec<Case> =
        rows.iter().map(|row| Case { name: row.name(), outcome: row.outcome() }).collect();
    if !succeeded || rows.is_empty() {
        let outcome = Outcome::Failed("it failed, or printed no rows".to_owned());
        cases.push(Case { name: "the program itself".to_owned(), outcome });
    }
    Suite { name: format!("bench {PROGRAM}"), seconds, cases }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(route: &str, rest: &str) -> String {
        format!(
            r#"{{"batch":16384,"device":"NVIDIA H200","dtype":"f32","jobz":"V","n":16,"op":"syev","route":"{route}",{rest}}}"#
        )
    }

    fn time(ms: f64, spread: f64) -> Vec<Row> {
        read(&line("cta", &format!(r#""ms":{ms},"ns":1.0,"spread":{spread},"trusted":{}"#, spread <= 0.1)))
    }

    #[test]
    fn a_time_is_told_with_its_spread() {
        let told = |rows: &[Row]| suite(rows, 0.0, true).cases[0].outcome.clone();
        assert_eq!(told(&time(0.5, 0.01)), Outcome::Noted("0.5000 ms, spread 0.010".to_owned()));
        let wide = "0.9000 ms, spread 0.200: too wide to say anything".to_owned();
        assert_eq!(told(&time(0.9, 0.2)), Outcome::Noted(wide));
    }

    #[test]
    fn a_wrong_result_fails_and_a_missing_vendor_does_not() {
        let wrong = read(&line("cta", r#""error":"wrong result: residual 12""#));
        let vendor = read(&line("vendor:xsyev", r#""error":"no cuSOLVER here""#));
        assert_eq!(suite(&[wrong, vendor].concat(), 0.0, true).counts(), (0, 1, 1));
        assert_eq!(suite(&[], 0.0, true).counts(), (0, 1, 0));
        assert_eq!(suite(&time(0.5, 0.01), 0.0, false).counts(), (1, 1, 0));
    }
}
