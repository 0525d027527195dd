//! The scalar QL iteration of one lane.

use super::Track;
use super::scalar::{negligible, rotation, shift};
use crate::steqr_cta::Recurrence;
use cuda_std::math::Real;

/// One lane's iteration on one problem.
#[derive(Clone, Copy, Debug)]
pub struct Chaser {
    /// Problem, and lane of the chasing warp.
    matrix: u32,
    /// Bit `i` is set where the coupling of rows `i` and `i + 1` still counts.
    coupled: u32,
    sweeps_left: u32,
}

impl Chaser {
    /// Nothing to do.
    #[inline(always)]
    pub fn idle(matrix: u32) -> Self {
        Chaser { matrix, coupled: 0, sweeps_left: 0 }
    }

    /// The iteration on rows `first..first + n` of problem `matrix`; tests every coupling once.
    ///
    /// The problem is scaled to a norm whose square is safe, so squares underflow only where nothing is lost.
    #[inline(always)]
    pub fn start<R: Real>(track: &Track<R>, matrix: u32, first: u32, n: u32, max_sweeps: u32) -> Self {
        let mut chaser = Chaser { matrix, coupled: 0, sweeps_left: max_sweeps };
        let mut i = first;
        while i + 1 < first + n {
            let (d0, d1) = (chaser.get(track, track.d, i), chaser.get(track, track.d, i + 1));
            let e = chaser.get(track, track.e, i);
            chaser.coupled |= (!negligible(e, d0, d1) as u32) << i;
            i += 1;
        }
        chaser
    }

    /// Couplings that still count: 0 when converged.
    #[inline(always)]
    pub fn unconverged(&self) -> u32 {
        self.coupled.count_ones()
    }

    /// Tells the other lanes what is [`unconverged`](Self::unconverged).
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn report<R: Real>(&self, track: &Track<R>) {
        track.words.set(self.matrix, self.unconverged());
    }

    /// Whether another sweep is due.
    #[inline(always)]
    pub fn is_active(&self) -> bool {
        self.coupled != 0 && self.sweeps_left != 0
    }

    /// Logs a round of sweeps in `buffer`.
    #[inline(always)]
    pub fn log_round<R: Real>(&mut self, track: &Track<R>, buffer: u32) {
        let mut sweep = 0;
        while sweep < track.sweeps {
            self.sweep::<R, true>(track, buffer, sweep);
            sweep += 1;
        }
    }

    /// Runs one sweep on the first open block and logs it in `buffer` at `sweep`; an empty span when done.
    #[inline(always)]
    pub fn sweep<R: Real, const LOG: bool>(&mut self, track: &Track<R>, buffer: u32, sweep: u32) {
        let mut span = 0;
        if self.is_active() {
            self.sweeps_left -= 1;
            let l = self.coupled.trailing_zeros();
            let m = l + (!(self.coupled >> l)).trailing_zeros();
            self.chase::<R, LOG>(track, l, m, buffer, sweep);
            span = l | m << 8;
        }
        if LOG {
            track.spans.set(track.span_index(buffer, sweep, self.matrix), span);
        }
    }

    /// The sweep, by the recurrence.
    ///
    /// The next row's elements are loaded before this row's are stored: the chain of rotations need not wait for
    /// shared memory.
    #[inline(always)]
    fn chase<R: Real, const LOG: bool>(&mut self, track: &Track<R>, l: u32, m: u32, buffer: u32, sweep: u32) {
        let d_l = self.get(track, track.d, l);
        let mu = shift(d_l, self.get(track, track.e, l), self.get(track, track.d, l + 1));
        let mut d_high = self.get(track, track.d, m);
        let mut e = self.get(track, track.e, m - 1);
        let mut d_low = self.get(track, track.d, m - 1);
        let mut recurrence = Recurrence::start(d_high - mu);
        // Diagonal of the row above the one in work, for the deflation test.
        let mut d_done = R::ZERO;
        let mut i = m;
        while i > l {
            i -= 1;
            let next = if i > 0 { i - 1 } else { 0 };
            let (e_next, d_next) = (self.get(track, track.e, next), self.get(track, track.d, next));
            let (turn, d_new) = recurrence.advance((d_low, e, d_high), rotation);
            self.set(track, track.d, i + 1, d_new);
            // Row m's coupling is closed: what the first plane writes there nothing reads, and no branch is needed.
            self.set(track, track.e, i + 1, turn.r);
            self.test(i + 1, turn.r, d_new, d_done);
            if LOG {
                let pairs = track.log.as_pairs();
                pairs.set(track.log_index(buffer, sweep, i, self.matrix), R::Pair::from([turn.c, turn.s]));
            }
            d_done = d_new;
            d_high = d_low;
            e = e_next;
            d_low = d_next;
        }
        let (d_new, e_new) = recurrence.finish(d_high);
        self.set(track, track.d, l, d_new);
        self.set(track, track.e, l, e_new);
        self.test(l, e_new, d_new, d_done);
    }

    /// Clears the bit of coupling `i` where it has become negligible.
    #[inline(always)]
    fn test<R: Real>(&mut self, i: u32, e: R, d0: R, d1: R) {
        let keep = if negligible(e, d0, d1) { !(1u32 << i) } else { u32::MAX };
        self.coupled &= keep;
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn get<R: Real>(&self, track: &Track<R>, part: cuda_std::Shared<R>, i: u32) -> R {
        part.get(i * track.matrices + self.matrix)
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn set<R: Real>(&self, track: &Track<R>, part: cuda_std::Shared<R>, i: u32, x: R) {
        part.set(i * track.matrices + self.matrix, x)
    }
}
