//! Launches every instantiation of `sytd2_packed`.

use batchlas::ops::sytrd;
use batchlas::routes::Pin;
use batchlas::{Complex, DeviceBatch, Layout, Queue, Scalar, Uplo};

use super::{Outcome, integers, numbers};
use crate::support::{self, random::Random};

/// An order for each form, which does not fill it; the triangles take turns.
pub fn packed(queue: &Queue) -> Vec<Outcome> {
    let mut outcomes = vec![];
    for (n, tail) in [(130, 160), (161, 192), (194, 256), (257, 320)] {
        outcomes.push(reduction::<f32>(queue, n, tail));
    }
    for (n, tail) in [(129, 160), (162, 192), (193, 224), (226, 256)] {
        outcomes.push(reduction::<f64>(queue, n, tail));
        outcomes.push(reduction::<Complex<f32>>(queue, n, tail));
    }
    outcomes.push(reduction::<Complex<f64>>(queue, 130, 160));
    outcomes
}

/// A batch with one bad item.
fn reduction<T: Scalar>(queue: &Queue, n: usize, tail: usize) -> Outcome {
    let (batch, uplo) = (2, if n % 2 == 1 { Uplo::Upper } else { Uplo::Lower });
    let problem = format!("sytrd {} n={n} tail={tail} {uplo}", T::DTYPE);
    let layout = Layout::new(n, n, n + 1, (n + 1) * n + 2, batch).expect("a layout");
    let mut random = Random::new(n as u64);
    let items: Vec<_> = (0..batch).map(|_| random.hermitian(n)).collect();
    let mut host = support::poisoned::<T>(&items, uplo);
    host.set(1, 0, 0, T::nan());
    let mut a = DeviceBatch::upload_as(queue, &host, layout).expect("an upload");
    let mut d = queue.alloc::<T::Real>(n * batch).expect("memory");
    let mut e = queue.alloc::<T::Real>((n - 1) * batch).expect("memory");
    let mut tau = queue.alloc::<T>(n * batch).expect("memory");
    let mut status = queue.alloc::<i32>(batch).expect("memory");
    let out = sytrd::Tridiagonal { d: &mut d, e: &mut e, tau: &mut tau, status: &mut status };
    let route = Some(Pin::parse(&sytrd::OPERATION, &format!("blocked:tail={tail}")).expect("a route"));
    sytrd::solve(queue, &mut a, out, &sytrd::Options { uplo, route })
        .unwrap_or_else(|error| panic!("{problem}: {error}"));

    let status = queue.download(&status).expect("a download");
    assert_eq!(status, [0, -1], "{problem}");
    // Of the matrix the reflectors; of the factors those that there are.
    let after = a.download(queue).expect("a download");
    let below = (0..n).flat_map(|j| (j + 1..n).map(move |i| (i, j)));
    let reflectors: Vec<T> = below.map(|(i, j)| after.get(0, i, j)).collect();
    let arrays = vec![
        ("status", integers(&status)),
        ("d", numbers(&queue.download(&d).expect("a download"))),
        ("e", numbers(&queue.download(&e).expect("a download"))),
        ("v", numbers(&reflectors)),
    ];
    Outcome { problem, error: 0.0, arrays }
}
