//! Rows of two accuracy runs: bits sample by sample, figures by the ratio of their means.

use super::{Pair, Paired, Report, Rule, paired};
use crate::accuracy::Sample;
use crate::statistics::{mean, ratio_of_means};

fn sample_key(s: &Sample) -> String {
    format!("{} {} {}", group_key(s), s.class, s.item)
}

fn group_key(s: &Sample) -> String {
    let Sample { op, dtype, jobz, n, route, .. } = s;
    format!("{} {op} {dtype} {jobz} n={n} {route}", s.provenance.device)
}

/// How many samples a flag names.
const NAMED: usize = 3;

pub(super) fn compare(first: &[Sample], second: &[Sample], rule: &Rule, seed: u64) -> Report {
    let Paired { both, only_first, only_second } = paired(first, second, sample_key);
    // A sample in one run alone is named by its group: there may be thousands.
    let mut report =
        Report { pairs: vec![], only_first: counted(only_first), only_second: counted(only_second) };
    let samples: Vec<(&Sample, &Sample)> = both.iter().map(|(_, x, y)| (x[0], y[0])).collect();
    let mut groups: Vec<(String, Vec<(&Sample, &Sample)>)> = vec![];
    for pair in samples {
        let key = group_key(pair.0);
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, group)) => group.push(pair),
            None => groups.push((key, vec![pair])),
        }
    }
    for (key, group) in groups {
        report.pairs.push(results(&key, &group, rule));
        report.pairs.extend(figures(&key, &group, rule, seed));
    }
    report
}

/// Samples of one run alone: the first ones, and how many more.
fn counted(mut keys: Vec<String>) -> Vec<String> {
    let more = keys.len().saturating_sub(2 * NAMED);
    if more > 0 {
        keys.truncate(2 * NAMED);
        keys.push(format!("and {more} more"));
    }
    keys
}

/// Inputs, statuses and bits.
fn results(key: &str, group: &[(&Sample, &Sample)], rule: &Rule) -> Pair {
    let named = |wanted: &dyn Fn(&Sample, &Sample) -> bool| -> Option<String> {
        let found: Vec<String> = group
            .iter()
            .filter(|(x, y)| wanted(x, y))
            .map(|(x, _)| format!("{} {}", x.class, x.item))
            .collect();
        let more =
            if found.len() > NAMED { format!(" and {} more", found.len() - NAMED) } else { String::new() };
        let first: Vec<&str> = found.iter().take(NAMED).map(String::as_str).collect();
        (!found.is_empty()).then(|| format!("{}{more}", first.join(", ")))
    };
    let other_input = named(&|x, y| x.input != y.input);
    let status = named(&|x, y| x.status != y.status);
    let bits_differ = |x: &Sample, y: &Sample| (&x.values, &x.vectors) != (&y.values, &y.vectors);
    let bits = named(&|x, y| x.input == y.input && bits_differ(x, y));
    let alike = group.iter().filter(|(x, y)| x.input == y.input);
    let same = alike.clone().filter(|(x, y)| !bits_differ(x, y)).count();
    let is_vendor = group[0].0.is_vendor();
    let mut flags = vec![];
    flags.extend(other_input.map(|which| format!("other input: {which}")));
    flags.extend(status.map(|which| format!("other status: {which}")));
    let mut note = None;
    match bits.map(|which| format!("other bits: {which}")) {
        Some(text) if rule.bits && !is_vendor => flags.push(text),
        other => note = other,
    }
    Pair {
        same_bits: Some([same, alike.count()]),
        flag: (!flags.is_empty()).then(|| flags.join("; ")),
        note,
        ..Pair::new(key, "results")
    }
}

