//! The warp that chases: implicit QL on the tridiagonal matrix in shared memory.

use crate::shape::{Offsets, REVERSED, SWEEPS, UNCONVERGED, WORDS, padded};
use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, lane_id, sync_warp, warp_vote_ballot};
use device_linalg::steqr_cta::Recurrence;
use device_linalg::steqr_cta::decoupled::scalar::{negligible, rotation, shift};

/// Shared memory of a chase.
#[derive(Clone, Copy, Debug)]
pub struct Track<R> {
    /// Diagonal.
    pub d: Shared<R>,
    /// Off-diagonals: element `i` couples rows `i` and `i + 1`.
    pub e: Shared<R>,
    /// Rotations `(c, s)`: [`SWEEPS`] times the padded order, twice.
    pub log: Shared<R>,
    /// First and last row of each logged sweep; behind them the couplings that did not converge, and whether the
    /// matrix stands reversed.
    words: Shared<u32>,
    padded: u32,
}

impl<R: Real> Track<R> {
    /// The track of a block with `rows` rows a lane.
    #[inline(always)]
    pub fn new(rows: usize, offsets: &Offsets) -> Self {
        let p = padded(rows);
        // SAFETY: the launch gives Offsets::end bytes; the parts are disjoint and aligned.
        let (tridiagonal, words, log) = unsafe {
            (
                dynamic_shared_mem::<R>(offsets.tridiagonal, 2 * p),
                dynamic_shared_mem::<u32>(offsets.words, WORDS),
                dynamic_shared_mem::<R>(offsets.log, 4 * SWEEPS * p),
            )
        };
        Track { d: tridiagonal, e: tridiagonal.at(p as u32), log, words, padded: p as u32 }
    }

    /// Couplings that did not converge.
    #[inline(always)]
    pub fn unconverged(&self) -> u32 {
        self.words.get(UNCONVERGED)
    }

    /// Whether row `i` stands for row `n - 1 - i` of the reduction.
    #[inline(always)]
    pub fn is_reversed(&self) -> bool {
        self.words.get(REVERSED) != 0
    }

    /// Scales the matrix to [`Real::HIGH_NORM`] and turns it so that its end of smaller magnitude comes first. By
    /// all threads; no barrier follows.
    #[inline(always)]
    pub fn prepare(&self, n: u32) {
        let i = thread::thread_idx_x();
        let reversed = self.d.get(n - 1).abs() < self.d.get(0).abs();
        let (mut d, mut e) = (R::ZERO, R::ZERO);
        if i < n {
            d = self.d.get(if reversed { n - 1 - i } else { i }) * R::HIGH_NORM;
        }
        if i + 1 < n {
            e = self.e.get(if reversed { n - 2 - i } else { i }) * R::HIGH_NORM;
        }
        thread::sync_threads();
        if i < n {
            self.d.set(i, d);
        }
        if i + 1 < n {
            self.e.set(i, e);
        }
        if i == 0 {
            self.words.set(REVERSED, reversed as u32);
        }
    }

    /// Index of the rotation of plane 0 of sweep `sweep` of buffer `buffer`, in pairs.
    #[inline(always)]
    pub fn log_index(&self, buffer: u32, sweep: usize) -> u32 {
        (buffer * SWEEPS as u32 + sweep as u32) * self.padded
    }

    /// Rows `(l, m)` of sweep `sweep` of buffer `buffer`: planes `l..m` are rotated.
    #[inline(always)]
    pub fn span(&self, buffer: u32, sweep: usize) -> (u32, u32) {
        let span = self.words.get(buffer * SWEEPS as u32 + sweep as u32);
        (span & 0xff, span >> 8)
    }

    /// The role of the chasing warp: logs round after round, one ahead of what the others apply. Ends behind the
    /// barrier after which the results are there.
    ///
    /// A round is a train of [`SWEEPS`] sweeps over the first block that is left.
    #[inline(always)]
    pub fn lead(&self, n: u32, max_sweeps: u32) {
        let (mut buffer, mut more, mut left) = (0, true, max_sweeps);
        while more {
            let coupled = self.coupled(n);
            let active = coupled.any() && left > 0;
            if active {
                let span = coupled.first_block();
                // Where trains do not get on, single sweeps with the shift of the moment do, as in dsteqr.
                let sweeps = if 2 * left > max_sweeps { cars(span) } else { 1 };
                self.chase(span, buffer, sweeps);
                left -= if left < sweeps { left } else { sweeps };
                self.note(buffer, span, sweeps);
            } else {
                self.note(buffer, (0, 0), 0);
            }
            if lane_id() == 0 {
                self.words.set(UNCONVERGED, coupled.count());
            }
            more = thread::sync_roles_or(active);
            buffer ^= 1;
        }
    }

