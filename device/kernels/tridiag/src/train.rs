//! The chase of `steqr_wg`: one warp on a tridiagonal matrix of any order in shared memory, trains of sweeps.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, lane_id, sync_warp, warp_vote_ballot};
use device_linalg::steqr_cta::Recurrence;
use device_linalg::steqr_cta::decoupled::scalar::{negligible, rotation, shift};

/// Sweeps that a round logs.
pub const SWEEPS: usize = 4;

/// Planes between the sweeps of a train: a row is stored and loaded again in so many steps.
const LAG: u32 = 3;

/// Words: spans of the log, couplings that did not converge.
const WORDS: usize = 2 * SWEEPS + 1;
const UNCONVERGED: u32 = 2 * SWEEPS as u32;

/// Shared memory of a block.
#[derive(Clone, Copy)]
pub struct Track<R> {
    /// Diagonal, of norm near [`Real::HIGH_NORM`].
    pub d: Shared<R>,
    /// Off-diagonals: element `i` couples rows `i` and `i + 1`.
    pub e: Shared<R>,
    /// Rotations `(c, s)`: two buffers of [`SWEEPS`] times the order.
    log: Shared<R>,
    words: Shared<u32>,
    /// Where the column of each place of the result stands.
    pub source: Shared<u32>,
    /// Whether a column is the first of its cycle.
    pub leads: Shared<u32>,
    n: u32,
}

/// Bytes of shared memory of a block.
pub const fn shared_bytes(n: usize, real_bytes: usize, vectors: bool) -> usize {
    let reals = if vectors { 2 * n + 4 * SWEEPS * n } else { 2 * n };
    reals * real_bytes + (WORDS + 2 * n) * 4
}

/// A round: rows `l..=m`, and how many sweeps go over them.
#[derive(Clone, Copy)]
struct Block {
    l: u32,
    m: u32,
    /// Couplings of the matrix that still count.
    couplings: u32,
}

impl<R: Real> Track<R> {
    /// The shared memory of a block for order `n`.
    #[inline(always)]
    pub fn new(n: u32, vectors: bool) -> Self {
        let order = n as usize;
        let log_len = if vectors { 4 * SWEEPS * order } else { 0 };
        let words = (2 * order + log_len) * size_of::<R>();
        // SAFETY: the launch gives shared_bytes; the parts are disjoint and aligned.
        unsafe {
            Track {
                d: dynamic_shared_mem::<R>(0, order),
                e: dynamic_shared_mem::<R>(order * size_of::<R>(), order),
                log: dynamic_shared_mem::<R>(2 * order * size_of::<R>(), log_len),
                words: dynamic_shared_mem::<u32>(words, WORDS),
                source: dynamic_shared_mem::<u32>(words + WORDS * 4, order),
                leads: dynamic_shared_mem::<u32>(words + (WORDS + order) * 4, order),
                n,
            }
        }
    }

    /// Couplings that did not converge.
    #[inline(always)]
    pub fn unconverged(self) -> u32 {
        self.words.get(UNCONVERGED)
    }

    /// Rotation of plane `i` of sweep `sweep` of buffer `buffer`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn turn(self, buffer: u32, sweep: usize, i: u32) -> [R; 2] {
        self.log.as_pairs().get((buffer * SWEEPS as u32 + sweep as u32) * self.n + i).into()
    }

    /// Rows `(l, m)` of sweep `sweep` of buffer `buffer`: planes `l..m` are rotated.
    #[inline(always)]
    pub fn span(self, buffer: u32, sweep: usize) -> (u32, u32) {
        let span = self.words.get(buffer * SWEEPS as u32 + sweep as u32);
        (span & 0xffff, span >> 16)
    }

    /// The role of the chasing warp: logs round after round, one ahead of what the others apply. Ends behind the barrier
    /// after which the results are there.
    #[inline(always)]
    pub fn lead<const VECTORS: bool>(self, max_sweeps: u32) {
        let (mut buffer, mut more, mut left) = (0, true, max_sweeps);
        while more {
            let block = self.first_block();
            let active = block.couplings > 0 && left > 0;
            if active {
                // Where trains do not get on, single sweeps with the shift of the moment do, as in dsteqr.
                let train = 2 * left > max_sweeps && block.m - block.l > 1;
                let sweeps = if train { SWEEPS as u32 } else { 1 };
                self.chase::<VECTORS>(block, buffer, sweeps);
                left -= sweeps.min(left);
                self.note(buffer, block, sweeps);
            } else {
                self.note(buffer, block, 0);
            }
            if lane_id() == 0 {
                self.words.set(UNCONVERGED, block.couplings);
            }
            more = thread::sync_roles_or(active);
            buffer ^= 1;
        }
    }

    /// Notes which planes the sweeps of a round rotated.
    #[inline(always)]
    fn note(self, buffer: u32, block: Block, sweeps: u32) {
        let lane = lane_id();
        if lane < SWEEPS as u32 {
            let span = if lane < sweeps { block.l | block.m << 16 } else { 0 };
            self.words.set(buffer * SWEEPS as u32 + lane, span);
        }
    }

    /// Drops negligible couplings; the first block that is left. By the whole warp.
    #[inline(always)]
    fn first_block(self) -> Block {
        let mut block = Block { l: u32::MAX, m: u32::MAX, couplings: 0 };
        let mut part = 0;
        while part < self.n {
            let i = part + lane_id();
            let mut keeps = false;
            if i + 1 < self.n {
                let e = self.e.get(i);
                keeps = !negligible(e, self.d.get(i), self.d.get(i + 1));
                if !keeps {
                    self.e.set(i, R::ZERO);
                }
            }
            let mask = warp_vote_ballot(FULL_MASK, keeps);
            block.couplings += mask.count_ones();
            let mut after = u32::MAX;
            if block.l == u32::MAX && mask != 0 {
                block.l = part + mask.trailing_zeros();
                after = u32::MAX << mask.trailing_zeros();
            }
            let ends = !mask & after;
            if block.l != u32::MAX && block.m == u32::MAX && ends != 0 {
                block.m = part + ends.trailing_zeros();
            }
            part += 32;
        }
        // The last coupling that there is may be the last of its part.
        block.m = block.m.min(self.n - 1);
        sync_warp(FULL_MASK);
        block
    }

    /// `sweeps` sweeps over the block, a lane each, each [`LAG`] planes behind the one before it.
    ///
    /// All have one shift, the eigenvalue of the leading 2x2 block nearest `d_l` before the train. Another one beside it saves
    /// trains, and costs graded matrices the digits of their small values.
    #[inline(always)]
    fn chase<const VECTORS: bool>(self, block: Block, buffer: u32, sweeps: u32) {
        let Block { l, m, .. } = block;
        let car = lane_id();
        let base = (buffer * SWEEPS as u32 + car) * self.n;
        let (d_l, d_next) = (self.d.get(l), self.d.get(l + 1));
        let mu = shift(d_l, self.e.get(l), d_next);
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
                    // Loads before stores: the chain of rotations need not wait for shared memory.
                    let next = if i > l { i - 1 } else { i };
                    let (e_next, d_next) = (self.e.get(next), self.d.get(next));
                    let (turn, d_new) = recurrence.advance((d_low, e, d_high), rotation);
                    self.d.set(i + 1, d_new);
                    if i + 1 < m {
                        self.e.set(i + 1, turn.r);
                    }
                    if VECTORS {
                        self.log.as_pairs().set(base + i, R::Pair::from([turn.c, turn.s]));
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
