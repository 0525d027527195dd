//! One problem a lane, n <= 8: tridiagonal matrix and vectors in registers.

use crate::arguments::{Arguments, kronecker, split_index};
use cuda_std::prelude::*;
use device_linalg::steqr_cta::Recurrence;
use device_linalg::steqr_cta::decoupled::scalar::{negligible, rotation, shift};

/// Elements of the staging a lane: odd, so that lanes meet different banks.
const fn staging_elements(p: usize, vectors: bool) -> usize {
    if vectors { (p * p) | 1 } else { p | 1 }
}

pub const fn shared_bytes(p: usize, bytes: usize, vectors: bool) -> usize {
    32 * staging_elements(p, vectors) * bytes
}

/// Solves the 32 problems of a one-warp block.
#[inline(always)]
pub fn solve<T, const P: usize, const VECTORS: bool>(arguments: Arguments<T>)
where
    T: Real + Scalar<Real = T>,
{
    let lane = thread::thread_idx_x();
    let n = arguments.items.n;
    let first = thread::block_idx_x() as u64 * 32;
    let left = arguments.items.batch - first;
    let here = if left < 32 { left as u32 } else { 32 };
    let live = lane < here;
    let elements = const { staging_elements(P, VECTORS) as u32 };
    // SAFETY: the launch gives staging_elements a lane.
    let staging = unsafe { dynamic_shared_mem::<T>(0, 32 * elements as usize) };
    let own = staging.at(lane * elements);
    let part = Part { here, elements, staging };

    let mut problem = Problem::<T, P>::zero();
    let d = arguments.diagonal(first);
    part.load(n, |element, _, _| d.get(element as usize));
    for i in 0..P {
        if live && (i as u32) < n {
            problem.d[i] = own.get(i as u32);
        }
    }
    warp::sync_warp(warp::FULL_MASK);
    part.load(n - 1, |_, item, i| arguments.coupling(first + item as u64, i));
    for i in 0..P - 1 {
        if live && (i as u32) + 1 < n {
            problem.e[i] = own.get(i as u32);
        }
    }
    warp::sync_warp(warp::FULL_MASK);
    let finite = problem.prepare(n);
    let address = |item: u32, element: u32| {
        let (column, row) = split_index(element, n);
        let base = (first + item as u64) * arguments.items.stride;
        base as usize + column as usize * arguments.items.ld as usize + row as usize
    };
    if VECTORS {
        if arguments.iteration.back_transform != 0 {
            part.load(n * n, |_, item, element| arguments.q.get(address(item, element)));
        }
        for row in 0..P {
            for c in 0..P {
                let inside = (row as u32) < n && (c as u32) < n;
                let column = problem.column(n, c as u32);
                let mut x = T::from_real(kronecker(inside && row as u32 == column));
                if arguments.iteration.back_transform != 0 && live && inside {
                    x = own.get(column * n + row as u32);
                }
                problem.q[row][c] = x;
            }
        }
        warp::sync_warp(warp::FULL_MASK);
    }

    let unconverged = problem.diagonalize::<VECTORS>(n, n * arguments.iteration.sweeps_per_value);
    if live {
        arguments.status.set((first + lane as u64) as usize, if finite { unconverged as i32 } else { -1 });
    }
    let failed = !finite || unconverged != 0;

    let positions = problem.positions(n, arguments.iteration.sort != 0);
    let nan = T::from_real(<T as Real>::NAN);
    for i in 0..P {
        if live && (i as u32) < n {
            own.set(positions[i], if failed { nan } else { problem.value(i) });
        }
    }
    warp::sync_warp(warp::FULL_MASK);
    part.store(n, |element, _, _, x| d.set(element as usize, x));
    if VECTORS {
        warp::sync_warp(warp::FULL_MASK);
        for c in 0..P {
            let sign = problem.sign(c);
            for row in 0..P {
                if live && (row as u32) < n && (c as u32) < n {
                    let x = problem.q[row][c].scale(sign);
                    own.set(positions[c] * n + row as u32, if failed { nan } else { x });
                }
            }
        }
        warp::sync_warp(warp::FULL_MASK);
        part.store(n * n, |_, item, element, x| arguments.q.set(address(item, element), x));
    }
}

