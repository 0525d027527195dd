//! Products in twice the precision of f64, and the bound of an element's error.

use batchlas::ops::gemm::Op;
use batchlas::{Layout, Real, Scalar};

use crate::data::{Case, Inputs, each};
use crate::support::bits;

/// A sum of products as an unevaluated sum of two numbers: errors of some 2^-104 of the sum of moduli.
#[derive(Clone, Copy, Default)]
struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    fn add(&mut self, x: f64) {
        // Knuth's sum of two.
        let sum = self.high + x;
        let part = sum - self.high;
        self.low += (self.high - (sum - part)) + (x - part);
        self.high = sum;
    }

    fn add_product(&mut self, x: f64, y: f64) {
        let product = x * y;
        self.add(product);
        self.low += x.mul_add(y, -product);
    }

    /// Times `x`.
    fn scaled(self, x: f64) -> Self {
        let mut out = Sum::default();
        out.add_product(self.high, x);
        out.low += self.low * x;
        out
    }

    fn value(self) -> f64 {
        self.high + self.low
    }
}

fn parts<T: Scalar>(x: T) -> (f64, f64) {
    (x.re().widen(), x.im().widen())
}

/// Element (row, column) of op(X), in parts.
fn element<T: Scalar>(x: &[T], layout: Layout, op: Op, item: usize, row: usize, column: usize) -> (f64, f64) {
    let (i, j) = if op.transposes() { (column, row) } else { (row, column) };
    let (re, im) = parts(x[layout.offset(item, i, j)]);
    (re, if op == Op::C { -im } else { im })
}

/// Multiply-adds that a check does at most; of larger products it takes elements evenly spread.
const MOST: usize = 400_000;

/// Checks a result against the reference, and that every gap of C's buffer kept its bits.
pub fn check<T: Scalar>(context: &dyn std::fmt::Debug, case: &Case, inputs: &Inputs<T>, result: &[T]) {
    let (alpha, beta) = (parts(inputs.alpha), parts(inputs.beta));
    let depth = if inputs.alpha == T::zero() { 0 } else { case.k };
    let mut expected = inputs.c.clone();
    // Odd, so that it goes through all places of a tile.
    let step = (case.m * case.n * case.k * case.batch / MOST) | 1;
    let mut count = 0;
    each(inputs.layout_c, |item, i, j, at| {
        expected[at] = result[at];
        count += 1;
        if count % step != 0 && (i + 1, j + 1) != (case.m, case.n) {
            return;
        }
        let (mut re, mut im, mut moduli) = (Sum::default(), Sum::default(), 0.0);
        for k in 0..depth {
            let (x, x_im) = element(&inputs.a, inputs.layout_a, case.ops.0, item, i, k);
            let (y, y_im) = element(&inputs.b, inputs.layout_b, case.ops.1, item, k, j);
            re.add_product(x, y);
            re.add_product(-x_im, y_im);
            im.add_product(x, y_im);
            im.add_product(x_im, y);
            moduli += (x.abs() + x_im.abs()) * (y.abs() + y_im.abs());
        }
        let (mut sum_re, mut sum_im) = (re.scaled(alpha.0), im.scaled(alpha.0));
        let (minus, plus) = (im.scaled(-alpha.1), re.scaled(alpha.1));
        for (sum, other) in [(&mut sum_re, minus), (&mut sum_im, plus)] {
            sum.add(other.high);
            sum.low += other.low;
        }
        let mut bound = (alpha.0.abs() + alpha.1.abs()) * moduli;
        if inputs.beta != T::zero() {
            let (c, c_im) = parts(inputs.c[at]);
            sum_re.add_product(beta.0, c);
            sum_re.add_product(-beta.1, c_im);
            sum_im.add_product(beta.0, c_im);
            sum_im.add_product(beta.1, c);
            bound += (beta.0.abs() + beta.1.abs()) * (c.abs() + c_im.abs());
        }
        // k products, alpha, beta and a sum, at most two roundings each.
        let bound = (case.k + 6) as f64 * T::DTYPE.epsilon() * bound;
        let (got, got_im) = parts(result[at]);
        let (wanted, wanted_im) = (sum_re.value(), sum_im.value());
        let error = (got - wanted).abs().max((got_im - wanted_im).abs());
        assert!(
            error <= bound,
            "{context:?} {case:?}: item {item} ({i}, {j}) is {got:e} {got_im:+e} i, not {wanted:e} {wanted_im:+e} i: \
             off by {error:e}, at most {bound:e}"
        );
    });
    assert_eq!(bits(result), bits(&expected), "{context:?} {case:?}: a gap was written");
}