    /// Notes which planes the sweeps of a round rotated.
    #[inline(always)]
    fn note(&self, buffer: u32, (l, m): (u32, u32), sweeps: u32) {
        let lane = lane_id();
        if lane < SWEEPS as u32 {
            self.words.set(buffer * SWEEPS as u32 + lane, if lane < sweeps { l | m << 8 } else { 0 });
        }
    }

    /// The couplings that still count; the others are set to 0. By the whole warp.
    #[inline(always)]
    fn coupled(&self, n: u32) -> Couplings {
        let mut words = [0u32; 4];
        for part in 0..4 {
            // Uniform: the mask of the vote is the warp's.
            if 32 * part < n {
                let i = 32 * part + lane_id();
                let mut keeps = false;
                if i + 1 < n {
                    let e = self.e.get(i);
                    keeps = !negligible(e, self.d.get(i), self.d.get(i + 1));
                    if !keeps {
                        self.e.set(i, R::ZERO);
                    }
                }
                words[part as usize] = warp_vote_ballot(FULL_MASK, keeps);
            }
        }
        sync_warp(FULL_MASK);
        Couplings {
            low: words[0] as u64 | (words[1] as u64) << 32,
            high: words[2] as u64 | (words[3] as u64) << 32,
        }
    }

    /// `sweeps` sweeps over rows `l..=m`, a lane each, each [`LAG`] planes behind the one before it.
    ///
    /// The shifts are eigenvalues of the leading 2x2 block before the train: the one nearest `d_l`, the other one, and
    /// twice the first again, which ran through fewest trains on random matrices. A step loads the next row's elements before it stores this row's: the
    /// chain of rotations need not wait for shared memory, and the lag is what that takes.
    #[inline(always)]
    fn chase(&self, (l, m): (u32, u32), buffer: u32, sweeps: u32) {
        let log = self.log.as_pairs();
        let car = lane_id();
        let base = self.log_index(buffer, 0) + car * self.padded;
        let (d_l, d_next) = (self.d.get(l), self.d.get(l + 1));
        let near = shift(d_l, self.e.get(l), d_next);
        let far = d_l + (d_next - near);
        let mu = if car == 1 { far } else { near };
        sync_warp(FULL_MASK);
        // Step of the train at which this sweep begins, and the one at which it has left plane l.
        let start = LAG * car;
        let end = start + m - l;
        let (mut d_high, mut e, mut d_low) = (R::ZERO, R::ZERO, R::ZERO);
        let mut recurrence = Recurrence::start(R::ZERO);
        let steps = LAG * (sweeps - 1) + m - l;
        let mut step = 0;
        while step <= steps {
            if car < sweeps {
                if step == start {
                    d_high = self.d.get(m);
                    e = self.e.get(m - 1);
                    d_low = self.d.get(m - 1);
                    recurrence = Recurrence::start(d_high - mu);
                }
                if step >= start && step < end {
                    let i = m - 1 - (step - start);
                    let next = if i > l { i - 1 } else { i };
                    let (e_next, d_next) = (self.e.get(next), self.d.get(next));
                    let (turn, d_new) = recurrence.advance((d_low, e, d_high), rotation);
                    self.d.set(i + 1, d_new);
                    if i + 1 < m {
                        self.e.set(i + 1, turn.r);
                    }
                    log.set(base + i, R::Pair::from([turn.c, turn.s]));
                    d_high = d_low;
                    e = e_next;
                    d_low = d_next;
                }
                if step == end {
                    let (d_new, e_new) = recurrence.finish(d_high);
                    self.d.set(l, d_new);
                    self.e.set(l, e_new);
                }
            }
            sync_warp(FULL_MASK);
            step += 1;
        }
    }
}

/// Planes between the sweeps of a train.
const LAG: u32 = 3;

/// Sweeps of a train over a block: two rows need but one.
#[inline(always)]
fn cars((l, m): (u32, u32)) -> u32 {
    if m - l < 2 { 1 } else { SWEEPS as u32 }
}

/// One bit a coupling.
#[derive(Clone, Copy)]
struct Couplings {
    low: u64,
    high: u64,
}

impl Couplings {
    #[inline(always)]
    fn any(self) -> bool {
        (self.low | self.high) != 0
    }

    #[inline(always)]
    fn count(self) -> u32 {
        self.low.count_ones() + self.high.count_ones()
    }

    /// First and last row of the first block; there is one.
    #[inline(always)]
    fn first_block(self) -> (u32, u32) {
        let l = trailing_zeros(self.low, self.high);
        // The run of ones from bit l on ends at the first zero.
        let below = l & 63;
        let (low, high) = if l < 64 {
            let carried = if below == 0 { 0 } else { self.high << (64 - below) };
            (self.low >> below | carried, self.high >> below)
        } else {
            (self.high >> below, 0)
        };
        (l, l + trailing_zeros(!low, !high))
    }
}

#[inline(always)]
fn trailing_zeros(low: u64, high: u64) -> u32 {
    if low != 0 { low.trailing_zeros() } else { 64 + high.trailing_zeros() }
}
