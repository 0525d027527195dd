//! The batch from which on a device is full.

use batchlas::ops::Target;
use batchlas::{Device, Error, Queue, Result};

use crate::cell::{Cell, Op};
use crate::forms::{self, Breadth};
use crate::provenance::Provenance;
use crate::race::Effort;
use crate::routes::Asked;
use crate::row::Row;

/// From one batch to the next.
pub const STEP: usize = 4;
/// What a step must bring, as a part of the time an item, for the search to go on.
pub const GAIN: f64 = 0.05;

/// The position of the knee among batches in ascending order, each [`STEP`] times the one before, by the time an
/// item; `None` where a time is not to be trusted. The first that a step improves by less than [`GAIN`].
pub fn knee(times: &[Option<f64>]) -> Option<usize> {
    let saturated =
        |pair: &[Option<f64>]| matches!(pair, [Some(here), Some(next)] if *next > (1.0 - GAIN) * here);
    times.windows(2).position(saturated)
}

/// Where a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The batch that it starts from.
    pub first: usize,
    /// The most items of a batch.
    pub last: usize,
    /// The most bytes of a cell, the first one aside.
    pub room: u64,
}

impl Range {
    /// From a batch that leaves the device idle up to four million items (262144 on the CPU), in the memory of
    /// [`room`].
    ///
    /// # Errors
    /// Faults of the device.
    pub fn of(queue: &Queue) -> Result<Self> {
        let (first, last) = match queue.device() {
            Device::Cpu => (16, 1 << 18),
            _ => (256, 1 << 22),
        };
        Ok(Range { first, last, room: room(queue)? })
    }
}

impl Range {
    /// For products: begins with fewer items where they are so large that few fill the device, and ends at [`PRODUCTS`].
    /// Whatever is said of `memory` wins.
    pub fn of_cell(self, cell: &Cell, memory: Option<u64>) -> Self {
        let range = match cell.op {
            Op::Gemm => {
                let item = Cell { batch: 1, ..*cell }.bytes().max(1);
                let first = (LARGE / item).clamp(1, self.first as u64) as usize;
                Range { first, room: self.room.min(PRODUCTS), ..self }
            }
            _ => self,
        };
        Range { room: memory.unwrap_or(range.room), ..range }
    }
}

/// Bytes of the largest batch of products that a search looks at: a hundred times what a GPU's caches hold. Beyond, four times
/// more items take four times longer, and the input of one cell takes seconds to make and to upload.
pub const PRODUCTS: u64 = 4 << 30;

/// Bytes of a batch of products that leaves a GPU idle no more than a few blocks.
const LARGE: u64 = 1 << 26;

/// Memory that a cell may fill: three quarters of a GPU's, and 2 GiB of a host's.
///
/// # Errors
/// Faults of the device.
pub fn room(queue: &Queue) -> Result<u64> {
    Ok(queue.memory_info()?.map_or(2 << 30, |memory| memory.free / 4 * 3))
}

/// Measures a cell at growing batches until every arm has passed its knee or memory ends. Rows of all batches come
/// back, with `knee` set; `step` is told of every batch.
///
/// # Errors
/// As [`Cell::measure`].
pub fn search(
    queue: &Queue,
    cell: &Cell,
    asked: &[Asked],
    effort: &Effort,
    provenance: &Provenance,
    range: &Range,
    mut step: impl FnMut(&Cell),
) -> Result<Vec<Row>> {
    let Range { first, last, room } = *range;
    // Half of the time for each batch: there are several.
    let effort = Effort { limit: effort.limit / 2, ..*effort };
    let mut rows: Vec<Row> = vec![];
    let mut batch = first;
    loop {
        let cell = Cell { batch, ..*cell };
        if batch > last || (batch > first && cell.bytes() > room) {
            break;
        }
        step(&cell);
        let arms = forms::arms(&cell, &Target::of(queue), asked, Breadth::Short);
        match cell.measure(queue, &arms, &effort, provenance) {
            Err(Error::OutOfMemory { .. }) if !rows.is_empty() => break,
            other => rows.extend(other?),
        }
        mark(&mut rows);
        let routes = rows.iter().filter(|r| r.batch == batch && r.ms.is_some());
        let open = |row: &Row| !rows.iter().any(|r| r.route == row.route && r.knee == Some(true));
        if !routes.clone().any(open) {
            break;
        }
        batch *= STEP;
    }
    Ok(rows)
}

