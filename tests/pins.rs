//! Random pins with random parameters: what is taken solves, and what is not is an error with its reason.

use batchlas::ops::{Jobz, OPERATIONS, Target, Uplo};
use batchlas::ops::{gemm, ormqr, stebz, stedc, steqr, syev, sytrd};
use batchlas::routes::{Operation, Param, Params, Pin, RouteError};
use batchlas::{Arch, Dtype, Error};

/// xorshift64*: enough to spread test input.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// A family with some of its parameters, each within its bounds.
    fn route(&mut self, operation: &'static Operation) -> String {
        let family = &operation.families[self.below(operation.families.len())];
        let mut parts = Vec::new();
        for param in family.params {
            if self.below(3) > 0 {
                continue;
            }
            parts.push(match param {
                Param::Word(words) => self.one_of(words).to_owned(),
                Param::Tile if self.below(4) == 0 => {
                    format!("{}x{}x{}", 1 + self.below(256), 1 + self.below(256), 1 + self.below(64))
                }
                Param::Tile => {
                    let tiles = ["128x128x8", "64x64x16", "128x64x32", "128x32x32", "128x128x16"];
                    self.one_of(&tiles).to_owned()
                }
                Param::Named { name, min, max } => {
                    let range = (max - min + 1) as usize;
                    let power = 1 << self.below(8);
                    let any = min + self.below(range) as u32;
                    let value = self.one_of(&[*min, *max, any, power]);
                    format!("{name}={}", value.clamp(*min, *max))
                }
            });
        }
        if parts.is_empty() { family.name.to_owned() } else { format!("{}:{}", family.name, parts.join(",")) }
    }
}

