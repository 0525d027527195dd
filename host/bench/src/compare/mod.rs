//! Two runs, paired row by row: times by their ratio, accuracy sample by sample.

mod samples;
mod times;

use serde::Serialize;

use crate::row::Read;

/// When a difference is flagged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The ratio must differ from 1 by more than this, and its 95 % interval must leave 1 out.
    pub times: f64,
    /// The times themselves must differ by more than this many milliseconds: two runs of one build on an H200 differed by up
    /// to 0.0092 in 608 pairs of up to 2 ms, a launch or a change of the clock (commit 2febea5).
    pub resolution_ms: f64,
    /// As `times`, for the mean of an accuracy measure.
    pub accuracy: f64,
    /// Whether results of our families must have the same bits.
    pub bits: bool,
}

impl Default for Rule {
    fn default() -> Self {
        Rule { times: 0.03, resolution_ms: 0.01, accuracy: 0.10, bits: true }
    }
}

/// Rows of one key in both runs, and one thing measured of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// What the rows have in common.
    pub key: String,
    /// `ms`, `residual`, `orthogonality`, `value error` or `results`.
    pub measure: &'static str,
    /// The first run's median time or mean figure.
    pub first: Option<f64>,
    /// The second run's.
    pub second: Option<f64>,
    /// second / first.
    pub ratio: Option<f64>,
    /// The 95 % interval of the ratio.
    pub interval: Option<[f64; 2]>,
    /// Samples with the same bits, and all that could be compared.
    pub same_bits: Option<[usize; 2]>,
    /// Why the pair is flagged.
    pub flag: Option<String>,
    /// What else is to be known.
    pub note: Option<String>,
}

impl Pair {
    fn new(key: &str, measure: &'static str) -> Self {
        Pair {
            key: key.to_owned(),
            measure,
            first: None,
            second: None,
            ratio: None,
            interval: None,
            same_bits: None,
            flag: None,
            note: None,
        }
    }
}

/// A comparison of two runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Keys that both have.
    pub pairs: Vec<Pair>,
    /// Keys of the first run alone.
    pub only_first: Vec<String>,
    /// Keys of the second run alone.
    pub only_second: Vec<String>,
}

impl Report {
    /// How many pairs are flagged.
    pub fn flagged(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.flag.is_some()).count()
    }
}

/// Compares two files of one kind. The same seed gives the same intervals.
///
/// # Errors
/// One of a bench and one of an accuracy run.
pub fn compare(first: &Read, second: &Read, rule: &Rule, seed: u64) -> Result<Report, String> {
    match (first, second) {
        (Read::Bench(first), Read::Bench(second)) => Ok(times::compare(first, second, rule, seed)),
        (Read::Accuracy(first), Read::Accuracy(second)) => Ok(samples::compare(first, second, rule, seed)),
        _ => Err("one file is of a bench, the other of an accuracy run".to_owned()),
    }
}

/// The rows of each key, in the order of the keys' first rows.
fn by_key<T>(rows: &[T], key: impl Fn(&T) -> String) -> Vec<(String, Vec<&T>)> {
    let mut groups: Vec<(String, Vec<&T>)> = vec![];
    let mut places = std::collections::HashMap::new();
    for row in rows {
        let key = key(row);
        let at = *places.entry(key.clone()).or_insert_with(|| {
            groups.push((key, vec![]));
            groups.len() - 1
        });
        groups[at].1.push(row);
    }
    groups
}

/// Groups of both runs, and the keys of one alone.
struct Paired<'a, T> {
    both: Vec<(String, Vec<&'a T>, Vec<&'a T>)>,
    only_first: Vec<String>,
    only_second: Vec<String>,
}

fn paired<'a, T>(first: &'a [T], second: &'a [T], key: impl Fn(&T) -> String) -> Paired<'a, T> {
    let (first, mut second) = (by_key(first, &key), by_key(second, &key));
    let (mut both, mut only_first) = (vec![], vec![]);
    for (key, rows) in first {
        match second.iter().position(|(k, _)| *k == key) {
            Some(at) => both.push((key, rows, second.remove(at).1)),
            None => only_first.push(key),
        }
    }
    Paired { both, only_first, only_second: second.into_iter().map(|(key, _)| key).collect() }
}
