//! Problem, plan, launch: the solve in place.

use super::arrays::{Arrays, Iteration};
use super::choices::{FORMS, UPDATES};
use super::{Decided, Decision, Form, Jobz, OPERATION, Plan, Problem, Shift, Target, Update};
use crate::error::{Error, Result};
use crate::memory::{DeviceBatch, DeviceBuffer};
use crate::ops::{SWEEPS_PER_VALUE, tridiagonal};
use crate::queue::Queue;
use crate::routes::{Candidate, Param, Params, Pin, RouteError};
use crate::scalar::Real;

/// How to solve.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether `q` holds a basis on entry, whose columns the vectors are then
    /// expressed in; otherwise they start from the identity.
    pub back_transform: bool,
    /// Whether eigenvalues, and vectors with them, are put in ascending order.
    pub sort: bool,
    /// An item that is not diagonal after n times this many sweeps fails; LAPACK allows 30.
    pub sweeps_per_value: u32,
    /// How the shift of a sweep is computed.
    pub shift: Shift,
    /// How a sweep updates the matrix; `None`: as measured to be best. Only
    /// the family `cta` has the choice, so that asking for one pins it.
    pub update: Option<Update>,
    /// How a warp goes through the iteration; `None`: as measured to be best.
    /// As `update`, a form pins the family `cta`.
    pub form: Option<Form>,
    /// The family to take; `None`: scoped pin, environment or table.
    pub route: Option<Pin>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            back_transform: false,
            sort: true,
            sweeps_per_value: SWEEPS_PER_VALUE,
            shift: Shift::default(),
            update: None,
            form: None,
            route: None,
        }
    }
}

impl Options {
    fn iteration(&self) -> Iteration {
        let Options { back_transform, sort, sweeps_per_value, shift, .. } = *self;
        Iteration { back_transform, sort, sweeps_per_value, shift }
    }

    /// The pin that `route`, `form` and `update` come to together.
    ///
    /// # Errors
    /// [`Error::Route`] where they contradict each other.
    pub fn pin(&self) -> Result<Option<Pin>> {
        if self.form.is_none() && self.update.is_none() {
            return Ok(self.route.clone());
        }
        let mut params = match &self.route {
            None | Some(Pin::Auto | Pin::Native) => Params::default(),
            Some(Pin::Family(candidate)) if candidate.family().name == "cta" => candidate.params().clone(),
            Some(pin) => return Err(contradiction(pin, "has neither forms nor a choice of updates")),
        };
        for (words, word) in [(FORMS, self.form.map(Form::word)), (UPDATES, self.update.map(Update::word))] {
            let Some(word) = word else { continue };
            let place = place_of(words);
            if let (Some(other), Some(pin)) = (params.word_at(place).filter(|w| *w != word), &self.route) {
                let reason = format!("names {other}, but {word} is asked for");
                return Err(contradiction(pin, &reason));
            }
            params.set_word(place, word);
        }
        let cta = OPERATION.family("cta").expect("a family of steqr");
        Ok(Some(Pin::Family(Candidate::plain(cta).with_params(params))))
    }
}

fn contradiction(pin: &Pin, reason: &str) -> Error {
    RouteError::Params { op: OPERATION.name, pin: format!("'{pin}'"), reason: reason.to_owned() }.into()
}

/// Where a group of words stands among the parameters of `cta`.
pub(super) fn place_of(words: &[&str]) -> usize {
    let params = OPERATION.family("cta").map_or(&[][..], |f| f.params);
    let found = params.iter().position(|p| matches!(p, Param::Word(list) if *list == words));
    found.expect("the family has the group")
}

/// The plan that [`solve`] would follow for a problem on a target. Touches no device.
///
/// # Errors
/// [`Error::Route`] where no family can run the problem or a pin cannot be
/// honoured; [`Error::Table`], [`Error::Argument`] for malformed settings and complex types.
pub fn plan(problem: &Problem, target: &Target, options: &Options) -> Result<(Decision, Plan)> {
    Ok(Decided::new(problem, target, options)?.into_parts())
}

impl Decided {
    /// Decides. Touches no device; reads tables and pins, this once.
    ///
    /// # Errors
    /// As [`plan`].
    pub fn new(problem: &Problem, target: &Target, options: &Options) -> Result<Self> {
        if u32::try_from(problem.n).ok().and_then(|n| n.checked_mul(options.sweeps_per_value)).is_none() {
            let text = format!("{} * {} sweeps pass 32 bits", problem.n, options.sweeps_per_value);
            return Err(Error::argument(text));
        }
        Ok(Decided::decide(problem, target, options.pin()?.as_ref(), options.iteration())?
            .with_every_parameter())
    }

    /// Solves as [`solve`] does. Type, order and `jobz` are those of the problem; layout and batch are free.
    ///
    /// # Errors
    /// As [`solve`], without those of the route.
    pub fn solve<T: Real>(
        &self,
        queue: &Queue,
        d: &mut DeviceBuffer<T>,
        e: &DeviceBuffer<T>,
        q: Option<&mut DeviceBatch<T>>,
        status: &mut DeviceBuffer<i32>,
    ) -> Result<()> {
        let Problem { dtype, n, jobz, .. } = self.decision.problem;
        let batch = status.len();
        tridiagonal::check_matrices((dtype, n, batch), d, e)?;
        tridiagonal::check_vectors((jobz, n, batch), q.as_deref())?;
        queue.check_owns(d)?;
        queue.check_owns(e)?;
        q.as_ref().map_or(Ok(()), |q| queue.check_owns(q.buffer()))?;
        queue.check_owns(status)?;
        let iteration = self.how;
        self.run(queue, batch, Arrays { d, e, q, status, iteration }.typed())
    }
}

/// Solves a batch in place.
///
/// | array | shape | on entry | on return |
/// |---|---|---|---|
/// | `d` | n an item, item after item | diagonals | eigenvalues, ascending if `options.sort` |
/// | `e` | n - 1 an item | off-diagonals | the same |
/// | `q` | batch of n by n, any leading dimension and stride | a basis if `options.back_transform`, else not read | vectors as columns |
/// | `status` | 1 an item | not read | what became of the item, as [`Status`](crate::Status) has it |
///
/// Without `q` eigenvalues alone are computed. The batch is `status.len()`, the
/// order `d.len()` over that. An item that fails has NaN in `d` and `q` and
/// touches no other. A basis is not looked at: a NaN in it spreads over that
/// item's vectors.
///
/// On a GPU the call returns before the work is done; nothing waits for the
/// statuses. It takes no workspace. Each item costs some 3 n^3 multiply-adds with vectors.
///
/// # Errors
/// [`Error::Argument`] where shapes do not fit or a buffer belongs to another
/// queue, [`Error::Route`] where no family can run the problem,
/// [`Error::Findings`] from the executor, and faults of the driver.
pub fn solve<T: Real>(
    queue: &Queue,
    d: &mut DeviceBuffer<T>,
    e: &DeviceBuffer<T>,
    q: Option<&mut DeviceBatch<T>>,
    status: &mut DeviceBuffer<i32>,
    options: &Options,
) -> Result<Decision> {
    let batch = status.len();
    let n = tridiagonal::order(d, q.as_deref(), batch)?;
    let jobz = if q.is_some() { Jobz::V } else { Jobz::N };
    let problem = Problem { dtype: T::DTYPE, n, batch, jobz };
    let decided = Decided::new(&problem, &Target::of(queue), options)?;
    decided.solve(queue, d, e, q, status)?;
    Ok(decided.decision)
}
