//! Accuracy: families on the input classes of the contract, a row an item.

mod inputs;
mod summary;

use batchlas::check::{self, LIMIT};
use batchlas::linalg::{EighOptions, EighTridiagonalOptions, eigh_tridiagonal_with, eigh_with};
use batchlas::routes::Pin;
use batchlas::{Batch, Complex, Dtype, Error, Jobz, Queue, Real, Result, Scalar, Status, Uplo};
use serde::{Deserialize, Serialize};

use crate::cell::Op;
use crate::hash;
use crate::provenance::Provenance;
use crate::reference;
use crate::routes::Asked;
pub use inputs::class_names;
use inputs::{Dense, Item, Tridiagonals};
pub use summary::{Bin, Figures, Summary, summaries};

/// One item, solved by one family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// `sample`
    pub kind: String,
    /// The operation.
    pub op: String,
    /// The element type.
    pub dtype: String,
    /// The order.
    pub n: usize,
    /// `V` or `N`.
    pub jobz: String,
    /// The input class.
    pub class: String,
    /// The item's number in its class.
    pub item: usize,
    /// What the item's generator was started with.
    pub seed: u64,
    /// A hash of the item's elements.
    pub input: String,
    /// log10 of max |w| / min |w|; `None` where an eigenvalue is 0.
    pub condition: Option<f64>,
    /// The family asked for.
    pub route: String,
    /// The family and the parameters reached.
    pub reached: String,
    /// As [`Status`] has it.
    pub status: i32,
    /// ||A v - v l|| / (n eps ||A||); `None` where it is not finite or the item has no result or no vectors.
    pub residual: Option<f64>,
    /// ||V^H V - I|| / (n eps), likewise.
    pub orthogonality: Option<f64>,
    /// max |w - exact| / (n eps ||A||_2), likewise.
    pub value_error: Option<f64>,
    /// A hash of the eigenvalues' bits.
    pub values: String,
    /// A hash of the vectors' bits; empty for values only.
    pub vectors: String,
    /// Where and from what.
    #[serde(flatten)]
    pub provenance: Provenance,
}

impl Sample {
    /// The decade of the condition.
    pub fn bin(&self) -> Option<i32> {
        self.condition.map(|c| c.floor() as i32)
    }

    /// Whether the item has no result or one outside the contract.
    pub fn is_wrong(&self) -> bool {
        let wrong = |x: Option<f64>| x.is_none_or(|x| x > LIMIT);
        let vectors = self.jobz == "V" && (wrong(self.residual) || wrong(self.orthogonality));
        self.status != 0 || wrong(self.value_error) || vectors
    }

    /// Whether the family is the vendor's.
    pub fn is_vendor(&self) -> bool {
        self.route.starts_with("vendor")
    }

    /// The row as a line of JSON.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers") + "\n"
    }
}

/// What to solve.
#[derive(Clone, Debug)]
pub struct Study {
    /// The operation.
    pub op: Op,
    /// The element type.
    pub dtype: Dtype,
    /// The order, at least 1.
    pub n: usize,
    /// Whether vectors are wanted.
    pub jobz: Jobz,
    /// Names of classes, of [`class_names`].
    pub classes: Vec<String>,
    /// Items of each class.
    pub items: usize,
    /// What the items' own seeds are made from.
    pub seed: u64,
    /// The families.
    pub asked: Vec<Asked>,
}

/// Rows, and the arms that could not run.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// A row an item and arm.
    pub samples: Vec<Sample>,
    /// Named arms that could not run, with the reason. Those of groups are left out.
    pub refused: Vec<(String, String)>,
}

