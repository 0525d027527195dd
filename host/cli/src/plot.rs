//! The spectra of a batch as an SVG.
//!
//! Few items: one column an item, one mark an eigenvalue. Many: bands between
//! quantiles over the items, one abscissa an eigenvalue. One item: a curve.

use std::io::{self, Write};
use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

const SIZE: (u32, u32) = (960, 600);
const INK: RGBColor = RGBColor(31, 78, 140);
/// Above this number of marks the quantile form is drawn: the file stays small.
const MOST_MARKS: usize = 20_000;
/// Items that still have a column of at least two points of the page.
const MOST_COLUMNS: usize = 400;
/// Abscissae of the band and curve forms; more cannot be told apart.
const MOST_POINTS: usize = 1_000;

/// Eigenvalues of a batch, in double precision, item after item; NaN where an item failed.
#[derive(Debug)]
pub struct Spectra<'a> {
    /// `batch * n` values.
    pub values: &'a [f64],
    /// Number of items.
    pub batch: usize,
    /// Values of an item.
    pub n: usize,
    /// What the title calls the input.
    pub name: &'a str,
}

type Failed = Box<dyn std::error::Error>;

/// Draws the spectra.
pub fn write_svg(out: &mut impl Write, spectra: &Spectra<'_>) -> io::Result<()> {
    let mut svg = String::new();
    draw(&mut svg, spectra).map_err(|e| io::Error::other(e.to_string()))?;
    out.write_all(svg.as_bytes())
}

fn draw(svg: &mut String, spectra: &Spectra<'_>) -> Result<(), Failed> {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let axis = Axis::of(spectra.values);
    let (b, n) = (spectra.batch, spectra.n);
    if axis.finite == 0 {
        let text = format!("{}: nothing to draw", title(spectra));
        root.draw_text(&text, &("sans-serif", 20).into_text_style(&root), (40, 40))?;
    } else if b == 1 {
        curve(&root, spectra, &axis)?;
    } else if b <= MOST_COLUMNS && b * n <= MOST_MARKS {
        columns(&root, spectra, &axis)?;
    } else {
        bands(&root, spectra, &axis)?;
    }
    root.present()?;
    Ok(())
}

fn title(spectra: &Spectra<'_>) -> String {
    let (b, n) = (spectra.batch, spectra.n);
    match b {
        1 => format!("Eigenvalues of {} ({n}x{n})", spectra.name),
        _ => format!("Spectra of {} ({b} matrices of {n}x{n})", spectra.name),
    }
}

/// The vertical axis: linear, or logarithmic where every value is positive and
/// they span more than three decades.
struct Axis {
    log: bool,
    range: Range<f64>,
    finite: usize,
}

impl Axis {
    fn of(values: &[f64]) -> Axis {
        let finite = values.iter().copied().filter(|x| x.is_finite());
        let (count, low, high) = finite.fold((0, f64::INFINITY, f64::NEG_INFINITY), |(c, low, high), x| {
            (c + 1, low.min(x), high.max(x))
        });
        if count == 0 {
            return Axis { log: false, range: 0.0..1.0, finite: 0 };
        }
        let log = low > 0.0 && high / low > 1e3;
        let (low, high) = if log { (low.log10(), high.log10()) } else { (low, high) };
        let middle = 0.5 * low + 0.5 * high;
        // Below that the ticks would differ in digits that nobody reads.
        let margin = if high - low > middle.abs() * 1e-9 {
            0.05 * (high - low)
        } else if middle != 0.0 {
            0.1 * middle.abs()
        } else {
            1.0
        };
        let (low, high) = (low - margin, high + margin);
        let finite = if low.is_finite() && high.is_finite() { count } else { 0 };
        Axis { log, range: low..high, finite }
    }

    fn place(&self, x: f64) -> f64 {
        if self.log { x.log10() } else { x }
    }

