//! The warps that rotate the basis.

use crate::chase::Track;
use cuda_std::prelude::*;
use device_linalg::train::{Chaser as _, SWEEPS};

/// This lane's rows of the basis in shared memory: element of column `j` at `j * ld`, rows `distance` apart.
#[derive(Clone, Copy, Debug)]
pub struct Rows<R, const COUNT: usize> {
    /// Element of column 0 in the first row.
    pub first: Shared<R>,
    /// Distance between columns: the order.
    pub ld: u32,
    /// Index of the first row.
    pub row: u32,
    /// Distance between rows.
    pub distance: u32,
}

impl<R: Real, const COUNT: usize> Rows<R, COUNT> {
    /// Applies the round that `buffer` holds.
    ///
    /// All sweeps of a round pass as one front: sweep `s` rotates plane `j + s` while sweep 0 rotates plane `j`. So a
    /// column is read and written once a round, and stays in a register in between.
    #[inline(always)]
    pub fn apply_round(self, track: &Track<R>, buffer: u32) {
        let log = track.log.as_pairs();
        let mut first = [0i32; SWEEPS];
        let mut planes = [0u32; SWEEPS];
        let (mut bottom, mut top) = (self.ld as i32, -(SWEEPS as i32));
        for s in 0..SWEEPS {
            let (l, m) = track.spans().span(buffer, s);
            planes[s] = m - l;
            // Front position at which the sweep ends, and the one before which it starts.
            first[s] = l as i32 - s as i32;
            if m > l {
                bottom = if first[s] < bottom { first[s] } else { bottom };
                let start = m as i32 - s as i32;
                top = if start > top { start } else { top };
            }
        }
        let mut window = [[R::ZERO; SWEEPS + 1]; COUNT];
        for i in 1..SWEEPS + 1 {
            for r in 0..COUNT {
                window[r][i] = self.get(r, top - 1 + i as i32);
            }
        }
        let mut j = top - 1;
        while j >= bottom {
            for r in 0..COUNT {
                window[r][0] = self.get(r, j);
            }
            for s in 0..SWEEPS {
                if ((j - first[s]) as u32) < planes[s] {
                    let plane = track.log_index(buffer, s) + (j + s as i32) as u32;
                    let [cos, sin] = log.get(plane).into();
                    for r in 0..COUNT {
                        let (high, low) = (window[r][s + 1], window[r][s]);
                        window[r][s + 1] = high.mul_add(cos, low * sin);
                        window[r][s] = low.mul_add(cos, -(high * sin));
                    }
                }
            }
            for r in 0..COUNT {
                self.set(r, j + SWEEPS as i32, window[r][SWEEPS]);
                for i in 0..SWEEPS {
                    window[r][SWEEPS - i] = window[r][SWEEPS - 1 - i];
                }
            }
            j -= 1;
        }
        for i in 1..SWEEPS + 1 {
            for r in 0..COUNT {
                if top > bottom {
                    self.set(r, bottom - 1 + i as i32, window[r][i]);
                }
            }
        }
    }

    /// Element of column `j` in row `r` of this lane; 0 outside of the basis.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn get(self, r: usize, j: i32) -> R {
        if self.holds(r, j) { self.first.get(j as u32 * self.ld + r as u32 * self.distance) } else { R::ZERO }
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn set(self, r: usize, j: i32, x: R) {
        if self.holds(r, j) {
            self.first.set(j as u32 * self.ld + r as u32 * self.distance, x);
        }
    }

    #[inline(always)]
    fn holds(self, r: usize, j: i32) -> bool {
        (j as u32) < self.ld && (r == 0 || self.row + r as u32 * self.distance < self.ld)
    }
}
