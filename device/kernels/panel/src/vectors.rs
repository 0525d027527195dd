//! The vectors of a panel of reflectors, and how they come to shared memory.

use crate::shape::TILE_THREADS;
use cuda_std::prelude::*;

/// The vectors of some reflectors of an item, from `first` on.
#[derive(Clone, Copy)]
pub(crate) struct Vectors<T> {
    pub v: Global<T>,
    pub n: u32,
    pub ld: u32,
    /// The first reflector.
    pub first: u32,
    /// Reflectors of the item.
    pub count: u32,
    /// How many rows below the diagonal a vector begins.
    pub shift: u32,
}

impl<T: Scalar> Vectors<T> {
    /// Reflectors from the first on, at most `most`.
    #[inline(always)]
    pub fn used(&self, most: u32) -> u32 {
        let left = self.count - self.first;
        if left < most { left } else { most }
    }

    /// Begins to stage rows `from..from + rows` of `columns` vectors in `to`, `to_ld` apart; zero past the last row and the last
    /// reflector, 1 at a vector's first row, zero above. `rows` is a power of two.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn stage(&self, to: Shared<T>, to_ld: u32, from: u32, (rows, columns): (u32, u32)) {
        let (row, mut column) = (thread::thread_idx_x() % rows, thread::thread_idx_x() / rows);
        let (mut to, at) = (to.at(column * to_ld + row), from + row);
        let source = self.v.at(self.first as usize * self.ld as usize);
        let mut source = source.at((column * self.ld + at) as usize);
        let step = TILE_THREADS / rows;
        let is_whole = from >= self.first + columns + self.shift
            && from + rows <= self.n
            && self.first + columns <= self.count;
        // A bound that is not known keeps the loop rolled, or the multiples of ld take all registers.
        let end = if self.n == 0 { 0 } else { columns };
        while column < end {
            let k = self.first + column;
            let pivot = k + self.shift;
            let is_there = k < self.count && at < self.n;
            if !is_whole && is_there && at == pivot {
                to.set(0, T::ONE);
            } else {
                to.copy_async(0, source, 0, is_whole || is_there && at > pivot);
            }
            to = to.at(step * to_ld);
            source = source.at((step * self.ld) as usize);
            column += step;
        }
    }
}
