//! What the rows of a cell say of the table in place.

use batchlas::Jobz;
use batchlas::routes::Table;

use super::order::{VENDOR, Vendor, eligible, preferred};
use super::{AUTO, is_timed, pinned_arms};
use crate::cell::{Cell, Op, Sides};
use crate::row::Row;

/// An arm and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// The candidate.
    pub route: String,
    /// Median time of a call.
    pub ms: f64,
}

/// What the rows of a cell come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The cell.
    pub cell: Cell,
    /// The candidates of the cell, most preferred first: those that were timed, then those of the row in place that
    /// cannot run here; the vendor's behind both, where they stand last. Forms of a family of ours that stand behind the
    /// family without parameters are left out.
    pub candidates: Vec<String>,
    /// What the table in place takes: the first of its row that can run here. None where none can.
    pub before: Option<String>,
    /// Its time; none where it was wrong.
    pub before_ms: Option<f64>,
    /// What the new order takes.
    pub after: Timed,
    /// The fastest that may come first; another one than `after` where that is within 3 %.
    pub fastest: Timed,
    /// Arms that are left out of the row since their results were wrong, and the reasons.
    pub wrong: Vec<(String, String)>,
    /// Arms whose spread was too wide to tell them from others.
    pub wide: Vec<String>,
}

impl Verdict {
    /// The time of what the table in place takes over that of the new order.
    pub fn gain(&self) -> Option<f64> {
        self.before_ms.map(|before| before / self.after.ms)
    }

    /// Whether another candidate is taken than before.
    pub fn is_change(&self) -> bool {
        self.before.as_ref() != Some(&self.after.route)
    }
}

/// A verdict a cell with times, in the order of the rows. Rows of a cell follow each other.
pub fn verdicts(in_place: &Table, rows: &[Row], vendor: Vendor) -> Vec<Verdict> {
    let same = |x: &Row, y: &Row| cell_of(x) == cell_of(y);
    rows.chunk_by(same).filter_map(|rows| verdict(in_place, rows, vendor)).collect()
}

/// The cells whose arms have no time at all, each with the reason of the first.
pub fn without_times(rows: &[Row]) -> Vec<(Cell, String)> {
    let cells = rows.chunk_by(|x, y| cell_of(x) == cell_of(y));
    let cells = cells.filter(|rows| !rows.iter().any(is_timed));
    let told = |rows: &[Row]| Some((cell_of(&rows[0])?, rows[0].error.clone().unwrap_or_default()));
    cells.filter_map(told).collect()
}

fn verdict(in_place: &Table, rows: &[Row], vendor: Vendor) -> Option<Verdict> {
    let cell = cell_of(&rows[0])?;
    let listed: Vec<String> =
        in_place.nearest(&cell.key()).candidates.iter().map(ToString::to_string).collect();
    let mut arms = pinned_arms(rows);
    arms.sort_by_key(|arm| listed.iter().position(|route| *route == arm.route).unwrap_or(listed.len()));
    let fastest = eligible(&arms, vendor).into_iter().min_by(|x, y| x.ms.total_cmp(&y.ms))?;
    let fastest = Timed { route: fastest.route, ms: fastest.ms };
    let order = preferred(arms, vendor);
    let after = Timed { route: order[0].route.clone(), ms: order[0].ms };
    let of_route = |route: &String| rows.iter().find(|row| row.route == *route);
    let before = listed.iter().find(|route| of_route(route).is_some_and(|row| row.reached.is_some()));
    let before_ms = before.and_then(of_route).filter(|row| is_timed(row)).and_then(|row| row.ms);
    let before = before.cloned();
    let absent = listed.into_iter().filter(|route| of_route(route).is_none_or(|row| row.reached.is_none()));
    let mut candidates: Vec<String> = order.into_iter().map(|arm| arm.route).chain(absent).collect();
    if vendor == Vendor::Last {
        // Also behind what cannot run here yet.
        candidates.sort_by_key(|route| route.starts_with(VENDOR));
    }
    drop_idle(&mut candidates);
    let is_pinned = |row: &&Row| row.route != AUTO;
    let wrong = rows.iter().filter(is_pinned).filter(|row| row.reached.is_some());
    let wrong = wrong.filter_map(|row| Some((row.route.clone(), row.error.clone()?))).collect();
    let wide = rows.iter().filter(is_pinned).filter(|row| row.trusted == Some(false));
    let wide = wide.map(|row| row.route.clone()).collect();
    Some(Verdict { cell, candidates, before, before_ms, after, fastest, wrong, wide })
}

