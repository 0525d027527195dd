//! Grids of cells, and lists and ranges of sizes: `4,8,16`, `1..32`, `4..32:4`, `64..4096*2`.

use batchlas::ops::Target;
use batchlas::ops::steqr::Shift;
use batchlas::{Dtype, Error, Jobz, Queue, Result};

use crate::cell::{Cell, Op, Padding, Sides};
use crate::forms::{self, Breadth};
use crate::provenance::Provenance;
use crate::race::Effort;
use crate::routes::Asked;
use crate::row::Row;
use crate::saturation;

/// The batches of a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batches {
    /// These.
    List(Vec<usize>),
    /// As many as fill the device, searched for at each shape.
    Auto,
}

impl std::str::FromStr for Batches {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if text == "auto" { Ok(Batches::Auto) } else { sizes(text).map(Batches::List) }
    }
}

/// Every combination of these, and the arms that each of them has.
#[derive(Clone, Debug)]
pub struct Grid {
    /// The operation.
    pub op: Op,
    /// Element types.
    pub dtypes: Vec<Dtype>,
    /// Orders.
    pub n: Vec<usize>,
    /// Numbers of items.
    pub batches: Batches,
    /// With and without vectors.
    pub jobz: Vec<Jobz>,
    /// The sides of products; of other operations one entry, which has no meaning.
    pub sides: Vec<Sides>,
    /// Layouts.
    pub paddings: Vec<Padding>,
    /// The formula of the shift; `steqr` alone has it.
    pub shift: Shift,
    /// The arms.
    pub asked: Vec<Asked>,
    /// How long to measure each cell.
    pub effort: Effort,
    /// The most bytes of a cell that a search for saturation goes to; `None`: as [`saturation::Range::of_cell`] has it.
    pub memory: Option<u64>,
}

impl Grid {
    /// The cells in order. A batch that is searched for counts as one cell.
    pub fn cells(&self) -> Vec<Cell> {
        let found = match &self.batches {
            Batches::List(list) => list.clone(),
            Batches::Auto => vec![1],
        };
        let mut cells = vec![];
        for &dtype in &self.dtypes {
            for (&jobz, &sides) in self.jobz.iter().flat_map(|j| self.sides.iter().map(move |s| (j, s))) {
                for &padding in &self.paddings {
                    for &n in &self.n {
                        let cell = |&batch: &usize| Cell {
                            op: self.op,
                            dtype,
                            n,
                            batch,
                            jobz,
                            sides,
                            padding,
                            shift: self.shift,
                        };
                        cells.extend(found.iter().map(cell));
                    }
                }
            }
        }
        cells
    }

    /// Measures one cell of [`cells`](Self::cells); `step` is told of every batch. A cell that memory does not
    /// hold gives a row with the reason for each arm.
    ///
    /// # Errors
    /// As [`Cell::measure`].
    pub fn measure(
        &self,
        queue: &Queue,
        cell: &Cell,
        provenance: &Provenance,
        mut step: impl FnMut(&Cell),
    ) -> Result<Vec<Row>> {
        let measured = match self.batches {
            Batches::Auto => {
                let range = saturation::Range::of(queue)?.of_cell(cell, self.memory);
                saturation::search(queue, cell, &self.asked, &self.effort, provenance, &range, &mut step)
            }
            Batches::List(_) => {
                step(cell);
                let arms = forms::arms(cell, &Target::of(queue), &self.asked, Breadth::Short);
                cell.measure(queue, &arms, &self.effort, provenance)
            }
        };
        match measured {
            Err(error @ Error::OutOfMemory { .. }) => {
                let row = |a: &Asked| Row::new(cell, &a.route, provenance).with_error(error.to_string());
                Ok(self.asked.iter().map(row).collect())
            }
            other => other,
        }
    }
}

/// A list of sizes, each a number, `a..b` (both ends), `a..b:step` or `a..b*factor`, in the order given and
/// without repetitions.
///
/// # Errors
/// A sentence that names the part that is none.
pub fn sizes(text: &str) -> std::result::Result<Vec<usize>, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        for size in span(part.trim())? {
            if !all.contains(&size) {
                all.push(size);
            }
        }
    }
    Ok(all)
}

/// The most sizes of one range: more is a slip of the finger.
const MOST: usize = 10_000;

fn span(part: &str) -> std::result::Result<Vec<usize>, String> {
    let number = |text: &str| {
        text.trim().parse::<usize>().map_err(|_| format!("'{part}': '{}' is no number", text.trim()))
    };
    let Some((from, rest)) = part.split_once("..") else { return Ok(vec![number(part)?]) };
    let from = number(from)?;
    let (to, next): (usize, Box<dyn Fn(usize) -> Option<usize>>) =
        if let Some((to, factor)) = rest.split_once('*') {
            let factor = number(factor)?;
            if factor < 2 || from == 0 {
                return Err(format!("'{part}': a factor is at least 2 and starts above 0"));
            }
            (number(to)?, Box::new(move |x| x.checked_mul(factor)))
        } else {
            let (to, step) = rest.split_once(':').map_or((rest, Ok(1)), |(to, step)| (to, number(step)));
            let step = step?;
            if step == 0 {
                return Err(format!("'{part}': a step is at least 1"));
            }
            (number(to)?, Box::new(move |x| x.checked_add(step)))
        };
    if from > to {
        return Err(format!("'{part}': it ends before it starts"));
    }
    let sizes: Vec<usize> =
        std::iter::successors(Some(from), |x| next(*x).filter(|x| *x <= to)).take(MOST + 1).collect();
    if sizes.len() > MOST {
        return Err(format!("'{part}': more than {MOST} sizes"));
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges() {
        for (text, wanted) in [
            ("4", &[4][..]),
            ("8, 4,8", &[8, 4]),
            ("1..4", &[1, 2, 3, 4]),
            ("4..10:3", &[4, 7, 10]),
            ("4..11:3", &[4, 7, 10]),
            ("2..20*2,20", &[2, 4, 8, 16, 20]),
            ("0..1", &[0, 1]),
            ("5..5", &[5]),
        ] {
            assert_eq!(sizes(text).unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_none_is_named() {
        for (text, word) in [
            ("", "'' is no number"),
            ("4,x", "'x'"),
            ("4..", "is no number"),
            ("9..4", "ends before"),
            ("1..9:0", "step"),
            ("1..9*1", "factor"),
            ("0..9*2", "factor"),
            ("1..99999", "more than"),
            ("-1", "'-1'"),
        ] {
            let reason = sizes(text).unwrap_err();
            assert!(reason.contains(word), "{text}: {reason}");
        }
    }
}
