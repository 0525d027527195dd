//! What a run of the tuner found, as text and as figures.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use batchlas_bench::tune::order::Vendor;
use batchlas_bench::tune::verify::{self, MEAN_LIMIT, Outcome, Ratio, Summary, WORST_LIMIT};
use batchlas_bench::tune::{Request, Verdict, without_times};
use batchlas_bench::{Cell, Provenance, Row};

use super::Run;
use crate::figure::{Axis, Figure, Panel, Scale, Series};
use crate::table::Table;

/// Cells of one kind that are listed by name.
const LISTED: usize = 10;

/// What changed against the table in place.
pub(super) fn of_changes(run: &Run<'_>, rows: &[Row], verdicts: &[Verdict]) -> String {
    let mut text = heading(run, verdicts.len());
    let changes: Vec<&Verdict> = verdicts.iter().filter(|v| v.is_change()).collect();
    if !changes.is_empty() {
        let mut table = Table::new(&["cell", "before", "after", "before ms", "after ms", "gain"], 3);
        let none = || "-".to_owned();
        for v in &changes {
            table.row(vec![
                name(&v.cell),
                v.before.clone().unwrap_or_else(none),
                v.after.route.clone(),
                v.before_ms.map_or_else(none, |ms| format!("{ms:.4}")),
                format!("{:.4}", v.after.ms),
                v.gain().map_or_else(none, |gain| format!("{gain:.3}")),
            ]);
        }
        text += &table.render();
        text.push('\n');
    }
    let gains = |verdicts: &mut dyn Iterator<Item = &Verdict>| mean(verdicts.filter_map(Verdict::gain));
    let _ = writeln!(text, "{} of {} cells take another family", changes.len(), verdicts.len());
    if let Some(all) = gains(&mut verdicts.iter()) {
        let most = changes.iter().filter_map(|v| v.gain()).fold(1.0, f64::max);
        let changed = gains(&mut changes.iter().copied()).unwrap_or(1.0);
        let _ = writeln!(
            text,
            "gain: geometric mean {all:.3} over all, {changed:.3} over those that change, at most {most:.3}"
        );
    }
    let near = verdicts.iter().filter(|v| v.after.route != v.fastest.route).count();
    if near > 0 {
        let _ = writeln!(
            text,
            "{near} keep a family though another was faster, by less than 3 % or than the noise"
        );
    }
    let wrong =
        verdicts.iter().flat_map(|v| v.wrong.iter().map(|(route, why)| (route.as_str(), &v.cell, why)));
    text +=
        &by_route("left out for wrong results", wrong.map(|(r, c, why)| (r, format!("{}: {why}", name(c)))));
    text + &remarks(rows, verdicts.iter().flat_map(|v| v.wide.iter().map(|r| (r.as_str(), name(&v.cell)))))
}

/// The table's choice against the fastest pinned family, and what the times that can be trusted say of it.
pub(super) fn of_ratios(run: &Run<'_>, rows: &[Row], ratios: &[Ratio]) -> (String, Outcome) {
    let mut text = heading(run, ratios.len());
    let mut slow: Vec<&Ratio> = ratios.iter().filter(|r| r.value() > 1.03 && r.is_resolved()).collect();
    slow.sort_by(|x, y| y.value().total_cmp(&x.value()));
    if !slow.is_empty() {
        let mut table = Table::new(&["cell", "auto takes", "fastest", "auto ms", "fastest ms", "ratio"], 3);
        for r in &slow {
            let wide = if r.is_trusted { "" } else { " (wide)" };
            table.row(vec![
                name(&r.cell),
                r.auto.route.clone(),
                r.best.route.clone(),
                format!("{:.4}", r.auto.ms),
                format!("{:.4}", r.best.ms),
                format!("{:.3}{wide}", r.value()),
            ]);
        }
        text += &table.render();
        text.push('\n');
    }
    let trusted = Summary::of(ratios.iter().filter(|r| r.is_trusted));
    let outcome = trusted.outcome();
    let _ = writeln!(text, "auto over the fastest pinned family: {}", figures(&trusted));
    if trusted.cells < ratios.len() {
        let wide = ratios.len() - trusted.cells;
        let all = figures(&Summary::of(ratios.iter()));
        let _ = writeln!(text, "with the {wide} cells whose spread is above 0.10: {all}");
    }
    if run.request.vendor == Vendor::Last && rows.iter().any(Row::is_vendor) {
        let with_vendor = verify::ratios(rows, Vendor::ByTime);
        let all = figures(&Summary::of(with_vendor.iter().filter(|r| r.is_trusted)));
        let _ = writeln!(text, "over the fastest, the vendor's routines among them: {all}");
    }
    let verdict = match outcome {
        Outcome::Passed => "passed",
        Outcome::Slow => "NOT passed",
        Outcome::Unknown => "not known, no spread is within 0.10",
    };
    let _ = writeln!(text, "at most {MEAN_LIMIT:.2} and {WORST_LIMIT:.2}: {verdict}");
    text += &remarks(rows, std::iter::empty());
    (text, outcome)
}

