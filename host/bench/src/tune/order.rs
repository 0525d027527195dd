//! The order of a cell's candidates by what was measured, with a preference for the order in place.

use std::fmt;
use std::str::FromStr;

use batchlas::Error;

use crate::row::Row;
use crate::statistics::ratio_of_medians;

/// A change that brings less than this is none.
pub const GAIN: f64 = 0.03;

/// Where the vendor's candidates stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vendor {
    /// Behind ours, however fast: its routines do not keep the numerical contract (tests/syev/checks.rs), and a
    /// check of random matrices does not show it.
    #[default]
    Last,
    /// Among ours.
    ByTime,
}

impl Vendor {
    /// `last` or `by-time`.
    pub const fn word(self) -> &'static str {
        match self {
            Vendor::Last => "last",
            Vendor::ByTime => "by-time",
        }
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Vendor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let both = [Vendor::Last, Vendor::ByTime];
        let found = both.into_iter().find(|vendor| vendor.word() == text);
        found.ok_or_else(|| Error::argument(format!("unknown place '{text}': last or by-time")))
    }
}

/// How routes of the vendor begin.
pub(super) const VENDOR: &str = "vendor";

/// Seed of the intervals.
const SEED: u64 = 1;

/// An arm with times, in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// The candidate.
    pub route: String,
    /// Median time of a call.
    pub ms: f64,
    /// Each time.
    times_ms: Vec<f64>,
}

/// The arms of a cell's rows that were right, in the rows' order. A wide spread does not leave one out: its interval
/// is wide too, and does not tell it from others.
pub fn arms(rows: &[Row]) -> Vec<Arm> {
    let arm = |row: &Row| {
        let ms = row.ms.filter(|ms| row.error.is_none() && ms.is_finite())?;
        Some(Arm { route: row.route.clone(), ms, times_ms: row.times_ms.clone() })
    };
    rows.iter().filter_map(arm).collect()
}

impl Arm {
    /// Whether it is a routine of the vendor.
    pub fn is_vendor(&self) -> bool {
        self.route.starts_with(VENDOR)
    }
}

/// The arms that the first place is between: ours, where there are any and the vendor's stand last.
pub fn eligible(arms: &[Arm], vendor: Vendor) -> Vec<Arm> {
    let ours: Vec<Arm> = arms.iter().filter(|arm| !arm.is_vendor()).cloned().collect();
    if ours.is_empty() || vendor == Vendor::ByTime { arms.to_vec() } else { ours }
}

/// How an arm stands to a faster one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Within [`GAIN`].
    Near,
    /// Slower by more, if the samples can be believed, which the interval of the ratio denies.
    Unclear,
    /// Slower by more.
    Behind,
}

fn standing(arm: &Arm, fastest: &Arm) -> Standing {
    if arm.ms < (1.0 + GAIN) * fastest.ms {
        return Standing::Near;
    }
    let least = arm.times_ms.iter().copied().fold(f64::INFINITY, f64::min);
    let most = fastest.times_ms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Disjoint samples need no interval.
    if least > most || ratio_of_medians(&fastest.times_ms, &arm.times_ms, SEED).low > 1.0 {
        Standing::Behind
    } else {
        Standing::Unclear
    }
}

fn fastest(arms: &[Arm]) -> Option<&Arm> {
    arms.iter().min_by(|x, y| x.ms.total_cmp(&y.ms))
}

/// Whether some arm may or may not keep the first place: more samples would tell.
pub fn is_open(arms: &[Arm]) -> bool {
    let Some(first) = fastest(arms) else { return false };
    let kept = arms.iter().find(|arm| standing(arm, first) != Standing::Behind);
    kept.is_some_and(|arm| standing(arm, first) == Standing::Unclear)
}

/// The arms, most preferred first, with the vendor's in their place. Within ours and the vendor's, or among all, they
/// come in the order in place, new ones last; at each place stands the first of those that are left that is not clearly
/// slower, by [`GAIN`] or more, than the fastest of them.
pub fn preferred(arms: Vec<Arm>, vendor: Vendor) -> Vec<Arm> {
    if vendor == Vendor::ByTime {
        return ranked(arms);
    }
    let (last, first): (Vec<Arm>, Vec<Arm>) = arms.into_iter().partition(Arm::is_vendor);
    [ranked(first), ranked(last)].concat()
}

