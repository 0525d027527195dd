//! `batchlas accuracy`: families over the input classes.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use batchlas::Queue;
use batchlas_bench::accuracy::{Figures, Found, Sample, Study, Summary, class_names, summaries};
use batchlas_bench::{Provenance, routes};

use super::bench::{check_jobz, check_types, open};
use super::{complain, print};
use crate::args::AccuracyArgs;
use crate::failure::Failure;
use crate::figure::{Axis, Figure, Panel, Scale, Series};
use crate::output::Target;
use crate::progress;
use crate::table::Table;

/// Exit status where a result of ours is wrong.
const WRONG: u8 = 3;

/// Runs the command.
pub fn run(args: &AccuracyArgs) -> Result<ExitCode, Failure> {
    if args.classes.iter().any(|class| class == "list") {
        print(&(class_names(args.op).join("\n") + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let target = |path: &Option<_>, extension| {
        path.as_deref().map(|p: &Path| Target::check(p, extension, Path::new(""))).transpose()
    };
    let (json, svg) = (target(&args.json, "jsonl")?, target(&args.plot, "svg")?);
    let studies = studies(args)?;
    let queue = open(args.device)?;
    let found = solve(&queue, &studies)?;
    if found.samples.is_empty() {
        let reason = found.refused.first().map(|(_, reason)| reason.clone());
        return Err(Failure::new(
            reason.unwrap_or_else(|| "no family can run any of these shapes".to_owned()),
        ));
    }
    let summaries = summaries(&found.samples);
    let mut staged = vec![];
    if let Some(json) = json {
        let lines: String =
            found.samples.iter().map(Sample::line).chain(summaries.iter().map(Summary::line)).collect();
        staged.push(json.stage(|out| out.write_all(lines.as_bytes()))?);
    }
    if let Some(svg) = svg {
        let text = figure(&summaries, &queue.device_name()).svg()?;
        staged.push(svg.stage(|out| out.write_all(text.as_bytes()))?);
    }
    staged.into_iter().try_for_each(|file| file.commit())?;
    print(&text(args, &queue, &summaries, &found))?;
    Ok(verdict(&found.samples))
}

/// One a type and order.
fn studies(args: &AccuracyArgs) -> Result<Vec<Study>, Failure> {
    check_types(args.op, &args.dtype)?;
    check_jobz(args.op, &[args.jobz])?;
    if args.n.0.contains(&0) {
        return Err(Failure::new("matrices of order 0 have no accuracy: n is at least 1"));
    }
    let asked = routes::parse(args.op.operation(), &args.routes).map_err(Failure::new)?;
    let all = || class_names(args.op).into_iter().map(str::to_owned).collect();
    let classes = if args.classes.is_empty() { all() } else { args.classes.clone() };
    let study = |dtype, n| Study {
        op: args.op,
        dtype,
        n,
        jobz: args.jobz,
        classes: classes.clone(),
        items: args.items as usize,
        seed: args.seed,
        asked: asked.clone(),
    };
    Ok(args.dtype.iter().flat_map(|dtype| args.n.0.iter().map(|n| study(*dtype, *n))).collect())
}

fn solve(queue: &Queue, studies: &[Study]) -> Result<Found, Failure> {
    let provenance = Provenance::of(queue);
    let bar = progress::steps(studies.len());
    let mut all = Found::default();
    for study in studies {
        bar.set_message(format!("{} {} n={}", study.op, study.dtype, study.n));
        let found = study.run(queue, &provenance)?;
        all.samples.extend(found.samples);
        all.refused.extend(found.refused);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(all)
}

fn verdict(samples: &[Sample]) -> ExitCode {
    let wrong: Vec<&Sample> = samples.iter().filter(|s| s.is_wrong() && !s.is_vendor()).collect();
    let Some(first) = wrong.first() else { return ExitCode::SUCCESS };
    let (route, class, item) = (&first.route, &first.class, first.item);
    let place = format!("{route} {} n={} {class} {item}", first.dtype, first.n);
    complain(&format!("{} items failed or have a measure above 10; the first: {place}", wrong.len()));
    ExitCode::from(WRONG)
}

fn text(args: &AccuracyArgs, queue: &Queue, summaries: &[Summary], found: &Found) -> String {
    let mut table = Table::new(
        &[
            "type",
            "route",
            "n",
            "items",
            "failed",
            "residual median",
            "max",
            "orthogonality median",
            "max",
            "value error median",
            "max",
            "worst class",
        ],
        2,
    );
    let both = |figures: &Figures| {
        [figures.median, figures.max].map(|x| x.map_or("-".to_owned(), |x| format!("{x:.3}")))
    };
    for s in summaries {
        let mut cells = vec![
            s.dtype.clone(),
            s.route.clone(),
            s.n.to_string(),
            s.items.to_string(),
            s.failed.to_string(),
        ];
        cells.extend([&s.residual, &s.orthogonality, &s.value_error].into_iter().flat_map(both));
        cells.push(s.worst_class.clone());
        table.row(cells);
    }
    let heading = format!("{} on {}, seed {}\n\n", args.op, queue.device_name(), args.seed);
    let refused = found.refused.iter().map(|(route, reason)| format!("{route}: {reason}\n"));
    let wrote = [&args.json, &args.plot].into_iter().flatten().map(|p| format!("wrote  {}\n", p.display()));
    heading + &table.render() + &refused.chain(wrote).collect::<String>()
}

/// A panel a type, order and measure: its largest value in each decade of the condition, a line a family.
fn figure(summaries: &[Summary], device: &str) -> Figure {
    type Measure = (&'static str, fn(&batchlas_bench::accuracy::Bin) -> Option<f64>);
    let measures: [Measure; 3] = [
        ("residual", |b| b.residual.max),
        ("orthogonality", |b| b.orthogonality.max),
        ("value error", |b| b.value_error.max),
    ];
    let mut names: Vec<String> = vec![];
    let mut shapes: Vec<(&str, usize)> = vec![];
    for s in summaries {
        if !names.contains(&s.route) {
            names.push(s.route.clone());
        }
        if !shapes.contains(&(&s.dtype, s.n)) {
            shapes.push((&s.dtype, s.n));
        }
    }
    let mut panels = vec![];
    for (dtype, n) in shapes {
        for (name, measure) in measures {
            let here = summaries.iter().filter(|s| (s.dtype.as_str(), s.n) == (dtype, n));
            let series = here.map(|s| {
                let point = |b: &batchlas_bench::accuracy::Bin| {
                    b.condition
                        .zip(measure(b).filter(|x| *x > 0.0))
                        .map(|(c, x)| (f64::from(c.min(MOST)) + 0.5, x))
                };
                let mut points: Vec<(f64, f64)> = s.bins.iter().filter_map(point).collect();
                // What is beyond the axis stands at its end: the largest.
                points.sort_by(|x, y| (x.0, y.1).partial_cmp(&(y.0, x.1)).expect("finite"));
                points.dedup_by_key(|p| p.0);
                Series { name: s.route.clone(), points }
            });
            let series: Vec<Series> = series.filter(|s| !s.points.is_empty()).collect();
            if series.is_empty() {
                continue;
            }
            panels.push(Panel {
                title: format!("{name}, {dtype}, n = {n}"),
                x: Axis { name: "log10 of the condition".to_owned(), scale: Scale::Linear },
                y: Axis { name: format!("largest {name} / (n eps)"), scale: Scale::Log },
                series,
                level: Some((10.0, "the contract")),
            });
        }
    }
    let op = summaries.first().map_or("", |s| s.op.as_str());
    Figure { title: format!("Accuracy of {op} on {device} against the condition, in decades"), panels, names }
}

/// The last decade of the axis of conditions; those beyond are drawn there.
const MOST: i32 = 20;
