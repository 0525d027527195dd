//! The rotation that annihilates an off-diagonal element, and how lanes share it.

use cuda_std::prelude::*;
use cuda_std::shared::Pairs;

/// A plane rotation of columns `p` and `q`: `p' = c p - su q`, `q' = conj(su) p + c q`.
#[derive(Clone, Copy, Debug)]
pub struct Rotation<T: Scalar> {
    /// Cosine.
    pub c: T::Real,
    /// Sine, with the phase that makes the element real.
    pub su: T,
}

impl<T: Scalar> Rotation<T> {
    /// The quarter turn `p' = -q`, `q' = p`: followed by a swap it leaves both where they were.
    #[inline(always)]
    fn quarter() -> Self {
        Rotation { c: <T::Real as Real>::ZERO, su: T::ONE }
    }

    /// Turns elements of columns `p` and `q` of one row.
    #[inline(always)]
    pub fn columns(self, p: T, q: T) -> (T, T) {
        let new_p = q.mul_add(-self.su, p.scale(self.c));
        let new_q = p.mul_add(self.su.conj(), q.scale(self.c));
        (new_p, new_q)
    }

    /// Turns elements of rows `p` and `q` of one column.
    #[inline(always)]
    pub fn rows(self, p: T, q: T) -> (T, T) {
        Rotation { su: self.su.conj(), ..self }.columns(p, q)
    }
}

/// Whether `a` counts beside the diagonal elements `d_p` and `d_q`: `|a| > eps sqrt(|d_p d_q|)`.
///
/// In squares, so that it needs no root; below the normal range the modulus of `a` has no accurate inverse, and
/// nothing is lost, since the norm is [`Real::HIGH_NORM`].
#[inline(always)]
pub fn couples<T: Scalar>(d_p: T::Real, d_q: T::Real, a: T) -> bool {
    let eps = <T::Real as Real>::EPSILON;
    let bound = (d_p * d_q).abs() * (eps * eps);
    a.abs_sq_add(<T::Real as Real>::ZERO) > bound.max(<T::Real as Real>::SAFE_MIN)
}

/// What is done to a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Annihilated where it couples.
    Due,
    /// Left alone: the item has converged.
    Converged,
    /// The ends of the ring, which do not meet.
    Apart,
}

/// The diagonal block of a pair: `[[d_p, a], [conj(a), d_q]]`.
#[derive(Clone, Copy, Debug)]
pub struct Pivot<T: Scalar> {
    /// Diagonal element of `p`.
    pub d_p: T::Real,
    /// Diagonal element of `q`.
    pub d_q: T::Real,
    /// Element `(p, q)`.
    pub a: T,
}

