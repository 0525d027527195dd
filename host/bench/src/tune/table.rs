//! The text of a route table: measured rows over those of the table in place.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use batchlas::Arch;
use batchlas::routes::{HEADING, Key, Operation, ShapeKey, Table};

use super::{Request, Verdict};
use crate::cell::Op;
use crate::provenance::Provenance;

/// A row to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    key: ShapeKey,
    candidates: Vec<String>,
}

/// What the header says beside the rows.
pub struct Head<'a> {
    /// The architecture that the table is for.
    pub arch: Arch,
    /// Whether the times are of a GPU of that architecture: else the table is provisional.
    pub is_gpu: bool,
    /// What was asked for.
    pub request: &'a Request,
    /// Where and from what the times are.
    pub provenance: &'a Provenance,
}

/// A table with the verdicts' rows and those of the table in place whose batch lies outside the range that was measured
/// of their type, jobz and order; with saturation that range is open upwards. Of measured batches that agree only those
/// beside a change are kept: the nearest one decides.
///
/// The text is read back before it is given out.
///
/// # Errors
/// What the parser says of the text: a field of the provenance may hold what no table can.
pub fn text(head: &Head<'_>, in_place: &Table, verdicts: &[Verdict]) -> Result<String, String> {
    let operation = in_place.operation();
    let measured = ranges_of(verdicts, head.request.saturation);
    let is_kept = |key: &ShapeKey| measured.get(&shape(key)).is_none_or(|range| !range.contains(&batch(key)));
    let line = |row: &batchlas::routes::Row| Line {
        key: row.key.clone(),
        candidates: row.candidates.iter().map(ToString::to_string).collect(),
    };
    let kept: Vec<Line> = in_place.rows().iter().filter(|row| is_kept(&row.key)).map(line).collect();
    let mut lines = thinned(&kept, verdicts);
    let kept = kept.len();
    lines.sort_by_key(|line| place(operation, &line.key));
    let mut text = header(head, in_place, kept);
    let widths: Vec<usize> = (0..operation.keys.len()).map(|at| width(&lines, at)).collect();
    for (at, line) in lines.iter().enumerate() {
        if at == 0 || lines[at - 1].key.words != line.key.words {
            text.push('\n');
        }
        text += &written(line, &widths);
    }
    Table::parse(operation, "the new table", &text).map_err(|e| e.to_string())?;
    Ok(text)
}

/// Words and all sizes but the last, which is the batch.
fn shape(key: &ShapeKey) -> (Vec<&'static str>, Vec<u64>) {
    (key.words.clone(), key.sizes[..key.sizes.len() - 1].to_vec())
}

fn batch(key: &ShapeKey) -> u64 {
    key.sizes[key.sizes.len() - 1]
}

/// The batches from the least to the largest that were measured of each shape; up to any where saturation was.
fn ranges_of(
    verdicts: &[Verdict],
    saturation: bool,
) -> HashMap<(Vec<&'static str>, Vec<u64>), RangeInclusive<u64>> {
    let mut ranges = HashMap::new();
    for key in verdicts.iter().map(|v| v.cell.key()) {
        let at = batch(&key);
        let range = ranges.entry(shape(&key)).or_insert(at..=at);
        *range = at.min(*range.start())..=if saturation { u64::MAX } else { at.max(*range.end()) };
    }
    ranges
}

