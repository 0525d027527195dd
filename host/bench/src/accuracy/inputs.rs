//! Items of the input classes, each from a seed of its own.

use batchlas::linalg::Method;
use batchlas::{Batch, Dtype, Error, Real, Result, Scalar};

use super::Study;
use crate::cell::{Op, check_room};
use crate::classes::{dense, digits, tridiagonal};
use crate::hash;
use crate::matrix::Matrix;
use crate::random::Random;
use crate::reference;
use crate::{steqr, syev};

/// Spectra that fall geometrically to a random condition, so that every decade has items.
const CONDITIONED: &str = "conditioned";

/// The classes of an operation's input: those of the contract, and `conditioned`.
pub fn class_names(op: Op) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = match op {
        Op::Syev => dense::CLASSES.iter().map(|(name, _)| *name).collect(),
        Op::Steqr | Op::Stedc | Op::Stebz => tridiagonal::CLASSES.iter().map(|(name, _)| *name).collect(),
        // Products have no classes of their own.
        Op::Gemm => vec![],
    };
    names.push(CONDITIONED);
    names
}

/// Where an item comes from.
pub(super) struct Item {
    pub(super) class: &'static str,
    pub(super) number: usize,
    pub(super) seed: u64,
}

/// The items of a study.
///
/// # Errors
/// A class that is not known.
fn items(study: &Study) -> Result<Vec<Item>> {
    let known = class_names(study.op);
    let mut items = vec![];
    for wanted in &study.classes {
        // A hyphen may stand for the blank of a name: a shell takes that apart.
        let plain = |name: &str| name.replace('-', " ").to_ascii_lowercase();
        let class = known.iter().find(|name| plain(name) == plain(wanted));
        let class = *class.ok_or_else(|| {
            Error::argument(format!("unknown class '{wanted}': one of {}", known.join(", ")))
        })?;
        let seed = |number| seed_of(study, class, number);
        items.extend((0..study.items).map(|number| Item { class, number, seed: seed(number) }));
    }
    Ok(items)
}

/// Of 52 bits, which a number of JSON holds in every reader.
fn seed_of(study: &Study, class: &str, number: usize) -> u64 {
    let text = format!("{} {class} {} {number}", study.seed, study.n);
    let digits = hash::of_bytes(&[text.as_bytes()]);
    u64::from_str_radix(&digits, 16).expect("16 hexadecimal digits") >> 12
}

/// Room for `items` complex matrices in double precision.
fn room(n: usize, items: usize) -> Result<()> {
    let bytes = (n as u64).saturating_mul(n as u64).saturating_mul(items as u64).saturating_mul(16);
    check_room(bytes, &format!("{items} matrices of order {n}"))
}

/// Dense matrices.
pub(super) struct Dense<T: Scalar> {
    pub(super) n: usize,
    pub(super) items: Vec<Item>,
    pub(super) a: Batch<T>,
    pub(super) exact: Vec<f64>,
}

impl<T: Scalar> Dense<T> {
    pub(super) fn new(study: &Study) -> Result<Self> {
        let (n, items) = (study.n, items(study)?);
        room(n, items.len())?;
        let matrices: Vec<Matrix> = items.iter().map(|item| matrix(item, n, T::DTYPE)).collect();
        let a = syev::rounded(&matrices);
        let exact = reference::higher(&a)?;
        Ok(Dense { n, items, a, exact })
    }
}

fn matrix(item: &Item, n: usize, dtype: Dtype) -> Matrix {
    let mut random = Random::new(item.seed);
    match dense::CLASSES.iter().find(|(name, _)| *name == item.class) {
        Some((_, make)) => make(&mut random, n, dtype),
        None => {
            let values = falling(&mut random, n, dtype);
            random.with_spectrum(&values, dtype.is_complex())
        }
    }
}

/// From 1 down to a random power of ten that the type still tells from 0 beside 1, and a bit below.
fn falling(random: &mut Random, n: usize, dtype: Dtype) -> Vec<f64> {
    let decades = 1.2 * digits(dtype) * random.unit();
    (0..n).map(|k| 10f64.powf(-decades * k as f64 / (n.max(2) - 1) as f64)).collect()
}

/// Tridiagonal matrices.
pub(super) struct Tridiagonals<T: Real> {
    pub(super) n: usize,
    /// How they are solved.
    pub(super) method: Method,
    pub(super) items: Vec<Item>,
    pub(super) d: Vec<T>,
    pub(super) e: Vec<T>,
    pub(super) exact: Vec<f64>,
}

impl<T: Real> Tridiagonals<T> {
    pub(super) fn new(study: &Study) -> Result<Self> {
        let (n, items) = (study.n, items(study)?);
        // The vectors, by which the items are checked.
        room(n, items.len())?;
        let all: Vec<_> = items.iter().map(|item| tridiagonal_item(item, n, T::DTYPE)).collect();
        let (d, e) = steqr::rounded(all.iter());
        let method = match study.op {
            Op::Stedc => Method::Dc,
            Op::Stebz => Method::Bisection,
            Op::Syev | Op::Steqr | Op::Gemm => Method::Qr,
        };
        let mut input = Tridiagonals { n, method, items, d, e, exact: vec![] };
        let dense = Batch::from_fn(n, n, input.items.len(), |item, i, j| {
            steqr::element(n, &input.d, &input.e, item, i, j)
        });
        input.exact = reference::higher(&dense)?;
        Ok(input)
    }

    /// An item with its zeros.
    pub(super) fn dense(&self, at: usize) -> Batch<T> {
        Batch::from_fn(self.n, self.n, 1, |_, i, j| steqr::element(self.n, &self.d, &self.e, at, i, j))
    }
}

fn tridiagonal_item(item: &Item, n: usize, dtype: Dtype) -> tridiagonal::Tridiagonal {
    let mut random = Random::new(item.seed);
    match tridiagonal::CLASSES.iter().find(|(name, _)| *name == item.class) {
        Some((_, make)) => make(&mut random, n, dtype),
        None => {
            let values = falling(&mut random, n, dtype);
            // Half the geometric mean of two neighbours keeps the matrix positive definite.
            let e: Vec<f64> = values.windows(2).map(|w| 0.4 * (w[0] * w[1]).sqrt() * random.unit()).collect();
            tridiagonal::Tridiagonal { d: values, e }
        }
    }
}
