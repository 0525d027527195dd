//! Arms that take turns, each checked before and after: one with a wrong result never yields a time.

use std::time::Duration;

use batchlas::Queue;
use batchlas::check::LIMIT;
use batchlas::measure::{Arm, Times, interleaved};

use crate::row::Counters;

/// An arm whose results can be looked at.
pub trait Contender: Arm {
    /// Measures what the last run left.
    ///
    /// # Errors
    /// Faults of the device.
    fn measured(&self, queue: &Queue) -> batchlas::Result<Measured>;
}

/// What a run left, over the items that were looked at; the status of every item counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Items without a result.
    pub failed: usize,
    /// The largest residual, where there are vectors.
    pub residual: Option<f64>,
    /// The largest departure from orthogonality, where there are vectors.
    pub orthogonality: Option<f64>,
    /// The largest error of an eigenvalue, over n eps ||A||.
    pub value_error: Option<f64>,
}

impl Measured {
    /// Why the result is wrong, if it is: a figure above `limit`, or an item that failed.
    pub fn fault(&self, limit: f64) -> Option<String> {
        if self.failed > 0 {
            return Some(format!("wrong result: {} items failed", self.failed));
        }
        let figures = [
            ("residual", self.residual),
            ("orthogonality", self.orthogonality),
            ("eigenvalue error", self.value_error),
        ];
        let is_wrong = |x: f64| x.is_nan() || x > limit;
        let wrong = figures.into_iter().find(|(_, x)| x.is_some_and(is_wrong));
        wrong.map(|(name, x)| {
            format!("wrong result: {name} {:.3e}, at most {limit} is right", x.unwrap_or(f64::NAN))
        })
    }
}

/// A contender with what decides whether it is right.
pub struct Entry<'a> {
    /// The arm.
    pub contender: Box<dyn Contender + 'a>,
    /// The largest figure of a right result.
    pub limit: f64,
}

/// The largest figure of a right result: the contract's for our families. The vendor's routines do not keep it
/// (syevj left an orthogonality of 60 on random matrices of order 128) and are held to two digits less.
pub fn limit(is_vendor: bool) -> f64 {
    if is_vendor { 100.0 * LIMIT } else { LIMIT }
}

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Rounds in which each arm is timed once.
    pub rounds: usize,
    /// No new round begins after this time, but three are always made.
    pub limit: Duration,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { rounds: 15, limit: Duration::from_secs(1) }
    }
}

/// How an arm ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Right before and after its times.
    Timed(Times, Measured),
    /// Right, under the executor, which has counts and no time worth the name.
    Counted(Counters, Measured),
    /// Wrong, or a fault: no time.
    Refused(String),
}

