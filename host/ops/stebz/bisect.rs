//! `bisect`: Sturm counts, several values a lane, for any n; in two launches and without workspace.

use cuda_std::{Global, GlobalMut};
use kernels_stebz::shape::{Shape as Blocks, THREADS};
use kernels_stebz::stebz_bisect::{most_passes, stebz_bisect};
use kernels_stebz::stebz_status::stebz_status;

use super::arrays::{Arrays, Operands};
use super::{Plan, Problem};
use crate::error::{Error, Result};
use crate::ops::Target;
use crate::ops::family::Family;
use crate::ops::tiles::{self, KernelReal};
use crate::ops::typed::for_real;
use crate::queue::{Queue, Workspace};
use crate::routes::Params;
use crate::scalar::Dtype;

pub(crate) struct Bisect;

/// Values a lane. Few where there would be no work for the lanes of a warp, else as many as hide each other's chains of
/// dependent instructions; in f64 two do: ms by 2 and 4, n = 128 batch 4096 1.34 and 1.57, n = 512 batch 1024 5.6 and 6.5 (H200;
/// benches/results/tune_stebz_h200_2026-11-30.jsonl.xz). By type and order alone: what depends on the batch stands in the
/// route table.
fn values(real_bytes: usize, n: usize, params: &Params) -> u32 {
    match params.get("values").unwrap_or(0) {
        0 if n <= 32 => 1,
        0 if n <= 64 || real_bytes == 8 => 2,
        0 => 4,
        named => named,
    }
}

/// Whether the rows lie in shared memory: where they fit, unless the route says otherwise.
fn staged(dtype: Dtype, n: usize, params: &Params, target: &Target) -> bool {
    let most = target.limits().map_or(0, |limits| limits.shared_bytes_per_block);
    fits(dtype.bytes(), n, values(dtype.bytes(), n, params), most) && params.get("staged") != Some(0)
}

/// Whether the rows of a block's items fit so many bytes.
fn fits(real_bytes: usize, n: usize, values: u32, most: usize) -> bool {
    Blocks::new(n as u32, values).shared_bytes(n, real_bytes) <= most
}

impl Family<Problem> for Bisect {
    fn name(&self) -> &'static str {
        "bisect"
    }

    fn can_run(
        &self,
        problem: &Problem,
        params: &Params,
        target: &Target,
    ) -> std::result::Result<(), String> {
        tiles::can_run(problem.n, target, u32::MAX as usize / 2)?;
        let values = values(problem.dtype.bytes(), problem.n, params);
        if ![1, 2, 4].contains(&values) {
            return Err(format!("values is 0 (by the order), 1, 2 or 4, not {values}"));
        }
        if params.get("staged") == Some(1) && !staged(problem.dtype, problem.n, params, target) {
            return Err("the rows do not fit the shared memory of a block: staged is 0".to_owned());
        }
        Ok(())
    }

    fn plan(&self, problem: &Problem, params: &Params, target: &Target) -> Result<Plan> {
        let mut params = params.clone();
        params.set("staged", u32::from(staged(problem.dtype, problem.n, &params, target)));
        params.set("values", values(problem.dtype.bytes(), problem.n, &params));
        let workspace_bytes = workspace_bytes(problem.dtype, problem.n, problem.batch);
        Ok(Plan { problem: *problem, family: self.name(), params, workspace_bytes })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        for_real!(operands, arrays => run(queue, plan, arrays))
    }
}

fn run<T: KernelReal>(queue: &Queue, plan: &Plan, arrays: Arrays<'_, T>) -> Result<()> {
    let Arrays { d, e, w, status, passes } = arrays;
    let Problem { dtype, n, batch } = plan.problem;
    let way = Way {
        values: values(dtype.bytes(), n, &plan.params),
        staged: plan.params.get("staged") == Some(1),
        passes,
    };
    submit(queue, &Shape::packed(n, batch), way, d.view(), e.view(), w.view_mut(), status.view_mut())
}

/// What does not change the problem.
#[derive(Clone, Copy)]
struct Way {
    values: u32,
    staged: bool,
    passes: Option<u32>,
}

/// A batch in device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The order, not 0.
    pub(crate) n: usize,
    /// Number of items, not 0.
    pub(crate) batch: usize,
    /// Elements from an item's diagonal to the next, at least n.
    pub(crate) d_stride: usize,
    /// Elements from an item's off-diagonals to the next, at least n - 1.
    pub(crate) e_stride: usize,
}

impl Shape {
    /// Without gaps.
    pub(crate) fn packed(n: usize, batch: usize) -> Self {
        Shape { n, batch, d_stride: n, e_stride: n.saturating_sub(1) }
    }
}