fn ranked(mut arms: Vec<Arm>) -> Vec<Arm> {
    let mut order = vec![];
    while let Some(first) = fastest(&arms) {
        let at = arms.iter().position(|arm| standing(arm, first) != Standing::Behind);
        // The fastest is near to itself.
        order.push(arms.remove(at.expect("an arm is not behind itself")));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Times around a median, with a relative deviation.
    fn arm(route: &str, ms: f64, deviation: f64) -> Arm {
        let mut random = Random::new(route.bytes().map(u64::from).sum());
        let mut times_ms: Vec<f64> = (0..15).map(|_| ms * (1.0 + deviation * random.normal())).collect();
        times_ms[14] = ms;
        Arm { route: route.into(), ms, times_ms }
    }

    fn order(arms: &[Arm]) -> Vec<String> {
        preferred(arms.to_vec(), Vendor::Last).into_iter().map(|arm| arm.route).collect()
    }

    #[test]
    fn a_change_under_three_percent_keeps_the_incumbent() {
        let fast = arm("fast", 1.0, 0.001);
        for (ms, first) in [(0.5, "old"), (1.0, "old"), (1.029, "old"), (1.031, "fast"), (2.0, "fast")] {
            assert_eq!(order(&[arm("old", ms, 0.001), fast.clone()])[0], first, "{ms}");
        }
    }

    #[test]
    fn steps_under_three_percent_do_not_add_up() {
        let arms = [arm("old", 1.04, 0.001), arm("mid", 1.02, 0.001), arm("new", 1.0, 0.001)];
        assert_eq!(order(&arms), ["mid", "new", "old"], "old is too far from new, mid is not");
    }

    #[test]
    fn every_place_is_decided_alike() {
        let arms = ["a", "b", "c", "d"].map(|name| arm(name, 1.0, 0.001));
        assert_eq!(order(&arms), ["a", "b", "c", "d"]);
        let mut far = arms.to_vec();
        far[1] = arm("b", 3.0, 0.001);
        far[2] = arm("c", 2.0, 0.001);
        assert_eq!(order(&far), ["a", "d", "c", "b"]);
        assert_eq!(order(&[]), [] as [&str; 0]);
    }

    #[test]
    fn the_vendor_stands_behind_ours_unless_time_alone_counts() {
        let arms = [
            arm("vendor:xsyev", 0.9, 0.001),
            arm("cta", 2.0, 0.001),
            arm("vendor:syevj", 0.5, 0.001),
            arm("thread", 1.0, 0.001),
        ];
        assert_eq!(order(&arms), ["thread", "cta", "vendor:syevj", "vendor:xsyev"]);
        let by_time = preferred(arms.to_vec(), Vendor::ByTime);
        assert_eq!((by_time[0].route.as_str(), by_time[3].route.as_str()), ("vendor:syevj", "cta"));
        assert_eq!(eligible(&arms, Vendor::Last).len(), 2);
        assert_eq!(eligible(&arms[..1], Vendor::Last).len(), 1, "where it is alone it is the first");
        assert_eq!(eligible(&arms, Vendor::ByTime).len(), 4);
        for vendor in [Vendor::Last, Vendor::ByTime] {
            assert_eq!(vendor.to_string().parse::<Vendor>().unwrap(), vendor);
        }
        assert!("first".parse::<Vendor>().unwrap_err().to_string().contains("'first': last or by-time"));
    }

    #[test]
    fn noise_turns_nothing_over() {
        let old = arm("old", 1.1, 0.4);
        let new = arm("new", 1.0, 0.4);
        assert_eq!(order(&[old.clone(), new.clone()])[0], "old");
        assert!(is_open(&[old.clone(), new]), "and more samples would tell");
        assert!(!is_open(&[old, arm("much faster", 0.2, 0.02)]));
        assert!(!is_open(&[arm("old", 1.02, 0.001), arm("new", 1.0, 0.001)]));
        assert!(!is_open(&[]));
    }

    #[test]
    fn wrong_arms_have_no_place() {
        let row = |route: &str, ms| Row { route: route.into(), ms, ..Row::default() };
        let rows = [
            row("right", Some(1.0)),
            row("wrong", Some(0.1)).with_error("wrong result"),
            row("none", None),
            row("odd", Some(f64::NAN)),
        ];
        let routes: Vec<String> = arms(&rows).into_iter().map(|arm| arm.route).collect();
        assert_eq!(routes, ["right"]);
    }
}
