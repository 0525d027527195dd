//! One warp deflates a node whose poles lie sorted in shared memory.

use crate::fields::{Counts, Fields, NONE, ROTATED, RealField, WordField, deflated_column, log_column};
use crate::tree::Node;
use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, lane_id, sync_warp, warp_vote_ballot};

/// States of a pole in [`Sorted::state`].
const SMALL: u32 = 0;
const ALIVE: u32 = 1;
const CHAINED: u32 = 2;

/// Words that a pole takes in shared memory, beside three reals.
const WORDS: usize = 5;

/// Bytes of shared memory of a block for nodes of at most `rows` rows.
pub const fn shared_bytes(rows: usize, real_bytes: usize) -> usize {
    rows * (3 * real_bytes + WORDS * 4) + rows.div_ceil(32) * 4
}

/// The node's poles in ascending order, in shared memory.
#[derive(Clone, Copy)]
pub struct Sorted<T> {
    /// Poles as they came: those of the first child, then those of the second.
    pub raw: Shared<T>,
    /// Poles.
    pub pole: Shared<T>,
    /// Components of the rank-one vector.
    pub weight: Shared<T>,
    /// Column of the top half, or [`NONE`].
    pub top: Shared<u32>,
    /// Column of the bottom half, or [`NONE`].
    pub bottom: Shared<u32>,
    /// What became of it.
    state: Shared<u32>,
    /// Those whose weight is not negligible.
    alive: Shared<u32>,
    /// Index of a deflated one among those.
    place: Shared<u32>,
    /// Bit `m`: poles `m` and `m + 1` of `alive` are close.
    close: Shared<u32>,
    rows: u32,
}

/// The rotation that takes the weight of a pole to its neighbour.
struct Rotation<T> {
    c: T,
    s: T,
    weight: T,
}

impl<T: Real> Sorted<T> {
    /// The block's shared memory, for a node of `rows` rows and a launch for nodes of at most `largest`.
    #[inline(always)]
    pub fn new(rows: u32, largest: u32) -> Self {
        let n = largest as usize;
        let words = 3 * n * size_of::<T>();
        let real = |k: usize| {
            // SAFETY: the launch gives shared_bytes(largest); the parts are disjoint and aligned.
            unsafe { dynamic_shared_mem::<T>(k * n * size_of::<T>(), n) }
        };
        let word = |k: usize, len: usize| {
            // SAFETY: as above.
            unsafe { dynamic_shared_mem::<u32>(words + k * n * 4, len) }
        };
        Sorted {
            raw: real(0),
            pole: real(1),
            weight: real(2),
            top: word(0, n),
            bottom: word(1, n),
            state: word(2, n),
            alive: word(3, n),
            place: word(4, n),
            close: word(WORDS, n.div_ceil(32)),
            rows,
        }
    }

    /// Deflates and writes all that the next kernels read. By the first warp of the block; `rho` is the weight of the
    /// rank-one matrix.
    #[inline(always)]
    pub fn deflate(self, node: Node, fields: Fields<T>, rho: T) {
        let tolerance = self.tolerance();
        let count = self.find_alive(rho, tolerance);
        self.find_close(count, tolerance);
        sync_warp(FULL_MASK);
        let mut rotations = 0;
        if lane_id() == 0 {
            rotations = self.chain(node, fields, count, tolerance);
        }
        // The other lanes learn it with the order in memory.
        sync_warp(FULL_MASK);
        let rotations = cuda_std::warp::warp_shuffle_idx(FULL_MASK, rotations, 0, 32);
        let (top, with_top, poles) = self.count_slots();
        self.write(node, fields, [0, top, with_top], poles);
        sync_warp(FULL_MASK);
        let log = fields.words(WordField::LogDeflated, node);
        let mut r = lane_id();
        while r < rotations {
            log.set(r as usize, self.place.get(log.get(r as usize)));
            r += 32;
        }
        if lane_id() == 0 {
            fields.set_counts(node, Counts { poles, top, with_top, rotations });
        }
    }

    /// Eight units of roundoff of the largest pole or weight.
    #[inline(always)]
    fn tolerance(self) -> T {
        let tile = tiled_partition::<32>();
        let mut largest = self.pole.get(0).abs().max(self.pole.get(self.rows - 1).abs());
        let mut q = tile.rank();
        while q < self.rows {
            largest = largest.max(self.weight.get(q).abs());
            q += 32;
        }
        let largest = tile.reduce(largest, |a, b| a.max(b));
        T::from_u32(8) * T::UNIT_ROUNDOFF * largest
    }

