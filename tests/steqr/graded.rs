//! Relative accuracy on graded positive definite input, beside LAPACK's, case by case.
//!
//! `data/graded.txt` holds matrices, their eigenvalues to 18 digits and the relative error of LAPACK's results. Where
//! the grading is within the type's digits each case is held to LAPACK's. Beyond them QL promises nothing, and LAPACK's
//! error too is now and then a thousand times its usual one: there the typical case is compared.

use batchlas::{Jobz, Real};

use crate::arms::{Arm, Solved};
use crate::support::tridiagonal::Batched;

const CASES: &str = include_str!("data/graded.txt");

struct Case {
    /// `f64 24 10 down`: type, order, digits, direction.
    name: String,
    n: usize,
    /// Whether the grading passes the type's digits.
    beyond: bool,
    /// LAPACK's largest relative error, in eps.
    lapack: f64,
    d: Vec<f64>,
    e: Vec<f64>,
    exact: Vec<f64>,
}

fn cases(dtype: &str) -> Vec<Case> {
    let lines: Vec<&str> = CASES.lines().filter(|line| !line.starts_with('#')).collect();
    let numbers = |line: &str| line.split_whitespace().skip(1).map(|x| x.parse().unwrap()).collect();
    let case = |four: &[&str]| {
        let words: Vec<&str> = four[0].split_whitespace().collect();
        let (d, e, exact) = (numbers(four[1]), numbers(four[2]), numbers(four[3]));
        let (n, lapack) = (words[1].parse().unwrap(), words[4].parse().unwrap());
        let beyond = ["12", "20"].contains(&words[2]);
        Case { name: words[..4].join(" "), n, beyond, lapack, d, e, exact }
    };
    lines.chunks(4).filter(|four| four[0].starts_with(dtype)).map(case).collect()
}

/// The largest relative error of any eigenvalue of an item, in eps.
fn relative_error<T: Real>(solved: &Solved<T>, item: usize, exact: &[f64]) -> f64 {
    let errors = solved.values_of(item).iter().zip(exact).map(|(x, y)| ((x.widen() - y) / y).abs());
    errors.fold(0.0, f64::max) / T::DTYPE.epsilon()
}

/// `cargo test steqr -- as_good_as_lapack --nocapture` shows both columns.
pub fn as_good_as_lapack<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let cases = cases(T::DTYPE.name());
    assert_eq!(cases.len(), 64);
    for jobz in [Jobz::V, Jobz::N] {
        let mut ratios = vec![];
        for some in cases.chunk_by(|x, y| x.n == y.n) {
            let round = |x: &f64| T::round_from(*x);
            let d = some.iter().flat_map(|c| c.d.iter().map(round)).collect();
            let e = some.iter().flat_map(|c| c.e.iter().map(round)).collect();
            let solved = arm.solve(&queue, "graded", &Batched { n: some[0].n, d, e }, jobz);
            for (item, case) in some.iter().enumerate() {
                let ours = relative_error(&solved, item, &case.exact);
                println!("{} {jobz} {}: {ours:.3} eps, LAPACK {:.3}", arm.route, case.name, case.lapack);
                if case.beyond {
                    ratios.push(ours.max(1.0) / case.lapack.max(1.0));
                    continue;
                }
                // Rounding decides between one and the other case by case.
                let bound = 2.0 * case.lapack + 2.0 * case.n as f64;
                assert!(ours <= bound, "{arm:?} {} {jobz}: {ours} eps, LAPACK {}", case.name, case.lapack);
            }
        }
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ratios.len() / 2];
        // Explicit similarities round more often than dsteqr's recurrence.
        let typical = if arm.route.contains("exp") || arm.route == "cta" { 3.0 } else { 1.5 };
        assert!(median <= typical, "{arm:?} {} {jobz}: typically {median} times LAPACK's error", T::DTYPE);
    }
}