impl Study {
    /// Solves every class by every family.
    ///
    /// # Errors
    /// Faults of the device, findings of the executor, a class that is not known.
    pub fn run(&self, queue: &Queue, provenance: &Provenance) -> Result<Found> {
        match (self.op, self.dtype) {
            (Op::Syev, Dtype::F32) => self.over(&Dense::<f32>::new(self)?, queue, provenance),
            (Op::Syev, Dtype::F64) => self.over(&Dense::<f64>::new(self)?, queue, provenance),
            (Op::Syev, Dtype::C32) => self.over(&Dense::<Complex<f32>>::new(self)?, queue, provenance),
            (Op::Syev, Dtype::C64) => self.over(&Dense::<Complex<f64>>::new(self)?, queue, provenance),
            (Op::Steqr | Op::Stedc | Op::Stebz, Dtype::F32) => {
                self.over(&Tridiagonals::<f32>::new(self)?, queue, provenance)
            }
            (Op::Steqr | Op::Stedc | Op::Stebz, Dtype::F64) => {
                self.over(&Tridiagonals::<f64>::new(self)?, queue, provenance)
            }
            (Op::Gemm, _) => Err(Error::argument("the accuracy of products is for the bench to tell")),
            (op, dtype) => Err(Error::argument(format!("{op} is for real types, not for {dtype}"))),
        }
    }

    fn over<I: Input>(&self, input: &I, queue: &Queue, provenance: &Provenance) -> Result<Found> {
        let mut found = Found::default();
        for Asked { route, of_group } in &self.asked {
            let pin = Pin::parse(self.op.operation(), route)?;
            match input.solve(queue, &pin, self.jobz) {
                Ok(solved) => {
                    let rows =
                        (0..input.items().len()).map(|at| self.sample(input, at, route, &solved, provenance));
                    found.samples.extend(rows.collect::<Result<Vec<_>>>()?);
                }
                Err(Error::Route(_)) if *of_group => {}
                Err(Error::Route(reason)) => found.refused.push((route.clone(), reason.to_string())),
                Err(other) => return Err(other),
            }
        }
        Ok(found)
    }

    fn sample<I: Input>(
        &self,
        input: &I,
        at: usize,
        route: &str,
        solved: &Solved<I::Scalar>,
        provenance: &Provenance,
    ) -> Result<Sample> {
        let n = self.n;
        let item = &input.items()[at];
        let exact = &input.exact()[at * n..(at + 1) * n];
        let values = &solved.values[at * n..(at + 1) * n];
        let vectors = solved.vectors.as_ref().map(|v| &v.as_slice()[at * n * n..(at + 1) * n * n]);
        let is_ok = solved.status[at].is_ok();
        let quality = vectors.filter(|_| is_ok).map(|v| input.quality(at, values, v)).transpose()?;
        let finite = |x: f64| x.is_finite().then_some(x);
        let error = reference::error(self.dtype, values, exact).filter(|_| is_ok);
        Ok(Sample {
            kind: "sample".to_owned(),
            op: self.op.to_string(),
            dtype: self.dtype.to_string(),
            n,
            jobz: self.jobz.to_string(),
            class: item.class.to_owned(),
            item: item.number,
            seed: item.seed,
            input: input.hash(at),
            condition: condition(exact),
            route: route.to_owned(),
            reached: solved.reached.clone(),
            status: solved.status[at].code(),
            residual: quality.as_ref().and_then(|q| finite(q.max_residual)),
            orthogonality: quality.as_ref().and_then(|q| finite(q.max_orthogonality)),
            value_error: error.and_then(finite),
            values: hash::of_bytes(&[bytemuck::cast_slice(values)]),
            vectors: vectors.map_or(String::new(), |v| hash::of_bytes(&[bytemuck::cast_slice(v)])),
            provenance: provenance.clone(),
        })
    }
}

/// log10 of max |w| / min |w|.
fn condition(exact: &[f64]) -> Option<f64> {
    let largest = exact.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let least = exact.iter().fold(f64::INFINITY, |m, x| m.min(x.abs()));
    (least > 0.0).then(|| largest.log10() - least.log10())
}

/// The items of a study in a type.
trait Input {
    type Scalar: Scalar;
    fn items(&self) -> &[Item];
    fn exact(&self) -> &[f64];
    /// A hash of an item's elements.
    fn hash(&self, at: usize) -> String;
    fn solve(&self, queue: &Queue, pin: &Pin, jobz: Jobz) -> Result<Solved<Self::Scalar>>;
    /// Residual and orthogonality of an item.
    fn quality(
        &self,
        at: usize,
        values: &[<Self::Scalar as Scalar>::Real],
        vectors: &[Self::Scalar],
    ) -> Result<check::Quality>;
}