    /// Lists the poles whose weight counts; returns how many there are.
    #[inline(always)]
    fn find_alive(self, rho: T, tolerance: T) -> u32 {
        let lane = lane_id();
        let (mut count, mut first) = (0, 0);
        while first < self.rows {
            let q = first + lane;
            let alive = q < self.rows && rho * self.weight.get(q.min(self.rows - 1)).abs() > tolerance;
            let mask = warp_vote_ballot(FULL_MASK, alive);
            if q < self.rows {
                self.state.set(q, if alive { ALIVE } else { SMALL });
            }
            if alive {
                self.alive.set(count + below(mask, lane), q);
            }
            count += mask.count_ones();
            first += 32;
        }
        sync_warp(FULL_MASK);
        count
    }

    /// Marks neighbours that are close.
    #[inline(always)]
    fn find_close(self, count: u32, tolerance: T) {
        let lane = lane_id();
        let mut first = 0;
        while first < count {
            let m = first + lane;
            let mut close = false;
            if m + 1 < count {
                let (p, q) = (self.alive.get(m), self.alive.get(m + 1));
                let (p, q) = ((self.pole.get(p), self.weight.get(p)), (self.pole.get(q), self.weight.get(q)));
                close = rotation(p, q, tolerance).is_some();
            }
            let mask = warp_vote_ballot(FULL_MASK, close);
            if lane == 0 {
                self.close.set(first / 32, mask);
            }
            first += 32;
        }
    }

    /// The first pair from `m` on that is marked, or `count`.
    #[inline(always)]
    fn next_close(self, m: u32, count: u32) -> u32 {
        let mut word = m / 32;
        let mut from = u32::MAX << (m % 32);
        while word * 32 < count {
            let bits = self.close.get(word) & from;
            if bits != 0 {
                return word * 32 + bits.trailing_zeros();
            }
            from = u32::MAX;
            word += 1;
        }
        count
    }

    /// Rotates the weight of a pole to the next one for as long as they are close, and logs it; returns the number of
    /// rotations. By one lane: each rotation changes what the next test sees.
    #[inline(always)]
    fn chain(self, node: Node, fields: Fields<T>, count: u32, tolerance: T) -> u32 {
        let (cosine, sine) = (fields.reals(RealField::Cosine, node), fields.reals(RealField::Sine, node));
        let word = |field| fields.words(field, node);
        let (firsts, nexts) = (word(WordField::LogFirst), word(WordField::LogNext));
        let (tops, bottoms) = (word(WordField::LogTop), word(WordField::LogBottom));
        let deflated = word(WordField::LogDeflated);
        let mut rotations = 0;
        let mut m = self.next_close(0, count);
        while m + 1 < count {
            let mut p = self.alive.get(m);
            let (mut pole, mut weight) = (self.pole.get(p), self.weight.get(p));
            let (mut top, mut bottom) = (self.top.get(p), self.bottom.get(p));
            let mut first = column_of(top, bottom, true);
            let mut next = 0;
            while m + 1 < count {
                let q = self.alive.get(m + 1);
                let (pole_q, weight_q) = (self.pole.get(q), self.weight.get(q));
                let Some(Rotation { c, s, weight: sum }) =
                    rotation((pole, weight), (pole_q, weight_q), tolerance)
                else {
                    break;
                };
                let (top_q, bottom_q) = (self.top.get(q), self.bottom.get(q));
                next = column_of(top_q, bottom_q, false);
                let at = rotations as usize;
                cosine.set(at, c);
                sine.set(at, s);
                firsts.set(at, first);
                nexts.set(at, next);
                deflated.set(at, p);
                first = 0;
                rotations += 1;
                self.state.set(p, CHAINED);
                self.pole.set(p, (pole * c).mul_add(c, pole_q * s * s));
                pole = (pole * s).mul_add(s, pole_q * c * c);
                weight = sum;
                // Any column of the chain can take the half: the others are left behind.
                top = if top == NONE { top_q } else { top };
                bottom = if bottom == NONE { bottom_q } else { bottom };
                p = q;
                m += 1;
            }
            if first == 0 {
                let last = rotations as usize - 1;
                nexts.set(last, next | 1);
                tops.set(last, top);
                bottoms.set(last, bottom);
                self.pole.set(p, pole);
                self.weight.set(p, weight);
                self.top.set(p, top);
                self.bottom.set(p, bottom);
            }
            m = self.next_close(m + 1, count);
        }
        rotations
    }

