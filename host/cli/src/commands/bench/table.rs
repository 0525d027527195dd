//! The rows of a bench as a table.

use batchlas_bench::grid::{Batches, Grid};
use batchlas_bench::row::VendorTimes;
use batchlas_bench::{Provenance, Row};

use crate::table::Table;

/// What is told of times.
const TIMES: [&str; 12] = [
    "type",
    "jobz",
    "layout",
    "route",
    "n",
    "batch",
    "ns an item",
    "ms a call",
    "spread",
    "x vendor",
    "residual",
    "orthogonality",
];

/// What is told of the times of products: of one whose m or k is not n, its sizes.
const PRODUCTS: [&str; 12] = [
    "type",
    "ops",
    "layout",
    "route",
    "m x n x k",
    "batch",
    "ns an item",
    "ms a call",
    "spread",
    "x vendor",
    "GFLOP/s",
    "error",
];

/// What is told of the executor's counts.
const COUNTS: [&str; 14] = [
    "type",
    "jobz",
    "layout",
    "route",
    "n",
    "batch",
    "launches",
    "collectives",
    "barriers",
    "bank conflicts",
    "shared accesses of warps",
    "global accesses of warps",
    "sectors an access",
    "residual",
];

/// Columns with text.
pub(super) const LEFT: usize = 4;

/// What is measured, and where.
pub(super) fn heading(grid: &Grid, provenance: &Provenance) -> String {
    if provenance.device == "simt" {
        return format!("{} on simt\n", grid.op);
    }
    let rounds = match grid.batches {
        Batches::Auto => format!("batches searched for, up to {} rounds each", grid.effort.rounds),
        Batches::List(_) => format!("up to {} rounds a cell", grid.effort.rounds),
    };
    format!("{} on {}, {rounds}\n", grid.op, provenance.device)
}

/// Whether the rows are counts of the executor.
pub(super) fn are_counts(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.counters.is_some())
}

/// The heads of the columns and the cells of each row, the same in the terminal and on the page, without remarks.
pub(super) fn columns(rows: &[Row]) -> (&'static [&'static str], Vec<Vec<String>>) {
    if are_counts(rows) {
        return (&COUNTS, rows.iter().map(counts).collect());
    }
    let vendor = VendorTimes::of(rows);
    if rows.iter().any(|row| row.m.is_some()) {
        return (&PRODUCTS, rows.iter().map(|row| product(row, &vendor).to_vec()).collect());
    }
    (&TIMES, rows.iter().map(|row| times(row, &vendor).to_vec()).collect())
}

/// The table.
pub(super) fn table(rows: &[Row]) -> String {
    let (header, lines) = columns(rows);
    let mut table = Table::new(&[header, &["remark"]].concat(), LEFT);
    for (row, mut cells) in rows.iter().zip(lines) {
        cells.push(short(&remark(row)));
        table.row(cells);
    }
    let text = table.render();
    if are_counts(rows) {
        format!("counts of the executor, of one call: a model of a GPU's warps, not a measurement\n{text}")
    } else {
        text
    }
}

/// The figures of a row; those of an arm that is dropped are not shown.
fn times(row: &Row, vendor: &VendorTimes) -> [String; 12] {
    let none = || "-".to_owned();
    let ms = row.trusted_ms();
    let ns = row.ns.filter(|_| ms.is_some());
    let ratio = vendor.ratio(row);
    let figure = |x: Option<f64>| x.map_or_else(none, |x| format!("{x:.2}"));
    [
        row.dtype.clone(),
        row.jobz.clone(),
        row.layout.clone(),
        row.route.clone(),
        row.n.to_string(),
        row.batch.to_string(),
        ns.map_or_else(none, three_digits),
        ms.map_or_else(none, |x| format!("{x:.4}")),
        row.spread.filter(|_| ms.is_some()).map_or_else(none, |x| format!("{x:.3}")),
        ratio.map_or_else(none, |x| format!("{x:.2}")),
        figure(row.residual),
        figure(row.orthogonality),
    ]
}

