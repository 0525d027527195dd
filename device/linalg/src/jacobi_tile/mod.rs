//! Cyclic two-sided Jacobi by the lanes of a tile, the matrix in registers and one triangle of it only.
//!
//! # The ring
//! The `P` positions of a ring form `P / 2` pairs of neighbours: those that begin at even positions in even rounds,
//! those that begin at odd ones in odd rounds. A pair is turned and then swapped. So after `m` rounds each of the
//! first `m` (an even number) columns has met each other one once and their order is reversed; the positions past
//! `m` stay, and the pairs across position `m` and across the end of the ring are left alone.
//!
//! Lane `(i, h)`, `i < P / 2`, `h < 2`, follows the pair of round `r` that begins at position `2 i + r`. It keeps the
//! first column of its pair; the second one comes from lane `i + 1`: data move by one lane a round, and all indices
//! into registers are static.
//!
//! # Symmetry
//! The 2x2 block of pairs `i` and `i + d` lies on lane `i`: offsets `d = 1, ..., P / 4` are one triangle, and the
//! last of them twice. The halves `h` share the offsets; both hold the diagonal block of their pair.

mod basis;
mod rotation;

pub use basis::Basis;
pub use rotation::{Pivot, Rotation, Rotations, Turn, couples, rotation_reals};

use crate::fold::choose;
use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// Blocks of a lane beside the diagonal one.
const fn slots(p: usize) -> usize {
    if p < 8 { 1 } else { p / 8 }
}

/// The most blocks of a lane.
const MAX_SLOTS: usize = slots(32);

/// The elements where rows `(p, q)` of one pair meet columns `(p, q)` of another.
#[derive(Clone, Copy, Debug)]
struct Block<T> {
    pp: T,
    pq: T,
    qp: T,
    qq: T,
}

impl<T: Scalar> Block<T> {
    #[inline(always)]
    fn turn(self, rows: Rotation<T>, columns: Rotation<T>) -> Self {
        let (pp, pq) = columns.columns(self.pp, self.pq);
        let (qp, qq) = columns.columns(self.qp, self.qq);
        let (pp, qp) = rows.rows(pp, qp);
        let (pq, qq) = rows.rows(pq, qq);
        Block { pp, pq, qp, qq }
    }
}

/// One item's matrix on its way to diagonal form: this lane's part.
#[derive(Clone, Copy)]
pub struct Ring<T: Scalar, const P: usize> {
    tile: Tile,
    /// Columns that take part, a whole number of pairs.
    players: u32,
    /// Rounds so far, modulo 2^32 for positions on the ring.
    round: u32,
    /// Rounds so far, modulo twice the players.
    laps: u32,
    pivot: Pivot<T>,
    blocks: [Block<T>; MAX_SLOTS],
}

