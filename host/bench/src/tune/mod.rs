//! The tuner: every candidate of every cell, checked and then timed in turns, and the route table that follows.
//!
//! A run is a list of [`Step`]s. [`Tuner::measure`] gives the rows of one, which a [`Journal`] keeps; all rows
//! together give [`verdicts`], those a [`table`], and with the arm `auto` among them the comparison of
//! [`verify`].

pub mod journal;
pub mod order;
pub mod table;
mod verdict;
pub mod verify;

use std::fmt;
use std::sync::Arc;

use batchlas::error::{Error, Result};
use batchlas::ops::Target;
use batchlas::routes::Table;
use batchlas::{Dtype, Jobz, Queue};

pub use journal::{Journal, Settings};
pub use verdict::{Timed, Verdict, verdicts, without_times};

use crate::cell::{Cell, Op, Sides};
use crate::forms::{self, Breadth};
use crate::hash;
use crate::provenance::Provenance;
use crate::race::Effort;
use crate::routes::Asked;
use crate::row::Row;
use crate::saturation::{self, Range};
use order::{Vendor, eligible, is_open};

/// The route that takes what the table says.
pub const AUTO: &str = "auto";

/// An arm that takes so many times longer than the fastest comes last whatever the noise: one time tells, where times are long.
pub const FAR: f64 = 2.0;

/// A cell that is open is measured again with so many times the rounds and the time.
const AGAIN: u32 = 4;

/// What to tune.
#[derive(Clone, Debug)]
pub struct Request {
    /// The operation.
    pub op: Op,
    /// Element types.
    pub dtypes: Vec<Dtype>,
    /// With and without vectors.
    pub jobz: Vec<Jobz>,
    /// The sides of products; of other operations one entry, which has no meaning.
    pub sides: Vec<Sides>,
    /// Orders, from 1.
    pub n: Vec<usize>,
    /// Numbers of items, from 1.
    pub batches: Vec<usize>,
    /// Whether the batch that fills the device is measured too, at each shape.
    pub saturation: bool,
    /// Candidates beside those of the row in place.
    pub asked: Vec<Asked>,
    /// How long to measure a cell.
    pub effort: Effort,
    /// The most bytes that a cell may take; `None`: as [`saturation::room`] has it.
    pub memory: Option<u64>,
    /// Where the vendor's candidates stand.
    pub vendor: Vendor,
    /// Whether the table's own choice is an arm as well.
    pub auto: bool,
}

/// A cell to measure, or a shape whose saturation is to be found first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The cell; its batch has no meaning where saturation is looked for.
    pub cell: Cell,
    /// Whether saturation is looked for.
    pub is_saturation: bool,
}

/// `f32 V n=8 batch=64`, the cell's name in a journal.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { dtype, batch, .. } = self.cell;
        let batch = if self.is_saturation { "auto".to_owned() } else { batch.to_string() };
        write!(f, "{dtype} {} {} batch={batch}", self.cell.kind(), self.cell.shape())
    }
}

impl Request {
    /// All steps; those of a shape follow each other, saturation last.
    pub fn steps(&self) -> Vec<Step> {
        let mut batches = self.batches.clone();
        batches.sort_unstable();
        let mut steps = vec![];
        for &dtype in &self.dtypes {
            for (&jobz, &sides) in self.jobz.iter().flat_map(|j| self.sides.iter().map(move |s| (j, s))) {
                for &n in &self.n {
                    let cell = |batch| Cell { op: self.op, dtype, jobz, sides, n, batch, ..Cell::default() };
                    steps.extend(batches.iter().map(|b| Step { cell: cell(*b), is_saturation: false }));
                    if self.saturation {
                        steps.push(Step { cell: cell(1), is_saturation: true });
                    }
                }
            }
        }
        steps
    }