    fn label(&self, at: f64) -> String {
        if self.log {
            return if (at - at.round()).abs() < 1e-9 {
                format!("1e{}", at.round())
            } else {
                format!("{:.2e}", 10f64.powf(at))
            };
        }
        number(at, self.range.end - self.range.start)
    }

    fn name(&self) -> &'static str {
        if self.log {
            "eigenvalue (units of the input, logarithmic)"
        } else {
            "eigenvalue (units of the input)"
        }
    }
}

/// A tick's number with the digits that an axis of this width needs.
fn number(x: f64, width: f64) -> String {
    if x.abs() < 1e-9 * width {
        return "0".to_string();
    }
    let largest = x.abs().max(width);
    if !(1e-3..1e6).contains(&largest) {
        return format!("{x:.2e}");
    }
    let digits = (2.0 - width.log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{x:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

/// Title, axes and grid; `x` is in whole numbers from `first` to `last`.
fn chart<'a, 'b>(
    root: &'a Area<'b>,
    spectra: &Spectra<'_>,
    axis: &Axis,
    x: Range<f64>,
    x_name: &str,
) -> Result<Chart<'a, 'b>, Failed> {
    let mut chart = ChartBuilder::on(root)
        .caption(title(spectra), ("sans-serif", 22))
        .margin(16)
        .margin_right(28)
        .x_label_area_size(52)
        .y_label_area_size(86)
        .build_cartesian_2d(x.clone(), axis.range.clone())?;
    let whole = |at: &f64| if at.fract().abs() < 1e-9 { format!("{at:.0}") } else { String::new() };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(((x.end - x.start) as usize).clamp(2, 16))
        .x_label_formatter(&whole)
        .y_label_formatter(&|at| axis.label(*at))
        .x_desc(x_name)
        .y_desc(axis.name())
        .label_style(("sans-serif", 15))
        .axis_desc_style(("sans-serif", 17))
        .draw()?;
    Ok(chart)
}

fn columns(root: &Area<'_>, spectra: &Spectra<'_>, axis: &Axis) -> Result<(), Failed> {
    let (b, n) = (spectra.batch, spectra.n);
    let mut chart = chart(root, spectra, axis, -0.5..b as f64 - 0.5, "item of the batch")?;
    let half = 0.36;
    let stroke = INK.mix(0.75).stroke_width(if n > 100 { 1 } else { 2 });
    let marks = spectra.values.iter().enumerate().filter(|(_, x)| x.is_finite()).map(|(at, &x)| {
        let (item, y) = ((at / n) as f64, axis.place(x));
        PathElement::new(vec![(item - half, y), (item + half, y)], stroke)
    });
    chart.draw_series(marks)?;
    Ok(())
}

fn curve(root: &Area<'_>, spectra: &Spectra<'_>, axis: &Axis) -> Result<(), Failed> {
    let n = spectra.n;
    let mut chart = chart(root, spectra, axis, 0.5..n as f64 + 0.5, "number of the eigenvalue, ascending")?;
    let points: Vec<(f64, f64)> = abscissae(n)
        .into_iter()
        .filter(|&k| spectra.values[k].is_finite())
        .map(|k| ((k + 1) as f64, axis.place(spectra.values[k])))
        .collect();
    chart.draw_series(LineSeries::new(points.clone(), INK.stroke_width(2)))?;
    if n <= 200 {
        chart.draw_series(points.into_iter().map(|at| Circle::new(at, 3, INK.filled())))?;
    }
    Ok(())
}

fn bands(root: &Area<'_>, spectra: &Spectra<'_>, axis: &Axis) -> Result<(), Failed> {
    let n = spectra.n;
    let mut chart = chart(root, spectra, axis, 0.5..n as f64 + 0.5, "number of the eigenvalue, ascending")?;
    let mut quantiles: Vec<(f64, [f64; 7])> = Vec::new();
    for k in abscissae(n) {
        let column = spectra.values.iter().skip(k).step_by(n);
        let mut column: Vec<f64> = column.copied().filter(|x| x.is_finite()).map(|x| axis.place(x)).collect();
        column.sort_unstable_by(f64::total_cmp);
        let Some(last) = column.len().checked_sub(1) else { continue };
        let at = |q: f64| column[(q * last as f64).round() as usize];
        quantiles.push(((k + 1) as f64, [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0].map(at)));
    }
    // A band over a single abscissa would have no width.
    if let [(x, q)] = quantiles[..] {
        quantiles = vec![(x - 0.3, q), (x + 0.3, q)];
    }
    for (low, high, name, tint) in
        [(0, 6, "smallest to largest", 0.15), (1, 5, "5% to 95%", 0.3), (2, 4, "25% to 75%", 0.5)]
    {
        let edge = quantiles.iter().map(|(x, q)| (*x, q[low]));
        let back = quantiles.iter().rev().map(|(x, q)| (*x, q[high]));
        let outline: Vec<(f64, f64)> = edge.chain(back).collect();
        chart
            .draw_series(std::iter::once(Polygon::new(outline, INK.mix(tint))))?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 6), (x + 18, y + 6)], INK.mix(tint).filled()));
    }
    let median = quantiles.iter().map(|(x, q)| (*x, q[3]));
    chart
        .draw_series(LineSeries::new(median, INK.stroke_width(2)))?
        .label("median")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], INK.stroke_width(2)));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 15))
        .draw()?;
    Ok(())
}

