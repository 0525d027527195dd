//! The table's own choice, timed as an arm, against the fastest pinned family of the same cell.

use super::order::Vendor;
use super::verdict::cell_of;
use super::{AUTO, Timed, is_timed};
use crate::cell::Cell;
use crate::compare::Rule;
use crate::row::Row;

/// The largest geometric mean of the ratios that passes.
pub const MEAN_LIMIT: f64 = 1.02;
/// The largest ratio that passes.
pub const WORST_LIMIT: f64 = 1.10;

/// A cell's ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// The cell.
    pub cell: Cell,
    /// What the table takes, and its time.
    pub auto: Timed,
    /// The fastest pinned arm.
    pub best: Timed,
    /// Whether the spreads of both are narrow enough to be believed.
    pub is_trusted: bool,
}

impl Ratio {
    /// The time of the table's choice over that of the fastest.
    pub fn value(&self) -> f64 {
        self.auto.ms / self.best.ms
    }

    /// Whether the times differ by more than twice what a GPU's clock resolves.
    pub fn is_resolved(&self) -> bool {
        (self.auto.ms - self.best.ms).abs() > Rule::default().resolution_ms
    }
}

/// What the ratios of some cells come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// How many cells.
    pub cells: usize,
    /// The geometric mean over all of them; NaN without cells.
    pub mean: f64,
    /// The largest ratio of those whose times the clock tells apart.
    pub worst: Option<Ratio>,
}

impl Summary {
    /// Of these ratios.
    pub fn of<'a>(ratios: impl Iterator<Item = &'a Ratio>) -> Self {
        let ratios: Vec<&Ratio> = ratios.collect();
        let mean = ratios.iter().map(|r| r.value().ln()).sum::<f64>() / ratios.len() as f64;
        let resolved = ratios.iter().filter(|r| r.is_resolved());
        let worst = resolved.max_by(|x, y| x.value().total_cmp(&y.value()));
        Summary { cells: ratios.len(), mean: mean.exp(), worst: worst.map(|r| (*r).clone()) }
    }

    /// What that says of the table.
    pub fn outcome(&self) -> Outcome {
        let is_near = self.worst.as_ref().is_none_or(|worst| worst.value() <= WORST_LIMIT);
        match self.cells {
            0 => Outcome::Unknown,
            _ if self.mean <= MEAN_LIMIT && is_near => Outcome::Passed,
            _ => Outcome::Slow,
        }
    }
}

/// What the ratios of trusted times say of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its choices are good enough.
    Passed,
    /// They are slower than the limits allow.
    Slow,
    /// Nothing: no cell has times that can be trusted.
    Unknown,
}

/// A ratio for each cell in which the arm `auto` and a pinned one that may come first have times. Rows of a cell
/// follow each other.
pub fn ratios(rows: &[Row], vendor: Vendor) -> Vec<Ratio> {
    rows.chunk_by(|x, y| cell_of(x) == cell_of(y)).filter_map(|rows| ratio(rows, vendor)).collect()
}

fn ratio(rows: &[Row], vendor: Vendor) -> Option<Ratio> {
    let timed = || rows.iter().filter(|row| is_timed(row));
    let auto = timed().find(|row| row.route == AUTO)?;
    let pinned = || timed().filter(|row| row.route != AUTO);
    let ours = || pinned().filter(|row| !row.is_vendor()).count();
    let may_lead = |row: &&Row| vendor == Vendor::ByTime || !row.is_vendor() || ours() == 0;
    let best = pinned().filter(may_lead).min_by(|x, y| total(x).total_cmp(&total(y)))?;
    let is_trusted = [auto, best].iter().all(|row| row.trusted_ms().is_some());
    let auto = Timed { route: auto.reached.clone().unwrap_or_default(), ms: total(auto) };
    let best = Timed { route: best.route.clone(), ms: total(best) };
    Some(Ratio { cell: cell_of(&rows[0])?, auto, best, is_trusted })
}

fn total(row: &Row) -> f64 {
    row.ms.unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::super::verdict::tests::row;
    use super::*;

    fn ratios(rows: &[Row]) -> Vec<Ratio> {
        super::ratios(rows, Vendor::Last)
    }

    #[test]
    fn auto_is_held_against_the_fastest_right_arm() {
        let wrong = row(8, 64, "thread", 0.1).with_error("wrong result");
        let auto = Row { reached: Some("cta".into()), ..row(8, 64, "auto", 1.1) };
        let found = ratios(&[row(8, 64, "cta", 1.0), row(8, 64, "vendor", 0.5), wrong, auto]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].auto.route.as_str(), found[0].best.route.as_str()), ("cta", "cta"));
        assert!((found[0].value() - 1.1).abs() < 1e-12 && found[0].is_trusted);
    }

    #[test]
    fn the_vendor_counts_where_time_alone_does_or_it_is_alone() {
        let rows = [row(8, 64, "cta", 1.0), row(8, 64, "vendor", 0.5), row(8, 64, "auto", 1.0)];
        assert_eq!(ratios(&rows)[0].value(), 1.0);
        assert_eq!(super::ratios(&rows, Vendor::ByTime)[0].value(), 2.0);
        assert_eq!(ratios(&rows[1..])[0].best.route, "vendor");
    }

    #[test]
    fn cells_without_either_have_no_ratio_and_wide_ones_are_marked() {
        assert!(ratios(&[row(8, 64, "cta", 1.0)]).is_empty());
        assert!(ratios(&[row(8, 64, "auto", 1.0)]).is_empty());
        let wide = Row { trusted: Some(false), ..row(8, 64, "auto", 1.0) };
        assert!(!ratios(&[row(8, 64, "cta", 1.0), wide])[0].is_trusted);
    }

    #[test]
    fn the_mean_is_geometric_and_the_worst_is_one_that_the_clock_tells_apart() {
        let rows = |n, auto, best| [row(n, 64, "cta", best), row(n, 64, "auto", auto)];
        let all = [rows(4, 2.0, 1.0), rows(5, 1.0, 2.0), rows(6, 0.0018, 0.0009)].concat();
        let found = ratios(&all);
        let summary = Summary::of(found.iter());
        assert!((summary.mean - 2f64.powf(1.0 / 3.0)).abs() < 1e-12, "{summary:?}");
        assert_eq!(
            summary.worst.as_ref().unwrap().cell.n,
            4,
            "n = 6 differs by less than the clock resolves"
        );
        assert_eq!(summary.outcome(), Outcome::Slow);
        assert_eq!(Summary::of(found[1..2].iter()).outcome(), Outcome::Passed);
        let slow =
            [rows(4, 1.09, 1.0), rows(5, 1.0, 1.0), rows(6, 1.0, 1.0), rows(7, 1.0, 1.0), rows(8, 1.0, 1.0)];
        assert_eq!(Summary::of(ratios(&slow.concat()).iter()).outcome(), Outcome::Passed);
        assert_eq!(Summary::of([].into_iter()).outcome(), Outcome::Unknown, "no cells show nothing");
    }
}
