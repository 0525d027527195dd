//! Intervals that hold eigenvalues, narrowed by bisection until each is alone in its own, then by interpolation.

use crate::sturm::{Band, Size, Sturm, pass};
use cuda_std::prelude::*;

/// Passes after which a guess that did not narrow its interval as bisection would have gives way to bisection.
const STALLS: u32 = 2;

/// The most passes that intervals of Gershgorin's take, `points` points each: those of bisection past a quarter of an ulp of
/// the norm, and twice as many in vain. Where values are apart, bisection and a few.
pub const fn most_passes(real_bytes: usize, points: u32) -> u32 {
    let bits = if real_bytes == 4 { 28 } else { 57 };
    let bisections = if points == 3 { bits / 2 + 1 } else { bits };
    (STALLS + 1) * bisections
}

/// The intervals that hold `V` eigenvalues.
#[derive(Clone, Copy, Debug)]
pub struct Intervals<R, const V: usize> {
    /// Index of each eigenvalue: from 0, ascending.
    index: [u32; V],
    /// Lower ends.
    low: [R; V],
    /// Upper ends.
    high: [R; V],
    /// What is known of the lower ends.
    at_low: [Sturm<R>; V],
    /// What is known of the upper ends.
    at_high: [Sturm<R>; V],
    /// Of an interval with one value: by how much its width's square is multiplied for the margin of a guess. Else 0.
    bend: [R; V],
    /// Guesses in a row that were worse than bisection.
    stalls: [u32; V],
    /// An ulp of the norm.
    ulp: R,
}

impl<R: Real, const V: usize> Intervals<R, V> {
    /// All values of a matrix of order `n` in one interval, which holds the whole spectrum.
    #[inline(always)]
    pub fn new(index: [u32; V], n: u32, low: R, high: R) -> Self {
        let at = |below| [Sturm { below, size: Size::UNKNOWN }; V];
        let ulp = R::EPSILON * low.abs().max(high.abs());
        Intervals {
            index,
            low: [low; V],
            high: [high; V],
            at_low: at(0),
            at_high: at(n),
            bend: [R::ZERO; V],
            stalls: [0; V],
            ulp,
        }
    }

