//! Short vectors that the compiler keeps in registers, and column-major
//! matrices made of them.
//!
//! `W` lanes are 32 bytes. `F` says that the caller runs where fused
//! multiply-add is an instruction; elsewhere it would be a library call.

use crate::element::Real;

/// `a * b + c`, fused where `F`.
#[inline(always)]
pub(crate) fn madd<R: Real, const F: bool>(a: R, b: R, c: R) -> R {
    if F { a.mul_add(b, c) } else { a * b + c }
}

/// `W` consecutive elements of a column.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(crate) struct Lanes<R, const W: usize>(pub [R; W]);

impl<R: Real, const W: usize> Lanes<R, W> {
    pub(crate) const ZERO: Self = Lanes([R::ZERO; W]);

    /// `self + x * s`
    #[inline(always)]
    pub(crate) fn add_scaled<const F: bool>(self, x: Self, s: R) -> Self {
        let mut out = self;
        for k in 0..W {
            out.0[k] = madd::<R, F>(x.0[k], s, self.0[k]);
        }
        out
    }

    /// `self + x * y`, lane by lane.
    #[inline(always)]
    pub(crate) fn add_product<const F: bool>(self, x: Self, y: Self) -> Self {
        let mut out = self;
        for k in 0..W {
            out.0[k] = madd::<R, F>(x.0[k], y.0[k], self.0[k]);
        }
        out
    }

    /// `x * s`
    #[inline(always)]
    pub(crate) fn scaled(self, s: R) -> Self {
        let mut out = self;
        for k in 0..W {
            out.0[k] *= s;
        }
        out
    }

    /// The sum of the lanes, halves first: one order for every caller.
    #[inline(always)]
    pub(crate) fn sum(self) -> R {
        let mut lanes = self.0;
        let mut half = W / 2;
        while half > 0 {
            for k in 0..half {
                lanes[k] += lanes[k + half];
            }
            half /= 2;
        }
        lanes[0]
    }
}

/// A square matrix, column after column, each padded to whole lanes.
#[derive(Debug)]
pub(crate) struct Plane<R, const W: usize> {
    lanes: Vec<Lanes<R, W>>,
    /// Lanes of a column.
    pub(crate) height: usize,
}

impl<R: Real, const W: usize> Plane<R, W> {
    pub(crate) fn new() -> Self {
        Plane { lanes: Vec::new(), height: 0 }
    }

    /// Makes room for n columns of n rows; the contents are unspecified.
    #[inline(always)]
    pub(crate) fn resize(&mut self, n: usize) {
        self.height = n.div_ceil(W);
        let len = n * self.height;
        if self.lanes.len() < len {
            self.lanes.resize(len, Lanes::ZERO);
        }
    }

    /// Sets the first n columns to zero.
    #[inline(always)]
    pub(crate) fn clear(&mut self, n: usize) {
        self.lanes[..n * self.height].fill(Lanes::ZERO);
    }

    /// Column j in lanes.
    #[inline(always)]
    pub(crate) fn column(&self, j: usize) -> &[Lanes<R, W>] {
        &self.lanes[j * self.height..(j + 1) * self.height]
    }

    /// Column j in lanes, for writing.
    #[inline(always)]
    pub(crate) fn column_mut(&mut self, j: usize) -> &mut [Lanes<R, W>] {
        &mut self.lanes[j * self.height..(j + 1) * self.height]
    }

    /// The first n columns in lanes, for writing.
    #[inline(always)]
    pub(crate) fn columns_mut(&mut self, n: usize) -> &mut [Lanes<R, W>] {
        &mut self.lanes[..n * self.height]
    }

    #[inline(always)]
    pub(crate) fn get(&self, i: usize, j: usize) -> R {
        self.lanes[j * self.height + i / W].0[i % W]
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, i: usize, j: usize, value: R) {
        self.lanes[j * self.height + i / W].0[i % W] = value;
    }
}
