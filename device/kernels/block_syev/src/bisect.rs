//! Eigenvalues of a tridiagonal matrix in shared memory by bisection, a lane a value.

use cuda_std::prelude::*;
use device_linalg::intervals::{Intervals, most_passes};
use device_linalg::sturm::{Band, disc, widened};

/// Points that a lane tries at a time: independent chains of divisions.
const POINTS: usize = 3;

/// The matrix of order `n` in shared memory.
#[derive(Clone, Copy)]
struct Tridiagonal<R> {
    d: Shared<R>,
    e: Shared<R>,
    n: u32,
}

impl<R: Real> Tridiagonal<R> {
    /// The coupling of rows `i` and `i + 1`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn coupling(self, i: u32) -> R {
        if i + 1 < self.n { self.e.get(i) } else { R::ZERO }
    }

    /// Gershgorin's interval.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn bounds(self) -> (R, R) {
        let (mut low, mut high) = (self.d.get(0), self.d.get(0));
        let mut left = R::ZERO;
        for i in 0..self.n {
            let right = self.coupling(i);
            let (least, most) = disc(self.d.get(i), left, right);
            low = low.min(least);
            high = high.max(most);
            left = right;
        }
        widened((low, high))
    }
}

impl<R: Real> Band<R> for Tridiagonal<R> {
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn row(self, i: u32) -> (R, R) {
        let coupling = self.coupling(i);
        (self.d.get(i), coupling * coupling)
    }
}

/// Eigenvalue `index` (from 0, ascending) of the matrix of order `n`, whose norm is near 1.
#[inline(always)]
pub fn eigenvalue<R: Real>(d: Shared<R>, e: Shared<R>, n: u32, index: u32) -> R {
    let matrix = Tridiagonal { d, e, n };
    let (low, high) = matrix.bounds();
    let mut interval = Intervals::new([index], n, low, high);
    interval.narrow::<POINTS>(matrix, n, most_passes(size_of::<R>(), POINTS as u32));
    interval.middle(0)
}
