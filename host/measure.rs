//! Timing of arms that take turns in one process, by the device's events.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::queue::Queue;

/// An arm whose relative spread is above this is not to be trusted.
pub const SPREAD_LIMIT: f64 = 0.10;

/// Times of one arm.
#[derive(Clone, Debug)]
pub struct Times {
    /// One a round, in seconds.
    pub samples: Vec<f64>,
}

impl Times {
    /// The median, in seconds; NaN without samples.
    pub fn median(&self) -> f64 {
        quantile(&self.samples, 0.5)
    }

    /// Distance of the quartiles over the median.
    pub fn spread(&self) -> f64 {
        (quantile(&self.samples, 0.75) - quantile(&self.samples, 0.25)) / self.median()
    }
}

fn quantile(samples: &[f64], q: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        return f64::NAN;
    }
    let position = q * (sorted.len() - 1) as f64;
    let (low, part) = (position.floor() as usize, position.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] * (1.0 - part) + sorted[high] * part
}

/// Something to time: `prepare` restores inputs outside of the timed region, `run` is timed.
pub trait Arm {
    /// Brings inputs back to what they were.
    ///
    /// # Errors
    /// Faults of the device.
    fn prepare(&mut self, queue: &Queue) -> Result<()>;

    /// The work.
    ///
    /// # Errors
    /// Faults of the device, and whatever the work refuses.
    fn run(&mut self, queue: &Queue) -> Result<()>;
}

/// Runs every arm once to warm up, then `rounds` rounds in which the arms take turns, each round beginning
/// with the next arm. Stops early once `limit` has passed, after at least three rounds.
///
/// # Errors
/// The first fault of an arm.
pub fn interleaved(
    queue: &Queue,
    arms: &mut [&mut dyn Arm],
    rounds: usize,
    limit: Duration,
) -> Result<Vec<Times>> {
    let mut times = vec![Times { samples: vec![] }; arms.len()];
    for arm in arms.iter_mut() {
        arm.prepare(queue)?;
        arm.run(queue)?;
    }
    queue.synchronize()?;
    let start = Instant::now();
    for round in 0..rounds {
        for turn in 0..arms.len() {
            let index = (round + turn) % arms.len();
            let arm = &mut arms[index];
            arm.prepare(queue)?;
            queue.synchronize()?;
            times[index].samples.push(timed(queue, *arm)?);
        }
        if round >= 2 && start.elapsed() > limit {
            break;
        }
    }
    Ok(times)
}

/// Seconds that one run takes by the device's events: the host's clock where the device has none.
fn timed(queue: &Queue, arm: &mut dyn Arm) -> Result<f64> {
    let before = queue.record()?;
    arm.run(queue)?;
    let after = queue.record()?;
    after.wait()?;
    Ok(after.since(&before)?.as_secs_f64())
}

/// The newest CUDA of this machine's driver, as `13.0`; `None` without a driver or without the feature `cuda`.
pub fn driver() -> Option<String> {
    #[cfg(feature = "cuda")]
    return crate::cuda::driver_version().ok().map(|v| format!("{}.{}", v / 1000, v % 1000 / 10));
    #[cfg(not(feature = "cuda"))]
    None
}

/// What compiled the kernels; `None` without the feature `cuda`.
pub fn tool_chain() -> Option<&'static str> {
    #[cfg(feature = "cuda")]
    return Some(crate::cuda::tool_chain());
    #[cfg(not(feature = "cuda"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate() {
        let times = Times { samples: vec![4.0, 1.0, 3.0, 2.0] };
        assert_eq!(times.median(), 2.5);
        assert!((times.spread() - 1.5 / 2.5).abs() < 1e-15);
    }

    #[test]
    fn arms_take_turns_and_are_warmed_up() {
        struct Count(usize, usize);
        impl Arm for Count {
            fn prepare(&mut self, _: &Queue) -> Result<()> {
                self.0 += 1;
                Ok(())
            }
            fn run(&mut self, _: &Queue) -> Result<()> {
                self.1 += 1;
                Ok(())
            }
        }
        let (mut x, mut y) = (Count(0, 0), Count(0, 0));
        let times = interleaved(&Queue::cpu(), &mut [&mut x, &mut y], 5, Duration::from_secs(60)).unwrap();
        assert_eq!((x.0, x.1, y.1), (6, 6, 6));
        assert!(times.iter().all(|t| t.samples.len() == 5));
    }
}
