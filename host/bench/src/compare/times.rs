//! Rows of two benches.

use super::{Pair, Paired, Report, Rule, paired};
use crate::row::Row;
use crate::statistics::{median, ratio_of_medians};

fn key(row: &Row) -> String {
    let Row { op, dtype, jobz, n, batch, layout, route, .. } = row;
    let product = row.m.zip(row.k).map_or(String::new(), |(m, k)| format!(" m={m} k={k}"));
    let shift = row.shift.as_deref().map_or(String::new(), |s| format!(" {s}"));
    format!(
        "{} {op} {dtype} {jobz} n={n}{product} batch={batch} {layout}{shift} {route}",
        row.provenance.device
    )
}

pub(super) fn compare(first: &[Row], second: &[Row], rule: &Rule, seed: u64) -> Report {
    let Paired { both, only_first, only_second } = paired(first, second, key);
    let pairs = both.into_iter().map(|(key, x, y)| pair(&key, &x, &y, rule, seed)).collect();
    Report { pairs, only_first, only_second }
}

/// Rows of one key in each run. Repetitions of a key are pooled.
fn pair(key: &str, first: &[&Row], second: &[&Row], rule: &Rule, seed: u64) -> Pair {
    let pair = Pair::new(key, "ms");
    let error = |rows: &[&Row]| rows.iter().find_map(|r| r.error.clone());
    match (error(first), error(second)) {
        (None, None) => {}
        (Some(_), Some(reason)) => {
            return Pair { note: Some(format!("no time in either: {reason}")), ..pair };
        }
        (Some(reason), None) => {
            return Pair { flag: Some(format!("no time in the first: {reason}")), ..pair };
        }
        (None, Some(reason)) => {
            return Pair { flag: Some(format!("no time in the second: {reason}")), ..pair };
        }
    }
    if first.iter().chain(second).all(|r| r.counters.is_some()) {
        return counters(pair, first[0], second[0]);
    }
    let wide = |rows: &[&Row]| rows.iter().any(|r| r.trusted == Some(false));
    let times =
        |rows: &[&Row]| -> Vec<f64> { rows.iter().flat_map(|r| r.times_ms.iter().copied()).collect() };
    let (x, y) = (times(first), times(second));
    let middle = |rows: &[&Row], times: &[f64]| {
        if times.is_empty() { rows.iter().find_map(|r| r.ms) } else { Some(median(times)) }
    };
    let (before, after) = (middle(first, &x), middle(second, &y));
    let pair = Pair { first: before, second: after, ..pair };
    let (Some(before), Some(after)) = (before, after) else {
        return Pair { note: Some("no times".to_owned()), ..pair };
    };
    let pair = Pair { ratio: Some(after / before), ..pair };
    if wide(first) || wide(second) {
        return Pair { note: Some("dropped: the spread is too wide to say anything".to_owned()), ..pair };
    }
    if x.is_empty() || y.is_empty() {
        return Pair { note: Some("without samples there is no interval".to_owned()), ..pair };
    }
    let interval = ratio_of_medians(&x, &y, seed);
    let differs = interval.excludes(1.0)
        && (interval.estimate - 1.0).abs() > rule.times
        && (after - before).abs() > rule.resolution_ms;
    let flag = differs.then(|| if after > before { "slower" } else { "faster" }.to_owned());
    Pair { interval: Some([interval.low, interval.high]), flag, ..pair }
}