/// Runs every arm once and looks at its results; lets those that are right take turns; looks at their results again.
///
/// # Errors
/// A fault of an arm that was right at first.
pub fn race(queue: &Queue, entries: &mut [Entry<'_>], effort: &Effort) -> batchlas::Result<Vec<Outcome>> {
    let mut outcomes: Vec<Outcome> = entries.iter_mut().map(|entry| look(queue, entry)).collect();
    let right = |outcome: &Outcome| !matches!(outcome, Outcome::Refused(_));
    let runners = entries.iter_mut().zip(&outcomes).filter(|(_, o)| right(o));
    let mut arms: Vec<&mut dyn Arm> = runners.map(|(e, _)| &mut *e.contender as &mut dyn Arm).collect();
    let times = interleaved(queue, &mut arms, effort.rounds, effort.limit)?;
    let runners = entries.iter_mut().zip(&mut outcomes).filter(|(_, o)| right(o));
    for ((entry, outcome), times) in runners.zip(times) {
        *outcome = match look(queue, entry) {
            Outcome::Timed(_, measured) => Outcome::Timed(times, measured),
            wrong => wrong,
        };
    }
    Ok(outcomes)
}

/// Runs every arm once under the executor and takes what it counted.
#[cfg(feature = "simt")]
pub fn count(queue: &Queue, entries: &mut [Entry<'_>]) -> Vec<Outcome> {
    let one = |entry: &mut Entry<'_>| {
        queue.take_launches();
        let outcome = look(queue, entry);
        let counters = total(&queue.take_launches());
        match outcome {
            Outcome::Timed(_, measured) => Outcome::Counted(counters, measured),
            other => other,
        }
    };
    entries.iter_mut().map(one).collect()
}

#[cfg(feature = "simt")]
fn total(launches: &[batchlas::LaunchRecord]) -> Counters {
    let mut sum = Counters { launches: launches.len() as u64, ..Counters::default() };
    for c in launches.iter().map(|l| &l.counters) {
        sum.collectives += c.collectives;
        sum.barriers += c.barriers;
        sum.bank_conflicts += c.bank_conflicts;
        sum.shared_warp_accesses += c.shared_warp_accesses;
        sum.global_warp_accesses += c.global_warp_accesses;
        sum.global_sectors += c.global_sectors;
    }
    sum
}

/// One run and what it left: without times yet, or a refusal.
fn look(queue: &Queue, entry: &mut Entry<'_>) -> Outcome {
    let mut run = || {
        entry.contender.prepare(queue)?;
        entry.contender.run(queue)?;
        queue.synchronize()?;
        entry.contender.measured(queue)
    };
    match run() {
        Err(fault) => Outcome::Refused(fault.to_string()),
        Ok(measured) => match measured.fault(entry.limit) {
            Some(reason) => Outcome::Refused(reason),
            None => Outcome::Timed(Times { samples: vec![] }, measured),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs without work whose residual is `1.0` until the run `turns_wrong`.
    struct Fake {
        runs: usize,
        turns_wrong: usize,
        wrong: Measured,
    }

    impl Arm for Fake {
        fn prepare(&mut self, _: &Queue) -> batchlas::Result<()> {
            Ok(())
        }
        fn run(&mut self, _: &Queue) -> batchlas::Result<()> {
            self.runs += 1;
            Ok(())
        }
    }

    impl Contender for Fake {
        fn measured(&self, _: &Queue) -> batchlas::Result<Measured> {
            let right = Measured { residual: Some(1.0), ..Measured::default() };
            Ok(if self.runs >= self.turns_wrong { self.wrong } else { right })
        }
    }

    fn entry(turns_wrong: usize, wrong: Measured) -> Entry<'static> {
        Entry { contender: Box::new(Fake { runs: 0, turns_wrong, wrong }), limit: LIMIT }
    }

    #[test]
    fn a_wrong_arm_never_yields_a_time() {
        let effort = Effort { rounds: 4, ..Effort::default() };
        let bad = |residual: f64| Measured { residual: Some(residual), ..Measured::default() };
        let failed = Measured { failed: 1, ..Measured::default() };
        let mut entries = [
            entry(usize::MAX, bad(0.0)),
            entry(1, bad(10.5)),
            entry(1, bad(f64::NAN)),
            entry(1, failed),
            // Right at the first look, wrong at the last.
            entry(6, bad(11.0)),
        ];
        let outcomes = race(&Queue::cpu(), &mut entries, &effort).unwrap();
        assert!(matches!(&outcomes[0], Outcome::Timed(times, _) if times.samples.len() == 4), "{outcomes:?}");
        for outcome in &outcomes[1..] {
            assert!(
                matches!(outcome, Outcome::Refused(why) if why.starts_with("wrong result")),
                "{outcome:?}"
            );
        }
    }

    #[test]
    fn the_limit_is_the_entrys() {
        let measured = Measured { orthogonality: Some(60.0), ..Measured::default() };
        assert!(measured.fault(limit(false)).unwrap().contains("orthogonality 6.000e1"));
        assert_eq!(measured.fault(limit(true)), None);
    }
}
