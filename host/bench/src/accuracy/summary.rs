//! Rows of an accuracy run, summed up.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Sample;
use crate::statistics::quantile;

/// A measure over the items that have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// The median.
    pub median: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
}

impl Figures {
    fn of(samples: &[&Sample], measure: impl Fn(&Sample) -> Option<f64>) -> Self {
        let values: Vec<f64> = samples.iter().filter_map(|s| measure(s)).collect();
        let at = |q| (!values.is_empty()).then(|| quantile(&values, q));
        Figures { median: at(0.5), max: at(1.0) }
    }
}

/// The items whose condition lies in one decade.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// log10 of the condition, rounded down; `None` for singular items.
    pub condition: Option<i32>,
    /// How many.
    pub items: usize,
    /// Residuals.
    pub residual: Figures,
    /// Departures from orthogonality.
    pub orthogonality: Figures,
    /// Errors of eigenvalues.
    pub value_error: Figures,
}

/// One family on all items of one order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// `summary`
    pub kind: &'static str,
    /// The operation.
    pub op: String,
    /// The element type.
    pub dtype: String,
    /// The order.
    pub n: usize,
    /// `V` or `N`.
    pub jobz: String,
    /// The family asked for.
    pub route: String,
    /// Items.
    pub items: usize,
    /// Items without a result.
    pub failed: usize,
    /// Items without a result, or with one outside the contract.
    pub wrong: usize,
    /// The class of the item with the largest figure.
    pub worst_class: String,
    /// Residuals.
    pub residual: Figures,
    /// Departures from orthogonality.
    pub orthogonality: Figures,
    /// Errors of eigenvalues.
    pub value_error: Figures,
    /// By decades of the condition.
    pub bins: Vec<Bin>,
}

impl Summary {
    /// The row as a line of JSON.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers") + "\n"
    }
}

/// A summary for each family and order, in the order of the rows.
pub fn summaries(samples: &[Sample]) -> Vec<Summary> {
    let mut groups: Vec<Vec<&Sample>> = vec![];
    let key = |s: &Sample| (s.op.clone(), s.dtype.clone(), s.n, s.jobz.clone(), s.route.clone());
    for sample in samples {
        match groups.iter_mut().find(|g| key(g[0]) == key(sample)) {
            Some(group) => group.push(sample),
            None => groups.push(vec![sample]),
        }
    }
    groups.iter().map(|group| summary(group)).collect()
}

fn summary(group: &[&Sample]) -> Summary {
    let first = group[0];
    let figure = |s: &Sample| {
        if s.status != 0 {
            return f64::INFINITY;
        }
        [s.residual, s.orthogonality, s.value_error].into_iter().flatten().fold(0.0, f64::max)
    };
    let worst = group.iter().max_by(|x, y| figure(x).total_cmp(&figure(y)));
    let mut by_bin: BTreeMap<(bool, Option<i32>), Vec<&Sample>> = BTreeMap::new();
    for sample in group {
        // Singular items last.
        by_bin.entry((sample.bin().is_none(), sample.bin())).or_default().push(sample);
    }
    let bin = |(condition, samples): (Option<i32>, Vec<&Sample>)| Bin {
        condition,
        items: samples.len(),
        residual: Figures::of(&samples, |s| s.residual),
        orthogonality: Figures::of(&samples, |s| s.orthogonality),
        value_error: Figures::of(&samples, |s| s.value_error),
    };
    Summary {
        kind: "summary",
        op: first.op.clone(),
        dtype: first.dtype.clone(),
        n: first.n,
        jobz: first.jobz.clone(),
        route: first.route.clone(),
        items: group.len(),
        failed: group.iter().filter(|s| s.status != 0).count(),
        wrong: group.iter().filter(|s| s.is_wrong()).count(),
        worst_class: worst.map_or(String::new(), |s| s.class.clone()),
        residual: Figures::of(group, |s| s.residual),
        orthogonality: Figures::of(group, |s| s.orthogonality),
        value_error: Figures::of(group, |s| s.value_error),
        bins: by_bin.into_iter().map(|((_, condition), samples)| bin((condition, samples))).collect(),
    }
}
