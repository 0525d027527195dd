//! Launches every instantiation of `steqr`'s kernels.

use batchlas::ops::steqr::{OPERATION, Options, solve};
use batchlas::routes::Pin;
use batchlas::{DeviceBatch, Jobz, Layout, Queue, Real};

use super::{Outcome, integers, numbers};
use crate::support::random::Random;

/// One order for each number of lanes, and items enough that the last block is not full.
const SHAPES: [(usize, usize); 4] = [(3, 41), (7, 35), (15, 33), (31, 5)];

pub fn tridiag(queue: &Queue) -> Vec<Outcome> {
    let mut outcomes = vec![];
    for (n, batch) in SHAPES {
        for jobz in [Jobz::V, Jobz::N] {
            for route in routes(n, jobz, 4) {
                outcomes.push(solved::<f32>(queue, &route, n, batch, jobz));
            }
            for route in routes(n, jobz, 8) {
                outcomes.push(solved::<f64>(queue, &route, n, batch, jobz));
            }
        }
    }
    outcomes
}

/// Every way of the family `cta` that has a kernel, and `wg`.
fn routes(n: usize, jobz: Jobz, bytes: usize) -> Vec<String> {
    let mut routes: Vec<String> = ["exp", "pg"]
        .iter()
        .flat_map(|update| {
            ["nested", "flat", "lockstep"].map(|form| {
                let partition = if form == "lockstep" { "warp" } else { "native" };
                format!("cta:{form},{update},{partition},private")
            })
        })
        .collect();
    if n > 16 {
        routes.extend(["exp", "pg"].map(|update| format!("cta:nested,{update},warp")));
    } else if jobz == Jobz::V {
        routes.extend(["nested", "flat", "lockstep"].map(|form| format!("cta:{form},exp,interleaved")));
    }
    let rows: &[&str] = match (jobz, n, bytes) {
        (Jobz::V, 9..=16, 4) => &["2", "4"],
        (Jobz::V, 9..=16, _) | (Jobz::V, 17.., 4) => &["2", "4", "4,shared=2"],
        (Jobz::V, 17.., _) => &["1", "2", "4,shared=2"],
        _ => &[],
    };
    routes.extend(rows.iter().map(|rows| format!("cta:decoupled,rows={rows}")));
    if rows.is_empty() {
        routes.push("cta:decoupled".to_owned());
    }
    if n == 31 {
        routes.push("wg".to_owned());
    }
    routes
}

/// A batch with one bad item; every other one has a spectrum with gaps.
fn solved<T: Real>(queue: &Queue, route: &str, n: usize, batch: usize, jobz: Jobz) -> Outcome {
    let problem = format!("{route} {} n={n} batch={batch} {jobz}", T::DTYPE);
    let mut random = Random::new((n * batch) as u64);
    let element = |x: f64| T::round_from(x);
    let mut d: Vec<T> =
        (0..n * batch).map(|i| element((i % n) as f64 * 2.0 + random.symmetric() * 0.1)).collect();
    let e: Vec<T> = (0..(n - 1) * batch).map(|_| element(0.5 + random.symmetric() * 0.1)).collect();
    d[2 * n - 1] = T::round_from(f64::NAN);

    let mut d = queue.upload(&d).expect("an upload");
    let e = queue.upload(&e).expect("an upload");
    let mut status = queue.alloc::<i32>(batch).expect("memory");
    let layout = Layout::packed(n, n, batch);
    let mut q = (jobz == Jobz::V).then(|| DeviceBatch::<T>::alloc(queue, layout).expect("memory"));
    let route = Some(Pin::parse(&OPERATION, route).unwrap_or_else(|error| panic!("{problem}: {error}")));
    let options = Options { route, ..Options::default() };
    solve(queue, &mut d, &e, q.as_mut(), &mut status, &options)
        .unwrap_or_else(|error| panic!("{problem}: {error}"));

    let status = queue.download(&status).expect("a download");
    assert!((0..batch).all(|item| status[item] == if item == 1 { -1 } else { 0 }), "{problem}: {status:?}");
    let values = numbers(&queue.download(&d).expect("a download"));
    let mut arrays = vec![("status", integers(&status)), ("w", values)];
    if let Some(q) = q {
        arrays.push(("q", numbers(q.download(queue).expect("a download").as_slice())));
    }
    // Approximate reciprocal roots differ by ulps.
    Outcome { problem, error: 16.0 * (n * n) as f64 * T::DTYPE.epsilon(), arrays }
}