/// Bytes that [`enqueue`] takes of a workspace: none.
pub(crate) const fn workspace_bytes(_: Dtype, _: usize, _: usize) -> usize {
    0
}

/// Enqueues the solve of arrays that may be parts of a workspace, as a step of another operation: `d` and `e` as `shape`
/// has them are read, `w` takes n values an item without gaps, `status` one word an item. `w` may be none of the others.
pub(crate) fn enqueue<T: KernelReal>(
    queue: &Queue,
    shape: &Shape,
    d: Global<T>,
    e: Global<T>,
    w: GlobalMut<T>,
    status: GlobalMut<i32>,
    _: &mut Workspace<'_>,
) -> Result<()> {
    let values = values(size_of::<T>(), shape.n, &Params::default());
    let most = queue.limits().map_or(0, |limits| limits.shared_bytes_per_block);
    let way = Way { values, staged: fits(size_of::<T>(), shape.n, values, most), passes: None };
    submit(queue, shape, way, d, e, w, status)
}

fn submit<T: KernelReal>(
    queue: &Queue,
    shape: &Shape,
    way: Way,
    d: Global<T>,
    e: Global<T>,
    w: GlobalMut<T>,
    status: GlobalMut<i32>,
) -> Result<()> {
    let Shape { n, batch, d_stride, e_stride } = *shape;
    let Way { values, staged, passes } = way;
    let blocks = Blocks::new(n as u32, values);
    let shared_bytes = if staged { blocks.shared_bytes(n, size_of::<T>()) } else { 0 };
    let most = most_passes(size_of::<T>(), if values == 1 { 3 } else { 1 });
    let passes = passes.map_or(most, |passes| passes.min(most));
    let (order, items) = (n as u32, batch as u64);
    macro_rules! pack {
        ($values:literal, $points:literal, $staged:literal) => {
            stebz_bisect::call::<T, $values, $points, $staged>(
                d,
                e,
                w,
                status,
                order,
                d_stride as u64,
                e_stride as u64,
                items,
                passes,
            )
        };
    }
    let call = match (values, staged) {
        (1, true) => pack!(1, 3, true),
        (1, false) => pack!(1, 3, false),
        (2, true) => pack!(2, 1, true),
        (2, false) => pack!(2, 1, false),
        (_, true) => pack!(4, 1, true),
        (_, false) => pack!(4, 1, false),
    };
    let groups = items.div_ceil(blocks.items as u64);
    let grid =
        groups.checked_mul(blocks.blocks as u64).ok_or_else(|| Error::argument("the batch is too large"))?;
    tiles::submit(queue, tiles::config(grid, 1, THREADS, shared_bytes)?, call)?;
    let count = stebz_status::call::<T>(w, status, order, items);
    tiles::submit(queue, tiles::config(items, THREADS / 32, THREADS, 0)?, count)
}

#[cfg(all(test, feature = "simt"))]
mod tests {
    use super::*;

    /// Items in the middle of longer arrays: the values of the same items without gaps.
    #[test]
    fn strides_are_free() {
        let (n, batch) = (40, 3);
        let d: Vec<f64> = (0..n * batch).map(|i| ((i * 7) % 11) as f64).collect();
        let e: Vec<f64> = (0..(n - 1) * batch).map(|i| 1.0 + (i % 3) as f64).collect();
        let spread = |x: &[f64], width: usize, stride: usize| -> Vec<f64> {
            let item = |i: usize| x[i * width..(i + 1) * width].iter().copied();
            (0..batch).flat_map(|i| item(i).chain(std::iter::repeat_n(f64::NAN, stride - width))).collect()
        };
        let queue = Queue::simt(1);
        let solve = |d: &[f64], e: &[f64], shape: &Shape| {
            let (d, e) = (queue.upload(d).unwrap(), queue.upload(e).unwrap());
            let (mut w, mut status) = (queue.alloc(n * batch).unwrap(), queue.alloc(batch).unwrap());
            let mut workspace = queue.workspace(workspace_bytes(Dtype::F64, n, batch)).unwrap();
            let (w_view, status_view) = (w.view_mut(), status.view_mut());
            enqueue::<f64>(&queue, shape, d.view(), e.view(), w_view, status_view, &mut workspace).unwrap();
            assert_eq!(queue.download(&status).unwrap(), vec![0; batch]);
            queue.download(&w).unwrap()
        };
        let packed = solve(&d, &e, &Shape::packed(n, batch));
        let shape = Shape { d_stride: n + 3, e_stride: n + 5, ..Shape::packed(n, batch) };
        assert_eq!(solve(&spread(&d, n, n + 3), &spread(&e, n - 1, n + 5), &shape), packed);
        assert!(packed.chunks(n).all(|w| w.is_sorted() && w[0] < w[n - 1]));
    }
}