/// Results of a batch.
struct Solved<T: Scalar> {
    values: Vec<T::Real>,
    vectors: Option<Batch<T>>,
    status: Vec<Status>,
    reached: String,
}

impl<T: Scalar> Input for Dense<T> {
    type Scalar = T;

    fn items(&self) -> &[Item] {
        &self.items
    }

    fn exact(&self) -> &[f64] {
        &self.exact
    }

    fn hash(&self, at: usize) -> String {
        let square = self.n * self.n;
        hash::of_bytes(&[bytemuck::cast_slice(&self.a.as_slice()[at * square..(at + 1) * square])])
    }

    fn solve(&self, queue: &Queue, pin: &Pin, jobz: Jobz) -> Result<Solved<T>> {
        let options = EighOptions { jobz, uplo: Uplo::Lower, route: Some(pin.clone()), or_cpu: false };
        let solved = eigh_with(queue, &self.a, &options)?;
        let reached = solved.route.to_string();
        Ok(Solved { values: solved.values, vectors: solved.vectors, status: solved.status, reached })
    }

    fn quality(&self, at: usize, values: &[T::Real], vectors: &[T]) -> Result<check::Quality> {
        let n = self.n;
        let one = |from: &[T]| Batch::from_fn(n, n, 1, |_, i, j| from[j * n + i]);
        let a = one(&self.a.as_slice()[at * n * n..(at + 1) * n * n]);
        check::quality_of(&a, Uplo::Lower, values, &one(vectors))
    }
}

impl<T: Real> Input for Tridiagonals<T> {
    type Scalar = T;

    fn items(&self) -> &[Item] {
        &self.items
    }

    fn exact(&self) -> &[f64] {
        &self.exact
    }

    fn hash(&self, at: usize) -> String {
        let (n, m) = (self.n, self.n - 1);
        let (d, e) = (&self.d[at * n..(at + 1) * n], &self.e[at * m..(at + 1) * m]);
        hash::of_bytes(&[bytemuck::cast_slice(d), bytemuck::cast_slice(e)])
    }

    fn solve(&self, queue: &Queue, pin: &Pin, jobz: Jobz) -> Result<Solved<T>> {
        let method = self.method;
        let options = EighTridiagonalOptions { jobz, method, route: Some(pin.clone()), ..Default::default() };
        let solved = eigh_tridiagonal_with(queue, &self.d, &self.e, self.n, &options)?;
        let reached = solved.route.to_string();
        Ok(Solved { values: solved.values, vectors: solved.vectors, status: solved.status, reached })
    }

