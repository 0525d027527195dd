//! Rows of a bench, as JSON lines.

use std::collections::HashMap;
use std::path::Path;

use batchlas::measure::{SPREAD_LIMIT, Times};
use serde::{Deserialize, Serialize};

use crate::cell::{Cell, Op};
use crate::provenance::Provenance;
use crate::race::Measured;

/// One arm of one cell. It has a time (`ms` and what goes with it), counters, or a reason why it has neither.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The operation.
    pub op: String,
    /// The element type.
    pub dtype: String,
    /// The order; the columns of C, of a product.
    pub n: usize,
    /// The number of items.
    pub batch: usize,
    /// `V` or `N`; of a product what is multiplied of each side, such as `nt`.
    pub jobz: String,
    /// Rows of C, of a product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub m: Option<usize>,
    /// Columns of op(A), of a product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// `packed` or `padded`.
    #[serde(default = "packed")]
    pub layout: String,
    /// The formula of the shift, where the operation has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<String>,
    /// The family asked for.
    pub route: String,
    /// The family and the parameters reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<String>,
    /// Why there is no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Nanoseconds an item, at the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns: Option<f64>,
    /// Milliseconds a call, at the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<f64>,
    /// Billions of operations a second, at the median, of a product: 2 m n k an item, 8 of complex numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gflops: Option<f64>,
    /// Distance of the quartiles over the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// How many times were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// Each of them, in the order taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times_ms: Vec<f64>,
    /// Whether the spread is within the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted: Option<bool>,
    /// The largest residual of the items checked; of a product the largest error of an element over (k + 1) eps times
    /// the product of moduli.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residual: Option<f64>,
    /// The largest departure from orthogonality of the items checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orthogonality: Option<f64>,
    /// The largest error of an eigenvalue of the items checked, over n eps ||A||.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_error: Option<f64>,
    /// Whether four times more items bring less than 5 % an item; only where the batch was searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<bool>,
    /// What the executor counted, over all kernels of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// Where and from what.
    #[serde(flatten)]
    pub provenance: Provenance,
}

fn packed() -> String {
    "packed".to_owned()
}

/// What the executor counted in one call: a model of a GPU's warps, not a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Kernels launched.
    pub launches: u64,
    /// Collectives of warps.
    pub collectives: u64,
    /// Barriers of blocks.
    pub barriers: u64,
    /// Extra passes over the banks of shared memory.
    pub bank_conflicts: u64,
    /// Accesses of warps to shared memory.
    pub shared_warp_accesses: u64,
    /// Accesses of warps to global memory.
    pub global_warp_accesses: u64,
    /// Sectors of 32 bytes that those touched.
    pub global_sectors: u64,
}

impl Row {
    /// A row of a cell without a result yet.
    pub fn new(cell: &Cell, route: &str, provenance: &Provenance) -> Self {
        let product = (cell.op == Op::Gemm).then(|| cell.product());
        Row {
            op: cell.op.to_string(),
            dtype: cell.dtype.to_string(),
            n: cell.n,
            batch: cell.batch,
            jobz: cell.kind(),
            m: product.map(|p| p.m),
            k: product.map(|p| p.k),
            layout: cell.padding.to_string(),
            shift: cell.shift_word(),
            route: route.to_owned(),
            provenance: provenance.clone(),
            ..Row::default()
        }
    }

    /// With the reason why there is no time.
    pub fn with_error(self, reason: impl Into<String>) -> Self {
        Row { error: Some(reason.into()), ..self }
    }

    /// With what was found of the results.
    pub fn with_measured(self, measured: &Measured) -> Self {
        Row {
            residual: measured.residual,
            orthogonality: measured.orthogonality,
            value_error: measured.value_error,
            ..self
        }
    }

    /// With times. A spread above the limit leaves the row untrusted.
    pub fn with_times(self, times: &Times) -> Self {
        let (median, spread) = (times.median(), times.spread());
        let gflops = self.operations().map(|operations| operations / median / 1e9);
        Row {
            gflops: gflops.filter(|x| x.is_finite()),
            ns: Some((median * 1e12 / self.batch.max(1) as f64).round() / 1e3),
            ms: Some(median * 1e3),
            spread: Some((spread * 1e4).round() / 1e4),
            samples: Some(times.samples.len()),
            times_ms: times.samples.iter().map(|s| s * 1e3).collect(),
            // Written so that a NaN fails.
            trusted: Some(spread <= SPREAD_LIMIT),
            ..self
        }
    }

    /// Operations of a call, of a product.
    fn operations(&self) -> Option<f64> {
        let (m, k) = self.m.zip(self.k)?;
        let each = if self.dtype.starts_with('c') { 8.0 } else { 2.0 };
        Some([m, self.n, k, self.batch].iter().map(|x| *x as f64).product::<f64>() * each)
    }

    /// The time of a call in milliseconds, where it is to be trusted.
    pub fn trusted_ms(&self) -> Option<f64> {
        self.ms.filter(|_| self.error.is_none() && self.trusted != Some(false))
    }

    /// Whether the arm is a routine of the vendor.
    pub fn is_vendor(&self) -> bool {
        self.route.starts_with("vendor")
    }

    /// The row as a line of JSON.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers") + "\n"
    }
}

/// The times of the vendor's faster routine in each cell of a run, of those that are to be trusted.
#[derive(Clone, Debug, Default)]
pub struct VendorTimes(HashMap<CellKey, f64>);

/// Operation, type, m, n, k, batch, jobz, layout.
type CellKey = (String, String, [Option<usize>; 4], String, String);