    /// What decides the rows of a run: the options, the device, the build and the table in place.
    pub fn settings(&self, table: &Table, provenance: &Provenance) -> Settings {
        let list = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join(" ");
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        let mut batches = table::ranges(&self.batches);
        if self.saturation {
            batches += " auto";
        }
        let rows = format!("{:?}", table.rows());
        let settings = [
            ("op", self.op.to_string()),
            ("types", list(&mut self.dtypes.iter().map(ToString::to_string))),
            ("jobz", list(&mut self.jobz.iter().map(ToString::to_string))),
            ("sides", list(&mut self.sides.iter().map(|s| format!("{s} {:?} {:?}", s.m, s.k)))),
            ("n", table::ranges(&self.n)),
            ("batches", batches),
            ("routes", list(&mut self.asked.iter().map(|a| a.route.clone()))),
            ("rounds", self.effort.rounds.to_string()),
            ("seconds", self.effort.limit.as_secs_f64().to_string()),
            ("memory", self.memory.map_or("free".to_owned(), |bytes| bytes.to_string())),
            ("vendor", self.vendor.to_string()),
            ("auto as an arm", self.auto.to_string()),
            ("table in place", format!("{} ({})", table.source(), hash::of_bytes(&[rows.as_bytes()]))),
            ("device", provenance.device.clone()),
            ("threads", provenance.threads.to_string()),
            ("driver", or_none(&provenance.driver)),
            ("tool chain", or_none(&provenance.tool_chain)),
            ("version", provenance.version.clone()),
            ("commit", provenance.commit.clone()),
        ];
        settings.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

/// A request on a device, against a table in place.
pub struct Tuner<'a> {
    request: &'a Request,
    queue: &'a Queue,
    table: Arc<Table>,
    provenance: &'a Provenance,
    room: u64,
}

impl<'a> Tuner<'a> {
    /// Measures nothing yet.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn new(
        request: &'a Request,
        queue: &'a Queue,
        table: Arc<Table>,
        provenance: &'a Provenance,
    ) -> Result<Self> {
        let room = match request.memory {
            Some(bytes) => bytes,
            None => saturation::room(queue)?,
        };
        Ok(Tuner { request, queue, table, provenance, room })
    }

    /// The rows of a step, one an arm; none where the step has no cell of its own, since saturation is at a batch
    /// that `of_shape` has already. `of_shape` are the rows of the same shape so far; `said` is told of every cell
    /// before it is measured.
    ///
    /// # Errors
    /// Faults of the device. A cell that memory does not hold has rows with the reason.
    pub fn measure(&self, step: &Step, of_shape: &[Row], mut said: impl FnMut(&Cell)) -> Result<Vec<Row>> {
        let cell = match step.is_saturation {
            false => step.cell,
            true => match self.saturated(&step.cell, of_shape, &mut said)? {
                Some(batch) => Cell { batch, ..step.cell },
                None => return Ok(vec![]),
            },
        };
        said(&cell);
        self.race(&cell)
    }

    /// The batch from which on the arm that leads at the largest batch so far gains nothing more; `None` where that
    /// batch is measured already, or no arm can run.
    fn saturated(
        &self,
        cell: &Cell,
        of_shape: &[Row],
        said: &mut impl FnMut(&Cell),
    ) -> Result<Option<usize>> {
        let range = Range { room: self.room, ..Range::of(self.queue)? }.of_cell(cell, self.request.memory);
        let largest = of_shape.iter().filter(|row| is_timed(row)).map(|row| row.batch).max();
        let scouts;
        let (first, rows) = match largest {
            Some(batch) => (batch, of_shape),
            None => {
                let cell = Cell { batch: range.first, ..*cell };
                said(&cell);
                scouts = self.race(&cell)?;
                (cell.batch, &scouts[..])
            }
        };
        let Some(leader) = leader(rows, first) else { return Ok(None) };
        let asked = [Asked { route: leader, of_group: false }];
        let range = Range { first, last: range.last.max(first), ..range };
        let effort = &self.request.effort;
        let rows = saturation::search(self.queue, cell, &asked, effort, self.provenance, &range, said)?;
        let knee = rows.iter().find(|row| row.knee == Some(true));
        let batch = knee.or(rows.iter().rfind(|row| is_timed(row))).map(|row| row.batch);
        Ok(batch.filter(|batch| !of_shape.iter().any(|row| row.batch == *batch)))
    }

