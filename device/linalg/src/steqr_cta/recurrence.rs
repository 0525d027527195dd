//! Parlett and Gray's recurrence of a sweep, as in dsteqr: four scalars run up the band.

use crate::givens::Givens;
use cuda_std::math::Real;

/// The scalars between two planes of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Recurrence<T> {
    c: T,
    s: T,
    p: T,
    g: T,
}

impl<T: Real> Recurrence<T> {
    /// Before the first plane; `g` is the shifted corner.
    #[inline(always)]
    pub fn start(g: T) -> Self {
        Recurrence { c: T::ONE, s: T::ONE, p: T::ZERO, g }
    }

    /// Rotates the plane of `d_low`, `d_high` and the coupling `e` of the two; returns the rotation of `rotate`, and
    /// what becomes of `d_high`.
    #[inline(always)]
    pub fn advance(
        &mut self,
        (d_low, e, d_high): (T, T, T),
        rotate: impl FnOnce(T, T) -> Givens<T>,
    ) -> (Givens<T>, T) {
        let b = self.c * e;
        let rotation = rotate(self.g, self.s * e);
        (self.c, self.s) = (rotation.c, rotation.s);
        let high = d_high - self.p;
        let t = (d_low - high).mul_add(self.s, self.c * (T::TWO * b));
        self.p = self.s * t;
        self.g = self.c.mul_add(t, -b);
        (rotation, high + self.p)
    }

    /// What becomes of the last plane's lower diagonal element and of its coupling, where the sweep ends.
    #[inline(always)]
    pub fn finish(&self, d_low: T) -> (T, T) {
        (d_low - self.p, self.g)
    }
}
