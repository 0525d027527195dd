//! Launches every instantiation of `stebz`'s kernels.

use batchlas::ops::stebz::{OPERATION, Options, solve};
use batchlas::routes::Pin;
use batchlas::{Dtype, Queue, Real};

use super::{Outcome, integers, numbers};
use crate::support::random::Random;

/// Items whose last block is not full, and one whose rows no shared memory holds: that one gets few passes.
pub fn stebz(queue: &Queue) -> Vec<Outcome> {
    let mut outcomes = vec![];
    for (n, batch) in [(7, 6), (40, 3), (70, 2)] {
        for values in [1, 2, 4] {
            outcomes.push(solved::<f32>(queue, values, n, batch, None));
            outcomes.push(solved::<f64>(queue, values, n, batch, None));
        }
    }
    let bytes = queue.limits().map_or(0, |limits| limits.shared_bytes_per_block);
    for values in [1, 2, 4] {
        outcomes.push(solved::<f32>(queue, values, bytes / 8 + 1, 1, Some(0)));
        outcomes.push(solved::<f64>(queue, values, bytes / 16 + 1, 1, Some(0)));
    }
    outcomes
}

/// A batch with one bad item where it has more than one.
fn solved<T: Real>(queue: &Queue, values: u32, n: usize, batch: usize, passes: Option<u32>) -> Outcome {
    let problem = format!("bisect:values={values} {} n={n} batch={batch}", T::DTYPE);
    let mut random = Random::new((n * batch) as u64);
    let element = |x: f64| T::round_from(x);
    let mut d: Vec<T> = (0..n * batch).map(|_| element(random.normal())).collect();
    let e: Vec<T> = (0..(n - 1) * batch).map(|_| element(random.normal())).collect();
    if batch > 1 {
        d[2 * n - 1] = T::round_from(f64::NAN);
    }
    let (d, e) = (queue.upload(&d).expect("an upload"), queue.upload(&e).expect("an upload"));
    let mut w = queue.alloc::<T>(n * batch).expect("memory");
    let mut status = queue.alloc::<i32>(batch).expect("memory");
    let route = Some(Pin::parse(&OPERATION, &format!("bisect:values={values}")).expect("a route"));
    solve(queue, &d, &e, &mut w, &mut status, &Options { passes, route })
        .unwrap_or_else(|error| panic!("{problem}: {error}"));

    let status = queue.download(&status).expect("a download");
    let healthy = if passes.is_some() { n as i32 } else { 0 };
    assert!(
        (0..batch).all(|item| status[item] == if item == 1 { -1 } else { healthy }),
        "{problem}: {status:?}"
    );
    let values = numbers(&queue.download(&w).expect("a download"));
    let error = if T::DTYPE == Dtype::F32 { 1e-5 } else { 1e-13 };
    Outcome { problem, error, arrays: vec![("status", integers(&status)), ("w", values)] }
}
