//! A warp that chases alone: implicit QL on a tridiagonal matrix in shared memory by trains of sweeps, whose rotations
//! other warps apply a round behind.

use crate::steqr_cta::Recurrence;
use crate::steqr_cta::decoupled::scalar::{negligible, rotation};
use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, lane_id, sync_warp};

/// Sweeps that a round logs: those of a train.
pub const SWEEPS: usize = 4;

/// Planes between the sweeps of a train: a row is stored and loaded again in so many steps.
const LAG: u32 = 3;

/// The matrix, of norm near [`Real::HIGH_NORM`].
#[derive(Clone, Copy, Debug)]
pub struct Band<R> {
    /// Diagonal.
    pub d: Shared<R>,
    /// Off-diagonals: element `i` couples rows `i` and `i + 1`.
    pub e: Shared<R>,
}

impl<R: Real> Band<R> {
    /// Whether coupling `i` is one of a matrix of order `n` and still counts; a negligible one is set to 0.
    #[inline(always)]
    pub fn couples(self, i: u32, n: u32) -> bool {
        let mut keeps = false;
        if i + 1 < n {
            let e = self.e.get(i);
            keeps = !negligible(e, self.d.get(i), self.d.get(i + 1));
            if !keeps {
                self.e.set(i, R::ZERO);
            }
        }
        keeps
    }

    /// `sweeps` sweeps over rows `l..=m`, a lane each, each three planes behind the one before it. `mu` is the shift of
    /// this lane's sweep, which may come from the rows; with `LOG` its rotation `(c, s)` of plane `i` becomes element `i`
    /// of `log`. By the whole warp.
    ///
    /// A step loads the next row's elements before it stores this row's: the chain of rotations need not wait for shared
    /// memory, and the lag is what that takes.
    #[inline(always)]
    pub fn chase<const LOG: bool>(
        self,
        (l, m): (u32, u32),
        sweeps: u32,
        mu: R,
        (log, base): (Shared<R::Pair>, u32),
    ) {
        let car = lane_id();
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
                    if LOG {
                        log.set(base + i, R::Pair::from([turn.c, turn.s]));
                    }
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

/// What the warps tell each other of the rounds: in two buffers the rows of each sweep, the last row `BITS` bits above the
/// first; then the couplings that did not converge.
#[derive(Clone, Copy, Debug)]
pub struct Spans<const BITS: u32> {
    /// [`WORDS`](Self::WORDS) words.
    pub words: Shared<u32>,
}

impl<const BITS: u32> Spans<BITS> {
    /// Words in all.
    pub const WORDS: usize = 2 * SWEEPS + 1;
    const UNCONVERGED: u32 = 2 * SWEEPS as u32;

    /// Couplings that did not converge.
    #[inline(always)]
    pub fn unconverged(self) -> u32 {
        self.words.get(Self::UNCONVERGED)
    }

    /// Rows `(l, m)` of sweep `sweep` of buffer `buffer`: planes `l..m` are rotated.
    #[inline(always)]
    pub fn span(self, buffer: u32, sweep: usize) -> (u32, u32) {
        let span = self.words.get(buffer * SWEEPS as u32 + sweep as u32);
        (span & ((1 << BITS) - 1), span >> BITS)
    }

    /// Notes which planes the sweeps of a round rotated. By the whole warp.
    #[inline(always)]
    fn note(self, buffer: u32, (l, m): (u32, u32), sweeps: u32) {
        let lane = lane_id();
        if lane < SWEEPS as u32 {
            self.words.set(buffer * SWEEPS as u32 + lane, if lane < sweeps { l | m << BITS } else { 0 });
        }
    }

    /// Notes the couplings that are left. By the whole warp.
    #[inline(always)]
    fn note_unconverged(self, couplings: u32) {
        if lane_id() == 0 {
            self.words.set(Self::UNCONVERGED, couplings);
        }
    }
}

/// Couplings of a matrix that still count.
pub trait Couplings: Copy {
    /// Whether there are any.
    fn any(self) -> bool;
    /// How many there are.
    fn count(self) -> u32;
    /// First and last row of the first block that they make; there is one.
    fn first_block(self) -> (u32, u32);
}

/// A warp with the matrix that it chases and the memory for its rounds.
pub trait Chaser<const BITS: u32>: Copy {
    /// Its couplings.
    type Couplings: Couplings;

    /// What the warps tell each other.
    fn spans(self) -> Spans<BITS>;

    /// The couplings that still count; the others are set to 0. By the whole warp.
    fn couplings(self) -> Self::Couplings;

    /// `sweeps` sweeps over the block, logged in buffer `buffer`. By the whole warp.
    fn train(self, block: (u32, u32), buffer: u32, sweeps: u32);

    /// The role of the chasing warp: logs round after round, one ahead of what the others apply. Ends behind the barrier
    /// after which the results are there.
    ///
    /// A round is a train of [`SWEEPS`] sweeps over the first block that is left; for two rows one sweep does.
    #[inline(always)]
    fn lead(self, max_sweeps: u32) {
        let (mut buffer, mut more, mut left) = (0, true, max_sweeps);
        while more {
            let coupled = self.couplings();
            let active = coupled.any() && left > 0;
            if active {
                let (l, m) = coupled.first_block();
                // Where trains do not get on, single sweeps with the shift of the moment do, as in dsteqr.
                let train = 2 * left > max_sweeps && m - l > 1;
                let sweeps = if train { SWEEPS as u32 } else { 1 };
                self.train((l, m), buffer, sweeps);
                left -= sweeps.min(left);
                self.spans().note(buffer, (l, m), sweeps);
            } else {
                self.spans().note(buffer, (0, 0), 0);
            }
            self.spans().note_unconverged(coupled.count());
            more = thread::sync_roles_or(active);
            buffer ^= 1;
        }
    }
}