/// Sets `knee` in the rows of one cell at several batches.
fn mark(rows: &mut [Row]) {
    let mut routes: Vec<String> = rows.iter().map(|r| r.route.clone()).collect();
    routes.sort();
    routes.dedup();
    for route in routes {
        let of_route: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].route == route).collect();
        let item = |at: &usize| rows[*at].trusted_ms().map(|ms| ms / rows[*at].batch as f64);
        let found = knee(&of_route.iter().map(item).collect::<Vec<_>>());
        for (k, at) in of_route.into_iter().enumerate() {
            rows[at].knee = Some(found == Some(k));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes;
    use batchlas::ops::syev;
    use std::time::Duration;

    #[test]
    fn the_knee_is_where_a_step_brings_less_than_a_twentieth() {
        let some = |times: &[f64]| times.iter().map(|x| Some(*x)).collect::<Vec<_>>();
        assert_eq!(knee(&some(&[8.0, 4.0, 3.0, 2.9, 2.8])), Some(2));
        assert_eq!(knee(&some(&[8.0, 7.59])), None, "5.1 % are worth a step");
        assert_eq!(knee(&some(&[8.0, 7.61])), Some(0), "4.9 % are not");
        assert_eq!(knee(&some(&[8.0, 9.0])), Some(0));
        assert_eq!(knee(&some(&[8.0])), None);
        assert_eq!(knee(&[Some(8.0), None, Some(8.0), Some(8.0)]), Some(2), "what is not known is no knee");
    }

    #[test]
    fn a_search_of_products_is_short_unless_told_otherwise() {
        let whole = Range { first: 256, last: 1 << 22, room: 100 << 30 };
        let product = Cell { op: Op::Gemm, n: 2048, ..Cell::default() };
        let range = whole.of_cell(&product, None);
        assert_eq!((range.first, range.room), (1, PRODUCTS));
        assert_eq!(whole.of_cell(&product, Some(50 << 30)).room, 50 << 30);
        let small = Range { room: 1 << 20, ..whole };
        assert_eq!(small.of_cell(&product, None).room, 1 << 20);
        let syev = Cell { n: 2048, ..Cell::default() };
        assert_eq!(whole.of_cell(&syev, None), whole);
        assert_eq!(whole.of_cell(&syev, Some(1 << 30)).room, 1 << 30);
    }

    #[test]
    fn a_search_ends_at_the_knee_or_at_the_last_batch() {
        let queue = Queue::cpu();
        let cell = Cell { n: 4, ..Cell::default() };
        let asked = routes::parse(&syev::OPERATION, "cpu").unwrap();
        let effort = Effort { rounds: 3, limit: Duration::from_millis(20), once_from: None };
        let mut seen = vec![];
        let (range, from) = (Range::of(&queue).unwrap(), Provenance::of(&queue));
        let rows = search(&queue, &cell, &asked, &effort, &from, &range, |c| seen.push(c.batch)).unwrap();
        assert_eq!(seen, rows.iter().map(|r| r.batch).collect::<Vec<_>>());
        assert!(seen.windows(2).all(|pair| pair[1] == STEP * pair[0]), "{seen:?}");
        assert!(rows.iter().filter(|r| r.knee == Some(true)).count() <= 1);
        assert!(rows.iter().all(|r| r.error.is_none()), "{rows:?}");
    }
}