    fn quality(&self, at: usize, values: &[T], vectors: &[T]) -> Result<check::Quality> {
        let n = self.n;
        let a = self.dense(at);
        let vectors = Batch::from_fn(n, n, 1, |_, i, j| vectors[j * n + i]);
        check::quality_of(&a, Uplo::Lower, values, &vectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes;

    fn study(op: Op, dtype: Dtype, n: usize) -> Study {
        Study {
            op,
            dtype,
            n,
            jobz: if op.gives(Jobz::V) { Jobz::V } else { Jobz::N },
            classes: class_names(op).iter().map(|c| (*c).to_owned()).collect(),
            items: 2,
            seed: 1,
            asked: routes::parse(op.operation(), "all").unwrap(),
        }
    }

    #[test]
    fn the_cpu_keeps_the_contract_on_every_class_and_repeats_its_bits() {
        let queue = Queue::cpu();
        let provenance = Provenance::of(&queue);
        for (op, dtype) in [
            (Op::Syev, Dtype::F32),
            (Op::Syev, Dtype::F64),
            (Op::Syev, Dtype::C64),
            (Op::Steqr, Dtype::F32),
            (Op::Steqr, Dtype::F64),
            (Op::Stedc, Dtype::F64),
            (Op::Stebz, Dtype::F32),
        ] {
            let study = study(op, dtype, 9);
            let found = study.run(&queue, &provenance).unwrap();
            assert_eq!(found.samples.len(), 2 * study.classes.len());
            for sample in &found.samples {
                assert!(!sample.is_wrong(), "{sample:?}");
            }
            assert_eq!(found.samples, study.run(&queue, &provenance).unwrap().samples);
            let other = Study { seed: 2, ..study.clone() }.run(&queue, &provenance).unwrap();
            let random = |f: &Found| f.samples.iter().find(|s| s.class == "random").unwrap().input.clone();
            assert_ne!(random(&found), random(&other));
        }
    }

    #[test]
    fn a_class_or_an_item_does_not_depend_on_what_else_is_asked_for() {
        let queue = Queue::cpu();
        let provenance = Provenance::of(&queue);
        let all = study(Op::Syev, Dtype::F64, 5).run(&queue, &provenance).unwrap().samples;
        let few = Study { classes: vec!["clustered".into()], items: 1, ..study(Op::Syev, Dtype::F64, 5) };
        let few = few.run(&queue, &provenance).unwrap().samples;
        assert_eq!(all.iter().find(|s| s.class == "clustered"), few.first());
    }

    /// An input whose solve comes out with one eigenvalue of one item a unit in the last place higher.
    struct Nudged(Dense<f64>);

    impl Input for Nudged {
        type Scalar = f64;
        fn items(&self) -> &[Item] {
            self.0.items()
        }
        fn exact(&self) -> &[f64] {
            self.0.exact()
        }
        fn hash(&self, at: usize) -> String {
            self.0.hash(at)
        }
        fn solve(&self, queue: &Queue, pin: &Pin, jobz: Jobz) -> Result<Solved<f64>> {
            let mut solved = self.0.solve(queue, pin, jobz)?;
            solved.values[7] = solved.values[7].next_up();
            Ok(solved)
        }
        fn quality(&self, at: usize, values: &[f64], vectors: &[f64]) -> Result<check::Quality> {
            self.0.quality(at, values, vectors)
        }
    }

    #[test]
    fn one_unit_in_the_last_place_of_one_value_is_found_by_the_comparison() {
        use crate::compare::{Rule, compare};
        use crate::row::Read;
        let queue = Queue::cpu();
        let provenance = Provenance::of(&queue);
        let study = study(Op::Syev, Dtype::F64, 5);
        let run = |input: &dyn Fn() -> Result<Found>| Read::Accuracy(input().unwrap().samples);
        let plain = run(&|| study.over(&Dense::<f64>::new(&study)?, &queue, &provenance));
        let nudged = run(&|| study.over(&Nudged(Dense::new(&study)?), &queue, &provenance));
        let report = compare(&plain, &nudged, &Rule::default(), 1).unwrap();
        let flags: Vec<&str> = report.pairs.iter().filter_map(|pair| pair.flag.as_deref()).collect();
        assert_eq!(flags, ["other bits: random 1"], "{report:?}");
    }

    #[test]
    fn families_that_cannot_run_are_named_if_they_were() {
        let queue = Queue::cpu();
        let asked = routes::parse(Op::Syev.operation(), "cta").unwrap();
        let found =
            Study { asked, ..study(Op::Syev, Dtype::F64, 5) }.run(&queue, &Provenance::of(&queue)).unwrap();
        assert!(found.samples.is_empty() && found.refused[0].1.contains("cta"), "{:?}", found.refused);
        let unknown = Study { classes: vec!["nice".into()], ..study(Op::Syev, Dtype::F64, 5) };
        assert!(unknown.run(&queue, &Provenance::of(&queue)).unwrap_err().to_string().contains("'nice'"));
    }

    #[test]
    fn conditions() {
        assert_eq!(condition(&[-1e-3, 10.0]), Some(4.0));
        assert_eq!(condition(&[0.0, 10.0]), None);
        assert!((condition(&[1e-300, 1e300]).unwrap() - 600.0).abs() < 1e-9);
    }
}
