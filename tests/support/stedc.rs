//! Launches every instantiation of `stedc`'s kernels.

use batchlas::ops::stedc::{OPERATION, Options, solve};
use batchlas::routes::Pin;
use batchlas::{DeviceBatch, Jobz, Layout, Queue, Real};

use super::{Outcome, integers, numbers};
use crate::support::random::Random;

/// One level of merges, two, and tiles of each height.
pub fn stedc(queue: &Queue) -> Vec<Outcome> {
    let mut outcomes = vec![];
    for (n, batch, rows, jobz) in
        [(34, 3, 0, Jobz::V), (66, 2, 0, Jobz::N), (66, 1, 0, Jobz::V), (132, 1, 0, Jobz::V)]
    {
        outcomes.push(solved::<f32>(queue, n, batch, rows, jobz));
        outcomes.push(solved::<f64>(queue, n, batch, rows, jobz));
    }
    outcomes.push(solved::<f32>(queue, 132, 1, 4, Jobz::V));
    outcomes
}

/// A batch with one bad item where it has more than one; every other one has a spectrum with gaps.
fn solved<T: Real>(queue: &Queue, n: usize, batch: usize, rows: u32, jobz: Jobz) -> Outcome {
    let problem = format!("levels:rows={rows} {} n={n} batch={batch} {jobz}", T::DTYPE);
    let mut random = Random::new((n * batch) as u64);
    let element = |x: f64| T::round_from(x);
    let mut d: Vec<T> =
        (0..n * batch).map(|i| element((i % n) as f64 * 2.0 + random.symmetric() * 0.1)).collect();
    let e: Vec<T> = (0..(n - 1) * batch).map(|_| element(0.5 + random.symmetric() * 0.1)).collect();
    if batch > 1 {
        d[2 * n - 1] = T::round_from(f64::NAN);
    }
    let (d, e) = (queue.upload(&d).expect("an upload"), queue.upload(&e).expect("an upload"));
    let mut w = queue.alloc::<T>(n * batch).expect("memory");
    let mut status = queue.alloc::<i32>(batch).expect("memory");
    let layout = Layout::packed(n, n, batch);
    let mut q = (jobz == Jobz::V).then(|| DeviceBatch::<T>::alloc(queue, layout).expect("memory"));
    let route = Some(Pin::parse(&OPERATION, &format!("levels:rows={rows}")).expect("a route"));
    solve(queue, &d, &e, &mut w, q.as_mut(), &mut status, &Options { route })
        .unwrap_or_else(|error| panic!("{problem}: {error}"));

    let status = queue.download(&status).expect("a download");
    assert!((0..batch).all(|item| status[item] == if item == 1 { -1 } else { 0 }), "{problem}: {status:?}");
    let values = numbers(&queue.download(&w).expect("a download"));
    let mut arrays = vec![("status", integers(&status)), ("w", values)];
    if let Some(q) = q {
        arrays.push(("q", numbers(q.download(queue).expect("a download").as_slice())));
    }
    // Approximate reciprocals differ by ulps.
    Outcome { problem, error: 16.0 * (n * n) as f64 * T::DTYPE.epsilon(), arrays }
}