/// All kept lines, and of the measured ones of each shape those beside a change, at least one.
fn thinned(kept: &[Line], verdicts: &[Verdict]) -> Vec<Line> {
    let measured = verdicts.iter().map(|v| Line { key: v.cell.key(), candidates: v.candidates.clone() });
    let kept = kept.iter().cloned().map(|line| (line, false));
    let mut all: Vec<(Line, bool)> = kept.chain(measured.map(|line| (line, true))).collect();
    all.sort_by(|(x, _), (y, _)| (&x.key.words, &x.key.sizes).cmp(&(&y.key.words, &y.key.sizes)));
    all.dedup_by(|(later, _), (earlier, _)| later.key == earlier.key);
    let mut out = vec![];
    for of_shape in all.chunk_by(|(x, _), (y, _)| shape(&x.key) == shape(&y.key)) {
        let differs = |x: Option<usize>, y: usize| {
            x.and_then(|x| of_shape.get(x))
                .is_some_and(|(line, _)| line.candidates != of_shape[y].0.candidates)
        };
        let is_beside = |at: usize| differs(at.checked_sub(1), at) || differs(Some(at + 1), at);
        let is_measured = |at: &usize| of_shape[*at].1;
        let last = (0..of_shape.len()).rfind(is_measured);
        let only = if (0..of_shape.len()).filter(is_measured).any(is_beside) { None } else { last };
        let stays = |at: &usize| !is_measured(at) || is_beside(*at) || Some(*at) == only;
        out.extend((0..of_shape.len()).filter(stays).map(|at| of_shape[at].0.clone()));
    }
    out
}

/// A key's place: words in the operation's order, then sizes.
fn place(operation: &Operation, key: &ShapeKey) -> (Vec<usize>, Vec<u64>) {
    let lists = operation.keys.iter().filter_map(|key| match key {
        Key::Word { words, .. } => Some(words),
        Key::Size { .. } => None,
    });
    let at = |(list, word): (&&[&str], &&str)| list.iter().position(|w| w == word).unwrap_or(list.len());
    (lists.zip(&key.words).map(at).collect(), key.sizes.clone())
}

/// The widest value of a size key.
fn width(lines: &[Line], at: usize) -> usize {
    let sizes = lines.iter().filter_map(|line| line.key.sizes.get(at));
    sizes.map(|size| size.to_string().len()).max().unwrap_or(0)
}

/// `f32  V    16  16384  cta_fused cta vendor:syevj`
fn written(line: &Line, widths: &[usize]) -> String {
    let words: String = line.key.words.iter().map(|word| format!("{word:<3}  ")).collect();
    let sizes = line.key.sizes.iter().zip(widths);
    let sizes: String = sizes.map(|(size, width)| format!("{size:>width$}  ")).collect();
    format!("{words}{sizes}{}\n", line.candidates.join(" "))
}

fn header(head: &Head<'_>, in_place: &Table, kept: usize) -> String {
    let Head { arch, is_gpu, request, provenance } = head;
    let operation = in_place.operation();
    let keys: Vec<&str> = operation.keys.iter().map(Key::name).collect();
    let is_measured = *is_gpu && (kept == 0 || in_place.provenance("status") == "measured");
    let or = |text: &str, none: &str| if text.is_empty() { none.to_owned() } else { text.to_owned() };
    format!(
        "{HEADING}\n# Written by `batchlas tune`, fastest first.\n\nop: {}\narch: {arch}\nstatus: {}\ndevice: {}\n\
         driver: {}\ntool chain: {}\ndate: {}\ncommit: {}\nnote: {}\nkeys: {}\n",
        operation.name,
        if is_measured { "measured" } else { "provisional" },
        provenance.device,
        provenance.driver.as_ref().map_or("none".to_owned(), |version| format!("CUDA {version}")),
        or(provenance.tool_chain.as_deref().unwrap_or(""), "none"),
        or(provenance.date.get(..10).unwrap_or(""), "unknown"),
        or(&provenance.commit, "unknown"),
        note(request, in_place, kept),
        keys.join(" ")
    )
}

fn note(request: &Request, in_place: &Table, kept: usize) -> String {
    let Request { n, batches, effort, .. } = request;
    let dtypes: Vec<String> = request.dtypes.iter().map(ToString::to_string).collect();
    let kinds: Vec<String> = match request.op {
        Op::Gemm => request.sides.iter().map(ToString::to_string).collect(),
        _ => request.jobz.iter().map(ToString::to_string).collect(),
    };
    let mut at: Vec<String> = batches.iter().map(ToString::to_string).collect();
    if request.saturation {
        at.push("saturation".to_owned());
    }
    let mut note = format!(
        "measured {}, {}, n {}, batches {}; medians of up to {} interleaved rounds in {} s; a change under 3 % kept \
         the order in place; the vendor {}",
        dtypes.join(" "),
        kinds.join(" "),
        ranges(n),
        at.join(" "),
        effort.rounds,
        effort.limit.as_secs_f64(),
        request.vendor
    );
    if kept > 0 {
        let field = |name| in_place.provenance(name);
        note += &format!(
            "; {kept} other rows are those of the table of {}, commit {} ({})",
            field("date"),
            field("commit"),
            field("status")
        );
    }
    note
}