/// At most [`MOST_POINTS`] of 0..n, evenly, with both ends.
fn abscissae(n: usize) -> Vec<usize> {
    if n <= MOST_POINTS {
        return (0..n).collect();
    }
    (0..MOST_POINTS).map(|k| k * (n - 1) / (MOST_POINTS - 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(values: &[f64], batch: usize, n: usize) -> String {
        let mut out = Vec::new();
        write_svg(&mut out, &Spectra { values, batch, n, name: "test.npy" }).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn values(batch: usize, n: usize, scale: f64) -> Vec<f64> {
        (0..batch * n).map(|at| scale * (((at % n) as f64) - 2.0 + 0.3 * ((at / n) as f64).sin())).collect()
    }

    #[test]
    fn every_form_has_title_axes_and_marks() {
        for (b, n) in [(1, 1), (1, 5), (1, 5000), (2, 1), (7, 14), (162, 14), (500, 1), (1000, 16), (3, 9000)]
        {
            let text = svg(&values(b, n, 10.0), b, n);
            assert!(text.contains("test.npy"), "{b} {n}");
            assert!(text.contains("eigenvalue (units of the input"), "{b} {n}");
            assert!(text.len() < 4 << 20, "{b} {n}: {} bytes", text.len());
        }
    }

    #[test]
    fn no_value_breaks_the_axes() {
        svg(&[], 0, 5);
        svg(&[], 4, 0);
        svg(&[f64::NAN, f64::NAN, 1.0, 2.0], 2, 2);
        svg(&[f64::NAN], 1, 1);
        svg(&[3.0; 6], 2, 3);
        svg(&[0.0; 6], 2, 3);
        svg(&[1e300, 2e300, -1e308, 1.7e308], 2, 2);
        svg(&[1e-300, 2e-300, 5e-324, 1e-310], 2, 2);
        svg(&[1.0, 1.0 + f64::EPSILON], 1, 2);
        svg(&[1e-8, 1.0, 10.0, 1e6], 2, 2);
        svg(&[5e-324, 1.7e308], 1, 2);
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!(number(0.25, 1.0), "0.25");
        assert_eq!(number(1e-14, 1.0), "0");
        assert_eq!(number(200.0, 350.0), "200");
        assert_eq!(number(1.5e7, 2e7), "1.50e7");
        assert_eq!(number(1000.125, 0.5), "1000.125");
    }
}
