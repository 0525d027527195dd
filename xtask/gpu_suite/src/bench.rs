//! The short bench's rows, and those of one run against those of another.

use std::fmt::Write as _;

use crate::junit::{Case, Outcome, Suite};

/// The bench program that the suite runs after the tests, and a grid of seconds, not minutes.
pub(crate) const PROGRAM: &str = "syev";
/// Its arguments.
#[rustfmt::skip]
pub(crate) const ARGUMENTS: &[&str] = &[
    "--bench", "--dtype", "f32,f64", "--n", "8,16,32", "--batch", "16384", "--jobz", "V",
    "--routes", "cta,cta_fused,vendor:xsyev", "--rounds", "9", "--seconds", "0.2",
];

/// A time counts as another one where it differs by more than this part, and by more than both spreads.
const TOLERANCE: f64 = 0.05;

/// What decides that two rows are of one thing, in the order in which they are named.
const KEYS: [&str; 7] = ["device", "op", "dtype", "n", "batch", "jobz", "route"];

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

/// A field of a flat JSON object; strings without their quotes.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.split_once(&format!("\"{name}\":"))?.1.trim_start();
    match rest.strip_prefix('"') {
        Some(text) => text.split('"').next(),
        None => rest.split([',', '}']).next().map(str::trim),
    }
}

impl Row {
    /// `syev f32 n=16 batch=16384 V cta`.
    fn name(&self) -> String {
        let [_, op, dtype, n, batch, jobz, route] = &self.key[..] else { return self.key.join(" ") };
        format!("{op} {dtype} n={n} batch={batch} {jobz} {route}")
    }

    /// A vendor's library may be missing; a route of ours that gives no time is a fault.
    fn may_be_missing(&self) -> bool {
        self.key.last().is_some_and(|route| route.starts_with("vendor"))
    }

    fn outcome(&self, before: Option<&Row>) -> Outcome {
        let now = match &self.result {
            Ok(now) => now,
            Err(_) if self.may_be_missing() => return Outcome::Ignored,
            Err(error) => return Outcome::Failed(error.clone()),
        };
        let mut remark = format!("{:.4} ms, spread {:.3}", now.ms, now.spread);
        if !now.trusted {
            remark += ": too wide to say anything";
        } else if let Some(Row { result: Ok(then), .. }) = before.filter(|row| row.is_trusted()) {
            let _ = write!(remark, ", {:.3} of the first run's{}", now.ms / then.ms, verdict(then, now));
        }
        Outcome::Noted(remark)
    }

    fn is_trusted(&self) -> bool {
        self.result.as_ref().is_ok_and(|time| time.trusted)
    }
}

fn verdict(then: &Time, now: &Time) -> &'static str {
    let noise = TOLERANCE.max(then.spread + now.spread);
    match now.ms / then.ms {
        ratio if ratio > 1.0 + noise => ": SLOWER",
        ratio if ratio < 1.0 / (1.0 + noise) => ": faster",
        _ => "",
    }
}

/// The rows as a suite: an arm that gave a wrong result or none fails, and a time is compared with the one of
/// the same key in an earlier run. A slower arm is named and fails nothing: that needs a closer look.
pub(crate) fn suite(rows: &[Row], first: &[Row], seconds: f64, succeeded: bool) -> Suite {
    let same = |row: &Row| first.iter().find(|other| other.key == row.key);
    let mut cases: Vec<Case> =
        rows.iter().map(|row| Case { name: row.name(), outcome: row.outcome(same(row)) }).collect();
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

    fn remark(now: &[Row], first: &[Row]) -> String {
        match &suite(now, first, 0.0, true).cases[0].outcome {
            Outcome::Noted(remark) => remark.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_time_beyond_the_noise_is_named() {
        assert_eq!(remark(&time(0.5, 0.01), &[]), "0.5000 ms, spread 0.010");
        let first = time(0.5, 0.01);
        assert_eq!(
            remark(&time(0.53, 0.01), &first),
            "0.5300 ms, spread 0.010, 1.060 of the first run's: SLOWER"
        );
        assert!(remark(&time(0.47, 0.01), &first).ends_with(": faster"));
        assert!(remark(&time(0.52, 0.01), &first).ends_with("run's"));
        assert!(remark(&time(0.53, 0.06), &first).ends_with("run's"), "within the spread");
        assert!(remark(&time(0.9, 0.2), &first).ends_with("too wide to say anything"));
        assert!(!remark(&time(0.9, 0.01), &time(0.5, 0.2)).contains("first"));
    }

    #[test]
    fn another_device_is_no_counterpart() {
        let there =
            read(&line("cta", r#""ms":0.1,"ns":1.0,"spread":0.01,"trusted":true"#).replace("H200", "A100"));
        assert_eq!(there.len(), 1);
        assert!(!remark(&time(0.5, 0.01), &there).contains("first"));
    }

    #[test]
    fn a_wrong_result_fails_and_a_missing_vendor_does_not() {
        let wrong = read(&line("cta", r#""error":"wrong result: residual 12""#));
        let vendor = read(&line("vendor:xsyev", r#""error":"no cuSOLVER here""#));
        assert_eq!(suite(&[wrong, vendor].concat(), &[], 0.0, true).counts(), (0, 1, 1));
        assert_eq!(suite(&[], &[], 0.0, true).counts(), (0, 1, 0));
        assert_eq!(suite(&time(0.5, 0.01), &[], 0.0, false).counts(), (1, 1, 0));
    }
}