/// Drops forms of a family of ours that stand behind the family without parameters: that one can run wherever a form of
/// it can, so they are never taken, and rows of neighbours that differ in them alone become one.
fn drop_idle(candidates: &mut Vec<String>) {
    let mut plain: Vec<String> = vec![];
    candidates.retain(|route| match route.split_once(':') {
        Some((family, _)) => family == VENDOR || !plain.iter().any(|name| name == family),
        None => {
            plain.push(route.clone());
            true
        }
    });
}

/// The cell of a row; none where the row is of no operation of this build.
pub(super) fn cell_of(row: &Row) -> Option<Cell> {
    let op: Op = row.op.parse().ok()?;
    let (jobz, sides) = match op {
        Op::Gemm => {
            let other = |size: Option<usize>| size.filter(|size| *size != row.n);
            let ops: Sides = row.jobz.parse().ok()?;
            (Jobz::V, Sides { m: other(row.m), k: other(row.k), ..ops })
        }
        _ => (row.jobz.parse().ok()?, Sides::default()),
    };
    Some(Cell {
        op,
        dtype: row.dtype.parse().ok()?,
        n: row.n,
        batch: row.batch,
        jobz,
        sides,
        padding: row.layout.parse().ok()?,
        ..Cell::default()
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn last(in_place: &Table, rows: &[Row]) -> Vec<Verdict> {
        verdicts(in_place, rows, Vendor::Last)
    }

    /// A table with this row for every type and jobz.
    pub(in crate::tune) fn in_place(row: &str) -> Table {
        let mut text =
            "batchlas routes 1\nop: syev\narch: sm_90\nstatus: provisional\ndevice: x\ndriver: x\n\
                        tool chain: x\ndate: 2026-01-01\ncommit: abc\nnote: x\nkeys: dtype jobz n batch\n"
                .to_owned();
        for dtype in ["f32", "f64", "c32", "c64"] {
            for jobz in ["V", "N"] {
                row.lines().for_each(|row| text += &format!("{dtype} {jobz} {row}\n"));
            }
        }
        Table::parse(Op::Syev.operation(), "t", &text).unwrap()
    }

    /// A row whose samples lie within a thousandth.
    pub(in crate::tune) fn row(n: usize, batch: usize, route: &str, ms: f64) -> Row {
        let times_ms: Vec<f64> = (0..9).map(|k| ms * (1.0 + 0.0002 * f64::from(k - 4))).collect();
        Row {
            op: "syev".into(),
            dtype: "f32".into(),
            jobz: "V".into(),
            layout: "packed".into(),
            n,
            batch,
            route: route.into(),
            reached: Some(route.into()),
            ms: Some(ms),
            times_ms,
            trusted: Some(true),
            ..Row::default()
        }
    }

    #[test]
    fn a_faster_arm_comes_first_and_what_cannot_run_stays_behind() {
        let table = in_place("8 64 block cta vendor");
        let rows = [row(8, 64, "cta", 2.0), row(8, 64, "vendor", 3.0), row(8, 64, "thread", 1.0)];
        let verdict = last(&table, &rows).remove(0);
        assert_eq!(verdict.candidates, ["thread", "cta", "block", "vendor"]);
        let by_time = verdicts(&table, &rows, Vendor::ByTime).remove(0);
        assert_eq!(by_time.candidates, ["thread", "cta", "vendor", "block"]);
        assert_eq!(verdict.before.as_deref(), Some("cta"), "block cannot run");
        assert_eq!((verdict.gain(), verdict.is_change()), (Some(2.0), true));
        assert_eq!(verdict.after, verdict.fastest);
    }

    #[test]
    fn the_order_in_place_counts_whatever_the_order_of_the_rows() {
        let table = in_place("8 64 cta thread");
        let rows = [row(8, 64, "thread", 1.0), row(8, 64, "jacobi", 1.0), row(8, 64, "cta", 1.0)];
        assert_eq!(last(&table, &rows)[0].candidates, ["cta", "thread", "jacobi"]);
        let rows = [row(8, 64, "vendor", 0.5), row(8, 64, "cta", 1.0)];
        assert_eq!(last(&table, &rows)[0].after.route, "cta");
        assert_eq!(verdicts(&table, &rows, Vendor::ByTime)[0].after.route, "vendor");
    }

    #[test]
    fn forms_behind_their_family_are_left_out() {
        let table = in_place("8 64 cta:warps=2 block");
        let of = |times: [f64; 4]| {
            let routes = ["block", "blocked", "blocked:grid=2", "blocked:nb=16"];
            let rows: Vec<Row> = routes.iter().zip(times).map(|(r, ms)| row(8, 64, r, ms)).collect();
            last(&table, &rows)[0].candidates.clone()
        };
        assert_eq!(of([9.0, 2.0, 1.0, 3.0]), ["blocked:grid=2", "blocked", "block", "cta:warps=2"]);
        assert_eq!(of([1.0, 2.0, 3.0, 4.0]), ["block", "blocked", "cta:warps=2"]);
        let rows = [row(8, 64, "vendor", 1.0), row(8, 64, "vendor:syevj", 2.0)];
        assert_eq!(last(&in_place("8 64 vendor"), &rows)[0].candidates, ["vendor", "vendor:syevj"]);
    }

    #[test]
    fn a_wrong_arm_is_left_out_and_named() {
        let table = in_place("8 64 cta vendor");
        let wrong = row(8, 64, "cta", 0.1).with_error("wrong result: residual 11");
        let verdict = last(&table, &[wrong, row(8, 64, "vendor", 3.0)]).remove(0);
        assert_eq!(verdict.candidates, ["vendor"]);
        assert_eq!(verdict.wrong, [("cta".to_owned(), "wrong result: residual 11".to_owned())]);
        assert_eq!((verdict.before.as_deref(), verdict.gain()), (Some("cta"), None));
    }

    #[test]
    fn a_near_one_keeps_its_place_and_the_fastest_is_told() {
        let table = in_place("8 64 cta thread");
        let rows = [row(8, 64, "cta", 1.02), row(8, 64, "thread", 1.0), row(8, 64, "auto", 0.1)];
        let verdict = last(&table, &rows).remove(0);
        assert_eq!((verdict.after.route.as_str(), verdict.fastest.route.as_str()), ("cta", "thread"));
        assert!(!verdict.is_change() && verdict.gain() == Some(1.0));
        assert_eq!(verdict.candidates, ["cta", "thread"], "auto is no candidate");
    }

    #[test]
    fn cells_without_times_are_told_apart() {
        let table = in_place("8 64 cta");
        let none = Row { ms: None, times_ms: vec![], ..row(8, 64, "cta", 1.0) }.with_error("too large");
        let rows = [none, row(9, 64, "cta", 1.0)];
        assert_eq!(last(&table, &rows).len(), 1);
        let told = without_times(&rows);
        assert_eq!((told.len(), told[0].0.n, told[0].1.as_str()), (1, 8, "too large"));
    }

    #[test]
    fn a_table_without_a_candidate_that_can_run_is_no_incumbent() {
        let verdict = last(&in_place("8 64 block"), &[row(8, 64, "cpu", 1.0)]).remove(0);
        assert_eq!((verdict.before.clone(), verdict.gain()), (None, None));
        assert_eq!(verdict.candidates, ["cpu", "block"]);
        assert!(verdict.is_change());
    }
}
