//! Reads what libtest prints, and writes JUnit XML.

use std::fmt::Write as _;

/// One test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    pub name: String,
    pub outcome: Outcome,
}

/// How a test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Ignored,
    /// With a figure or a remark, which the XML keeps.
    Noted(String),
    /// With what it printed.
    Failed(String),
}

/// One test program.
#[derive(Debug, Clone)]
pub struct Suite {
    pub name: String,
    pub seconds: f64,
    pub cases: Vec<Case>,
}

impl Suite {
    /// Reads a test program's output. A program that died without a verdict counts as one failed case.
    pub fn read(name: &str, seconds: f64, output: &str, succeeded: bool) -> Self {
        let mut cases: Vec<Case> = output.lines().filter_map(case).collect();
        for case in &mut cases {
            if let Outcome::Failed(text) = &mut case.outcome {
                *text = printed_by(output, &case.name);
            }
        }
        let any_failed = cases.iter().any(|case| matches!(case.outcome, Outcome::Failed(_)));
        if !succeeded && !any_failed {
            let tail: Vec<&str> = output.lines().rev().take(40).collect();
            let text = tail.into_iter().rev().collect::<Vec<_>>().join("\n");
            cases.push(Case { name: "the program itself".to_owned(), outcome: Outcome::Failed(text) });
        }
        Self { name: name.to_owned(), seconds, cases }
    }

    /// A suite that came to nothing.
    pub fn failed(name: &str, seconds: f64, why: &str) -> Self {
        let case = Case { name: "the suite itself".to_owned(), outcome: Outcome::Failed(why.to_owned()) };
        Self { name: name.to_owned(), seconds, cases: vec![case] }
    }

    /// Passed, failed and ignored.
    pub fn counts(&self) -> (usize, usize, usize) {
        let count =
            |wanted: fn(&Outcome) -> bool| self.cases.iter().filter(|case| wanted(&case.outcome)).count();
        (
            count(|outcome| matches!(outcome, Outcome::Passed | Outcome::Noted(_))),
            count(|outcome| matches!(outcome, Outcome::Failed(_))),
            count(|outcome| *outcome == Outcome::Ignored),
        )
    }
}

/// `test NAME ... ok`; a test that prints without capture may put its text between.
fn case(line: &str) -> Option<Case> {
    let (name, verdict) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let outcome = match verdict.split([' ', ',']).next()? {
        "ok" => Outcome::Passed,
        "ignored" => Outcome::Ignored,
        "FAILED" => Outcome::Failed(String::new()),
        _ => return None,
    };
    let name = name.trim_end_matches(" - should panic");
    Some(Case { name: name.to_owned(), outcome })
}

fn printed_by(output: &str, name: &str) -> String {
    let Some((_, rest)) = output.split_once(&format!("---- {name} stdout ----\n")) else {
        return String::new();
    };
    let end = rest.find("\n---- ").or_else(|| rest.find("\nfailures:")).unwrap_or(rest.len());
    rest[..end].trim().to_owned()
}

/// The suites as JUnit XML.
pub fn xml(suites: &[Suite]) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for suite in suites {
        let (passed, failed, ignored) = suite.counts();
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" skipped=\"{ignored}\" time=\"{:.3}\">",
            escape(&suite.name),
            passed + failed + ignored,
            suite.seconds
        );
        for case in &suite.cases {
            let _ = write!(
                text,
                "    <testcase classname=\"{}\" name=\"{}\"",
                escape(&suite.name),
                escape(&case.name)
            );
            let _ = match &case.outcome {
                Outcome::Passed => writeln!(text, "/>"),
                Outcome::Ignored => writeln!(text, "><skipped/></testcase>"),
                Outcome::Noted(remark) => {
                    writeln!(text, "><system-out>{}</system-out></testcase>", escape(remark))
                }
                Outcome::Failed(printed) => {
                    writeln!(text, "><failure>{}</failure></testcase>", escape(printed))
                }
            };
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            // XML has no way to write other control characters.
            c if c.is_control() && !matches!(c, '\n' | '\t' | '\r') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\nrunning 3 tests\ntest a::b ... ok\ntest slow ... ignored, needs time\ntest bad ... FAILED\n\n\
        failures:\n\n---- bad stdout ----\nassertion `a < b` failed\n\nfailures:\n    bad\n\ntest result: FAILED. 1 passed\n";

    #[test]
    fn libtest_output() {
        let suite = Suite::read("gpu", 1.5, OUTPUT, false);
        assert_eq!(suite.counts(), (1, 1, 1));
        assert_eq!(suite.cases[2].outcome, Outcome::Failed("assertion `a < b` failed".to_owned()));
        let xml = xml(&[suite]);
        assert!(xml.contains("tests=\"3\" failures=\"1\" skipped=\"1\" time=\"1.500\""), "{xml}");
        assert!(xml.contains("<failure>assertion `a &lt; b` failed</failure>"), "{xml}");
    }

    #[test]
    fn a_crash_is_a_failure() {
        let suite = Suite::read("gpu", 0.1, "running 2 tests\ntest a ... ok\nSegmentation fault\n", false);
        assert_eq!(suite.counts(), (1, 1, 0));
        assert_eq!(Suite::read("gpu", 0.1, "test a ... ok\n", true).counts(), (1, 0, 0));
    }

    #[test]
    fn a_remark_is_no_failure() {
        let case = Case { name: "n=16".to_owned(), outcome: Outcome::Noted("0.5 ms & more".to_owned()) };
        let suite = Suite { name: "bench".to_owned(), seconds: 0.0, cases: vec![case] };
        assert_eq!(suite.counts(), (1, 0, 0));
        assert!(xml(&[suite]).contains("><system-out>0.5 ms &amp; more</system-out></testcase>"));
    }
}
