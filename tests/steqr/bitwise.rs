//! Nested, flat and lockstep are the same arithmetic: byte-equal values, vectors and statuses, whatever the
//! partition, the layout and the warps of a block.

use batchlas::ops::steqr::{Form, Layout, Options, Partition, Shift, Update};
use batchlas::routes::Pin;
use batchlas::{DeviceBatch, Dtype, Jobz, Queue, Real};

use crate::contract::in_place;
use crate::support::bits;
use crate::support::classes::tridiagonal::{CLASSES, Tridiagonal};
use crate::support::random::Random;
use crate::support::tridiagonal::Batched;

/// Everything that comes out of a solve.
#[derive(PartialEq)]
struct Output {
    values: Vec<(u64, u64)>,
    vectors: Vec<(u64, u64)>,
    status: Vec<i32>,
}

/// The routes that must agree with `cta:nested,..,private,native,warps=1`.
fn routes(n: usize, update: Update, jobz: Jobz, warps: &[u32]) -> Vec<String> {
    let mut routes = vec![];
    for form in [Form::Nested, Form::Flat, Form::Lockstep] {
        let partitions: &[Partition] = match form {
            Form::Nested if n > 16 => &[Partition::Native, Partition::Warp],
            Form::Lockstep => &[Partition::Warp],
            _ => &[Partition::Native],
        };
        let interleaved = update == Update::Exp && jobz == Jobz::V && n <= 16;
        let layouts = if interleaved { Layout::ALL } else { &[Layout::Private] };
        for (partition, layout) in partitions.iter().flat_map(|p| layouts.iter().map(move |l| (p, l))) {
            let words = format!("cta:{form},{update},{layout},{partition}");
            routes.extend(warps.iter().map(|warps| format!("{words},warps={warps}")));
        }
    }
    routes
}

fn solve<T: Real>(queue: &Queue, route: &str, batch: &Batched<T>, jobz: Jobz, shift: Shift) -> Output {
    let pin = Pin::parse(&batchlas::ops::steqr::OPERATION, route).unwrap();
    let options = Options { shift, route: Some(pin), ..Options::default() };
    let layout = batchlas::Layout::packed(batch.n, batch.n, batch.items());
    let mut q = (jobz == Jobz::V).then(|| DeviceBatch::alloc(queue, layout).unwrap());
    let (values, status) = in_place(queue, batch, q.as_mut(), &options);
    let vectors = q.map_or(vec![], |q| bits(q.download(queue).unwrap().as_slice()));
    Output { values: bits(&values), vectors, status }
}

/// Where two outputs differ first.
fn difference(x: &Output, y: &Output, n: usize) -> String {
    let at = |x: &[(u64, u64)], y: &[(u64, u64)]| x.iter().zip(y).position(|(x, y)| x != y);
    if let Some(item) = x.status.iter().zip(&y.status).position(|(x, y)| x != y) {
        return format!("the status of item {item} is {} and {}", x.status[item], y.status[item]);
    }
    if let Some(k) = at(&x.values, &y.values) {
        return format!("value {} of item {} differs", k % n, k / n);
    }
    let k = at(&x.vectors, &y.vectors).unwrap_or(0);
    format!("element {} of the vectors of item {} differs", k % (n * n), k / (n * n))
}

/// The items of every class, and one that is not finite.
fn items(n: usize, dtype: Dtype, classes: &[&str], each: usize) -> Vec<Tridiagonal> {
    let mut r = Random::new(500 + n as u64);
    let wanted = CLASSES.iter().filter(|(name, _)| classes.is_empty() || classes.contains(name));
    let mut items: Vec<Tridiagonal> =
        wanted.flat_map(|(_, make)| (0..each).map(|_| make(&mut r, n, dtype)).collect::<Vec<_>>()).collect();
    let mut bad = items[0].clone();
    bad.d[n / 2] = f64::NAN;
    items.insert(1, bad);
    items
}

/// All routes of a batch against the plain nested form.
fn agree<T: Real>(queue: &Queue, batch: &Batched<T>, warps: &[u32], updates: &[Update], shifts: &[Shift]) {
    let n = batch.n;
    for (update, shift) in updates.iter().flat_map(|u| shifts.iter().map(move |s| (*u, *s))) {
        for jobz in [Jobz::V, Jobz::N] {
            let plain = format!("cta:nested,{update},private,native,warps=1");
            let plain = solve(queue, &plain, batch, jobz, shift);
            for route in routes(n, update, jobz, warps) {
                let other = solve(queue, &route, batch, jobz, shift);
                let context = format!("{} {route} n={n} {jobz} {shift}", T::DTYPE);
                assert!(other == plain, "{context}: {}", difference(&plain, &other, n));
            }
        }
    }
}

/// Every order, class, update, shift, form, partition, layout and number of warps.
#[cfg(feature = "cuda")]
fn all<T: Real>() {
    let Some(queue) = crate::support::queue(batchlas::Device::Cuda(0)) else { return };
    for n in 1..=32 {
        let batch = Batched::<T>::new(n, &items(n, T::DTYPE, &[], 3));
        agree(&queue, &batch, &[1, 2, 4], Update::ALL, Shift::ALL);
    }
}

#[cfg(feature = "cuda")]
#[test]
fn all_on_a_gpu_f32() {
    all::<f32>();
}

#[cfg(feature = "cuda")]
#[test]
fn all_on_a_gpu_f64() {
    all::<f64>();
}

/// The classes in which tiles of a warp differ most, for the executor.
#[cfg(feature = "simt")]
const SAMPLE: [&str; 4] = ["random", "graded", "split", "zero"];

/// A few orders; updates, shifts and warps in turns.
#[cfg(feature = "simt")]
fn sample<T: Real>() {
    let queue = Queue::simt(3);
    for (k, n) in [1, 3, 4, 7, 12, 16, 19, 32].into_iter().enumerate() {
        let batch = Batched::<T>::new(n, &items(n, T::DTYPE, &SAMPLE, 1));
        let warps: &[u32] = if k % 2 == 0 { &[1, 4] } else { &[2] };
        agree(&queue, &batch, warps, &[Update::ALL[k / 2 % 2]], &[Shift::ALL[k % 2]]);
        agree(&queue, &batch, &[1], &[Update::ALL[(k / 2 + 1) % 2]], &[Shift::ALL[k % 2]]);
    }
}

#[cfg(feature = "simt")]
#[test]
fn a_sample_on_the_executor_f32() {
    sample::<f32>();
}

#[cfg(feature = "simt")]
#[test]
fn a_sample_on_the_executor_f64() {
    sample::<f64>();
}
