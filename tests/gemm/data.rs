//! Cases and their input: random numbers, NaN wherever nothing must be read.

use batchlas::ops::gemm::{Op, Problem};
use batchlas::{Dtype, Layout, Scalar};

use crate::support::random::Random;

/// A product and how its matrices lie.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub ops: (Op, Op),
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub batch: usize,
    /// Elements between columns, and between items.
    pub gap: usize,
}

impl Case {
    pub fn new(ops: (Op, Op), m: usize, n: usize, k: usize, batch: usize, gap: usize) -> Self {
        Case { ops, m, n, k, batch, gap }
    }

    pub fn problem(&self, dtype: Dtype) -> Problem {
        let Case { ops: (op_a, op_b), m, n, k, batch, .. } = *self;
        Problem { dtype, op_a, op_b, m, n, k, batch }
    }

    fn layout(&self, op: Op, rows: usize, cols: usize) -> Layout {
        let (rows, cols) = if op.transposes() { (cols, rows) } else { (rows, cols) };
        let ld = rows + self.gap;
        Layout::new(rows, cols, ld, ld * cols + self.gap, self.batch).expect("a layout")
    }
}

/// Every pair of ops.
pub fn pairs() -> Vec<(Op, Op)> {
    Op::ALL.into_iter().flat_map(|a| Op::ALL.map(|b| (a, b))).collect()
}

/// The buffers of a case.
#[derive(Clone)]
pub struct Inputs<T> {
    pub alpha: T,
    pub beta: T,
    pub a: Vec<T>,
    pub b: Vec<T>,
    pub c: Vec<T>,
    pub layout_a: Layout,
    pub layout_b: Layout,
    pub layout_c: Layout,
}

impl<T: Scalar> Inputs<T> {
    /// Random elements and factors; what lies between columns and items is NaN, and behind the last one of C. Behind those of
    /// A and B there is nothing: an element read there is a finding of the executor.
    pub fn new(case: &Case, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let Case { ops, m, n, k, .. } = *case;
        let (layout_a, layout_b) = (case.layout(ops.0, m, k), case.layout(ops.1, k, n));
        let layout_c = case.layout(Op::N, m, n);
        let mut number = || T::from_f64(random.symmetric(), random.symmetric());
        let (alpha, beta) = (number(), number());
        let (a, b, c) = (
            filled(layout_a, 0, &mut number),
            filled(layout_b, 0, &mut number),
            filled(layout_c, 5, &mut number),
        );
        Inputs { alpha, beta, a, b, c, layout_a, layout_b, layout_c }
    }
}

fn filled<T: Scalar>(layout: Layout, guard: usize, number: &mut impl FnMut() -> T) -> Vec<T> {
    let mut data = vec![T::nan(); layout.len() + guard];
    each(layout, |_, _, _, at| data[at] = number());
    data
}

/// Calls `f` with item, row, column and offset of each element.
pub fn each(layout: Layout, mut f: impl FnMut(usize, usize, usize, usize)) {
    for item in 0..layout.batch() {
        for j in 0..layout.cols() {
            for i in 0..layout.rows() {
                f(item, i, j, layout.offset(item, i, j));
            }
        }
    }
}