impl<T: Scalar> Pivot<T> {
    /// Turns the pair: the rotation, and whether it annihilates the element.
    ///
    /// With `conj(a) = |a| u` the rotation is the real one of the basis `(p, u q)`, by the smaller of the two
    /// angles. The diagonal changes by `t |a|`, which keeps small elements of graded matrices accurate.
    #[inline(always)]
    pub fn turn(&mut self, turn: Turn) -> (Rotation<T>, bool) {
        let zero = <T::Real as Real>::ZERO;
        let one = <T::Real as Real>::ONE;
        let active = turn == Turn::Due && couples(self.d_p, self.d_q, self.a);
        // The modulus with a sign for real types; the phase is then 1.
        let (size, unit) = if T::COMPLEX {
            let square = self.a.abs_sq_add(zero);
            let inverse = square.rsqrt_approx();
            (square * inverse, self.a.conj().scale(inverse))
        } else {
            (self.a.re(), T::ONE)
        };
        let double = size + size;
        let gap = self.d_q - self.d_p;
        let square = gap.mul_add(gap, double * double);
        let reach = square.mul_add(square.rsqrt_approx(), gap.abs());
        let t = double * reach.recip_approx();
        // Not the sign bit: the sign of a zero may depend on what other items of the warp did.
        let t = if gap < zero { -t } else { t };
        let t = if active { t } else { zero };
        let c = t.mul_add(t, one).rsqrt_approx();
        let s = t * c;
        // Small angles round c up more often than down; uncorrected, the norms of the vectors grow with every turn.
        let short = (-s).mul_add(s, (-c).mul_add(c, one));
        let c = short.mul_add(<T::Real as Real>::HALF, c);
        let sine = unit.scale(s);
        let shift = if active { t * size } else { zero };
        let (d_p, d_q) = (self.d_p - shift, self.d_q + shift);
        let turned = self.a.conj();

        // Part by part: a select of whole numbers may go through memory.
        let apart = turn == Turn::Apart;
        self.d_p = if apart { d_q } else { d_p };
        self.d_q = if apart { d_p } else { d_q };
        let rest = |x: T::Real, turned: T::Real| {
            let x = if active { zero } else { x };
            if apart { -turned } else { x }
        };
        self.a = T::from_parts(rest(self.a.re(), turned.re()), rest(self.a.im(), turned.im()));
        let quarter = Rotation::<T>::quarter();
        let part = |x: T::Real, quarter: T::Real| {
            let x = if active { x } else { zero };
            if apart { quarter } else { x }
        };
        let su = T::from_parts(part(sine.re(), quarter.su.re()), part(sine.im(), quarter.su.im()));
        (Rotation { c: if apart { quarter.c } else { c }, su }, active)
    }
}

/// The rotations of a round in shared memory, two rounds in turn: so one barrier a round suffices.
#[derive(Clone, Copy, Debug)]
pub struct Rotations<T: Scalar, const P: usize> {
    parts: Shared<T::Real>,
}

/// Numbers that a rotation takes in shared memory.
const fn width(complex: bool) -> usize {
    if complex { 4 } else { 2 }
}

/// Real numbers of shared memory for the rotations of a tile of `p` lanes.
pub const fn rotation_reals(p: usize, complex: bool) -> usize {
    p * width(complex)
}

impl<T: Scalar, const P: usize> Rotations<T, P> {
    /// Rotations in [`rotation_reals`] numbers, aligned to 16 bytes.
    #[inline(always)]
    pub fn new(parts: Shared<T::Real>) -> Self {
        Rotations { parts }
    }

    /// Those of round `round`.
    #[inline(always)]
    pub fn of_round(self, round: u32) -> Self {
        let reals = const { (rotation_reals(P, T::COMPLEX) / 2) as u32 };
        Rotations { parts: self.parts.at((round & 1) * reals) }
    }

    /// Stores the rotation of pair `k`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn set(self, k: u32, rotation: Rotation<T>) {
        let pairs = self.parts.as_pairs();
        let pair = <T::Real as Pairs>::Pair::from;
        if T::COMPLEX {
            pairs.set(2 * k, pair([rotation.c, <T::Real as Real>::ZERO]));
            pairs.set(2 * k + 1, pair([rotation.su.re(), rotation.su.im()]));
        } else {
            pairs.set(k, pair([rotation.c, rotation.su.re()]));
        }
    }

    /// The rotation of pair `k`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn get(self, k: u32) -> Rotation<T> {
        if T::COMPLEX {
            let [c, _, re, im] = self.parts.get_array::<4>(4 * k);
            Rotation { c, su: T::from_parts(re, im) }
        } else {
            let [c, s]: [T::Real; 2] = self.parts.as_pairs().get(k).into();
            Rotation { c, su: T::from_real(s) }
        }
    }

    /// The rotations of pairs `k` (even) and `k + 1`, in accesses as wide as there can be.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn get_two(self, k: u32) -> [Rotation<T>; 2] {
        if T::COMPLEX {
            [self.get(k), self.get(k + 1)]
        } else {
            let [c0, s0, c1, s1] = self.parts.get_array::<4>(2 * k);
            [Rotation { c: c0, su: T::from_real(s0) }, Rotation { c: c1, su: T::from_real(s1) }]
        }
    }
}