/// Each measure over the samples that have it in both runs and whose input is the same.
fn figures(key: &str, group: &[(&Sample, &Sample)], rule: &Rule, seed: u64) -> Vec<Pair> {
    type Measure = fn(&Sample) -> Option<f64>;
    let measures: [(&'static str, Measure); 3] = [
        ("residual", |s| s.residual),
        ("orthogonality", |s| s.orthogonality),
        ("value error", |s| s.value_error),
    ];
    let mut pairs = vec![];
    for (name, measure) in measures {
        let alike = group.iter().filter(|(x, y)| x.input == y.input);
        let (x, y): (Vec<f64>, Vec<f64>) = alike.filter_map(|(x, y)| measure(x).zip(measure(y))).unzip();
        let lost = group
            .iter()
            .filter(|(x, y)| measure(x).is_some() && measure(y).is_none() && y.status == 0)
            .count();
        if x.is_empty() && lost == 0 {
            continue;
        }
        let interval = ratio_of_means(&x, &y, seed);
        let differs = interval.excludes(1.0) && (interval.estimate - 1.0).abs() > rule.accuracy;
        let flag = match (lost, interval.estimate > 1.0) {
            (0, _) if !differs => None,
            (0, true) => Some("larger".to_owned()),
            (0, false) => Some("smaller".to_owned()),
            _ => Some(format!("{lost} no longer finite")),
        };
        let known = |x: f64| (!x.is_nan()).then_some(x);
        pairs.push(Pair {
            first: known(mean(&x)),
            second: known(mean(&y)),
            ratio: known(interval.estimate),
            interval: known(interval.low).zip(known(interval.high)).map(|(low, high)| [low, high]),
            flag,
            ..Pair::new(key, name)
        });
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash;

    /// Samples whose eigenvalues are those of `values`, hashed as the runs do.
    fn run(route: &str, values: &[f64], residual: f64) -> Vec<Sample> {
        let sample = |(item, x): (usize, &f64)| Sample {
            kind: "sample".into(),
            op: "syev".into(),
            dtype: "f64".into(),
            n: 1,
            jobz: "V".into(),
            class: "random".into(),
            item,
            seed: item as u64,
            input: format!("{item}"),
            condition: Some(0.0),
            route: route.into(),
            reached: route.into(),
            status: 0,
            residual: Some(residual * (1.0 + 0.1 * (item % 3) as f64)),
            orthogonality: Some(0.5),
            value_error: Some(0.0),
            values: hash::of_bytes(&[&x.to_le_bytes()]),
            vectors: String::new(),
            provenance: Default::default(),
        };
        values.iter().enumerate().map(sample).collect()
    }

    const VALUES: [f64; 6] = [1.0, 2.0, -3.0, 0.25, 1e-3, 7.0];

    fn nudged() -> [f64; 6] {
        let mut values = VALUES;
        values[4] = f64::from_bits(values[4].to_bits() + 1);
        values
    }

    #[test]
    fn one_unit_in_the_last_place_of_one_sample_is_found() {
        let first = [run("cta", &VALUES, 1.0), run("thread", &VALUES, 1.0)].concat();
        let second = [run("cta", &VALUES, 1.0), run("thread", &nudged(), 1.0)].concat();
        let report = compare(&first, &second, &Rule::default(), 1);
        assert_eq!(report.flagged(), 1, "{report:?}");
        let flagged = report.pairs.iter().find(|p| p.flag.is_some()).unwrap();
        assert!(flagged.key.ends_with("thread"), "{flagged:?}");
        assert_eq!(flagged.flag.as_deref(), Some("other bits: random 4"));
        assert_eq!(flagged.same_bits, Some([5, 6]));
    }

    #[test]
    fn bits_of_the_vendor_and_tolerated_ones_are_notes() {
        let vendor = compare(
            &run("vendor:syevj", &VALUES, 1.0),
            &run("vendor:syevj", &nudged(), 1.0),
            &Rule::default(),
            1,
        );
        assert_eq!(vendor.flagged(), 0);
        assert!(vendor.pairs[0].note.as_ref().unwrap().contains("other bits"));
        let rule = Rule { bits: false, ..Rule::default() };
        assert_eq!(compare(&run("cta", &VALUES, 1.0), &run("cta", &nudged(), 1.0), &rule, 1).flagged(), 0);
    }

    #[test]
    fn larger_figures_other_inputs_and_statuses_are_flagged() {
        let rule = Rule { bits: false, ..Rule::default() };
        let report = compare(&run("cta", &VALUES, 1.0), &run("cta", &VALUES, 1.3), &rule, 1);
        let flagged: Vec<_> = report.pairs.iter().filter(|p| p.flag.is_some()).collect();
        assert_eq!(
            (flagged.len(), flagged[0].measure, flagged[0].flag.as_deref()),
            (1, "residual", Some("larger"))
        );
        let mut other = run("cta", &VALUES, 1.0);
        other[2].input = "another".into();
        other[3].status = 2;
        let report = compare(&run("cta", &VALUES, 1.0), &other, &rule, 1);
        assert_eq!(report.pairs[0].flag.as_deref(), Some("other input: random 2; other status: random 3"));
        assert_eq!(report.pairs[0].same_bits, Some([5, 5]));
    }

    #[test]
    fn a_figure_that_is_lost_is_flagged_and_samples_of_one_run_are_named() {
        let mut second = run("cta", &VALUES, 1.0);
        second[0].residual = None;
        let report = compare(&run("cta", &VALUES, 1.0), &second, &Rule::default(), 1);
        assert_eq!(report.pairs[1].flag.as_deref(), Some("1 no longer finite"));
        let report = compare(&run("cta", &VALUES, 1.0), &run("cta", &VALUES[..2], 1.0), &Rule::default(), 1);
        assert_eq!((report.flagged(), report.only_first.len()), (0, 4));
    }
}
