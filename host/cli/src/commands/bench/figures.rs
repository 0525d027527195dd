//! The rows of a bench as figures: time against n, ratio to the vendor, throughput against the batch.

use batchlas_bench::Row;
use batchlas_bench::row::VendorTimes;

use crate::figure::{Axis, Figure, Panel, Scale, Series};

/// What the panels of a figure have in common: type, jobz (of products the ops), layout.
type Kind<'a> = (&'a str, &'a str, &'a str);

/// All panels as one figure.
pub(super) fn all(rows: &[Row]) -> Figure {
    let mut figures = separate(rows).into_iter();
    let mut first = figures.next().unwrap_or_else(|| figure(rows, "nothing was measured", vec![]));
    first.panels.extend(figures.flat_map(|f| f.panels));
    if let Some(row) = rows.first() {
        first.title = format!("{} on {}", row.op, row.provenance.device);
    }
    first
}

/// A figure each; those without points are left out.
pub(super) fn separate(rows: &[Row]) -> Vec<Figure> {
    let figures = [
        figure(rows, "Time an item against the order", times(rows)),
        figure(rows, "Ratio to the vendor against the order", ratios(rows)),
        figure(rows, "Throughput against the batch", throughput(rows)),
        figure(rows, "Collectives of warps an item, as the executor counts", counts(rows)),
    ];
    figures.into_iter().filter(|f| !f.panels.is_empty()).collect()
}

fn figure(rows: &[Row], title: &str, panels: Vec<Panel>) -> Figure {
    Figure { title: title.to_owned(), panels, names: distinct(rows.iter().map(|r| r.route.clone())) }
}

fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = vec![];
    for item in items {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    all
}

fn kinds(rows: &[Row]) -> Vec<Kind<'_>> {
    distinct(rows.iter().map(|r| (r.dtype.as_str(), r.jobz.as_str(), r.layout.as_str())))
}

fn title(kind: Kind<'_>) -> String {
    let (dtype, jobz, layout) = kind;
    let jobz = match jobz {
        "V" => "vectors",
        "N" => "values only",
        ops => ops,
    };
    let layout = if layout == "packed" { "" } else { ", padded" };
    format!("{dtype}, {jobz}{layout}")
}

fn axis(name: &str) -> Axis {
    Axis { name: name.to_owned(), scale: Scale::Log }
}

/// For each route of a kind and each n the row at its knee, else that of the largest batch.
fn by_order<'a>(rows: &'a [Row], kind: Kind<'_>, route: &str) -> Vec<&'a Row> {
    let of_route =
        |r: &&Row| (r.dtype.as_str(), r.jobz.as_str(), r.layout.as_str()) == kind && r.route == route;
    let mut best: Vec<&Row> = vec![];
    for row in rows.iter().filter(of_route).filter(|r| r.error.is_none()) {
        let rank = |r: &Row| (r.knee == Some(true), r.batch);
        match best.iter_mut().find(|b| b.n == row.n) {
            Some(known) if rank(row) > rank(known) => *known = row,
            Some(_) => {}
            None => best.push(row),
        }
    }
    best.sort_by_key(|r| r.n);
    best
}