/// Counts are exact: another one is a difference.
fn counters(pair: Pair, first: &Row, second: &Row) -> Pair {
    let same = first.counters == second.counters;
    let flag = (!same).then(|| "other counters".to_owned());
    Pair { measure: "counters", flag, ..pair }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::Provenance;
    use crate::random::Random;
    use crate::row::Counters;

    /// A time of 0.4 ms with the noise of a GPU, times `factor`.
    fn row(route: &str, factor: f64, seed: u64) -> Row {
        let mut random = Random::new(seed);
        let times = (0..15).map(|_| 0.4 * factor * (1.0 + 0.004 * random.normal())).collect::<Vec<_>>();
        Row {
            op: "syev".into(),
            route: route.into(),
            ms: Some(median(&times)),
            trusted: Some(true),
            times_ms: times,
            provenance: Provenance { device: "H200".into(), ..Provenance::default() },
            ..Row::default()
        }
    }

    fn one(first: Row, second: Row) -> Pair {
        compare(&[first], &[second], &Rule::default(), 1).pairs.remove(0)
    }

    #[test]
    fn a_slow_down_of_a_twentieth_is_flagged() {
        for seed in 0..20 {
            let pair = one(row("cta", 1.0, seed), row("cta", 1.05, 100 + seed));
            assert_eq!(pair.flag.as_deref(), Some("slower"), "{pair:?}");
            let [low, high] = pair.interval.unwrap();
            assert!(low < 1.05 && high > 1.04 && high - low < 0.02, "{pair:?}");
            let back = one(row("cta", 1.05, seed), row("cta", 1.0, 100 + seed));
            assert_eq!(back.flag.as_deref(), Some("faster"));
        }
    }

    #[test]
    fn two_runs_of_one_build_are_not_flagged() {
        let rows = |seed: u64| (0..50).map(|k| row(&format!("r{k}"), 1.0, seed + k)).collect::<Vec<_>>();
        let report = compare(&rows(0), &rows(1000), &Rule::default(), 1);
        assert_eq!((report.pairs.len(), report.flagged()), (50, 0), "{report:?}");
    }

    #[test]
    fn what_the_clock_does_not_resolve_is_not_flagged() {
        let short = |row: Row| Row { times_ms: row.times_ms.iter().map(|x| x / 40.0).collect(), ..row };
        let pair = one(short(row("cta", 1.0, 1)), short(row("cta", 1.05, 2)));
        assert_eq!(pair.flag, None, "{pair:?}");
        assert!(pair.interval.is_some());
    }

    #[test]
    fn wide_rows_and_lost_times() {
        let wide = Row { trusted: Some(false), ..row("cta", 2.0, 1) };
        let pair = one(row("cta", 1.0, 2), wide);
        assert!(pair.flag.is_none() && pair.note.unwrap().starts_with("dropped"));
        let wrong = row("cta", 1.0, 1).with_error("wrong result: residual");
        assert!(one(row("cta", 1.0, 2), wrong.clone()).flag.unwrap().contains("no time in the second"));
        assert!(one(wrong.clone(), row("cta", 1.0, 2)).flag.unwrap().contains("no time in the first"));
        assert!(one(wrong.clone(), wrong).flag.is_none());
        let without = Row { times_ms: vec![], ..row("cta", 1.0, 1) };
        let pair = one(without, row("cta", 1.5, 1));
        assert!(pair.flag.is_none() && pair.ratio.is_some() && pair.note.is_some());
    }

    #[test]
    fn keys_pair_rows() {
        let other_device = Row {
            provenance: Provenance { device: "A100".into(), ..Provenance::default() },
            ..row("cta", 1.0, 1)
        };
        let first = [row("cta", 1.0, 1), row("thread", 1.0, 1)];
        let second = [row("jacobi", 1.0, 1), row("cta", 1.0, 2), other_device];
        let report = compare(&first, &second, &Rule::default(), 1);
        assert_eq!(report.pairs.len(), 1);
        assert!(report.only_first[0].ends_with("thread"));
        assert_eq!(report.only_second.len(), 2);
    }

    #[test]
    fn counters_are_exact() {
        let counted = |barriers| Row {
            counters: Some(Counters { barriers, ..Counters::default() }),
            times_ms: vec![],
            ms: None,
            ..row("cta", 1.0, 1)
        };
        assert_eq!(one(counted(3), counted(3)).flag, None);
        assert!(one(counted(3), counted(4)).flag.is_some());
    }
}
