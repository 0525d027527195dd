//! Launches every instantiation of `sytd2_packed`.

use batchlas::{Complex, Queue, Scalar};

use super::panel::{self, Reduced};
use super::{Outcome, integers, numbers};

/// An order for each form, which does not fill it; the triangles take turns.
pub fn packed(queue: &Queue) -> Vec<Outcome> {
    let mut outcomes = panel::reductions(queue, 37, Some("blocked:tail=64"));
    outcomes.extend(panel::reductions(queue, 66, Some("blocked:tail=96")));
    for (n, tail) in [(97, 128), (130, 160), (161, 192), (194, 256), (257, 320)] {
        outcomes.push(reduction::<f32>(queue, n, tail));
    }
    for (n, tail) in [(98, 128), (129, 160), (162, 192), (193, 224), (226, 256)] {
        outcomes.push(reduction::<f64>(queue, n, tail));
        outcomes.push(reduction::<Complex<f32>>(queue, n, tail));
    }
    for (n, tail) in [(97, 128), (130, 160)] {
        outcomes.push(reduction::<Complex<f64>>(queue, n, tail));
    }
    outcomes
}

/// A batch with one bad item.
fn reduction<T: Scalar>(queue: &Queue, n: usize, tail: usize) -> Outcome {
    let route = format!("blocked:tail={tail}");
    let Reduced { uplo, a, d, e, status, .. } = Reduced::<T>::new(queue, n, Some(&route));
    let problem = format!("sytrd {} n={n} tail={tail} {uplo}", T::DTYPE);
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