/// A panel a kind, with a line a route of `value` over n.
fn over_orders(
    rows: &[Row],
    y: &str,
    level: Option<(f64, &'static str)>,
    value: impl Fn(&Row) -> Option<f64>,
) -> Vec<Panel> {
    let routes = distinct(rows.iter().map(|r| r.route.clone()));
    let panel = |kind| {
        let series = routes.iter().map(|route| {
            let points = by_order(rows, kind, route).into_iter();
            let points = points.filter_map(|r| value(r).map(|x| (r.n as f64, x))).collect();
            Series { name: route.clone(), points }
        });
        let series = series.filter(|s| !s.points.is_empty()).collect();
        Panel { title: title(kind), x: axis("order n"), y: axis(y), series, level }
    };
    kinds(rows).into_iter().map(panel).filter(|p| !p.series.is_empty()).collect()
}

fn times(rows: &[Row]) -> Vec<Panel> {
    over_orders(rows, "time an item (ns)", None, |r| r.trusted_ms().and(r.ns))
}

fn ratios(rows: &[Row]) -> Vec<Panel> {
    let vendor = VendorTimes::of(rows);
    over_orders(rows, "vendor's time over the arm's", Some((1.0, "the vendor")), |r| vendor.ratio(r))
}

fn counts(rows: &[Row]) -> Vec<Panel> {
    over_orders(rows, "collectives an item", None, |r| {
        r.counters.map(|c| c.collectives as f64 / r.batch.max(1) as f64)
    })
}

/// A panel a kind and n that has several batches, with a line a route.
fn throughput(rows: &[Row]) -> Vec<Panel> {
    let shapes = distinct(rows.iter().map(|r| (r.dtype.as_str(), r.jobz.as_str(), r.layout.as_str(), r.n)));
    let mut panels = vec![];
    for (dtype, jobz, layout, n) in shapes {
        let kind = (dtype, jobz, layout);
        let of_shape = |r: &&Row| (r.dtype.as_str(), r.jobz.as_str(), r.layout.as_str()) == kind && r.n == n;
        let here: Vec<&Row> = rows.iter().filter(of_shape).filter(|r| r.trusted_ms().is_some()).collect();
        if distinct(here.iter().map(|r| r.batch)).len() < 2 {
            continue;
        }
        let series = distinct(here.iter().map(|r| r.route.clone())).into_iter().map(|route| {
            let points = here.iter().filter(|r| r.route == route);
            let point = |r: &&Row| r.trusted_ms().map(|ms| (r.batch as f64, r.batch as f64 / ms * 1e3));
            let mut points: Vec<(f64, f64)> = points.filter_map(point).collect();
            points.sort_by(|x, y| x.0.total_cmp(&y.0));
            Series { name: route, points }
        });
        panels.push(Panel {
            title: format!("{}, n = {n}", title(kind)),
            x: axis("batch (items)"),
            y: axis("items a second"),
            series: series.collect(),
            level: None,
        });
    }
    panels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(route: &str, n: usize, batch: usize, ms: f64) -> Row {
        Row {
            dtype: "f32".into(),
            jobz: "V".into(),
            layout: "packed".into(),
            route: route.into(),
            n,
            batch,
            ms: Some(ms),
            ns: Some(ms * 1e6 / batch as f64),
            ..Row::default()
        }
    }

    #[test]
    fn a_figure_for_each_question_that_the_rows_answer() {
        let own = [row("cta", 4, 100, 1.0), row("cta", 8, 100, 2.0)];
        let titles = |rows: &[Row]| separate(rows).into_iter().map(|f| f.title).collect::<Vec<_>>();
        assert_eq!(titles(&own).len(), 1);
        let vendor = [own.to_vec(), vec![row("vendor:syevj", 4, 100, 3.0)]].concat();
        let ratios = separate(&vendor).remove(1);
        assert_eq!(ratios.panels[0].series[0].points, [(4.0, 3.0)]);
        let batches = [own.to_vec(), vec![row("cta", 4, 400, 2.0)]].concat();
        let throughput = separate(&batches).remove(1);
        assert_eq!(throughput.panels.len(), 1);
        assert_eq!(throughput.panels[0].series[0].points, [(100.0, 1e5), (400.0, 2e5)]);
    }

    #[test]
    fn the_knee_stands_for_its_order_and_dropped_arms_for_nothing() {
        let knee = Row { knee: Some(true), ..row("cta", 4, 100, 1.0) };
        let beyond = Row { knee: Some(false), ..row("cta", 4, 400, 3.9) };
        let wide = Row { trusted: Some(false), ..row("thread", 4, 100, 0.1) };
        let figure = separate(&[knee, beyond, wide]).remove(0);
        assert_eq!(figure.panels[0].series.len(), 1);
        assert_eq!(figure.panels[0].series[0].points, [(4.0, 1e4)]);
    }
}
