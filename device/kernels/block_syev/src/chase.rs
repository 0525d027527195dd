//! The warp that chases: implicit QL on the tridiagonal matrix in shared memory.

use crate::shape::{Offsets, REVERSED, SPAN_BITS, WORDS, padded};
use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, lane_id, sync_warp, warp_vote_ballot};
use device_linalg::steqr_cta::decoupled::scalar::shift;
use device_linalg::train::{self, Band, SWEEPS, Spans};

/// Shared memory of a chase.
#[derive(Clone, Copy, Debug)]
pub struct Track<R> {
    /// The matrix.
    pub band: Band<R>,
    /// Rotations `(c, s)`: [`SWEEPS`] times the padded order, twice.
    pub log: Shared<R>,
    /// [`Spans`]; behind them whether the matrix stands reversed.
    words: Shared<u32>,
    n: u32,
    padded: u32,
}

impl<R: Real> Track<R> {
    /// The track of a block with `rows` rows a lane, for order `n`.
    #[inline(always)]
    pub fn new(n: u32, rows: usize, offsets: &Offsets) -> Self {
        let p = padded(rows);
        // SAFETY: the launch gives Offsets::end bytes; the parts are disjoint and aligned.
        let (tridiagonal, words, log) = unsafe {
            (
                dynamic_shared_mem::<R>(offsets.tridiagonal, 2 * p),
                dynamic_shared_mem::<u32>(offsets.words, WORDS),
                dynamic_shared_mem::<R>(offsets.log, 4 * SWEEPS * p),
            )
        };
        let band = Band { d: tridiagonal, e: tridiagonal.at(p as u32) };
        Track { band, log, words, n, padded: p as u32 }
    }

    /// Whether row `i` stands for row `n - 1 - i` of the reduction.
    #[inline(always)]
    pub fn is_reversed(&self) -> bool {
        self.words.get(REVERSED) != 0
    }

    /// Scales the matrix to [`Real::HIGH_NORM`] and turns it so that its end of smaller magnitude comes first. By
    /// all threads; no barrier follows.
    #[inline(always)]
    pub fn prepare(&self) {
        let (n, Band { d: diagonal, e: couplings }) = (self.n, self.band);
        let i = thread::thread_idx_x();
        let reversed = diagonal.get(n - 1).abs() < diagonal.get(0).abs();
        let (mut d, mut e) = (R::ZERO, R::ZERO);
        if i < n {
            d = diagonal.get(if reversed { n - 1 - i } else { i }) * R::HIGH_NORM;
        }
        if i + 1 < n {
            e = couplings.get(if reversed { n - 2 - i } else { i }) * R::HIGH_NORM;
        }
        thread::sync_threads();
        if i < n {
            diagonal.set(i, d);
        }
        if i + 1 < n {
            couplings.set(i, e);
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
}

impl<R: Real> train::Chaser<SPAN_BITS> for Track<R> {
    type Couplings = Couplings;

    #[inline(always)]
    fn spans(self) -> Spans<SPAN_BITS> {
        Spans { words: self.words }
    }

    #[inline(always)]
    fn couplings(self) -> Couplings {
        let mut words = [0u32; 4];
        for part in 0..4 {
            // Uniform: the mask of the vote is the warp's.
            if 32 * part < self.n {
                let keeps = self.band.couples(32 * part + lane_id(), self.n);
                words[part as usize] = warp_vote_ballot(FULL_MASK, keeps);
            }
        }
        sync_warp(FULL_MASK);
        Couplings {
            low: words[0] as u64 | (words[1] as u64) << 32,
            high: words[2] as u64 | (words[3] as u64) << 32,
        }
    }

    /// The shifts are eigenvalues of the leading 2x2 block before the train: the one nearest `d_l`, the other one, and
    /// twice the first again, which ran through fewest trains on random matrices.
    #[inline(always)]
    fn train(self, (l, m): (u32, u32), buffer: u32, sweeps: u32) {
        let car = lane_id();
        let log = (self.log.as_pairs(), self.log_index(buffer, 0) + car * self.padded);
        let (d_l, d_next) = (self.band.d.get(l), self.band.d.get(l + 1));
        let near = shift(d_l, self.band.e.get(l), d_next);
        let far = d_l + (d_next - near);
        self.band.chase::<true>((l, m), sweeps, if car == 1 { far } else { near }, log);
    }
}

/// One bit a coupling.
#[derive(Clone, Copy, Debug)]
pub struct Couplings {
    low: u64,
    high: u64,
}

impl train::Couplings for Couplings {
    #[inline(always)]
    fn any(self) -> bool {
        (self.low | self.high) != 0
    }

    #[inline(always)]
    fn count(self) -> u32 {
        self.low.count_ones() + self.high.count_ones()
    }

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
