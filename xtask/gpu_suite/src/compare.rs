//! What differs between two runs, by `batchlas compare`: one rule for people, for this suite and for A/B runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::junit::{Case, Outcome, Suite};
use crate::{Failure, Kind, Program, at};

/// The program that compares.
const PROGRAM: &str = "batchlas";

/// Its exit status where something is flagged.
const FLAGGED: i32 = 4;

/// One thing measured in both runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair {
    key: String,
    measure: String,
    ratio: Option<f64>,
    flag: Option<String>,
    note: Option<String>,
}

/// Two runs, paired.
#[derive(Debug, Clone)]
pub(crate) struct Compared {
    /// Every pair.
    pub pairs: Vec<Pair>,
    /// What the program says of those that are flagged, and the totals.
    pub text: String,
}

impl Compared {
    /// How many pairs are flagged.
    pub fn flagged(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.flag.is_some()).count()
    }
}

/// The program among those of a run.
pub(crate) fn program(programs: &[Program]) -> Result<&Path, Failure> {
    let found = programs.iter().find(|program| program.kind == Kind::Bin && program.name == PROGRAM);
    let missing = || Failure::new(format!("runs are compared by the program {PROGRAM}, which is not here"));
    found.map(|program| program.path.as_path()).ok_or_else(missing)
}

/// Compares two files of rows; `scratch` is a folder for what is soon read and removed.
pub(crate) fn compare(
    program: &Path,
    first: &Path,
    second: &Path,
    scratch: &Path,
) -> Result<Compared, Failure> {
    let json: PathBuf = scratch.join(format!("compare-{}.jsonl", std::process::id()));
    let mut command = Command::new(program);
    command.arg("compare").args([first, second]).arg("--json").arg(&json).stdin(Stdio::null());
    let output = command.output().map_err(at(program))?;
    if !matches!(output.status.code(), Some(0 | FLAGGED)) {
        let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Failure::new(format!("{PROGRAM} compare: {complaint}")));
    }
    let lines = std::fs::read_to_string(&json).map_err(at(&json))?;
    std::fs::remove_file(&json).map_err(at(&json))?;
    let pairs = lines.lines().map(pair).collect::<Option<Vec<_>>>();
    let pairs = pairs.ok_or_else(|| Failure::new(format!("{PROGRAM} compare wrote what is no pair")))?;
    Ok(Compared { pairs, text: String::from_utf8_lossy(&output.stdout).into_owned() })
}

fn pair(line: &str) -> Option<Pair> {
    let given = |name: &str| field(line, name).filter(|value| *value != "null").map(str::to_owned);
    Some(Pair {
        key: given("key")?,
        measure: given("measure")?,
        ratio: given("ratio").and_then(|ratio| ratio.parse().ok()),
        flag: given("flag"),
        note: given("note"),
    })
}

/// A field of a flat JSON object; strings without their quotes.
pub(crate) fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.split_once(&format!("\"{name}\":"))?.1.trim_start();
    match rest.strip_prefix('"') {
        Some(text) => text.split('"').next(),
        None => rest.split([',', '}']).next().map(str::trim),
    }
}

/// Pairs as a suite. A flag is named and fails nothing: it needs a closer look.
pub(crate) fn suite(name: &str, compared: &Compared, seconds: f64) -> Suite {
    let case = |pair: &Pair| {
        let ratio = pair.ratio.map_or(String::new(), |ratio| format!("{ratio:.3} of the first run's"));
        let remark = match (&pair.flag, &pair.note) {
            (Some(flag), _) => format!("FLAG {flag}"),
            (None, Some(note)) => note.clone(),
            (None, None) => String::new(),
        };
        let words: Vec<String> = [ratio, remark].into_iter().filter(|word| !word.is_empty()).collect();
        let name =
            if pair.measure == "ms" { pair.key.clone() } else { format!("{} {}", pair.key, pair.measure) };
        Case { name, outcome: Outcome::Noted(words.join(": ")) }
    };
    Suite { name: name.to_owned(), seconds, cases: compared.pairs.iter().map(case).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as `batchlas compare --json` writes them; `host/cli/tests/measure.rs` keeps it to them.
    const SLOWER: &str = r#"{"key":"NVIDIA H200 syev f32 V n=16 batch=16384 packed cta","measure":"ms","first":0.4,"second":0.42,"ratio":1.05,"interval":[1.04,1.06],"same_bits":null,"flag":"slower","note":null}"#;
    const BITS: &str = r#"{"key":"cpu syev f32 V n=4 cpu","measure":"results","first":null,"second":null,"ratio":null,"interval":null,"same_bits":[37,38],"flag":null,"note":"other bits: random 5"}"#;

    #[test]
    fn pairs_become_cases() {
        let pairs: Vec<Pair> = [SLOWER, BITS].into_iter().map(|line| pair(line).unwrap()).collect();
        let compared = Compared { pairs, text: String::new() };
        assert_eq!(compared.flagged(), 1);
        let suite = suite("against the first run", &compared, 0.0);
        assert_eq!(suite.cases[0].name, "NVIDIA H200 syev f32 V n=16 batch=16384 packed cta");
        assert_eq!(
            suite.cases[0].outcome,
            Outcome::Noted("1.050 of the first run's: FLAG slower".to_owned())
        );
        assert_eq!(suite.cases[1].name, "cpu syev f32 V n=4 cpu results");
        assert_eq!(suite.cases[1].outcome, Outcome::Noted("other bits: random 5".to_owned()));
        assert_eq!(suite.counts(), (2, 0, 0), "a flag fails nothing");
        assert_eq!(pair(r#"{"measure":"ms"}"#), None);
    }

    #[test]
    fn without_the_program_nothing_is_compared() {
        assert!(program(&[]).unwrap_err().to_string().contains("batchlas"));
    }
}