    /// At most `passes` passes over the matrix of order `n`, each of which tries `P` points, 1 or 3, of every interval
    /// and keeps the part that holds the value; until all are a quarter of an ulp of the norm wide, or neighbours.
    ///
    /// Lanes that start from one interval and look for different values see the same points until they part, and
    /// part in order: the results ascend whatever the rounding of the counts. Guesses are made in intervals of one value.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn narrow<const P: usize>(&mut self, band: impl Band<R>, n: u32, passes: u32) {
        let mut pass_number = 0;
        while pass_number < passes && !self.all_done() {
            let mut points = [[R::ZERO; P]; V];
            let mut guessed = [false; V];
            for v in 0..V {
                (points[v], guessed[v]) = self.points::<P>(v);
            }
            let seen = pass(band, n, points);
            for v in 0..V {
                if !self.is_done(v) {
                    self.keep(v, points[v], seen[v], guessed[v]);
                }
            }
            pass_number += 1;
        }
    }

    /// One pass by all lanes of a warp together, which hold the same intervals: as many points as they have intervals, evenly
    /// over the whole, in place of the same few by every lane. All intervals are as [`new`](Self::new) made them.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn spread<const P: usize>(&mut self, band: impl Band<R>, n: u32) {
        let tile = tiled_partition::<32>();
        let a_lane = (V * P) as u32;
        let step = (self.high[0] - self.low[0]) * R::from_u32(32 * a_lane + 1).recip();
        let start = self.low[0];
        let point = |k: u32| R::from_u32(k + 1).mul_add(step, start);
        let mut points = [[R::ZERO; P]; V];
        for v in 0..V {
            for p in 0..P {
                points[v][p] = point(tile.rank() * a_lane + (v * P + p) as u32);
            }
        }
        let seen = pass(band, n, points);
        for v in 0..V {
            // The last lane whose first point the value is not below; then the last such point of it.
            let (mut from, mut half) = (0, 16);
            while half > 0 {
                let first = tile.shuffle_idx(seen[0][0].below, from + half);
                from += if first <= self.index[v] { half } else { 0 };
                half /= 2;
            }
            let mut next = true;
            for k in 0..V * P {
                let (there, at) = (shuffled(tile, seen[k / P][k % P], from), point(from * a_lane + k as u32));
                if there.below <= self.index[v] {
                    (self.low[v], self.at_low[v]) = (at, there);
                    next = true;
                } else if next {
                    (self.high[v], self.at_high[v]) = (at, there);
                    next = false;
                }
            }
            let above = shuffled(tile, seen[0][0], (from + 1).min(31));
            if next && from < 31 {
                (self.high[v], self.at_high[v]) = (point((from + 1) * a_lane), above);
            }
            self.notice(v);
        }
    }

    /// The middle of interval `v`.
    #[inline(always)]
    pub fn middle(&self, v: usize) -> R {
        self.low[v] + (self.high[v] - self.low[v]) * R::HALF
    }

    /// Whether interval `v` is no wider than an ulp of the norm.
    #[inline(always)]
    pub fn is_found(&self, v: usize) -> bool {
        self.high[v] - self.low[v] <= self.ulp
    }

    #[inline(always)]
    fn all_done(&self) -> bool {
        let mut all = true;
        for v in 0..V {
            all &= self.is_done(v);
        }
        all
    }

    /// Whether interval `v` stays as it is: by itself alone, so that equal intervals end as equals in all lanes.
    #[inline(always)]
    fn is_done(&self, v: usize) -> bool {
        let middle = self.middle(v);
        let between = middle > self.low[v] && middle < self.high[v];
        !between || self.high[v] - self.low[v] <= self.least()
    }

    /// A quarter of an ulp of the norm.
    #[inline(always)]
    fn least(&self) -> R {
        self.ulp * (R::HALF * R::HALF)
    }

    /// The next points of interval `v`, ascending, and whether they are a guess.
    #[inline(always)]
    fn points<const P: usize>(&self, v: usize) -> ([R; P], bool) {
        let (low, high) = (self.low[v], self.high[v]);
        let (width, middle) = (high - low, self.middle(v));
        // The determinant has one zero between the ends: where the line through its values there has its own.
        let zero = width.mul_add(self.at_low[v].size.share(self.at_high[v].size), low);
        let margin = (width * width * self.bend[v]).max(self.least());
        let mut point = zero;
        if P == 1 {
            // Beyond it, so that the value lies in the shorter part.
            point = if zero < middle { (zero + margin).min(middle) } else { (zero - margin).max(middle) };
        }
        point = if point <= low { low + self.ulp } else { point };
        point = if point >= high { high - self.ulp } else { point };
        let guess = self.bend[v] > R::ZERO && self.stalls[v] < STALLS && point > low && point < high;
        let mut points = [if guess { point } else { middle }; P];
        if P == 3 {
            let around = if guess { margin } else { width * (R::HALF * R::HALF) };
            points[0] = (points[1] - around).max(low);
            points[P - 1] = (points[1] + around).min(high);
        }
        (points, guess)
    }

    /// Keeps the part of interval `v` that holds the value: between the outermost points that do.
    #[inline(always)]
    fn keep<const P: usize>(&mut self, v: usize, points: [R; P], seen: [Sturm<R>; P], guessed: bool) {
        let width = self.high[v] - self.low[v];
        for p in 0..P {
            let under = seen[p].below <= self.index[v];
            if under && points[p] > self.low[v] {
                (self.low[v], self.at_low[v]) = (points[p], seen[p]);
            }
            if !under && points[p] < self.high[v] {
                (self.high[v], self.at_high[v]) = (points[p], seen[p]);
            }
        }
        self.high[v] = self.high[v].max(self.low[v]);
        let left = self.high[v] - self.low[v];
        let bisected = if P == 3 { width * (R::HALF * R::HALF) } else { width * R::HALF };
        self.stalls[v] = if guessed && left > bisected { self.stalls[v] + 1 } else { 0 };
        self.notice(v);
    }

    /// Notices where interval `v` has come to hold one value only.
    #[inline(always)]
    fn notice(&mut self, v: usize) {
        let alone = self.at_high[v].below == self.at_low[v].below + 1;
        if alone && self.bend[v] <= R::ZERO {
            self.bend[v] = R::HALF * (self.high[v] - self.low[v]).recip_approx();
        }
    }
}

