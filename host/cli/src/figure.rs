//! Figures: panels of lines with markers under one title and one legend, as SVG.

mod scale;

use plotters::coord::Shift;
use plotters::prelude::*;

pub use scale::Scale;
use scale::Ticks;

use crate::failure::Failure;

/// Of a panel, in points of the page.
const PANEL: (u32, u32) = (500, 370);
const TITLE: u32 = 44;
const LEGEND_LINE: u32 = 26;
const FONT: &str = "sans-serif";

/// Told apart on white and on nearly black.
const COLOURS: [RGBColor; 9] = [
    RGBColor(47, 126, 216),
    RGBColor(224, 123, 0),
    RGBColor(44, 162, 95),
    RGBColor(214, 64, 159),
    RGBColor(142, 107, 216),
    RGBColor(181, 137, 0),
    RGBColor(23, 162, 184),
    RGBColor(220, 53, 69),
    RGBColor(127, 127, 127),
];

/// One axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it shows, with its unit.
    pub name: String,
    /// Linear or logarithmic.
    pub scale: Scale,
}

/// One line.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Points in the order of the line; those that the axes cannot show are left out.
    pub points: Vec<(f64, f64)>,
}

/// One pair of axes with its lines.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Above it.
    pub title: String,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
    /// A dashed line across, such as a limit, with its name.
    pub level: Option<(f64, &'static str)>,
}

/// A figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Above everything.
    pub title: String,
    /// Two in a row.
    pub panels: Vec<Panel>,
    /// Every name that has a colour, in the order of colours: figures that share it share colours.
    pub names: Vec<String>,
}

type Failed = Box<dyn std::error::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

impl Figure {
    /// The figure as a file of its own, on white.
    pub fn svg(&self) -> Result<String, Failure> {
        let mut svg = String::new();
        self.draw(&mut svg, true).map_err(|e| Failure::new(format!("the figure: {e}")))?;
        Ok(svg)
    }

    /// The figure as an element of a page, in the page's colour and width.
    pub fn inline(&self) -> Result<String, Failure> {
        let mut svg = String::new();
        self.draw(&mut svg, false).map_err(|e| Failure::new(format!("the figure: {e}")))?;
        let element = svg.find("<svg").map_or("", |at| &svg[at..]);
        let (width, height) = self.size();
        let fixed = format!("<svg width=\"{width}\" height=\"{height}\"");
        let themed = element.replace("#000000", "currentColor");
        Ok(themed.replacen(&fixed, &format!("<svg role=\"img\" style=\"max-width:{width}px\""), 1))
    }

    fn columns(&self) -> u32 {
        if self.panels.len() > 1 { 2 } else { 1 }
    }

    fn size(&self) -> (u32, u32) {
        let rows = (self.panels.len() as u32).div_ceil(self.columns()).max(1);
        let width = 2 * PANEL.0;
        (width, TITLE + self.legend_lines().len() as u32 * LEGEND_LINE + 10 + rows * PANEL.1)
    }

    /// Names of the legend with their colours, in lines that fit.
    fn legend_lines(&self) -> Vec<Vec<(usize, &str)>> {
        let shown = |name: &&String| self.panels.iter().any(|p| p.series.iter().any(|s| s.name == **name));
        let mut lines: Vec<Vec<(usize, &str)>> = vec![];
        let mut used = 0;
        for name in self.names.iter().filter(shown) {
            let width = legend_width(name);
            if lines.is_empty() || used + width > 2 * PANEL.0 - 40 {
                lines.push(vec![]);
                used = 0;
            }
            used += width;
            lines.last_mut().expect("pushed above").push((self.colour(name), name));
        }
        lines
    }

    fn colour(&self, name: &str) -> usize {
        self.names.iter().position(|n| n == name).unwrap_or(self.names.len())
    }

    fn draw(&self, svg: &mut String, on_white: bool) -> Result<(), Failed> {
        let size = self.size();
        let root = SVGBackend::with_string(svg, size).into_drawing_area();
        if on_white {
            root.fill(&WHITE)?;
        }
        root.draw_text(&self.title, &(FONT, 21).into_text_style(&root), (20, 14))?;
        let lines = self.legend_lines();
        for (k, line) in lines.iter().enumerate() {
            let mut x = 24;
            let y = (TITLE + k as u32 * LEGEND_LINE) as i32 + 12;
            for (colour, name) in line {
                root.draw(&PathElement::new(vec![(x, y), (x + 26, y)], stroke(*colour)))?;
                mark(&root, (x + 13, y), *colour)?;
                root.draw_text(name, &(FONT, 15).into_text_style(&root), (x + 33, y - 8))?;
                x += legend_width(name) as i32;
            }
        }
        let top = TITLE + lines.len() as u32 * LEGEND_LINE + 10;
        for (k, panel) in self.panels.iter().enumerate() {
            let (column, row) = (k as u32 % self.columns(), k as u32 / self.columns());
            let width = size.0 / self.columns();
            let corner = ((column * width) as i32, (top + row * PANEL.1) as i32);
            let area = root.clone().shrink(corner, (width, PANEL.1));
            self.draw_panel(&area, panel)?;
        }
        root.present()?;
        Ok(())
    }

