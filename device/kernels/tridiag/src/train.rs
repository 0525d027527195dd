//! The chase of `steqr_wg`: one warp on a tridiagonal matrix of any order in shared memory, trains of sweeps.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, lane_id, sync_warp, warp_vote_ballot};
use device_linalg::steqr_cta::decoupled::scalar::shift;
use device_linalg::train::{self, Band, SWEEPS, Spans};

/// Bits of a row in the spans of the log.
pub const SPAN_BITS: u32 = 16;
const WORDS: usize = Spans::<SPAN_BITS>::WORDS;

/// Shared memory of a block.
#[derive(Clone, Copy)]
pub struct Track<R> {
    /// The matrix.
    pub band: Band<R>,
    /// Rotations `(c, s)`: two buffers of [`SWEEPS`] times the order.
    log: Shared<R>,
    /// What the warps tell each other.
    pub spans: Spans<SPAN_BITS>,
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

/// The first block, rows `l..=m`, and how many couplings there are in all.
#[derive(Clone, Copy)]
pub struct Couplings {
    l: u32,
    m: u32,
    count: u32,
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
                band: Band {
                    d: dynamic_shared_mem::<R>(0, order),
                    e: dynamic_shared_mem::<R>(order * size_of::<R>(), order),
                },
                log: dynamic_shared_mem::<R>(2 * order * size_of::<R>(), log_len),
                spans: Spans { words: dynamic_shared_mem::<u32>(words, WORDS) },
                source: dynamic_shared_mem::<u32>(words + WORDS * 4, order),
                leads: dynamic_shared_mem::<u32>(words + (WORDS + order) * 4, order),
                n,
            }
        }
    }

    /// Rotation of plane `i` of sweep `sweep` of buffer `buffer`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn turn(self, buffer: u32, sweep: usize, i: u32) -> [R; 2] {
        self.log.as_pairs().get((buffer * SWEEPS as u32 + sweep as u32) * self.n + i).into()
    }
}

/// The track as the chasing warp sees it, which logs rotations where there are `VECTORS`.
#[derive(Clone, Copy)]
pub struct Chasing<R, const VECTORS: bool>(pub Track<R>);

impl<R: Real, const VECTORS: bool> train::Chaser<SPAN_BITS> for Chasing<R, VECTORS> {
    type Couplings = Couplings;

    #[inline(always)]
    fn spans(self) -> Spans<SPAN_BITS> {
        self.0.spans
    }

    #[inline(always)]
    fn couplings(self) -> Couplings {
        let Track { band, n, .. } = self.0;
        let mut block = Couplings { l: u32::MAX, m: u32::MAX, count: 0 };
        let mut part = 0;
        while part < n {
            let mask = warp_vote_ballot(FULL_MASK, band.couples(part + lane_id(), n));
            block.count += mask.count_ones();
            let mut after = u32::MAX;
            if mask != 0 && block.l == u32::MAX {
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
        block.m = block.m.min(n - 1);
        sync_warp(FULL_MASK);
        block
    }

    /// All sweeps have one shift, the eigenvalue of the leading 2x2 block nearest `d_l` before the train. Another one beside
    /// it saves trains, and costs graded matrices the digits of their small values.
    #[inline(always)]
    fn train(self, (l, m): (u32, u32), buffer: u32, sweeps: u32) {
        let Track { band, log, n, .. } = self.0;
        let log = (log.as_pairs(), (buffer * SWEEPS as u32 + lane_id()) * n);
        let (d_l, d_next) = (band.d.get(l), band.d.get(l + 1));
        let mu = shift(d_l, band.e.get(l), d_next);
        band.chase::<VECTORS>((l, m), sweeps, mu, log);
    }
}

impl train::Couplings for Couplings {
    #[inline(always)]
    fn any(self) -> bool {
        self.count > 0
    }

    #[inline(always)]
    fn count(self) -> u32 {
        self.count
    }

    #[inline(always)]
    fn first_block(self) -> (u32, u32) {
        (self.l, self.m)
    }
}