    /// All arms of a cell; measured again, for longer, where the first place is not clear, or `auto` seems slow.
    fn race(&self, cell: &Cell) -> Result<Vec<Row>> {
        let arms = self.arms(cell)?;
        let refused = |reason: String| -> Vec<Row> {
            let row = |arm: &Asked| Row::new(cell, &arm.route, self.provenance).with_error(reason.clone());
            arms.iter().map(row).collect()
        };
        if cell.bytes() > self.room {
            return Ok(refused(format!("takes {} bytes, and {} are allowed", cell.bytes(), self.room)));
        }
        let measure = |effort: &Effort| match cell.measure(self.queue, &arms, effort, self.provenance) {
            Err(error @ Error::OutOfMemory { .. }) => Ok(refused(error.to_string())),
            other => other,
        };
        let effort = self.request.effort;
        let rows = measure(&effort)?;
        let is_slow = |ratio: &verify::Ratio| ratio.value() > 1.0 + order::GAIN;
        let vendor = self.request.vendor;
        let is_open = is_open(&eligible(&pinned_arms(&rows), vendor));
        if !is_open && !verify::ratios(&rows, vendor).first().is_some_and(is_slow) {
            return Ok(rows);
        }
        measure(&Effort { rounds: effort.rounds * AGAIN as usize, limit: effort.limit * AGAIN, ..effort })
    }

    /// The arms of a cell: the candidates of the row in place, then those asked for, with the forms of groups. Of two
    /// that come to the same kernels the first one is kept.
    fn arms(&self, cell: &Cell) -> Result<Vec<Asked>> {
        let in_place = self.table.nearest(&cell.key()).candidates.iter();
        let in_place = in_place.map(|c| Asked { route: c.to_string(), of_group: true });
        let target = Target::of(self.queue);
        let (mut arms, mut known) = (vec![], vec![]);
        let asked = forms::arms(cell, &target, &self.request.asked, Breadth::Long);
        for arm in in_place.chain(asked).filter(|arm| arm.route != AUTO) {
            match cell.reached(&target, &arm.route).map(|reached| forms::kernels(cell, &reached)) {
                Ok(kernels) if known.contains(&kernels) => {}
                Ok(kernels) => {
                    known.push(kernels);
                    arms.push(arm);
                }
                Err(Error::Route(_)) if arm.of_group => {}
                // A named one has a row with the reason.
                Err(Error::Route(_)) => arms.push(arm),
                Err(other) => return Err(other),
            }
        }
        if self.request.auto {
            arms.push(Asked { route: AUTO.to_owned(), of_group: false });
        }
        Ok(arms)
    }
}

fn is_timed(row: &Row) -> bool {
    row.ms.is_some() && row.error.is_none()
}

/// The arms that may enter a table.
fn pinned_arms(rows: &[Row]) -> Vec<order::Arm> {
    let mut arms = order::arms(rows);
    arms.retain(|arm| arm.route != AUTO);
    arms
}

