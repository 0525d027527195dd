//! Medians, means and bootstrap intervals.

use crate::random::Random;

/// Resamples of an interval.
pub const RESAMPLES: usize = 2000;

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate from all samples.
    pub estimate: f64,
    /// 2.5 % of the resamples lie below.
    pub low: f64,
    /// 2.5 % of the resamples lie above.
    pub high: f64,
}

impl Interval {
    /// Whether the interval leaves `value` out.
    pub fn excludes(&self, value: f64) -> bool {
        self.low > value || self.high < value
    }
}

/// The median; NaN without samples.
pub fn median(samples: &[f64]) -> f64 {
    quantile(samples, 0.5)
}

/// A quantile by linear interpolation; NaN without samples.
pub fn quantile(samples: &[f64], q: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = q * last as f64;
    let (low, part) = (position.floor() as usize, position.fract());
    // Infinities times 0 would be NaN.
    if part == 0.0 { sorted[low] } else { sorted[low] * (1.0 - part) + sorted[low + 1] * part }
}

/// The arithmetic mean; NaN without samples.
pub fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// median(second) / median(first) of independent samples, with a bootstrap interval: each side is drawn anew,
/// with repetition. The same seed gives the same interval.
pub fn ratio_of_medians(first: &[f64], second: &[f64], seed: u64) -> Interval {
    let mut random = Random::new(seed);
    let draw = |random: &mut Random, from: &[f64]| -> f64 {
        let drawn: Vec<f64> = (0..from.len()).map(|_| from[random.below(from.len())]).collect();
        median(&drawn)
    };
    interval(median(second) / median(first), || {
        let below = draw(&mut random, first);
        draw(&mut random, second) / below
    })
}

/// mean(second) / mean(first) of paired samples, with a bootstrap interval over the pairs. 1 where both means are 0.
///
/// # Panics
/// Where the lengths differ.
pub fn ratio_of_means(first: &[f64], second: &[f64], seed: u64) -> Interval {
    assert_eq!(first.len(), second.len(), "paired samples");
    let ratio = |x: f64, y: f64| if x == y { 1.0 } else { y / x };
    let mut random = Random::new(seed);
    interval(ratio(mean(first), mean(second)), || {
        let (mut x, mut y) = (0.0, 0.0);
        for _ in 0..first.len() {
            let at = random.below(first.len());
            (x, y) = (x + first[at], y + second[at]);
        }
        ratio(x, y)
    })
}

fn interval(estimate: f64, mut resample: impl FnMut() -> f64) -> Interval {
    if estimate.is_nan() {
        return Interval { estimate, low: f64::NAN, high: f64::NAN };
    }
    let ratios: Vec<f64> = (0..RESAMPLES).map(|_| resample()).collect();
    Interval { estimate, low: quantile(&ratios, 0.025), high: quantile(&ratios, 0.975) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples around a centre with a deviation of one in a hundred.
    fn noisy(centre: f64, count: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..count).map(|_| centre * (1.0 + 0.01 * random.normal())).collect()
    }

    #[test]
    fn quantiles() {
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), 2.5);
        assert_eq!(quantile(&[f64::INFINITY, 1.0, f64::INFINITY], 1.0), f64::INFINITY);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn an_interval_holds_the_true_ratio_as_often_as_it_says() {
        let mut held = 0;
        for seed in 0..200 {
            let (x, y) = (noisy(1.0, 15, 2 * seed + 1), noisy(1.05, 15, 2 * seed + 2));
            let interval = ratio_of_medians(&x, &y, seed);
            held += usize::from(!interval.excludes(1.05));
            assert!(interval.low <= interval.estimate && interval.estimate <= interval.high);
        }
        // A percentile interval of 15 samples is a little too narrow or too wide; 95 % of 200 are 190.
        assert!((175..=200).contains(&held), "{held} of 200");
    }

    #[test]
    fn seeds_decide() {
        let (x, y) = (noisy(1.0, 9, 1), noisy(1.0, 9, 2));
        assert_eq!(ratio_of_medians(&x, &y, 5), ratio_of_medians(&x, &y, 5));
        let other = (6..30).map(|seed| ratio_of_medians(&x, &y, seed));
        assert!(other.into_iter().any(|interval| interval != ratio_of_medians(&x, &y, 5)));
    }

    #[test]
    fn paired_means() {
        let x = noisy(1.0, 40, 3);
        let same = ratio_of_means(&x, &x, 1);
        assert_eq!((same.estimate, same.low, same.high), (1.0, 1.0, 1.0));
        let doubled: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
        assert!(ratio_of_means(&x, &doubled, 1).excludes(1.0));
        assert_eq!(ratio_of_means(&[0.0], &[0.0], 1).estimate, 1.0);
        assert!(ratio_of_means(&[], &[], 1).estimate.is_nan());
    }
}