fn figures(summary: &Summary) -> String {
    if summary.cells == 0 {
        return "no cell whose times can be trusted".to_owned();
    }
    let worst = match &summary.worst {
        Some(r) => {
            format!("worst {:.3} ({}: {}, fastest {})", r.value(), name(&r.cell), r.auto.route, r.best.route)
        }
        None => "no two times that the clock tells apart".to_owned(),
    };
    format!("{} cells, geometric mean {:.4}, {worst}", summary.cells, summary.mean)
}

fn heading(run: &Run<'_>, cells: usize) -> String {
    let Run { request, provenance, in_place, arch, .. } = run;
    let table = &in_place.table;
    let mut text = format!(
        "{} on {}, {cells} cells, up to {} rounds each\ntable in place  {} ({}), {}\n",
        request.op,
        provenance.device,
        request.effort.rounds,
        table.source(),
        arch,
        table.provenance("status")
    );
    if let Some(note) = &in_place.note {
        let _ = writeln!(text, "                {note}");
    }
    text.push('\n');
    text
}

/// Cells without times, and arms whose spread is too wide.
fn remarks<'a>(rows: &[Row], wide: impl Iterator<Item = (&'a str, String)>) -> String {
    let mut text = by_route("spread above 0.10", wide);
    let none = without_times(rows);
    for (cell, reason) in none.iter().take(LISTED) {
        let _ = writeln!(text, "no time: {}: {reason}", name(cell));
    }
    if none.len() > LISTED {
        let _ = writeln!(text, "         and {} cells more", none.len() - LISTED);
    }
    text
}

/// A line a route: in how many cells, and the first of them.
fn by_route<'a>(what: &str, cells: impl Iterator<Item = (&'a str, String)>) -> String {
    let mut routes: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for (route, cell) in cells {
        routes.entry(route).or_insert((0, cell)).0 += 1;
    }
    let line = |(route, (count, first)): (&str, (usize, String))| {
        format!("{what}: {route} in {count} cells, the first {first}\n")
    };
    routes.into_iter().map(line).collect()
}

fn name(cell: &Cell) -> String {
    let Cell { dtype, batch, .. } = cell;
    format!("{dtype} {} {} batch={batch}", cell.kind(), cell.shape())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = values.map(f64::ln).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// The gain of each cell over the order.
pub(super) fn figure(request: &Request, provenance: &Provenance, verdicts: &[Verdict]) -> Figure {
    let points = verdicts.iter().filter_map(|v| Some((v.cell, v.gain()?)));
    let title = format!("Gain over the table in place: {} on {}", request.op, provenance.device);
    panels(title, "time before over time after", "as before", points.collect())
}

/// The ratio of each cell over the order.
pub(super) fn figure_of_ratios(provenance: &Provenance, ratios: &[Ratio]) -> Figure {
    let points = ratios.iter().filter(|r| r.is_trusted).map(|r| (r.cell, r.value()));
    let title = format!("The table's choice over the fastest pinned family on {}", provenance.device);
    panels(title, "time of auto over the fastest", "the fastest", points.collect())
}

/// A panel a type and jobz (or ops), a line a batch.
fn panels(title: String, y: &str, level: &'static str, points: Vec<(Cell, f64)>) -> Figure {
    let mut batches: Vec<usize> = points.iter().map(|(cell, _)| cell.batch).collect();
    batches.sort_unstable();
    batches.dedup();
    let label = |batch: usize| format!("batch {batch}");
    let kind = |cell: &Cell| (cell.dtype, cell.kind());
    let panels = points.chunk_by(|x, y| kind(&x.0) == kind(&y.0)).map(|of_kind| {
        let series = batches.iter().map(|batch| {
            let mut points: Vec<(f64, f64)> =
                of_kind.iter().filter(|p| p.0.batch == *batch).map(|p| (p.0.n as f64, p.1)).collect();
            points.sort_by(|x, y| x.0.total_cmp(&y.0));
            Series { name: label(*batch), points }
        });
        let (dtype, word) = kind(&of_kind[0].0);
        Panel {
            title: format!("{dtype} {word}"),
            x: Axis { name: "order n".to_owned(), scale: Scale::Log },
            // Gains lie near 1, where a logarithmic axis has one tick.
            y: Axis { name: y.to_owned(), scale: Scale::Linear },
            series: series.filter(|s| !s.points.is_empty()).collect(),
            level: Some((1.0, level)),
        }
    });
    Figure { title, panels: panels.collect(), names: batches.iter().map(|b| label(*b)).collect() }
}