/// The same of a product: sizes, GFLOP/s and error in places of their own.
fn product(row: &Row, vendor: &VendorTimes) -> [String; 12] {
    let mut cells = times(row, vendor);
    let size = |size: Option<usize>| size.unwrap_or(row.n);
    cells[4] = format!("{}x{}x{}", size(row.m), row.n, size(row.k));
    let gflops = row.gflops.filter(|_| row.trusted_ms().is_some());
    cells[11] = std::mem::replace(&mut cells[10], gflops.map_or_else(|| "-".to_owned(), three_digits));
    cells
}

/// Three significant digits, none of whole numbers lost.
fn three_digits(x: f64) -> String {
    let digits = if x > 0.0 { (2.0 - x.log10().floor()).clamp(0.0, 3.0) } else { 0.0 } as usize;
    format!("{x:.digits$}")
}

/// Why there is no time, or what is to be known of it.
pub(super) fn remark(row: &Row) -> String {
    match (&row.error, row.trusted, row.knee) {
        (Some(reason), ..) => reason.clone(),
        (None, Some(false), _) => format!("dropped: spread {:.2}", row.spread.unwrap_or(f64::NAN)),
        (None, _, Some(true)) => "knee".to_owned(),
        _ => String::new(),
    }
}

/// The most characters of a remark in a terminal; the JSON line has all of it.
const MOST: usize = 70;

fn short(text: &str) -> String {
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST - 3).collect::<String>() + "..."
}

/// What the executor counted of a row.
fn counts(row: &Row) -> Vec<String> {
    let c = row.counters.unwrap_or_default();
    let counts = [
        c.launches,
        c.collectives,
        c.barriers,
        c.bank_conflicts,
        c.shared_warp_accesses,
        c.global_warp_accesses,
    ];
    let shown = |text: String| if row.counters.is_some() { text } else { "-".to_owned() };
    let sectors = c.global_sectors as f64 / c.global_warp_accesses.max(1) as f64;
    let [dtype, jobz, layout, route, n, batch, .., residual, _] = times(row, &VendorTimes::default());
    let mut cells = vec![dtype, jobz, layout, route, n, batch];
    cells.extend(counts.map(|count| shown(count.to_string())));
    cells.extend([shown(format!("{sectors:.2}")), residual]);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(route: &str, ms: f64, trusted: bool) -> Row {
        Row {
            route: route.into(),
            n: 8,
            batch: 1000,
            ms: Some(ms),
            ns: Some(ms * 1e3),
            spread: Some(if trusted { 0.01 } else { 0.27 }),
            trusted: Some(trusted),
            ..Row::default()
        }
    }

    #[test]
    fn a_dropped_arm_is_named_and_has_no_time() {
        let text =
            table(&[row("cta", 0.5, true), row("thread", 0.25, false), row("vendor:syevj", 1.0, true)]);
        let line = |route: &str| text.lines().find(|l| l.contains(route)).unwrap().to_owned();
        assert!(line("cta").contains("2.00"), "{text}");
        assert!(line("thread").contains("dropped: spread 0.27"), "{text}");
        assert!(!line("thread").contains("0.25"), "{text}");
    }

    #[test]
    fn reasons_are_cut_in_the_terminal() {
        let wrong = row("cta", 0.5, true).with_error("wrong result: ".to_owned() + &"x".repeat(200));
        let text = table(std::slice::from_ref(&wrong));
        assert!(text.contains("wrong result") && text.lines().all(|l| l.len() < 220), "{text}");
        assert!(!text.contains("0.5000"), "{text}");
    }

    #[test]
    fn numbers_have_three_digits() {
        for (x, text) in
            [(0.717, "0.717"), (14.807, "14.8"), (123.4, "123"), (0.01234, "0.012"), (12345.6, "12346")]
        {
            assert_eq!(three_digits(x), text);
        }
    }
}