    /// The kind of slot of a pole: 0 top, 1 both, 2 bottom.
    #[inline(always)]
    fn kind(self, q: u32) -> u32 {
        if self.bottom.get(q) == NONE {
            0
        } else if self.top.get(q) == NONE {
            2
        } else {
            1
        }
    }

    /// Slots with a top half alone, with a top half, and all.
    #[inline(always)]
    fn count_slots(self) -> (u32, u32, u32) {
        let mut kinds = [0; 3];
        let mut first = 0;
        while first < self.rows {
            let q = first + lane_id();
            let alive = q < self.rows && self.state.get(q) == ALIVE;
            let kind = if alive { self.kind(q) } else { 3 };
            for k in 0..3 {
                kinds[k] += warp_vote_ballot(FULL_MASK, kind == k as u32).count_ones();
            }
            first += 32;
        }
        (kinds[0], kinds[0] + kinds[1], kinds[0] + kinds[1] + kinds[2])
    }

    /// Writes poles, slots and deflated values in order. `slots`: the first slot of each kind.
    #[inline(always)]
    fn write(self, node: Node, fields: Fields<T>, mut slots: [u32; 3], poles: u32) {
        let lane = lane_id();
        let (pole, weight) = (fields.reals(RealField::Pole, node), fields.reals(RealField::Weight, node));
        let listed = fields.reals(RealField::Listed, node).at(poles as usize);
        let word = |field| fields.words(field, node);
        let (slot_of, deflated) = (word(WordField::Slot), word(WordField::Deflated));
        let (tops, bottoms) = (word(WordField::Top), word(WordField::Bottom));
        let (mut k, mut t) = (0, 0);
        let mut first = 0;
        while first < self.rows {
            let q = first + lane;
            let inside = q < self.rows;
            let state = if inside { self.state.get(q) } else { SMALL };
            let alive = inside && state == ALIVE;
            let kind = if alive { self.kind(q) } else { 3 };
            let living = warp_vote_ballot(FULL_MASK, alive);
            let gone = warp_vote_ballot(FULL_MASK, inside && !alive);
            let mut slot = 0;
            for other in 0..3 {
                let mask = warp_vote_ballot(FULL_MASK, kind == other as u32);
                slot = if kind == other as u32 { slots[other] + below(mask, lane) } else { slot };
                slots[other] += mask.count_ones();
            }
            if alive {
                let at = (k + below(living, lane)) as usize;
                pole.set(at, self.pole.get(q));
                weight.set(at, self.weight.get(q));
                slot_of.set(at, slot);
                tops.set(slot as usize, self.top.get(q));
                bottoms.set(slot as usize, self.bottom.get(q));
            } else if inside {
                let at = t + below(gone, lane);
                listed.set(at as usize, self.pole.get(q));
                let (top, bottom) = (self.top.get(q), self.bottom.get(q));
                let half = (top == NONE) as u32;
                let column = if half == 0 { top } else { bottom };
                deflated
                    .set(at as usize, deflated_column(column, if state == CHAINED { ROTATED } else { half }));
                self.place.set(q, at);
            }
            k += living.count_ones();
            t += gone.count_ones();
            first += 32;
        }
    }
}

/// Bits of `mask` below `lane`.
#[inline(always)]
fn below(mask: u32, lane: u32) -> u32 {
    (mask & ((1 << lane) - 1)).count_ones()
}

/// The log's word for a column that lies in one half.
#[inline(always)]
fn column_of(top: u32, bottom: u32, mark: bool) -> u32 {
    if top == NONE { log_column(bottom, 1, mark) } else { log_column(top, 0, mark) }
}

/// The rotation of two neighbours, `(pole, weight)` each, where what it leaves off the diagonal is within the tolerance.
#[inline(always)]
fn rotation<T: Real>(p: (T, T), q: (T, T), tolerance: T) -> Option<Rotation<T>> {
    let square = p.1.mul_add(p.1, q.1 * q.1);
    let inverse = square.rsqrt();
    let (c, s) = (inverse.times(q.1), -inverse.times(p.1));
    let left = (q.0 - p.0) * c * s;
    if left.abs() <= tolerance { Some(Rotation { c, s, weight: inverse.times(square) }) } else { None }
}
