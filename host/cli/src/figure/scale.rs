//! Scales of axes and their ticks.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

/// How an axis places values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// By the value.
    Linear,
    /// By its logarithm; values that are not positive have no place.
    Log,
}

impl Scale {
    /// Where a value lies; NaN where it has no place.
    pub fn place(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log if value > 0.0 => value.log10(),
            Scale::Log => f64::NAN,
        }
    }
}

/// The range of an axis and its ticks, as a coordinate of plotters.
#[derive(Clone)]
pub(super) struct Ticks {
    scale: Scale,
    pub(super) range: Range<f64>,
    pub(super) places: Vec<f64>,
}

/// The most ticks of an axis.
const MOST: usize = 9;

impl Ticks {
    /// For these values; `wanted` are the ticks to have where they are few and lie apart. `None` without values.
    pub(super) fn new(scale: Scale, values: impl Iterator<Item = f64>, wanted: Vec<f64>) -> Option<Self> {
        let places = values.map(|x| scale.place(x)).filter(|x| x.is_finite());
        let (low, high) =
            places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        if low > high {
            return None;
        }
        let least = match scale {
            Scale::Log => 0.3,
            Scale::Linear if low == 0.0 && high == 0.0 => 1.0,
            Scale::Linear => 0.1 * low.abs().max(high.abs()),
        };
        let margin = (0.05 * (high - low)).max(if high - low < least { least } else { 0.0 });
        let range = low - margin..high + margin;
        let wanted: Vec<f64> = wanted.into_iter().map(|x| scale.place(x)).filter(|x| x.is_finite()).collect();
        let width = range.end - range.start;
        let apart = wanted.windows(2).all(|pair| pair[1] - pair[0] > 0.055 * width);
        let spread = thinned(&wanted, 0.075 * width);
        let places = if !wanted.is_empty() && wanted.len() <= 2 * MOST && apart {
            wanted
        } else {
            match scale {
                Scale::Linear => linear(&range),
                // Sizes that were measured say more than round numbers between them.
                Scale::Log if spread.len() >= 3 => spread,
                Scale::Log => logarithmic(&range),
            }
        };
        Some(Ticks { scale, range, places })
    }

    /// The text of a tick.
    pub(super) fn label(&self, place: f64) -> String {
        let value = if self.scale == Scale::Log { 10f64.powf(place) } else { place };
        number(value)
    }
}

impl Ranged for Ticks {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, limit: (i32, i32)) -> i32 {
        let part = (place - self.range.start) / (self.range.end - self.range.start);
        limit.0 + (f64::from(limit.1 - limit.0) * part).round() as i32
    }

    fn key_points<H: KeyPointHint>(&self, _: H) -> Vec<f64> {
        self.places.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// From the largest down those that lie this far apart, in ascending order.
fn thinned(places: &[f64], distance: f64) -> Vec<f64> {
    let mut kept: Vec<f64> = vec![];
    for &place in places.iter().rev() {
        if kept.last().is_none_or(|last| last - place > distance) {
            kept.push(place);
        }
    }
    kept.reverse();
    kept
}

/// 1, 2 or 5 times a power of ten apart.
fn linear(range: &Range<f64>) -> Vec<f64> {
    let rough = (range.end - range.start) / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|x| x * power).find(|x| *x >= rough).unwrap_or(rough);
    let first = (range.start / step).ceil() as i64;
    (first..).map(|k| k as f64 * step).take_while(|x| *x < range.end).take(3 * MOST).collect()
}

/// Powers of ten, with 2 and 5 times these where the range is short; values evenly apart where it is shorter still.
fn logarithmic(range: &Range<f64>) -> Vec<f64> {
    let decades = range.end - range.start;
    let (first, last) = (range.start.floor() as i32, range.end.ceil() as i32);
    let inside = |x: &f64| range.contains(x);
    if decades <= 3.0 {
        let within = |p: i32| [1.0f64, 2.0, 5.0].map(|x| f64::from(p) + x.log10());
        let round: Vec<f64> = (first..=last).flat_map(within).filter(inside).collect();
        let values = 10f64.powf(range.start)..10f64.powf(range.end);
        // One or two ticks leave a reader without a scale.
        if round.len() >= 3 || values.start <= 0.0 || !values.end.is_finite() {
            return round;
        }
        return linear(&values).into_iter().map(f64::log10).filter(inside).collect();
    }
    let step = (decades / MOST as f64).ceil().max(1.0) as usize;
    let even = first.div_euclid(step as i32) * step as i32;
    (even..=last).step_by(step).map(f64::from).filter(inside).collect()
}

/// A number as short as it can be told.
fn number(x: f64) -> String {
    let size = x.abs();
    if x != 0.0 && !(1e-3..1e5).contains(&size) {
        let text = format!("{x:.1e}");
        return text.replace(".0e", "e");
    }
    let text = format!("{x:.4}");
    let digits = text.trim_end_matches('0').trim_end_matches('.');
    if digits == "-0" { "0".to_owned() } else { digits.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, values: &[f64], wanted: &[f64]) -> Vec<String> {
        let ticks = Ticks::new(scale, values.iter().copied(), wanted.to_vec()).unwrap();
        assert!(ticks.places.iter().all(|x| ticks.range.contains(x)), "{:?} {:?}", ticks.range, ticks.places);
        ticks.places.iter().map(|x| ticks.label(*x)).collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(labels(Scale::Log, &[0.8, 40.0], &[]), ["1", "2", "5", "10", "20"]);
        assert_eq!(labels(Scale::Log, &[700.0, 1600.0], &[]), ["800", "1000", "1200", "1400", "1600"]);
        assert_eq!(labels(Scale::Log, &[0.5, 20_000.0], &[]), ["1", "10", "100", "1000", "10000"]);
        assert_eq!(labels(Scale::Linear, &[0.0, 10.0], &[]), ["0", "2", "4", "6", "8", "10"]);
        assert!(labels(Scale::Log, &[1e-300, 1e300], &[]).len() <= MOST + 1);
        assert_eq!(labels(Scale::Log, &[4.0, 32.0], &[4.0, 8.0, 16.0, 32.0]), ["4", "8", "16", "32"]);
        assert!(labels(Scale::Log, &[4.0, 32.0], &[4.0, 4.1, 32.0]).len() > 1, "too near each other");
        let orders: Vec<f64> = (1..=16).map(|k| f64::from(2 * k)).collect();
        assert_eq!(labels(Scale::Log, &[2.0, 32.0], &orders), ["2", "4", "6", "10", "14", "18", "24", "32"]);
    }

    #[test]
    fn single_values_have_an_axis_and_none_has_none() {
        assert!(!labels(Scale::Log, &[3.0], &[]).is_empty());
        assert!(!labels(Scale::Linear, &[0.0], &[]).is_empty());
        assert!(Ticks::new(Scale::Log, [0.0, -1.0, f64::NAN].into_iter(), vec![]).is_none());
    }

    #[test]
    fn numbers() {
        for (x, text) in
            [(0.0, "0"), (0.25, "0.25"), (1e5, "1e5"), (2e-5, "2e-5"), (1.5e7, "1.5e7"), (-0.0, "0")]
        {
            assert_eq!(number(x), text);
        }
    }
}
