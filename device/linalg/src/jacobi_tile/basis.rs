//! The vectors of a tile's Jacobi iteration, one row a lane.

use super::rotation::{Rotation, Rotations};
use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// Columns of the basis that stay in registers: not all where they would take nearly all of a thread's.
const fn resident(p: usize, bytes: usize) -> usize {
    if p * bytes > 256 { p / 2 } else { p }
}

/// This lane's row of the vectors: element `k` belongs to position `k` of the ring.
#[derive(Clone, Copy, Debug)]
pub struct Basis<T, const P: usize> {
    row: [T; P],
    /// Where columns that are not in registers lie, each lane's row at its rank.
    columns: Shared<T>,
    ld: u32,
}

/// Pairs that are turned or left out together.
const fn group(p: usize) -> usize {
    if p < 8 { p / 2 } else { 4 }
}

impl<T: Scalar, const P: usize> Basis<T, P> {
    /// The identity. `columns` has room for `P` columns, `ld` apart, which only the basis touches.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn identity(tile: Tile, columns: Shared<T>, ld: u32) -> Self {
        let mut basis = Basis { row: [T::ZERO; P], columns: columns.at(tile.rank()), ld };
        for k in 0..P {
            basis.set(k, if tile.rank() == k as u32 { T::ONE } else { T::ZERO });
        }
        basis
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn get(&self, k: usize) -> T {
        if k < const { resident(P, size_of::<T>()) } {
            self.row[k]
        } else {
            self.columns.get(k as u32 * self.ld)
        }
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn set(&mut self, k: usize, x: T) {
        if k < const { resident(P, size_of::<T>()) } {
            self.row[k] = x;
        } else {
            self.columns.set(k as u32 * self.ld, x);
        }
    }

    /// Moves the row to shared memory: element `k` to column `place(k)`, one to one.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn store(&self, place: impl Fn(u32) -> u32) {
        let mut row = [T::ZERO; P];
        for k in 0..P {
            row[k] = self.get(k);
        }
        for k in 0..P {
            self.columns.set(place(k as u32) * self.ld, row[k]);
        }
    }

    /// Turns and swaps the pairs of a round: those that begin at even positions, or at odd ones. `players` positions
    /// are in use.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn turn<const ODD: bool>(&mut self, rotations: Rotations<T, P>, players: u32) {
        let size = const { group(P) };
        for part in 0..P / 2 / size {
            if ((2 * part * size) as u32) < players {
                for step in 0..size / 2 {
                    let k = part * size + 2 * step;
                    let [first, second] = rotations.get_two(k as u32);
                    self.turn_pair(pair::<P, ODD>(k), first);
                    self.turn_pair(pair::<P, ODD>(k + 1), second);
                }
            }
        }
        self.close_ring::<ODD>();
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn turn_pair(&mut self, (p, q): (usize, usize), rotation: Rotation<T>) {
        if p < q {
            let (x, y) = rotation.columns(self.get(p), self.get(q));
            self.set(p, y);
            self.set(q, x);
        }
    }

    /// The quarter turn and swap of the last position with the first one leaves a change of sign.
    #[inline(always)]
    fn close_ring<const ODD: bool>(&mut self) {
        if ODD {
            self.row[0] = -self.row[0];
        }
    }
}

/// Positions of pair `k` of a round.
const fn pair<const P: usize, const ODD: bool>(k: usize) -> (usize, usize) {
    let p = 2 * k + ODD as usize;
    (p, (p + 1) % P)
}