/// What the warp moves between global memory and the staging: consecutive lanes take consecutive elements.
#[derive(Clone, Copy)]
struct Part<T> {
    here: u32,
    elements: u32,
    staging: Shared<T>,
}

impl<T: Copy> Part<T> {
    /// Calls `f(element, item, element of the item)` for this lane's share of `count` elements an item.
    #[inline(always)]
    fn for_each(&self, count: u32, mut f: impl FnMut(u32, u32, u32)) {
        let mut element = thread::thread_idx_x();
        while element < self.here * count {
            let (item, i) = split_index(element, count);
            f(element, item, i);
            element += 32;
        }
    }

    #[inline(always)]
    fn load(&self, count: u32, get: impl Fn(u32, u32, u32) -> T) {
        self.for_each(count, |element, item, i| {
            self.staging.set(item * self.elements + i, get(element, item, i))
        });
        warp::sync_warp(warp::FULL_MASK);
    }

    #[inline(always)]
    fn store(&self, count: u32, set: impl Fn(u32, u32, u32, T)) {
        self.for_each(count, |element, item, i| {
            set(element, item, i, self.staging.get(item * self.elements + i))
        });
    }
}

/// A lane's problem. All indices are static, so it stays in registers.
struct Problem<T, const P: usize> {
    d: [T; P],
    /// `e[i]` couples rows `i` and `i + 1`.
    e: [T; P],
    q: [[T; P]; P],
    /// What brings the values back to the input's scale.
    unscale: T,
    /// Whether rows stand in reverse order.
    reversed: bool,
}

impl<T: Real + Scalar<Real = T>, const P: usize> Problem<T, P> {
    #[inline(always)]
    fn zero() -> Self {
        let zero = T::from_real(kronecker(false));
        Problem { d: [zero; P], e: [zero; P], q: [[zero; P]; P], unscale: zero, reversed: false }
    }

    /// Scales the problem and turns it so that its smaller end comes first; clears it and returns false where it is
    /// not finite.
    #[inline(always)]
    fn prepare(&mut self, n: u32) -> bool {
        let zero = T::from_real(kronecker(false));
        let (mut finite, mut norm) = (true, zero);
        for i in 0..P {
            finite &= self.d[i].is_finite() && self.e[i].is_finite();
            norm = norm.max(self.d[i].abs()).max(self.e[i].abs());
        }
        let scale = if finite { norm.normalizer() } else { zero };
        self.unscale = scale.recip();
        for i in 0..P {
            self.d[i] = if finite { self.d[i] * scale * T::HIGH_NORM } else { zero };
            self.e[i] = if finite { self.e[i] * scale * T::HIGH_NORM } else { zero };
        }
        let last = self.pick(&self.d, n - 1);
        self.reversed = last.abs() < self.d[0].abs();
        if self.reversed {
            self.reverse(n);
        }
        finite
    }

    /// Element `i` of a register array.
    #[inline(always)]
    fn pick(&self, array: &[T; P], i: u32) -> T {
        let mut x = array[0];
        for j in 1..P {
            x = if i == j as u32 { array[j] } else { x };
        }
        x
    }

    #[inline(always)]
    fn reverse(&mut self, n: u32) {
        let (d, e) = (self.d, self.e);
        for i in 0..P {
            let inside = (i as u32) < n;
            self.d[i] = if inside { self.pick(&d, (n - 1).wrapping_sub(i as u32)) } else { d[i] };
            let coupled = (i as u32) + 1 < n;
            self.e[i] = if coupled { self.pick(&e, (n - 2).wrapping_sub(i as u32)) } else { e[i] };
        }
    }