fn cell_key(row: &Row) -> CellKey {
    let sizes = [row.m, Some(row.n), row.k, Some(row.batch)];
    (row.op.clone(), row.dtype.clone(), sizes, row.jobz.clone(), row.layout.clone())
}

impl VendorTimes {
    /// Of these rows.
    pub fn of(rows: &[Row]) -> Self {
        let mut times = HashMap::new();
        for row in rows.iter().filter(|row| row.is_vendor()) {
            let Some(ms) = row.trusted_ms() else { continue };
            let least = times.entry(cell_key(row)).or_insert(ms);
            *least = ms.min(*least);
        }
        VendorTimes(times)
    }

    /// The vendor's time in the cell of a row over the row's own.
    pub fn ratio(&self, row: &Row) -> Option<f64> {
        self.0.get(&cell_key(row)).zip(row.trusted_ms()).map(|(vendor, own)| vendor / own)
    }
}

/// A file of rows, of one kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Read {
    /// Of `batchlas bench` or a program of `benches/`.
    Bench(Vec<Row>),
    /// Of `batchlas accuracy`.
    Accuracy(Vec<crate::accuracy::Sample>),
}

/// Reads JSON lines of a bench, of an accuracy run or of a tuner's journal; empty lines, summaries and the
/// journal's own lines are left out.
///
/// # Errors
/// A sentence with the file and the line that is no row, or that the file has rows of both kinds or none.
pub fn read(path: &Path) -> Result<Read, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text).map_err(|reason| format!("{}{reason}", path.display()))
}

fn parse(text: &str) -> Result<Read, String> {
    #[derive(Deserialize)]
    struct Kind {
        kind: Option<String>,
    }
    let (mut rows, mut samples) = (vec![], vec![]);
    for (k, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |e: serde_json::Error| format!(":{}: no row of a bench or an accuracy run: {e}", k + 1);
        match serde_json::from_str::<Kind>(line).map_err(wrong)?.kind.as_deref() {
            None => rows.push(serde_json::from_str(line).map_err(wrong)?),
            Some("sample") => samples.push(serde_json::from_str(line).map_err(wrong)?),
            Some("summary" | "tune" | "cell") => {}
            Some(other) => return Err(format!(":{}: rows of kind '{other}' are not known", k + 1)),
        }
    }
    match (rows.is_empty(), samples.is_empty()) {
        (false, true) => Ok(Read::Bench(rows)),
        (true, false) => Ok(Read::Accuracy(samples)),
        (true, true) => Err(": there are no rows".to_owned()),
        (false, false) => Err(": rows of a bench and of an accuracy run are mixed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(route: &str, samples: &[f64]) -> Row {
        let cell = Cell { n: 8, batch: 1000, ..Cell::default() };
        let times = Times { samples: samples.to_vec() };
        Row::new(&cell, route, &Provenance { device: "x".into(), ..Provenance::default() }).with_times(&times)
    }

    #[test]
    fn rows_round_trip_with_their_samples() {
        let row = timed("cta", &[1e-3, 1.1e-3, 1.2e-3]);
        assert_eq!((row.ns, row.samples), (Some(1100.0), Some(3)));
        let Read::Bench(rows) = parse(&format!("{}\n{}", row.line(), row.line())).unwrap() else { panic!() };
        assert_eq!(rows, [row.clone(), row]);
    }

    #[test]
    fn a_wide_spread_is_not_trusted() {
        let row = timed("cta", &[1e-3, 1.2e-3, 1.4e-3]);
        assert!(row.ms.is_some() && row.trusted_ms().is_none());
        assert!(timed("cta", &[1e-3; 3]).trusted_ms().is_some());
        assert!(timed("cta", &[]).trusted_ms().is_none());
    }

    #[test]
    fn rows_of_earlier_programs_are_read() {
        let line = r#"{"batch":16384,"device":"NVIDIA H200","dtype":"f32","jobz":"V","ms":0.0117,"n":2,"ns":0.717,"op":"syev","orthogonality":0.71,"residual":0.64,"route":"thread","samples":9,"spread":0.2643,"trusted":false}"#;
        let Read::Bench(rows) = parse(line).unwrap() else { panic!() };
        assert_eq!((rows[0].layout.as_str(), rows[0].provenance.device.as_str()), ("packed", "NVIDIA H200"));
    }

    #[test]
    fn the_vendor_is_its_faster_trusted_routine() {
        let slow = timed("vendor:xsyev", &[3e-3; 3]);
        let fast = timed("vendor:syevj", &[2e-3; 3]);
        let wide = timed("vendor:other", &[1e-3, 1.2e-3, 1.4e-3]);
        let other = Row { n: 9, ..timed("vendor:syevj", &[1e-3; 3]) };
        let own = timed("cta", &[1e-3; 3]);
        assert_eq!(VendorTimes::of(&[slow, fast, wide.clone(), other]).ratio(&own), Some(2.0));
        assert_eq!(VendorTimes::of(std::slice::from_ref(&own)).ratio(&own), None);
        assert_eq!(VendorTimes::of(&[timed("vendor:xsyev", &[3e-3; 3])]).ratio(&wide), None);
    }

    #[test]
    fn files_that_are_none_are_refused() {
        for (text, word) in
            [("", "no rows"), ("{}", ":1: no row"), ("\n\nx", ":3: "), (r#"{"kind":"y"}"#, "'y'")]
        {
            let reason = parse(text).unwrap_err();
            assert!(reason.contains(word), "{text}: {reason}");
        }
    }
}
