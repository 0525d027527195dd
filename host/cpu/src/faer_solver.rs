//! faer's blocked reduction and divide and conquer, for the larger orders.
//!
//! One thread an item: a split of the work over threads would enter the bits.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{self, ComputeEigenvectors, tridiag};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::traits::ComplexField;
use faer::{Mat, Par};

use crate::element::{Element, Real};
use crate::item::{Shape, ascending_order, sign_factor};

/// Storage of faer's solver, for one order at a time.
pub(crate) struct FaerScratch<E> {
    n: usize,
    vectors: bool,
    a: Mat<E>,
    /// The vectors, or the reflections' coefficients where only values are wanted.
    u: Mat<E>,
    s: Vec<E>,
    stack: MemBuffer,
}

impl<E: Element + ComplexField> FaerScratch<E> {
    pub(crate) fn new() -> Self {
        FaerScratch {
            n: 0,
            vectors: false,
            a: Mat::new(),
            u: Mat::new(),
            s: Vec::new(),
            stack: MemBuffer::new(faer::dyn_stack::StackReq::EMPTY),
        }
    }

    fn resize(&mut self, n: usize, vectors: bool) {
        if (self.n, self.vectors) == (n, vectors) {
            return;
        }
        let zero = || E::from_parts(E::Part::ZERO, E::Part::ZERO);
        (self.n, self.vectors) = (n, vectors);
        self.a = Mat::from_fn(n, n, |_, _| zero());
        self.s = vec![zero(); n];
        let need = if vectors {
            self.u = Mat::from_fn(n, n, |_, _| zero());
            evd::self_adjoint_evd_scratch::<E>(n, ComputeEigenvectors::Yes, Par::Seq, Default::default())
        } else {
            self.u = Mat::from_fn(recommended_block_size::<E>(n, n), n - 1, |_, _| zero());
            tridiag::tridiag_in_place_scratch::<E>(n, Par::Seq, Default::default())
        };
        self.stack = MemBuffer::new(need);
    }

    /// Copies the lower triangle, scaled; faer reads no other.
    fn load(&mut self, a: &[E], shape: Shape, scale: E::Part) {
        for j in 0..shape.n {
            let column = self.a.col_as_slice_mut(j);
            column[j] = E::from_parts(a[shape.at(j, j)].re() * scale, E::Part::ZERO);
            for (i, out) in column.iter_mut().enumerate().skip(j + 1) {
                let x = a[shape.at(i, j)];
                let im = if shape.upper { -x.im() } else { x.im() };
                *out = E::from_parts(x.re() * scale, im * scale);
            }
        }
    }

    /// Eigenvalues and vectors, written over the item with the library's order
    /// and sign. False where faer does not converge; `a` is then as it was.
    pub(crate) fn vectors(
        &mut self,
        a: &mut [E],
        w: &mut [E::Part],
        shape: Shape,
        scale: E::Part,
        order: &mut Vec<usize>,
    ) -> bool {
        self.resize(shape.n, true);
        self.load(a, shape, scale);
        let solved = evd::self_adjoint_evd::<E>(
            self.a.as_ref(),
            DiagMut::from_slice_mut(&mut self.s),
            Some(self.u.as_mut()),
            Par::Seq,
            MemStack::new(&mut self.stack),
            Default::default(),
        );
        if solved.is_err() || !self.is_finite() {
            return false;
        }
        let inverse = E::Part::ONE / scale;
        let values: Vec<E::Part> = self.s.iter().map(|x| x.re()).collect();
        ascending_order(&values, order);
        for (to, &from) in order.iter().enumerate() {
            w[to] = values[from] * inverse;
            self.store_column(from, &mut a[to * shape.ld..to * shape.ld + shape.n]);
        }
        true
    }

    fn is_finite(&self) -> bool {
        let finite = |x: &E| x.re().is_finite() && x.im().is_finite();
        self.s.iter().all(finite) && (0..self.n).all(|j| self.u.col_as_slice(j).iter().all(finite))
    }

    fn store_column(&self, from: usize, column: &mut [E]) {
        let u = self.u.col_as_slice(from);
        let (f, row) = sign_factor(self.n, |i| [u[i].re(), u[i].im()], E::COMPLEX);
        for (out, x) in column.iter_mut().zip(u) {
            *out = E::from_parts(x.re() * f[0] - x.im() * f[1], x.re() * f[1] + x.im() * f[0]);
        }
        column[row] = E::from_parts(column[row].re(), E::Part::ZERO);
    }

    /// The tridiagonal matrix of the item, by faer's blocked reduction.
    pub(crate) fn reduce(
        &mut self,
        a: &[E],
        shape: Shape,
        scale: E::Part,
        d: &mut [E::Part],
        e: &mut [E::Part],
    ) {
        self.resize(shape.n, false);
        self.load(a, shape, scale);
        tridiag::tridiag_in_place::<E>(
            self.a.as_mut(),
            self.u.as_mut(),
            Par::Seq,
            MemStack::new(&mut self.stack),
            Default::default(),
        );
        for k in 0..shape.n {
            d[k] = self.a[(k, k)].re();
            if k + 1 < shape.n {
                let x = &self.a[(k + 1, k)];
                e[k] = if E::COMPLEX { (x.re() * x.re() + x.im() * x.im()).sqrt() } else { x.re() };
            }
        }
    }
}
