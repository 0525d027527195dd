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
    /// Where three rounds take longer than the limit, an arm that takes so many times longer than the fastest is timed once.
    pub once_from: Option<f64>,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { rounds: 15, limit: Duration::from_secs(1), once_from: None }
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

/// Runs every arm once and looks at its results; lets those that are right take turns; looks at their results again. Those
/// that are [far behind](Effort::once_from) have the time of a second run, whose results are looked at too.
///
/// # Errors
/// A fault of an arm that was right at first.
pub fn race(queue: &Queue, entries: &mut [Entry<'_>], effort: &Effort) -> batchlas::Result<Vec<Outcome>> {
    let mut outcomes: Vec<Outcome> = entries.iter_mut().map(|entry| look(queue, entry)).collect();
    if let Some(factor) = effort.once_from {
        // The first run loaded kernels.
        for (entry, outcome) in entries.iter_mut().zip(&mut outcomes).filter(|(_, o)| is_right(o)) {
            *outcome = look(queue, entry);
        }
        forget_near(&mut outcomes, factor, effort.limit);
    }
    let is_once =
        |outcome: &Outcome| matches!(outcome, Outcome::Timed(times, _) if !times.samples.is_empty());
    let takes_turns = |o: &Outcome| is_right(o) && !(effort.once_from.is_some() && is_once(o));
    let taking_turns: Vec<bool> = outcomes.iter().map(takes_turns).collect();
    let runners = entries.iter_mut().zip(&taking_turns).filter(|(_, turn)| **turn);
    let mut arms: Vec<&mut dyn Arm> = runners.map(|(e, _)| &mut *e.contender as &mut dyn Arm).collect();
    let times = interleaved(queue, &mut arms, effort.rounds, effort.limit)?;
    let runners = entries.iter_mut().zip(&mut outcomes).zip(&taking_turns).filter(|(_, turn)| **turn);
    for (((entry, outcome), _), times) in runners.zip(times) {
        *outcome = match look(queue, entry) {
            Outcome::Timed(_, measured) => Outcome::Timed(times, measured),
            wrong => wrong,
        };
    }
    Ok(outcomes)
}

fn is_right(outcome: &Outcome) -> bool {
    !matches!(outcome, Outcome::Refused(_))
}

/// Takes the one time from all arms but those that are slower than the fastest by `factor`; from all of them where three
/// rounds fit the limit.
fn forget_near(outcomes: &mut [Outcome], factor: f64, limit: Duration) {
    let mut times: Vec<&mut Times> = outcomes
        .iter_mut()
        .filter_map(|outcome| match outcome {
            Outcome::Timed(times, _) => Some(times),
            _ => None,
        })
        .collect();
    let round: f64 = times.iter().map(|times| times.median()).sum();
    let fastest = times.iter().map(|times| times.median()).fold(f64::INFINITY, f64::min);
    let is_short = 3.0 * round <= limit.as_secs_f64();
    let near = times.iter_mut().filter(|times| is_short || times.median() <= factor * fastest);
    near.for_each(|times| times.samples.clear());
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

/// One run, its time and what it left, or a refusal.
fn look(queue: &Queue, entry: &mut Entry<'_>) -> Outcome {
    let mut run = || {
        entry.contender.prepare(queue)?;
        queue.synchronize()?;
        let before = queue.record()?;
        entry.contender.run(queue)?;
        let after = queue.record()?;
        after.wait()?;
        queue.synchronize()?;
        Ok((after.since(&before)?.as_secs_f64(), entry.contender.measured(queue)?))
    };
    match run() {
        Err::<_, batchlas::Error>(fault) => Outcome::Refused(fault.to_string()),
        Ok((seconds, measured)) => match measured.fault(entry.limit) {
            Some(reason) => Outcome::Refused(reason),
            None => Outcome::Timed(Times { samples: vec![seconds] }, measured),
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
    fn an_arm_far_behind_is_timed_once_where_rounds_are_long() {
        let outcome = |seconds: f64| Outcome::Timed(Times { samples: vec![seconds] }, Measured::default());
        let counts = |limit: u64| -> Vec<usize> {
            let mut outcomes =
                vec![outcome(1.0), outcome(1.9), outcome(2.1), Outcome::Refused("wrong".into())];
            forget_near(&mut outcomes, 2.0, Duration::from_secs(limit));
            let timed = outcomes.iter().filter_map(|o| match o {
                Outcome::Timed(times, _) => Some(times.samples.len()),
                _ => None,
            });
            timed.collect()
        };
        assert_eq!(counts(10), [0, 0, 1]);
        assert_eq!(counts(16), [0, 0, 0], "three rounds fit");
        let effort = Effort { rounds: 4, limit: Duration::ZERO, once_from: Some(1e9) };
        let bad = Measured { failed: 1, ..Measured::default() };
        // The second is right at the first look alone.
        let mut entries = [entry(usize::MAX, bad), entry(2, bad)];
        let outcomes = race(&Queue::cpu(), &mut entries, &effort).unwrap();
        assert!(matches!(&outcomes[0], Outcome::Timed(times, _) if times.samples.len() == 3), "{outcomes:?}");
        assert!(matches!(&outcomes[1], Outcome::Refused(_)), "{outcomes:?}");
    }

    #[test]
    fn the_limit_is_the_entrys() {
        let measured = Measured { orthogonality: Some(60.0), ..Measured::default() };
        assert!(measured.fault(limit(false)).unwrap().contains("orthogonality 6.000e1"));
        assert_eq!(measured.fault(limit(true)), None);
    }
}