/// What lane `from` of a warp knows.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn shuffled<R: Real>(tile: Tile, known: Sturm<R>, from: u32) -> Sturm<R> {
    let below = tile.shuffle_idx(known.below, from);
    Sturm {
        below,
        size: known.size.map(|significand, exponent| {
            (tile.shuffle_idx(significand, from), tile.shuffle_idx(exponent, from))
        }),
    }
}

#[cfg(all(test, not(target_os = "cuda")))]
mod tests {
    use super::*;
    use crate::sturm::{disc, widened};
    use std::cell::Cell;

    /// Diagonal and squares of couplings, how many rows were read, and in what units reads are off: another amount each time.
    #[derive(Clone, Copy)]
    struct Counted<'a, R> {
        rows: &'a [(R, R)],
        read: &'a Cell<u32>,
        noise: R,
    }

    impl<R: Real> Band<R> for Counted<'_, R> {
        fn row(self, i: u32) -> (R, R) {
            let at = self.read.get();
            self.read.set(at + 1);
            // One of -3/2, -1/2, 1/2, 3/2: for every value the same at the same read.
            let off = |salt: u32| {
                let mixed = (2 * at + salt).wrapping_mul(0x9e37_79b9);
                let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x85eb_ca6b);
                (R::from_u32(mixed >> 30) - R::ONE - R::HALF) * self.noise
            };
            let (d, square) = self.rows[i as usize];
            (d + off(0), square + square * off(1))
        }
    }

    /// All eigenvalues, one at a time, `P` points a pass; and the most passes that one took.
    fn solve<R: Real, const P: usize>(d: &[f64], e: &[f64]) -> (Vec<R>, u32) {
        solve_noisy::<R, P>(d, e, R::ZERO)
    }

    /// The same of a matrix that is another one in each pass, as far as `noise`.
    fn solve_noisy<R: Real, const P: usize>(d: &[f64], e: &[f64], noise: R) -> (Vec<R>, u32) {
        let n = d.len();
        let coupling = |i: usize| R::from_f64(if i + 1 < n { e[i] } else { 0.0 });
        let rows: Vec<_> = (0..n).map(|i| (R::from_f64(d[i]), coupling(i) * coupling(i))).collect();
        let (mut low, mut high) = (R::INFINITY, -R::INFINITY);
        for i in 0..n {
            let left = if i > 0 { coupling(i - 1) } else { R::ZERO };
            let (least, most) = disc(rows[i].0, left, coupling(i));
            (low, high) = (low.min(least), high.max(most));
        }
        let (low, high) = widened((low, high));
        let mut most = 0;
        let values = (0..n as u32).map(|index| {
            let read = Cell::new(0);
            let mut interval = Intervals::new([index], n as u32, low, high);
            let passes = most_passes(size_of::<R>(), P as u32);
            interval.narrow::<P>(Counted { rows: &rows, read: &read, noise }, n as u32, passes);
            assert!(interval.is_found(0));
            most = most.max(read.get() / n as u32);
            interval.middle(0)
        });
        (values.collect(), most)
    }

    /// The second difference, whose eigenvalues are known, with none near another.
    fn second_difference(n: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let angle = |k: usize| (k + 1) as f64 * std::f64::consts::PI / (n + 1) as f64;
        (vec![0.0; n], vec![-1.0; n - 1], (0..n).rev().map(|k| 2.0 * angle(k).cos()).collect())
    }

    #[test]
    fn values_apart_take_a_fraction_of_the_passes_of_bisection() {
        let (d, e, exact) = second_difference(64);
        let near =
            |values: Vec<f64>, bound: f64| values.iter().zip(&exact).all(|(x, y)| (x - y).abs() <= bound);
        let (values, passes) = solve::<f64, 1>(&d, &e);
        assert!(near(values, 2e-15) && passes <= 28, "{passes}");
        let (values, passes) = solve::<f64, 3>(&d, &e);
        assert!(near(values, 2e-15) && passes <= 14, "{passes}");
        let (values, passes) = solve::<f32, 1>(&d, &e);
        assert!(near(values.into_iter().map(f64::from).collect(), 1e-6) && passes <= 24, "{passes}");
    }

    /// Equal values never part: bisection to the end. Pairs part late: little more than that.
    #[test]
    fn clusters_are_bisected() {
        let one = vec![1.0; 17];
        let (values, passes) = solve::<f64, 1>(&one, &[0.0; 16]);
        assert!(values.iter().all(|x| (x - 1.0).abs() <= f64::EPSILON) && passes <= 60, "{passes}");
        let d: Vec<f64> = (0..21_i32).map(|i| f64::from((i - 10).abs()) / 10.0).collect();
        let (values, passes) = solve::<f64, 1>(&d, &[0.1; 20]);
        assert!(values.is_sorted() && values[20] - values[19] < 1e-14 && passes <= 70, "{passes}");
    }

    /// Counts that contradict each other near the values: all are found, in order, no further off than the counts.
    #[test]
    fn counts_that_are_not_monotone() {
        fn check<R: Real, const P: usize>() {
            let noise = R::EPSILON * R::TWO * R::TWO;
            let (d, e, exact) = second_difference(64);
            // At many a value two passes contradict each other.
            let rows: Vec<_> = (0..64).map(|i| (R::ZERO, R::from_u32(u32::from(i < 63)))).collect();
            let band = Counted { rows: &rows, read: &Cell::new(0), noise };
            let varies = |x: &&f64| {
                let below = || pass(band, 64, [[R::from_f64(**x)]])[0][0].below;
                let first = below();
                (0..40).any(|_| below() != first)
            };
            let varying = exact.iter().filter(varies).count();
            assert!(varying >= 8, "{varying}");

            let (values, _) = solve_noisy::<R, P>(&d, &e, noise);
            assert!(values.is_sorted());
            let bound = R::EPSILON * R::from_u32(24);
            assert!(values.iter().zip(&exact).all(|(x, y)| (*x - R::from_f64(*y)).abs() <= bound));
            // Pairs, whose two values noise takes turns to part; and equal values.
            let d: Vec<f64> = (0..21_i32).map(|i| f64::from((i - 10).abs()) / 10.0).collect();
            for e in [[0.1; 20], [0.0; 20]] {
                let (values, _) = solve_noisy::<R, P>(&d, &e, noise);
                assert!(values.is_sorted());
            }
        }
        check::<f64, 1>();
        check::<f64, 3>();
        check::<f32, 1>();
        check::<f32, 3>();
    }

    /// Whatever three counts say: intervals shrink, and are the same or follow each other.
    #[test]
    fn any_three_counts_keep_the_order() {
        let n = 4u32;
        for seen in 0..(n + 1).pow(3) {
            let counts = [seen % (n + 1), seen / (n + 1) % (n + 1), seen / (n + 1).pow(2)];
            let mut intervals = Intervals::new([0, 1, 2, 3], n, 0.0f64, 4.0);
            for v in 0..4 {
                let seen = counts.map(|below| Sturm { below, size: Size::ONE });
                intervals.keep(v, [1.0, 2.0, 3.0], seen, false);
            }
            let ends: Vec<_> = (0..4).map(|v| (intervals.low[v], intervals.high[v])).collect();
            assert!(ends.iter().all(|(low, high)| (0.0..=*high).contains(low) && *high <= 4.0), "{ends:?}");
            let follows = |two: &[(f64, f64)]| two[0] == two[1] || two[0].1 <= two[1].0;
            assert!(ends.windows(2).all(follows), "{counts:?}: {ends:?}");
        }
    }
}
