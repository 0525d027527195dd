//! A reduction carried out, and its residual.

use batchlas::ops::{ormqr, sytrd};
use batchlas::routes::Pin;
use batchlas::{Batch, Complex, DeviceBatch, DeviceBuffer, Layout, Queue, Real, Scalar, Uplo};
use batchlas_bench::Matrix;

use crate::support::{self, bits};

/// What a batch of the same order gave.
pub struct Reduced<T: Scalar> {
    pub n: usize,
    pub d: Vec<T::Real>,
    pub e: Vec<T::Real>,
    /// `Q`, made explicit.
    pub q: Batch<T>,
    pub status: Vec<i32>,
}

impl<T: Scalar> Reduced<T> {
    pub fn bits_of(&self, item: usize) -> Vec<(u64, u64)> {
        let n = self.n;
        let q: Vec<T> = (0..n * n).map(|k| self.q.get(item, k % n, k / n)).collect();
        let mut all = bits(&self.d[item * n..(item + 1) * n]);
        all.extend(bits(&self.e[item * (n - 1)..(item + 1) * (n - 1)]));
        all.extend(bits(&q));
        all
    }
}

pub struct Buffers<T: Scalar> {
    pub d: DeviceBuffer<T::Real>,
    pub e: DeviceBuffer<T::Real>,
    pub tau: DeviceBuffer<T>,
    pub status: DeviceBuffer<i32>,
}

impl<T: Scalar> Buffers<T> {
    pub fn alloc(queue: &Queue, n: usize, batch: usize) -> Self {
        Buffers {
            d: queue.alloc(n * batch).expect("memory"),
            e: queue.alloc(n.saturating_sub(1) * batch).expect("memory"),
            tau: queue.alloc(n * batch).expect("memory"),
            status: queue.alloc(batch).expect("memory"),
        }
    }

    pub fn out(&mut self) -> sytrd::Tridiagonal<'_, T> {
        sytrd::Tridiagonal { d: &mut self.d, e: &mut self.e, tau: &mut self.tau, status: &mut self.status }
    }
}

/// Reduces items with gaps between columns and items, the unread triangle poisoned, and applies `Q` to the identity; `Q^H`
/// takes it back.
pub fn reduce<T: Scalar>(queue: &Queue, items: &[Matrix], uplo: Uplo, route: Option<&str>) -> Reduced<T> {
    let (n, batch) = (items[0].n, items.len());
    let host = support::poisoned::<T>(items, uplo);
    let layout = Layout::new(n, n, n + 3, (n + 3) * n + 5, batch).expect("a layout");
    let mut all = vec![T::from_f64(-777.0, 5.0); layout.len()];
    for (item, j) in (0..batch).flat_map(|item| (0..n).map(move |j| (item, j))) {
        let at = layout.offset(item, 0, j);
        all[at..at + n].copy_from_slice(host.column(item, j));
    }
    let mut a = DeviceBatch::from_buffer(queue.upload(&all).expect("memory"), layout).expect("a batch");
    let mut buffers = Buffers::<T>::alloc(queue, n, batch);
    let route = route.map(|route| Pin::parse(&sytrd::OPERATION, route).expect("a route"));
    sytrd::solve(queue, &mut a, buffers.out(), &sytrd::Options { uplo, route }).expect("no finding");
    let mut after = queue.download(a.buffer()).expect("a download");
    for (item, j) in (0..batch).flat_map(|item| (0..n).map(move |j| (item, j))) {
        let at = layout.offset(item, 0, j);
        after[at..at + n].copy_from_slice(host.column(item, j));
    }
    assert_eq!(bits(&after), bits(&all), "a gap was written");

    let identity = Batch::<T>::from_fn(n, n, batch, |_, i, j| T::from_f64(f64::from(u8::from(i == j)), 0.0));
    let mut q = DeviceBatch::upload_as(queue, &identity, layout).expect("an upload");
    let options = ormqr::Options { shift: 1, ..Default::default() };
    ormqr::solve(queue, &a, &buffers.tau, &mut q, &options).expect("no finding");
    let explicit = q.download(queue).expect("a download");
    let options = ormqr::Options { adjoint: true, ..options };
    ormqr::solve(queue, &a, &buffers.tau, &mut q, &options).expect("no finding");
    let back = q.download(queue).expect("a download");
    for item in 0..batch {
        for j in 0..n {
            for i in 0..n {
                let error = back.get(item, i, j) - identity.get(item, i, j);
                let most = 10.0 * n as f64 * T::DTYPE.epsilon();
                assert!(
                    error.re().widen().hypot(error.im().widen()) <= most,
                    "Q^H Q at ({i}, {j}) of {item}"
                );
            }
        }
    }
    Reduced {
        n,
        d: queue.download(&buffers.d).expect("a download"),
        e: queue.download(&buffers.e).expect("a download"),
        q: explicit,
        status: queue.download(&buffers.status).expect("a download"),
    }
}

/// `||A - Q T Q^H||_F` within 10 n eps `||A||_F`, in double precision.
pub fn check<T: Scalar>(what: &str, items: &[Matrix], reduced: &Reduced<T>) {
    let n = reduced.n;
    let host = support::poisoned::<T>(items, Uplo::Lower);
    for item in 0..items.len() {
        let wide = |x: T| Complex::new(x.re().widen(), x.im().widen());
        let q: Vec<Complex<f64>> = (0..n * n).map(|k| wide(reduced.q.get(item, k % n, k / n))).collect();
        let d: Vec<f64> = (0..n).map(|k| reduced.d[item * n + k].widen()).collect();
        let e: Vec<f64> = (0..n - 1).map(|k| reduced.e[item * (n - 1) + k].widen()).collect();
        // Q T, column by column.
        let column = |j: usize, i: usize| q[j * n + i];
        let qt: Vec<Complex<f64>> = (0..n * n)
            .map(|k| {
                let (i, j) = (k % n, k / n);
                let mut x = column(j, i) * d[j];
                if j > 0 {
                    x += column(j - 1, i) * e[j - 1];
                }
                if j + 1 < n {
                    x += column(j + 1, i) * e[j];
                }
                x
            })
            .collect();
        let (mut error, mut norm, mut largest) = (0f64, 0f64, 0f64);
        let element = |i: usize, j: usize| {
            let x = wide(host.get(item, i, j));
            if i == j { Complex::from(x.re) } else { x }
        };
        for j in 0..n {
            for i in j..n {
                largest = largest.max(element(i, j).re.abs()).max(element(i, j).im.abs());
            }
        }
        // Squares of the extremes leave the range.
        let unit = if largest == 0.0 { 1.0 } else { largest };
        for j in 0..n {
            for i in j..n {
                let product: Complex<f64> = (0..n).map(|k| qt[k * n + i] / unit * q[k * n + j].conj()).sum();
                let x = element(i, j) / unit;
                let twice = if i == j { 1.0 } else { 2.0 };
                error += twice * (product - x).norm_sqr();
                norm += twice * x.norm_sqr();
            }
        }
        let most = 10.0 * n as f64 * T::DTYPE.epsilon() * norm.sqrt();
        assert!(error.sqrt() <= most, "{what} item {item}: {:e} above {most:e}", error.sqrt());
    }
}
