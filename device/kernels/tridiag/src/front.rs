//! The warps of `steqr_wg` that rotate the basis, which lies in global memory.

use crate::train::Track;
use cuda_std::prelude::*;
use device_linalg::train::SWEEPS;

/// A row of the basis: the element of column `j` of the chase.
#[derive(Clone, Copy)]
pub struct Row<T> {
    /// Element of column 0 of the item.
    pub first: GlobalMut<T>,
    pub ld: u32,
    pub n: u32,
    /// Whether column `j` of the chase is column `n - 1 - j` of the item.
    pub reversed: bool,
}

impl<T: Real> Row<T> {
    /// Column of the item.
    #[inline(always)]
    fn place(self, j: u32) -> usize {
        let column = if self.reversed { self.n - 1 - j } else { j };
        column as usize * self.ld as usize
    }

    /// Element of column `j`; 0 outside of the basis.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn get(self, j: i32) -> T {
        if (j as u32) < self.n { self.first.get(self.place(j as u32)) } else { T::ZERO }
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn set(self, j: i32, x: T) {
        if (j as u32) < self.n {
            self.first.set(self.place(j as u32), x);
        }
    }

    /// Applies the round that `buffer` holds.
    ///
    /// All sweeps of a round pass as one front: sweep `s` rotates plane `j + s` while sweep 0 rotates plane `j`. So an
    /// element is read and written once a round, a step ahead of where it is needed.
    #[inline(always)]
    pub fn apply_round(self, track: &Track<T>, buffer: u32) {
        let mut first = [0i32; SWEEPS];
        let mut planes = [0u32; SWEEPS];
        let (mut bottom, mut top) = (self.n as i32, -(SWEEPS as i32));
        for s in 0..SWEEPS {
            let (l, m) = track.spans.span(buffer, s);
            planes[s] = m - l;
            // Front position at which the sweep ends, and the one before which it starts.
            first[s] = l as i32 - s as i32;
            if m > l {
                bottom = bottom.min(first[s]);
                top = top.max(m as i32 - s as i32);
            }
        }
        if top <= bottom {
            return;
        }
        let mut window = [T::ZERO; SWEEPS + 1];
        for i in 1..SWEEPS + 1 {
            window[i] = self.get(top - 1 + i as i32);
        }
        let mut ahead = self.get(top - 1);
        let mut j = top - 1;
        while j >= bottom {
            window[0] = ahead;
            if j > bottom {
                ahead = self.get(j - 1);
            }
            for s in 0..SWEEPS {
                if ((j - first[s]) as u32) < planes[s] {
                    let [c, sine] = track.turn(buffer, s, (j + s as i32) as u32);
                    let (high, low) = (window[s + 1], window[s]);
                    window[s + 1] = high.mul_add(c, low * sine);
                    window[s] = low.mul_add(c, -(high * sine));
                }
            }
            self.set(j + SWEEPS as i32, window[SWEEPS]);
            for i in 0..SWEEPS {
                window[SWEEPS - i] = window[SWEEPS - 1 - i];
            }
            j -= 1;
        }
        for i in 1..SWEEPS + 1 {
            self.set(bottom - 1 + i as i32, window[i]);
        }
    }

    /// Moves column `source[k]` of the item to column `k`, cycle by cycle.
    #[inline(always)]
    pub fn permute(self, track: &Track<T>) {
        let at = |column: u32| column as usize * self.ld as usize;
        for k in 0..self.n {
            if track.leads.get(k) != 0 {
                let kept = self.first.get(at(k));
                let mut to = k;
                let mut from = track.source.get(to);
                while from != k {
                    self.first.set(at(to), self.first.get(at(from)));
                    to = from;
                    from = track.source.get(to);
                }
                self.first.set(at(to), kept);
            }
        }
    }
}
