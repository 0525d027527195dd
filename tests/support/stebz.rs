//! Launches every instantiation of `stebz`'s kernels.

use batchlas::ops::stebz::{OPERATION, Options, solve};
use batchlas::routes::Pin;
use batchlas::{Dtype, Queue, Real};

use super::{Outcome, integers, numbers};
use crate::support::random::Random;

/// Items whose last block is not full, in shared memory and without it.
pub fn stebz(queue: &Queue) -> Vec<Outcome> {
    let mut outcomes = vec![];
    for (n, batch) in [(7, 6), (40, 3)] {
        for values in [1, 2, 4] {
            for staged in [0, 1] {
                outcomes.push(solved::<f32>(
                    queue,
                    n,
                    batch,
                    &format!("bisect:values={values},staged={staged}"),
                ));
                outcomes.push(solved::<f64>(
                    queue,
                    n,
                    batch,
                    &format!("bisect:values={values},staged={staged}"),
                ));
            }
        }
    }
    outcomes
}

/// A batch with one bad item.
fn solved<T: Real>(queue: &Queue, n: usize, batch: usize, route: &str) -> Outcome {
    let problem = format!("{route} {} n={n} batch={batch}", T::DTYPE);
    let mut random = Random::new((n * batch) as u64);
    let element = |x: f64| T::round_from(x);
    let mut d: Vec<T> = (0..n * batch).map(|_| element(random.normal())).collect();
    let e: Vec<T> = (0..(n - 1) * batch).map(|_| element(random.normal())).collect();
    d[2 * n - 1] = T::round_from(f64::NAN);
    let (d, e) = (queue.upload(&d).expect("an upload"), queue.upload(&e).expect("an upload"));
    let mut w = queue.alloc::<T>(n * batch).expect("memory");
    let mut status = queue.alloc::<i32>(batch).expect("memory");
    let route = Some(Pin::parse(&OPERATION, route).expect("a route"));
    solve(queue, &d, &e, &mut w, &mut status, &Options { route, ..Options::default() })
        .unwrap_or_else(|error| panic!("{problem}: {error}"));

    let status = queue.download(&status).expect("a download");
    assert!((0..batch).all(|item| status[item] == if item == 1 { -1 } else { 0 }), "{problem}: {status:?}");
    let values = numbers(&queue.download(&w).expect("a download"));
    let error = if T::DTYPE == Dtype::F32 { 1e-5 } else { 1e-13 };
    Outcome { problem, error, arrays: vec![("status", integers(&status)), ("w", values)] }
}