/// `1..8 16 32` of a list of sizes.
pub(super) fn ranges(sizes: &[usize]) -> String {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|x, y| x + 1 == *y);
    let written = runs.flat_map(|run| match run {
        [first, .., last] if run.len() > 2 => vec![format!("{first}..{last}")],
        _ => run.iter().map(ToString::to_string).collect(),
    });
    written.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::order::Vendor;
    use super::super::verdict::tests::{in_place, row};
    use super::super::verdicts;
    use super::*;
    use crate::cell::Sides;
    use crate::race::Effort;
    use crate::random::Random;
    use crate::row::Row;
    use batchlas::{Dtype, Jobz};

    fn request(n: Vec<usize>, batches: Vec<usize>) -> Request {
        Request {
            op: Op::Syev,
            dtypes: vec![Dtype::F32],
            jobz: vec![Jobz::V],
            sides: vec![Sides::default()],
            n,
            batches,
            saturation: true,
            asked: vec![],
            effort: Effort::default(),
            memory: None,
            vendor: Vendor::Last,
            auto: false,
        }
    }

    fn provenance() -> Provenance {
        Provenance {
            device: "NVIDIA H200".into(),
            driver: Some("13.0".into()),
            tool_chain: Some("rustc 1.96.0".into()),
            commit: "abc+".into(),
            date: "2026-11-30T08:00Z".into(),
            ..Provenance::default()
        }
    }

    fn table_of(in_place: &Table, rows: &[Row], is_gpu: bool) -> (String, Table) {
        let request = request(vec![7, 8, 9, 16], vec![1, 64]);
        let head = Head { arch: Arch(90), is_gpu, request: &request, provenance: &provenance() };
        let text = text(&head, in_place, &verdicts(in_place, rows, Vendor::Last)).unwrap();
        let table = Table::parse(Op::Syev.operation(), "new", &text).unwrap();
        (text, table)
    }

    #[test]
    fn measured_batches_replace_the_rows_of_their_range_and_no_others() {
        let old = in_place("8 1 cta\n8 64 thread cta\n9 1 cta block");
        let rows = [row(8, 16, "cta", 2.0), row(8, 16, "thread", 1.0)];
        let (text, table) = table_of(&old, &rows, true);
        let lines: Vec<&str> = text.lines().filter(|l| l.starts_with("f32  V")).collect();
        assert_eq!(
            lines,
            ["f32  V    8   1  cta", "f32  V    8  16  thread cta", "f32  V    9   1  cta block"]
        );
        assert_eq!(table.rows().len(), 3 + 7 * 3, "other types and values only keep theirs");
        assert_eq!(table.provenance("status"), "provisional", "as the rows that are kept");
        assert_eq!((table.provenance("driver"), table.provenance("date")), ("CUDA 13.0", "2026-11-30"));
        assert_eq!(
            table.provenance("note"),
            "measured f32, V, n 7..9 16, batches 1 64 saturation; medians of up to 15 interleaved rounds in 1 s; a \
             change under 3 % kept the order in place; the vendor last; 23 other rows are those of the table of 2026-01-01, commit \
             abc (provisional)"
        );
    }

    #[test]
    fn a_table_of_measured_rows_alone_is_measured_on_a_gpu_only() {
        let old = in_place("8 1 cta");
        let all: Vec<Row> = ["f32", "f64", "c32", "c64"]
            .iter()
            .flat_map(|t| {
                ["V", "N"].map(|j| Row { dtype: (*t).into(), jobz: j.into(), ..row(8, 1, "thread", 1.0) })
            })
            .collect();
        let (_, table) = table_of(&old, &all, true);
        assert_eq!((table.provenance("status"), table.rows().len()), ("measured", 8));
        assert!(!table.provenance("note").contains("other rows"));
        assert_eq!(table_of(&old, &all, false).1.provenance("status"), "provisional");
    }

    /// Without saturation the range ends at the largest batch; what agrees with a row that stays is still there once.
    #[test]
    fn rows_on_both_sides_of_the_measured_batches_stay() {
        let old = in_place("8 1 cta\n8 4 cta\n8 64 cta\n8 4096 thread cta\n9 1 cta");
        let rows: Vec<Row> = [4, 16, 64]
            .iter()
            .flat_map(|batch| [row(8, *batch, "cta", 1.0), row(8, *batch, "thread", 2.0)])
            .collect();
        let request = Request { saturation: false, ..request(vec![8], vec![4, 16, 64]) };
        let head = Head { arch: Arch(90), is_gpu: true, request: &request, provenance: &provenance() };
        let text = text(&head, &old, &verdicts(&old, &rows, Vendor::Last)).unwrap();
        let lines: Vec<&str> = text.lines().filter(|l| l.starts_with("f32  V    8")).collect();
        assert_eq!(
            lines,
            [
                "f32  V    8     1  cta",
                "f32  V    8     4  cta thread",
                "f32  V    8    64  cta thread",
                "f32  V    8  4096  thread cta"
            ]
        );
    }

    /// Whatever the times, the thinned table decides every measured cell as the cell's own verdict does.
    #[test]
    fn thinning_loses_no_decision() {
        let old = in_place("8 1 cta\n9 2 thread cta\n9 70000 cta thread\n16 2 cta thread vendor:syevj");
        let mut random = Random::new(3);
        for _ in 0..100 {
            let mut rows = vec![];
            for n in [7, 8, 9, 16] {
                for batch in [3, 8, 64, 1000, 4096, 65_536] {
                    let ms = || [0.5, 1.0, 2.0];
                    for route in ["cta", "thread", "vendor:syevj"] {
                        rows.push(row(n, batch, route, ms()[random.below(3)]));
                    }
                }
            }
            let (_, table) = table_of(&old, &rows, true);
            for verdict in verdicts(&old, &rows, Vendor::Last) {
                let found = table.nearest(&verdict.cell.key());
                let found: Vec<String> = found.candidates.iter().map(ToString::to_string).collect();
                assert_eq!(found, verdict.candidates, "{}", verdict.cell);
            }
            assert!(table.rows().len() <= 4 * 6 + 3 + 7 * 4);
        }
        let same: Vec<Row> = [1, 3, 64].iter().map(|batch| row(8, *batch, "cta", 1.0)).collect();
        let (_, table) = table_of(&old, &same, true);
        let of_eight = table.rows().iter().filter(|r| r.key.words == ["f32", "V"] && r.key.sizes[0] == 8);
        let kept: Vec<u64> = of_eight.map(|r| r.key.sizes[1]).collect();
        assert_eq!(kept, [64], "batches that agree are one row");
    }

    #[test]
    fn what_no_table_can_hold_is_an_error() {
        let old = in_place("8 1 cta");
        let request = request(vec![8], vec![1]);
        let provenance = Provenance { device: "# 1".into(), ..provenance() };
        let head = Head { arch: Arch(90), is_gpu: true, request: &request, provenance: &provenance };
        let verdicts = verdicts(&old, &[row(8, 1, "cta", 1.0)], Vendor::Last);
        assert!(text(&head, &old, &verdicts).unwrap_err().contains("'device' is empty"));
    }

    #[test]
    fn sizes_are_told_briefly() {
        assert_eq!(ranges(&[1, 2, 3, 4, 8, 16, 17]), "1..4 8 16 17");
        assert_eq!(ranges(&[32, 4]), "4 32");
        assert_eq!(ranges(&[]), "");
    }
}