/// The fastest route of a batch.
fn leader(rows: &[Row], batch: usize) -> Option<String> {
    let at_batch = rows.iter().filter(|row| row.batch == batch && row.route != AUTO && is_timed(row));
    let fastest = at_batch.min_by(|x, y| x.ms.unwrap_or(f64::NAN).total_cmp(&y.ms.unwrap_or(f64::NAN)));
    fastest.map(|row| row.route.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes;
    use std::time::Duration;

    fn request(text: &str) -> Request {
        Request {
            op: Op::Syev,
            dtypes: vec![Dtype::F32],
            jobz: vec![Jobz::V],
            sides: vec![Sides::default()],
            n: vec![3],
            batches: vec![64, 8],
            saturation: true,
            asked: routes::parse(Op::Syev.operation(), text).unwrap(),
            effort: Effort { rounds: 3, limit: Duration::from_millis(5), once_from: Some(FAR) },
            memory: None,
            vendor: Vendor::Last,
            auto: false,
        }
    }

    fn in_place() -> Arc<Table> {
        let header = "batchlas routes 1\nop: syev\narch: sm_90\nstatus: measured\ndevice: x\ndriver: x\n\
                      tool chain: x\ndate: x\ncommit: x\nnote: x\nkeys: dtype jobz n batch\n";
        let rows: String = ["f32", "f64", "c32", "c64"]
            .iter()
            .flat_map(|t| ["V", "N"].map(|j| format!("{t} {j} 8 64 cta vendor\n")))
            .collect();
        Arc::new(Table::parse(Op::Syev.operation(), "t", &format!("{header}{rows}")).unwrap())
    }

    #[test]
    fn steps_of_a_shape_follow_each_other() {
        let steps: Vec<String> = request("all").steps().iter().map(Step::to_string).collect();
        assert_eq!(steps, ["f32 V n=3 batch=8", "f32 V n=3 batch=64", "f32 V n=3 batch=auto"]);
    }

    #[test]
    fn whatever_decides_the_rows_is_a_setting() {
        let provenance = Provenance { device: "H200".into(), ..Provenance::default() };
        let (request, table) = (request("all"), in_place());
        let own = request.settings(&table, &provenance);
        let others = [
            Request { n: vec![4], ..request.clone() }.settings(&table, &provenance),
            Request { memory: Some(1), ..request.clone() }.settings(&table, &provenance),
            Request { saturation: false, ..request.clone() }.settings(&table, &provenance),
            Request { auto: true, ..request.clone() }.settings(&table, &provenance),
            request.settings(&table, &Provenance { device: "A100".into(), ..provenance.clone() }),
            request.settings(&table, &Provenance { commit: "abc".into(), ..provenance.clone() }),
            request.settings(&verdict::tests::in_place("8 64 vendor"), &provenance),
        ];
        assert!(others.iter().all(|other| *other != own));
        let later = Provenance { date: "2027-01-01T00:00Z".into(), ..provenance };
        assert_eq!(request.settings(&table, &later), own);
    }

    #[test]
    fn a_step_has_the_arms_that_can_run_and_saturation_its_own_batch() {
        let queue = Queue::cpu();
        let (request, provenance) = (request("all"), Provenance::of(&queue));
        let tuner = Tuner::new(&request, &queue, in_place(), &provenance).unwrap();
        let mut rows: Vec<Row> = vec![];
        for step in request.steps() {
            let mut seen = vec![];
            let new = tuner.measure(&step, &rows, |cell| seen.push(cell.batch)).unwrap();
            if !step.is_saturation {
                assert_eq!(new.iter().map(|r| r.route.as_str()).collect::<Vec<_>>(), ["cpu"]);
                assert_eq!(seen, [step.cell.batch]);
            } else if let [row] = &new[..] {
                assert!(row.batch > 64 && row.batch % 64 == 0 && seen.last() == Some(&row.batch), "{seen:?}");
            } else {
                assert!(new.is_empty() && seen[0] == 64, "{seen:?}");
            }
            rows.extend(new);
        }
    }

    #[test]
    fn a_cell_that_memory_does_not_hold_says_so() {
        let queue = Queue::cpu();
        let request = Request { memory: Some(1000), ..request("all") };
        let provenance = Provenance::of(&queue);
        let tuner = Tuner::new(&request, &queue, in_place(), &provenance).unwrap();
        let rows = tuner.measure(&request.steps()[1], &[], |_| ()).unwrap();
        assert!(rows[0].error.as_deref().unwrap().ends_with("and 1000 are allowed"), "{rows:?}");
        assert!(verdicts(&in_place(), &rows, Vendor::Last).is_empty(), "a cell without times has no verdict");
    }

    #[cfg(feature = "simt")]
    #[test]
    fn arms_that_come_to_the_same_are_one_and_the_row_in_place_names_it() {
        let queue = Queue::simt(1);
        let provenance = Provenance::of(&queue);
        let request = request("all,auto");
        let tuner = Tuner::new(&request, &queue, in_place(), &provenance).unwrap();
        let cell = request.steps()[0].cell;
        let routes = |tuner: &Tuner<'_>| -> Vec<String> {
            tuner.arms(&cell).unwrap().into_iter().map(|a| a.route).collect()
        };
        assert_eq!(routes(&tuner), ["cta", "thread", "cta_fused", "jacobi", "block", "blocked"]);
        let with_auto = Request { auto: true, ..request.clone() };
        let tuner = Tuner::new(&with_auto, &queue, in_place(), &provenance).unwrap();
        assert_eq!(routes(&tuner).last().unwrap(), "auto");

        // `cta` names no form, and comes to the one that ships.
        let cell = Cell { op: Op::Steqr, ..cell };
        let target = Target::of(&queue);
        assert_eq!(cell.reached(&target, "cta").unwrap(), cell.reached(&target, "cta:decoupled").unwrap());
        assert_ne!(cell.reached(&target, "cta").unwrap(), cell.reached(&target, "cta:nested").unwrap());
        assert!(matches!(cell.reached(&target, "cpu"), Err(Error::Route(_))));
    }
}