    fn draw_panel(&self, area: &Area<'_>, panel: &Panel) -> Result<(), Failed> {
        let points = || panel.series.iter().flat_map(|s| &s.points);
        let level = panel.level.map(|(y, _)| y);
        let x = Ticks::new(panel.x.scale, points().map(|p| p.0), panel.series_xs());
        let y = Ticks::new(panel.y.scale, points().map(|p| p.1).chain(level), vec![]);
        let (Some(x), Some(y)) = (x, y) else {
            let text = format!("{}: nothing to draw", panel.title);
            area.draw_text(&text, &(FONT, 15).into_text_style(area), (24, 24))?;
            return Ok(());
        };
        let mut chart = ChartBuilder::on(area)
            .caption(&panel.title, (FONT, 17))
            .margin(10)
            .margin_right(24)
            .x_label_area_size(46)
            .y_label_area_size(74)
            .build_cartesian_2d(x.clone(), y.clone())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .axis_style(BLACK.mix(0.6))
            .x_labels(x.places.len())
            .y_labels(y.places.len())
            .x_label_formatter(&|at| x.label(*at))
            .y_label_formatter(&|at| y.label(*at))
            .x_desc(&panel.x.name)
            .y_desc(&panel.y.name)
            .label_style((FONT, 13))
            .axis_desc_style((FONT, 14))
            .draw()?;
        if let Some((at, name)) = panel.level {
            let at = panel.y.scale.place(at);
            let dashes =
                DashedLineSeries::new([(x.range.start, at), (x.range.end, at)], 6, 4, BLACK.mix(0.6).into());
            chart.draw_series(dashes)?;
            let style = (FONT, 12).into_text_style(area);
            let (left, above) = chart.backend_coord(&(x.range.start, at));
            // `backend_coord` counts from the page, `draw_text` from the panel.
            let corner = area.get_base_pixel();
            area.draw_text(name, &style, (left - corner.0 + 5, above - corner.1 - 15))?;
        }
        for series in &panel.series {
            let colour = self.colour(&series.name);
            let shown = |(a, b): &(f64, f64)| {
                let at = (panel.x.scale.place(*a), panel.y.scale.place(*b));
                (at.0.is_finite() && at.1.is_finite()).then_some(at)
            };
            let places: Vec<(f64, f64)> = series.points.iter().filter_map(shown).collect();
            chart.draw_series(LineSeries::new(places.iter().copied(), stroke(colour)))?;
            for place in places {
                let at = chart.backend_coord(&place);
                let corner = area.get_base_pixel();
                mark(area, (at.0 - corner.0, at.1 - corner.1), colour)?;
            }
        }
        Ok(())
    }
}

impl Panel {
    /// The distinct abscissae, which are the best ticks where they are few.
    fn series_xs(&self) -> Vec<f64> {
        let mut xs: Vec<f64> = self.series.iter().flat_map(|s| s.points.iter().map(|p| p.0)).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        xs
    }
}

/// Points that a name takes of a legend's line.
fn legend_width(name: &str) -> u32 {
    33 + 9 * name.chars().count() as u32 + 20
}

fn stroke(colour: usize) -> ShapeStyle {
    COLOURS[colour % COLOURS.len()].stroke_width(2)
}

/// A marker whose form changes with the colour, for eyes that do not tell colours apart.
fn mark(area: &Area<'_>, at: (i32, i32), colour: usize) -> Result<(), Failed> {
    let fill = COLOURS[colour % COLOURS.len()].filled();
    let (x, y) = at;
    match colour % 4 {
        0 => area.draw(&Circle::new(at, 4, fill))?,
        1 => area.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], fill))?,
        2 => area.draw(&Polygon::new(vec![(x - 5, y + 4), (x + 5, y + 4), (x, y - 5)], fill))?,
        _ => area.draw(&Polygon::new(vec![(x - 5, y), (x, y - 5), (x + 5, y), (x, y + 5)], fill))?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(panels: usize, points: &[(f64, f64)]) -> Figure {
        let axis = |name: &str, scale| Axis { name: name.to_owned(), scale };
        let series = |name: &str| Series { name: name.to_owned(), points: points.to_vec() };
        let panel = |k| Panel {
            title: format!("panel {k}"),
            x: axis("order n", Scale::Log),
            y: axis("time an item (ns)", Scale::Log),
            series: vec![series("cta"), series("vendor:xsyev")],
            level: Some((10.0, "limit")),
        };
        Figure {
            title: "A figure".into(),
            panels: (0..panels).map(panel).collect(),
            names: vec!["cta".into(), "vendor:xsyev".into(), "absent".into()],
        }
    }

    #[test]
    fn titles_axes_and_the_legend_are_there_once_or_once_a_panel() {
        let svg = figure(3, &[(4.0, 1.0), (8.0, 20.0), (32.0, 300.0)]).svg().unwrap();
        let count = |text: &str| svg.matches(text).count();
        assert_eq!((count("A figure"), count("vendor:xsyev"), count("absent")), (1, 1, 0));
        assert_eq!((count("order n"), count("time an item (ns)"), count("limit")), (3, 3, 3));
        assert!(svg.contains("panel 2"));
    }

    #[test]
    fn an_inline_figure_takes_the_pages_colour() {
        let figure = figure(1, &[(4.0, 1.0), (8.0, 20.0)]);
        let inline = figure.inline().unwrap();
        assert!(inline.starts_with("<svg role=\"img\""), "{}", &inline[..80]);
        assert!(!inline.contains("#000000") && inline.contains("currentColor"));
        assert!(!inline.contains("#FFFFFF") && figure.svg().unwrap().contains("#FFFFFF"));
    }

    #[test]
    fn no_points_break_a_panel() {
        for points in
            [&[][..], &[(0.0, 1.0)], &[(4.0, f64::NAN)], &[(4.0, 1.0)], &[(4.0, 1e-300), (5.0, 1e300)]]
        {
            figure(2, points).svg().unwrap();
        }
    }
}