/// What a plan says of itself: family, parameters, bytes.
type Planned = (&'static str, Params, usize);

fn planned<D, P>(result: batchlas::Result<(D, batchlas::ops::Plan<P>)>) -> batchlas::Result<Planned> {
    result.map(|(_, plan)| (plan.family, plan.params, plan.workspace_bytes))
}

/// Order, batch and what else a shape may be.
#[derive(Clone, Copy, Debug)]
struct Shape {
    dtype: Dtype,
    n: usize,
    batch: usize,
    jobz: Jobz,
    other: [usize; 2],
}

fn plan(operation: &Operation, shape: &Shape, target: &Target, pin: Pin) -> batchlas::Result<Planned> {
    let Shape { dtype, n, batch, jobz, other } = *shape;
    let (route, real) = (Some(pin), dtype.real());
    match operation.name {
        "syev" => {
            let problem = syev::Problem { dtype, n, batch, jobz, uplo: Uplo::Lower };
            planned(syev::plan(&problem, target, route.as_ref()))
        }
        "steqr" => {
            let options = steqr::Options { route, ..Default::default() };
            planned(steqr::plan(&steqr::Problem { dtype: real, n, batch, jobz }, target, &options))
        }
        "stedc" => {
            let options = stedc::Options { route };
            planned(stedc::plan(&stedc::Problem { dtype: real, n, batch, jobz }, target, &options))
        }
        "stebz" => {
            let options = stebz::Options { route, ..Default::default() };
            planned(stebz::plan(&stebz::Problem { dtype: real, n, batch }, target, &options))
        }
        "sytrd" => {
            let problem = sytrd::Problem { dtype, n, batch, uplo: Uplo::Lower };
            planned(sytrd::plan(&problem, target, route.as_ref()))
        }
        "ormqr" => {
            let reflectors = other[0].min(n.saturating_sub(1));
            let problem = ormqr::Problem { dtype, n, columns: other[1], reflectors, batch };
            planned(ormqr::plan(&problem, target, route.as_ref()))
        }
        "gemm" => {
            let (op_a, op_b) = (gemm::Op::N, gemm::Op::C);
            let problem = gemm::Problem { dtype, op_a, op_b, m: other[0], n, k: other[1], batch };
            planned(gemm::plan(&problem, target, route.as_ref()))
        }
        name => panic!("no plan for {name}"),
    }
}

/// A pin is read as it is written, is taken or refused with a reason, and the plan's own text plans the same.
#[test]
fn a_pin_is_planned_or_refused_with_a_reason() {
    let mut random = Random(11);
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..6000 {
        let operation = random.one_of(OPERATIONS);
        let text = random.route(operation);
        let pin = Pin::parse(operation, &text).unwrap();
        assert_eq!(Pin::parse(operation, &pin.to_string().to_uppercase()).unwrap(), pin, "{text}");
        let mut size = || {
            let top = 1 << random.below(13);
            random.below(top + 1)
        };
        let (n, batch, other) = (size(), size() * size(), [size(), size()]);
        let jobz = random.one_of(&[Jobz::V, Jobz::N]);
        let shape = Shape { dtype: random.one_of(&Dtype::ALL), n, batch, jobz, other };
        let arch = Arch(random.one_of(&[75, 80, 86, 89, 90, 100, 120]));
        let target = if random.below(8) == 0 { Target::CPU } else { Target::assumed(arch) };
        match plan(operation, &shape, &target, pin.clone()) {
            Ok(first) => {
                taken += 1;
                let params = first.1.to_string();
                let whole =
                    if params.is_empty() { first.0.to_owned() } else { format!("{}:{params}", first.0) };
                let again = plan(operation, &shape, &target, Pin::parse(operation, &whole).unwrap());
                assert_eq!(again.unwrap(), first, "{} {text} as {whole}: {shape:?}", operation.name);
            }
            Err(Error::Route(RouteError::Pinned { refused: why, .. })) => {
                refused += 1;
                assert!(why.iter().all(|r| !r.reason.is_empty()) && why.len() == 1, "{why:?}");
            }
            Err(other) => panic!("{} {text} {shape:?}: {other}", operation.name),
        }
    }
    // Without kernels there is the CPU's family, for one problem in eight.
    let least = if cfg!(feature = "kernels") { 1000 } else { 20 };
    assert!(taken > least && refused > 1000, "{taken} taken, {refused} refused");
}

/// What `can_run` lets through gives right results.
#[cfg(feature = "simt")]
#[test]
fn a_pin_that_is_taken_solves() {
    use batchlas::{Batch, Queue, Scalar, check, linalg};
    use num_complex::Complex;

    fn solve<T: Scalar>(n: usize, jobz: Jobz, route: &str, of: impl Fn(f64, f64) -> T) -> Option<String> {
        let entry = |item: usize, i: usize, j: usize| {
            let (row, column) = (i.max(j) as f64, i.min(j) as f64);
            let x = (1.0 + item as f64 + row * 1.7 + column * 2.3).sin();
            let y = if i == j { 0.0 } else { (row - 0.3 * column).cos() };
            of(x, if i < j { -y } else { y })
        };
        let a = Batch::<T>::from_fn(n, n, 3, entry);
        let pin = Pin::parse(&syev::OPERATION, route).unwrap();
        let options = linalg::EighOptions { jobz, route: Some(pin), ..Default::default() };
        let exact = linalg::eigvalsh(&Queue::cpu(), &a).unwrap();
        let solved = match linalg::eigh_with(&Queue::simt(1), &a, &options) {
            Ok(solved) => solved,
            Err(Error::Route(RouteError::Pinned { .. })) => return None,
            Err(error) => panic!("{route} n={n} {jobz}: {error}"),
        };
        let eps = T::DTYPE.epsilon() * 10.0 * n.max(1) as f64 * 2.0 * n as f64;
        for (x, y) in solved.values.iter().zip(&exact.values) {
            let apart = (num_traits::ToPrimitive::to_f64(x).unwrap()
                - num_traits::ToPrimitive::to_f64(y).unwrap())
            .abs();
            assert!(apart <= eps, "{route} n={n} {jobz}: {x} is not {y}");
        }
        if jobz == Jobz::V {
            let quality = check::quality(&a, Uplo::Lower, &solved).unwrap();
            assert!(quality.is_ok(), "{route} n={n}: {quality:?}");
        }
        Some(solved.route.to_string())
    }

    let mut random = Random(23);
    let mut taken = std::collections::BTreeSet::new();
    for _ in 0..90 {
        let route = random.route(&syev::OPERATION);
        let n = match route.as_str() {
            r if r.starts_with("block") => 1 + random.below(70),
            _ => 1 + random.below(33),
        };
        let jobz = random.one_of(&[Jobz::V, Jobz::N]);
        taken.extend(match random.below(4) {
            0 => solve(n, jobz, &route, |x, _| x as f32),
            1 => solve(n, jobz, &route, |x, _| x),
            2 => solve(n, jobz, &route, |x, y| Complex::new(x as f32, y as f32)),
            _ => solve(n, jobz, &route, Complex::new),
        });
    }
    assert!(taken.len() > 12, "{taken:?}");
}
