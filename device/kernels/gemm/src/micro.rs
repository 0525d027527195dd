//! Micro-tiles: the rows and columns of C that a thread holds in registers.

use crate::operand::Target;
use crate::shape::{COLUMNS, ROWS};
use crate::stage::Lines;
use cuda_std::prelude::*;
use cuda_std::vector::Vectors;

/// A thread's sums: `sums[column][row]`.
pub type Sums<T> = [[T; ROWS]; COLUMNS];

/// Rows, or columns, of a thread: runs of 16 bytes, a run of each lane after that of the lane before it; single
/// elements where their number is no multiple of a run.
#[derive(Clone, Copy, Debug)]
struct Axis {
    count: usize,
    lanes: u32,
    first: u32,
}

impl Axis {
    #[inline(always)]
    fn run<T: Vectors>(self) -> usize {
        if self.count.is_multiple_of(T::LANES) { T::LANES } else { 1 }
    }

    /// Index of element `i` of the thread.
    #[inline(always)]
    fn at<T: Vectors>(self, i: usize) -> u32 {
        let run = self.run::<T>();
        self.first + (i / run) as u32 * self.lanes * run as u32 + (i % run) as u32
    }

    /// The elements at one depth.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn read<T: Scalar>(self, lines: Lines<T>, k: u32) -> [T; ROWS] {
        let mut values = [T::ZERO; ROWS];
        if self.run::<T>() == 1 && T::LANES > 1 {
            for i in 0..self.count {
                values[i] = lines.get(self.at::<T>(i), k);
            }
        } else {
            for run in 0..self.count / T::LANES {
                let vector = lines.get_vector(self.at::<T>(run * T::LANES), k);
                for lane in 0..T::LANES {
                    values[run * T::LANES + lane] = vector.as_ref()[lane];
                }
            }
        }
        values
    }
}

/// Where a thread's rows and columns lie in the tile.
#[derive(Clone, Copy, Debug)]
pub struct Micro {
    rows: Axis,
    columns: Axis,
}

impl Micro {
    /// `counts` rows and columns for each of `lanes` threads along the rows and along the columns, the thread at
    /// `lane` of these, in the part of the tile that begins at `first`.
    #[inline(always)]
    pub fn new<T: Vectors>(
        counts: (usize, usize),
        lanes: (u32, u32),
        lane: (u32, u32),
        first: (u32, u32),
    ) -> Self {
        let axis = |count: usize, lanes: u32, lane: u32, first: u32| {
            let axis = Axis { count, lanes, first: 0 };
            Axis { first: first + lane * axis.run::<T>() as u32, ..axis }
        };
        Micro {
            rows: axis(counts.0, lanes.0, lane.0, first.0),
            columns: axis(counts.1, lanes.1, lane.1, first.1),
        }
    }

    /// Adds the product of the lines of `depth` depths.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn accumulate<T: Scalar>(self, a: Lines<T>, b: Lines<T>, depth: u32, sums: &mut Sums<T>) {
        for k in 0..depth {
            let left = self.rows.read(a, k);
            let right = self.columns.read(b, k);
            for j in 0..self.columns.count {
                for i in 0..self.rows.count {
                    sums[j][i] = left[i].mul_add(right[j], sums[j][i]);
                }
            }
        }
    }

    /// Gives the sums to the target, one element at a time.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn put<T: Scalar>(self, target: Target<T>, sums: &Sums<T>) {
        if target.is_read() {
            self.put_as::<T, true>(target, sums)
        } else {
            self.put_as::<T, false>(target, sums)
        }
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn put_as<T: Scalar, const READ: bool>(self, target: Target<T>, sums: &Sums<T>) {
        for j in 0..self.columns.count {
            for i in 0..self.rows.count {
                target.put::<READ>(self.rows.at::<T>(i), self.columns.at::<T>(j), sums[j][i]);
            }
        }
    }

    /// The same, 16 bytes at a time: C's columns and items begin at multiples of 16 bytes, and its columns hold a
    /// multiple of that.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn put_wide<T: Scalar>(self, target: Target<T>, sums: &Sums<T>) {
        if target.is_read() {
            self.put_wide_as::<T, true>(target, sums);
        } else {
            self.put_wide_as::<T, false>(target, sums);
        }
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn put_wide_as<T: Scalar, const READ: bool>(self, target: Target<T>, sums: &Sums<T>) {
        for j in 0..self.columns.count {
            for run in 0..self.rows.count / T::LANES {
                let mut vector = T::ZERO.splat();
                for lane in 0..T::LANES {
                    vector.as_mut()[lane] = sums[j][run * T::LANES + lane];
                }
                let row = self.rows.at::<T>(run * T::LANES);
                target.put_vector::<READ>(row, self.columns.at::<T>(j), vector);
            }
        }
    }
}