impl<T: Scalar, const P: usize> Ring<T, P> {
    /// Takes the matrix from `element(row, column)`, both triangles. The first `n` columns take part.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn load(tile: Tile, n: u32, element: impl Fn(u32, u32) -> T) -> Self {
        let nothing = Block { pp: T::ZERO, pq: T::ZERO, qp: T::ZERO, qq: T::ZERO };
        let pivot = Pivot { d_p: <T::Real as Real>::ZERO, d_q: <T::Real as Real>::ZERO, a: T::ZERO };
        let blocks = [nothing; MAX_SLOTS];
        let mut ring = Ring { tile, players: (n + 1) & !1, round: 0, laps: 0, pivot, blocks };
        let row = ring.position();
        ring.pivot.d_p = element(row, row).re();
        ring.pivot.d_q = element(row + 1, row + 1).re();
        ring.pivot.a = element(row, row + 1);
        for slot in 0..const { slots(P) } {
            let column = ring.position_at(ring.offset(slot));
            ring.blocks[slot] = Block {
                pp: element(row, column),
                pq: element(row, column + 1),
                qp: element(row + 1, column),
                qq: element(row + 1, column + 1),
            };
        }
        ring
    }

    /// Where column `k` of the input stands after the rounds so far, an even number.
    #[inline(always)]
    pub fn position_of(&self, k: u32) -> u32 {
        self.circle(k, self.laps)
    }

    /// Which column of the input stands at position `k` now: the inverse of [`Ring::position_of`].
    #[inline(always)]
    pub fn column_at(&self, k: u32) -> u32 {
        self.circle(k, 2 * self.players - self.laps)
    }

    /// Where column `k` goes in `rounds` (even) rounds: up by one a round from an even position, a rest at the end,
    /// down and a rest again.
    #[inline(always)]
    fn circle(&self, k: u32, rounds: u32) -> u32 {
        let circle = 2 * self.players;
        let at = rounds + if k & 1 == 0 { k } else { circle - 1 - k };
        let at = if at >= circle { at - circle } else { at };
        let at = if at < self.players { at } else { circle - 1 - at };
        if k < self.players { at } else { k }
    }

    /// Index of this lane's pair.
    #[inline(always)]
    fn pair(&self) -> u32 {
        self.tile.rank() & const { P as u32 / 2 - 1 }
    }

    /// Whether this lane is of the second half, `h = 1`.
    #[inline(always)]
    fn second_half(&self) -> bool {
        self.tile.rank() >= const { P as u32 / 2 }
    }

    /// The lane of the pair `ahead` pairs on.
    #[inline(always)]
    fn lane(&self, ahead: u32, second_half: bool) -> u32 {
        let pair = (self.pair() + ahead) & const { P as u32 / 2 - 1 };
        if second_half { pair + const { P as u32 / 2 } } else { pair }
    }

    /// First position of this lane's pair.
    #[inline(always)]
    fn position(&self) -> u32 {
        self.position_at(0)
    }

    /// First position of the pair `ahead` pairs on.
    #[inline(always)]
    fn position_at(&self, ahead: u32) -> u32 {
        (2 * (self.pair() + ahead) + self.round) & (P as u32 - 1)
    }

    /// Pairs between this lane's and that of the columns of block `slot`.
    #[inline(always)]
    fn offset(&self, slot: usize) -> u32 {
        let base = if P >= 8 && self.second_half() { const { slots(P) as u32 } } else { 0 };
        base + slot as u32 + 1
    }

    /// How many elements of one triangle couple, as far as this lane holds them.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn coupled(&self) -> u32 {
        let Pivot { d_p, d_q, a } = self.pivot;
        let mut count = (!self.second_half() && couples(d_p, d_q, a)) as u32;
        for slot in 0..const { slots(P) } {
            let ahead = self.offset(slot);
            let lane = self.lane(ahead, self.second_half());
            let (e_p, e_q) = (self.tile.shuffle_idx(d_p, lane), self.tile.shuffle_idx(d_q, lane));
            let Block { pp, pq, qp, qq } = self.blocks[slot];
            let here = couples(d_p, e_p, pp) as u32
                + couples(d_p, e_q, pq) as u32
                + couples(d_q, e_p, qp) as u32
                + couples(d_q, e_q, qq) as u32;
            // What lies on two lanes counts on one.
            let first = P < 8 && self.second_half();
            let twice = ahead == const { P as u32 / 4 } && self.pair() >= const { P as u32 / 4 };
            count += if first || twice { 0 } else { here };
        }
        count
    }

    /// Turns pairs until no lane of the warp turned one in two rounds on end, or `left` pairs of rounds are spent;
    /// `basis` (if `VECTORS`) follows. Where `converged`, which is uniform in the tile, nothing is turned.
    ///
    /// Every lane of the warp calls it, with the same `n`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn turn_pairs<const VECTORS: bool>(
        &mut self,
        rotations: Rotations<T, P>,
        basis: &mut Basis<T, P>,
        converged: bool,
        left: &mut u32,
    ) {
        loop {
            let even = self.turn::<VECTORS, false>(rotations, basis, converged);
            let odd = self.turn::<VECTORS, true>(rotations, basis, converged);
            self.laps = if self.laps + 2 == 2 * self.players { 0 } else { self.laps + 2 };
            *left -= 1;
            if !warp::warp_vote_any(warp::FULL_MASK, even || odd) || *left == 0 {
                return;
            }
        }
    }

    /// One round; returns whether this lane's pair was turned.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn turn<const VECTORS: bool, const ODD: bool>(
        &mut self,
        rotations: Rotations<T, P>,
        basis: &mut Basis<T, P>,
        converged: bool,
    ) -> bool {
        let rotations = rotations.of_round(ODD as u32);
        let position = self.position();
        let turn = if position + 1 >= self.players {
            Turn::Apart
        } else if converged {
            Turn::Converged
        } else {
            Turn::Due
        };
        let (own, active) = self.pivot.turn(turn);
        if !self.second_half() {
            rotations.set(position / 2, own);
        }
        self.tile.sync();
        for slot in 0..const { slots(P) } {
            let other = rotations.get(self.position_at(self.offset(slot)) / 2);
            self.blocks[slot] = self.blocks[slot].turn(own, other);
        }
        self.pass_on();
        self.round += 1;
        if VECTORS {
            basis.turn::<ODD>(rotations, self.players);
        }
        active
    }

    /// Swaps each pair and forms the next ones: `p` stays, `q` comes from the next lane.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn pass_on(&mut self) {
        let tile = self.tile;
        let last = const { slots(P) - 1 };
        let second = self.second_half();
        let next = self.lane(1, second);
        let old = self.blocks;
        let met = self.pivot.a;

        // Offset 0 of the next lane for the first half, the first half's last offset for the second.
        let offered = if P >= 8 { choose(second, met.conj(), old[last].qp) } else { met.conj() };
        let before = tile.shuffle_idx(offered, self.lane(1, !second));
        let (behind, meets) = self.ends(met);
        for slot in 0..const { slots(P) } {
            self.blocks[slot] = Block {
                pp: old[slot].pp,
                pq: if slot < last { old[slot + 1].pq } else { behind },
                qp: if slot > 0 { tile.shuffle_idx(old[slot - 1].qp, next) } else { before },
                qq: tile.shuffle_idx(old[slot].qq, next),
            };
        }
        self.pivot.d_q = tile.shuffle_idx(self.pivot.d_q, next);
        self.pivot.a = meets;
    }

    /// Elements `(p, q)` of the offset past this lane's last one, and of offset 1.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn ends(&self, met: T) -> (T, T) {
        let tile = self.tile;
        let last = const { slots(P) - 1 };
        if P < 8 {
            // The offset past the last one is the pair itself.
            return (met, self.blocks[0].pq);
        }
        let second = self.second_half();
        let first = self.blocks[0].pq;
        let exchanged = tile.shuffle_xor(first, const { P as u32 / 2 });
        let meets = choose(second, exchanged, first);
        // The offset past P / 4 is one before it, seen from the other side.
        let far = self.lane(const { P as u32 / 4 + 1 }, last > 0);
        let mirrored = if last > 0 { self.blocks[last - 1].qp } else { self.blocks[0].qp };
        let mirrored = tile.shuffle_idx(mirrored, far).conj();
        (choose(second, mirrored, exchanged), meets)
    }

    /// Leaves the diagonal in shared memory, position by position.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn store_diagonal(&self, values: Shared<T::Real>) {
        if !self.second_half() {
            let position = self.position();
            values.set(position, self.pivot.d_p);
            values.set((position + 1) & (P as u32 - 1), self.pivot.d_q);
        }
    }
}