    /// Column of the input that stands at `c`.
    #[inline(always)]
    fn column(&self, n: u32, c: u32) -> u32 {
        if self.reversed { (n - 1).wrapping_sub(c) } else { c }
    }

    #[inline(always)]
    fn value(&self, i: usize) -> T {
        self.d[i] * T::HIGH_NORM.recip() * self.unscale
    }

    /// Runs the iteration; returns the couplings that did not converge.
    #[inline(always)]
    fn diagonalize<const VECTORS: bool>(&mut self, n: u32, max_sweeps: u32) -> u32 {
        let mut coupled = 0;
        for i in 0..P - 1 {
            let counts = (i as u32) + 1 < n && !negligible(self.e[i], self.d[i], self.d[i + 1]);
            coupled |= (counts as u32) << i;
        }
        let mut sweeps_left = max_sweeps;
        while coupled != 0 && sweeps_left != 0 {
            sweeps_left -= 1;
            let l = coupled.trailing_zeros();
            let m = l + (!(coupled >> l)).trailing_zeros();
            self.sweep::<VECTORS>(l, m, &mut coupled);
        }
        coupled.count_ones()
    }

    /// One sweep from row `m` up to row `l`, as in `Chaser`, with the columns rotated at once.
    #[inline(always)]
    fn sweep<const VECTORS: bool>(&mut self, l: u32, m: u32, coupled: &mut u32) {
        let (d_l, d_next) = (self.pick(&self.d, l), self.pick(&self.d, l + 1));
        let mu = shift(d_l, self.pick(&self.e, l), d_next);
        let mut recurrence = Recurrence::start(self.pick(&self.d, m) - mu);
        for step in 1..P {
            let j = P - 1 - step;
            if j as u32 >= l && (j as u32) < m {
                let (turn, d_new) = recurrence.advance((self.d[j], self.e[j], self.d[j + 1]), rotation);
                let (c, s) = (turn.c, turn.s);
                self.d[j + 1] = d_new;
                // Row m's coupling is closed: what the first plane writes there nothing reads.
                if j + 2 < P {
                    self.e[j + 1] = turn.r;
                    let done = negligible(turn.r, self.d[j + 1], self.d[j + 2]);
                    *coupled &= if done { !(2 << j) } else { u32::MAX };
                }
                if j as u32 == l {
                    (self.d[j], self.e[j]) = recurrence.finish(self.d[j]);
                    let done = negligible(self.e[j], self.d[j], self.d[j + 1]);
                    *coupled &= if done { !(1 << j) } else { u32::MAX };
                }
                if VECTORS {
                    for row in 0..P {
                        let (high, low) = (self.q[row][j + 1], self.q[row][j]);
                        self.q[row][j + 1] = high.scale_add(c, low.scale(s));
                        self.q[row][j] = low.scale_add(c, -high.scale(s));
                    }
                }
            }
        }
    }

    /// Where each value goes: its place among the ascending ones, or the row of the input.
    #[inline(always)]
    fn positions(&self, n: u32, sort: bool) -> [u32; P] {
        let mut positions = [0; P];
        for i in 0..P {
            for j in 0..P {
                let before = self.d[j] < self.d[i] || (self.d[j] == self.d[i] && j < i);
                positions[i] += ((j as u32) < n && before) as u32;
            }
            positions[i] = if sort { positions[i] } else { self.column(n, i as u32) };
        }
        positions
    }

    /// 1 or -1: what makes the largest component of column `c` positive.
    #[inline(always)]
    fn sign(&self, c: usize) -> T {
        let mut best = self.q[0][c];
        for row in 1..P {
            best = if self.q[row][c].abs() > best.abs() { self.q[row][c] } else { best };
        }
        T::from_real(T::from_real(kronecker(true)).copysign(best))
    }
}
