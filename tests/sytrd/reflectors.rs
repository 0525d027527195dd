//! `ormqr` against reflectors applied one by one, in double precision.

use batchlas::ops::ormqr;
use batchlas::routes::Pin;
use batchlas::{Complex, DeviceBatch, Layout, Queue, Real, Scalar};
use batchlas_bench::random::Random;

use crate::support::bits;

/// A shape, and how its matrices lie in memory.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub n: usize,
    pub columns: usize,
    /// Columns of V, of which those past the last row reflect nothing.
    pub count: usize,
    pub shift: usize,
    pub adjoint: bool,
    /// Elements between columns, and after the last of an item, of V and of C.
    pub gaps: [usize; 2],
    pub nb: Option<u32>,
}

const ITEMS: usize = 2;

/// A matrix in a longer array; what the layout leaves out, and the last column past its end, is not there or a guard.
struct Guarded<T> {
    layout: Layout,
    all: Vec<T>,
}

impl<T: Scalar> Guarded<T> {
    fn new(rows: usize, cols: usize, gap: usize, mut x: impl FnMut(usize, usize, usize) -> T) -> Self {
        let ld = rows + gap;
        let layout = Layout::new(rows, cols, ld, ld * cols + gap, ITEMS).expect("a layout");
        let mut all = vec![T::nan(); layout.len()];
        for (item, j) in (0..ITEMS).flat_map(|item| (0..cols).map(move |j| (item, j))) {
            (0..rows).for_each(|i| all[layout.offset(item, i, j)] = x(item, i, j));
        }
        Guarded { layout, all }
    }

    fn upload(&self, queue: &Queue) -> DeviceBatch<T> {
        DeviceBatch::from_buffer(queue.upload(&self.all).expect("memory"), self.layout).expect("a batch")
    }

    fn get(&self, item: usize, i: usize, j: usize) -> Complex<f64> {
        wide(self.all[self.layout.offset(item, i, j)])
    }
}

fn wide<T: Scalar>(x: T) -> Complex<f64> {
    Complex::new(x.re().widen(), x.im().widen())
}

/// Applies reflectors whose unread parts are NaN; everything that is not of C keeps its bits.
pub fn apply<T: Scalar>(queue: &Queue, case: &Case) {
    let Case { n, columns, count, shift, adjoint, gaps, nb } = *case;
    let context = format!("{} {case:?}", T::DTYPE);
    let mut random = Random::new((n * 1000 + columns * 10 + count) as u64);
    let mut next = || T::from_f64(random.symmetric(), random.symmetric());
    let used = count.min(n.saturating_sub(shift));
    let v = Guarded::<T>::new(n, count, gaps[0], |_, i, j| if i > j + shift { next() } else { T::nan() });
    let c = Guarded::<T>::new(n, columns, gaps[1], |_, _, _| next());
    let component = |item: usize, k: usize, i: usize| {
        if i == k + shift { Complex::from(1.0) } else { v.get(item, i, k) }
    };
    // Factors that make I - tau v v^H unitary, turned off the real axis where there is one.
    let tau_stride = used + 3;
    let mut tau = vec![T::nan(); ITEMS * tau_stride];
    for (item, k) in (0..ITEMS).flat_map(|item| (0..used).map(move |k| (item, k))) {
        let square: f64 = (k + shift..n).map(|i| component(item, k, i).norm_sqr()).sum();
        let turn = if T::DTYPE.is_complex() { Complex::new(0.8, 0.6) } else { Complex::from(1.0) };
        // Some are the identity.
        let x = if k % 7 == 3 { Complex::from(0.0) } else { (Complex::from(1.0) + turn) / square };
        tau[item * tau_stride + k] = T::from_f64(x.re, x.im);
    }
    let (on_device, factors) = (v.upload(queue), queue.upload(&tau).expect("memory"));
    let mut out = c.upload(queue);
    let route = nb.map(|nb| Pin::parse(&ormqr::OPERATION, &format!("blocked:nb={nb}")).expect("a route"));
    let options = ormqr::Options { adjoint, shift, route };
    ormqr::solve(queue, &on_device, &factors, &mut out, &options)
        .unwrap_or_else(|e| panic!("{context}: {e}"));
    assert_eq!(bits(&queue.download(on_device.buffer()).unwrap()), bits(&v.all), "{context}: V");

    let got = queue.download(out.buffer()).expect("a download");
    let mut rest = got.clone();
    let most = 20.0 * (used + 1) as f64 * T::DTYPE.epsilon();
    for (item, j) in (0..ITEMS).flat_map(|item| (0..columns).map(move |j| (item, j))) {
        let mut x: Vec<Complex<f64>> = (0..n).map(|i| c.get(item, i, j)).collect();
        let norm = x.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
        for step in 0..used {
            let k = if adjoint { step } else { used - 1 - step };
            let dot: Complex<f64> = (k + shift..n).map(|i| component(item, k, i).conj() * x[i]).sum();
            let factor = wide(tau[item * tau_stride + k]);
            let factor = if adjoint { factor.conj() } else { factor };
            (k + shift..n).for_each(|i| x[i] -= component(item, k, i) * factor * dot);
        }
        for (i, x) in x.iter().enumerate() {
            let at = c.layout.offset(item, i, j);
            let error = (wide(got[at]) - x).norm();
            assert!(error <= most * norm, "{context}: item {item} ({i}, {j}) is off by {error:e}");
            rest[at] = c.all[at];
        }
    }
    assert_eq!(bits(&rest), bits(&c.all), "{context}: a gap was written");
}
