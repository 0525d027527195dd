//! `levels`: all nodes of a level of the tree, and all items of the batch, in one launch.
//!
//! Leaves of at most 32 rows are solved by `steqr`'s family `cta`; each level of merges is six launches, and nothing waits
//! for what a level came to.

use cuda_std::{Global, GlobalMut};
use kernels_stedc::fields::{REAL_FIELDS, WORD_FIELDS};
use kernels_stedc::{stedc_deflate, stedc_divide, stedc_values, stedc_vectors, tree};

use super::arrays::{Arrays, Operands};
use super::merge::{Below, Merges, Vectors};
use super::{Jobz, Plan, Problem};
use crate::error::{Error, Result};
use crate::ops::Target;
use crate::ops::family::Family;
use crate::ops::steqr::cta::{self, Basis};
use crate::ops::tiles::{self, KernelReal};
use crate::ops::typed::for_real;
use crate::queue::{Queue, Workspace, workspace_bytes as part};
use crate::routes::Params;
use crate::scalar::Dtype;

pub(crate) struct Levels;

/// Rows that a thread of the products takes at most.
fn rows(dtype: Dtype, params: &Params) -> u32 {
    match params.get("rows").unwrap_or(0) {
        0 if dtype == Dtype::F32 => 8,
        0 => 4,
        named => named,
    }
}

/// Whether a matrix of this order can be solved on the target.
pub(crate) fn fits(dtype: Dtype, n: usize, target: &Target) -> std::result::Result<(), String> {
    tiles::can_run(n, target, 1 << 20)?;
    if tree::levels(n) == 0 {
        return Ok(());
    }
    tiles::has_shared(stedc_deflate::shared_bytes(n, dtype.bytes()), target)
}

impl Family<Problem> for Levels {
    fn name(&self) -> &'static str {
        "levels"
    }

    fn can_run(
        &self,
        problem: &Problem,
        params: &Params,
        target: &Target,
    ) -> std::result::Result<(), String> {
        let known: &[u32] = if problem.dtype == Dtype::F32 { &[2, 4, 8] } else { &[2, 4] };
        if !known.contains(&rows(problem.dtype, params)) {
            return Err("rows is 0 (as many as there are), 2, 4 or, in f32, 8".to_owned());
        }
        fits(problem.dtype, problem.n, target)
    }

    fn plan(&self, problem: &Problem, params: &Params, _: &Target) -> Result<Plan> {
        let mut params = params.clone();
        params.set("rows", rows(problem.dtype, &params));
        problem.values()?;
        let workspace_bytes = workspace_bytes(problem.dtype, problem.n, problem.batch, problem.jobz);
        Ok(Plan { problem: *problem, family: self.name(), params, workspace_bytes })
    }

    fn launch(&self, queue: &Queue, plan: &Plan, operands: Operands<'_>) -> Result<()> {
        for_real!(operands, arrays => run(queue, plan, arrays))
    }
}

fn run<T: KernelReal>(queue: &Queue, plan: &Plan, arrays: Arrays<'_, T>) -> Result<()> {
    let Arrays { d, e, w, q, status } = arrays;
    let Problem { n, batch, .. } = plan.problem;
    let q = q.map(|q| {
        let (ld, stride) = (q.ld(), q.stride());
        Basis { elements: q.buffer_mut().view_mut(), ld, stride }
    });
    let mut workspace = queue.workspace(plan.workspace_bytes)?;
    let (d, e, w, status) = (d.view(), e.view(), w.view_mut(), status.view_mut());
    let shape = Shape { rows: rows(plan.problem.dtype, &plan.params), ..Shape::packed::<T>(n, batch) };
    enqueue(queue, &shape, d, e, w, q, status, Signs::Fixed, &mut workspace)
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
    /// Rows that a thread of the products takes at most: 2, 4 or, in f32, 8.
    pub(crate) rows: u32,
}

impl Shape {
    /// Without gaps.
    pub(crate) fn packed<T: KernelReal>(n: usize, batch: usize) -> Self {
        let rows = if size_of::<T>() == 4 { 8 } else { 4 };
        Shape { n, batch, d_stride: n, e_stride: n.saturating_sub(1), rows }
    }
}

/// What becomes of the signs of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signs {
    /// The component of largest modulus, the first of equal ones, is positive.
    Fixed,
    /// As they come: one pass over the vectors less.
    Free,
}

/// Elements of the parts of a workspace.
struct Parts {
    levels: u32,
    /// Rows, and columns, of a leaf.
    leaf: usize,
    leaves: usize,
    /// Diagonals of all leaves.
    leaf_d: usize,
    leaf_e: usize,
    /// Vectors of all leaves.
    leaf_q: usize,
    /// Elements of an array of [`kernels_stedc::fields`].
    field: usize,
    /// Vectors between the leaves and the whole matrix, or twice their first and last rows.
    between: usize,
}

impl Parts {
    fn new(n: usize, batch: usize, jobz: Jobz) -> Self {
        let levels = tree::levels(n);
        let leaf = tree::largest(n, levels);
        let leaves = batch.saturating_mul(1 << levels);
        let field = batch.saturating_mul(n);
        let leaf_d = leaves.saturating_mul(leaf);
        let leaf_q = if levels > 0 { leaf_d.saturating_mul(leaf) } else { 0 };
        let between = match (levels, jobz) {
            (0 | 1, _) => 0,
            (_, Jobz::V) => field.saturating_mul(n.div_ceil(2)),
            (_, Jobz::N) => field.saturating_mul(4),
        };
        Parts { levels, leaf, leaves, leaf_d, leaf_e: leaf_d - leaves.min(leaf_d), leaf_q, field, between }
    }

    fn bytes<T>(&self, batch: usize) -> usize {
        [
            part::<T>(self.field.saturating_mul(REAL_FIELDS)),
            part::<u32>(self.field.saturating_mul(WORD_FIELDS)),
            part::<T>(batch),
            part::<T>(self.leaf_d),
            part::<T>(self.leaf_e),
            part::<T>(self.leaf_q),
            part::<i32>(self.leaves),
            part::<T>(self.between),
        ]
        .into_iter()
        .fold(0, usize::saturating_add)
    }
}

/// Bytes that [`enqueue`] takes of a workspace: with vectors some n^2 / 2 + 60 n elements an item.
pub(crate) fn workspace_bytes(dtype: Dtype, n: usize, batch: usize, jobz: Jobz) -> usize {
    if n == 0 || batch == 0 {
        return 0;
    }
    let parts = Parts::new(n, batch, jobz);
    if dtype.bytes() == 4 { parts.bytes::<f32>(batch) } else { parts.bytes::<f64>(batch) }
}

/// Enqueues the solve of arrays that may be parts of a workspace, as a step of another operation.
///
/// `d` and `e`, as `shape` has them, are read; `w` takes n values an item without gaps, ascending, `q` (`None`: values only)
/// the vectors, `status` one word an item. No two of them overlap. An item that fails has NaN in `w` and `q`.
pub(crate) fn enqueue<T: KernelReal>(
    queue: &Queue,
    shape: &Shape,
    d: Global<T>,
    e: Global<T>,
    w: GlobalMut<T>,
    q: Option<Basis<T>>,
    status: GlobalMut<i32>,
    signs: Signs,
    workspace: &mut Workspace<'_>,
) -> Result<()> {
    let Shape { n, batch, d_stride, e_stride, rows } = *shape;
    let jobz = if q.is_some() { Jobz::V } else { Jobz::N };
    let parts = Parts::new(n, batch, jobz);
    let too_large = || Error::argument(format!("order {n} is too large"));
    let order = u32::try_from(n).map_err(|_| too_large())?;
    let reals = workspace.take::<T>(parts.field * REAL_FIELDS)?;
    let words = workspace.take::<u32>(parts.field * WORD_FIELDS)?;
    let scale = workspace.take::<T>(batch)?;
    let leaf_d = workspace.take::<T>(parts.leaf_d)?;
    let leaf_e = workspace.take::<T>(parts.leaf_e)?;
    let leaf_q = workspace.take::<T>(parts.leaf_q)?;
    let leaf_status = workspace.take::<i32>(parts.leaves)?;
    let between = workspace.take::<T>(parts.between)?;

    let (items, leaf) = (batch as u64, parts.leaf as u32);
    let (d_stride, e_stride) = (d_stride as u64, e_stride as u64);
    let divide = stedc_divide::stedc_divide::call::<T>(
        d,
        e,
        leaf_d,
        leaf_e,
        reals,
        words,
        scale,
        status,
        order,
        d_stride,
        e_stride,
        items,
        parts.levels,
        leaf,
    );
    let bytes = stedc_divide::shared_bytes(size_of::<T>());
    tiles::submit(queue, tiles::config(items, 1, stedc_divide::THREADS, bytes)?, divide)?;

    let leaf_vectors = Basis { elements: leaf_q, ld: parts.leaf, stride: parts.leaf * parts.leaf };
    // Where there is but one leaf its vectors are the item's.
    let solved = if parts.levels == 0 { q } else { Some(leaf_vectors) };
    cta::enqueue(queue, parts.leaf, parts.leaves, leaf_d, leaf_e.as_global(), solved, leaf_status)?;

    let leaves = Below {
        values: leaf_d.as_global(),
        values_stride: parts.leaf << parts.levels,
        vectors: Vectors {
            elements: leaf_q,
            ld: parts.leaf,
            stride: (parts.leaf * parts.leaf) << parts.levels,
        },
    };
    let merges =
        Merges { queue, n, batch, levels: parts.levels, leaf: parts.leaf, rows, reals, words, between, q };
    let root = merges.run(leaves)?;

    let (values, stride, levels) = (root.values, root.values_stride as u64, parts.levels);
    let finish = stedc_values::stedc_values::call::<T>(
        values,
        scale.as_global(),
        leaf_status.as_global(),
        reals,
        words,
        w,
        status,
        order,
        items,
        stride,
        levels,
    );
    let config = tiles::config(items, stedc_values::THREADS / 32, stedc_values::THREADS, 0)?;
    tiles::submit(queue, config, finish)?;
    let Some(q) = q else { return Ok(()) };
    // A leaf's vectors have their signs.
    let turn = signs == Signs::Fixed && parts.levels > 0;
    let ld = tiles::leading_dimension(q.ld)?;
    let turned = stedc_vectors::stedc_vectors::call::<T>(
        q.elements,
        status.as_global(),
        order,
        ld,
        q.stride as u64,
        items,
        u32::from(turn),
    );
    let columns = items * n as u64;
    let config = tiles::config(columns, stedc_vectors::THREADS / 32, stedc_vectors::THREADS, 0)?;
    tiles::submit(queue, config, turned)
}

#[cfg(all(test, feature = "simt"))]
mod tests {
    use super::*;

    const ORDER: usize = 70;
    const ITEMS: usize = 2;

    struct Solved {
        w: Vec<f64>,
        q: Vec<f64>,
    }

    /// Solves with gaps of so many elements.
    fn solve(gap: usize, signs: Signs) -> Solved {
        let (n, batch) = (ORDER, ITEMS);
        let (d_stride, e_stride) = (n + gap, n - 1 + gap);
        let element = |i: usize, width: usize, stride: usize, x: fn(usize) -> f64| {
            let (item, at) = (i / stride, i % stride);
            if at < width { x(item * width + at) } else { f64::NAN }
        };
        let queue = Queue::simt(1);
        let upload = |width: usize, stride: usize, x: fn(usize) -> f64| {
            let all: Vec<f64> = (0..batch * stride).map(|i| element(i, width, stride, x)).collect();
            queue.upload(&all).unwrap()
        };
        let d = upload(n, d_stride, |i| ((i * 7) % 11) as f64);
        let e = upload(n - 1, e_stride, |i| 1.0 + (i % 3) as f64);
        let (mut w, mut status) = (queue.alloc(n * batch).unwrap(), queue.alloc(batch).unwrap());
        let mut workspace = queue.workspace(workspace_bytes(Dtype::F64, n, batch, Jobz::V)).unwrap();
        let (ld, stride) = (n + gap, (n + gap) * n + gap);
        let mut q = queue.alloc::<f64>(stride * batch).unwrap();
        let shape = Shape { d_stride, e_stride, ..Shape::packed::<f64>(n, batch) };
        let basis = Some(Basis { elements: q.view_mut(), ld, stride });
        let (w_view, status_view) = (w.view_mut(), status.view_mut());
        enqueue(&queue, &shape, d.view(), e.view(), w_view, basis, status_view, signs, &mut workspace)
            .unwrap();
        assert_eq!(queue.download(&status).unwrap(), [0, 0]);
        let w = queue.download(&w).unwrap();
        let all = q.as_host_slice().unwrap();
        let column = |item: usize, k: usize| &all[item * stride + k * ld..][..n];
        let q = (0..batch * n).flat_map(|k| column(k / n, k % n).to_vec()).collect();
        Solved { w, q }
    }

    #[test]
    fn strides_are_free_and_signs_are_asked_for() {
        let packed = solve(0, Signs::Fixed);
        let spread = solve(3, Signs::Fixed);
        assert_eq!((&packed.w, &packed.q), (&spread.w, &spread.q));
        let free = solve(0, Signs::Free);
        assert_eq!(free.w, packed.w);
        let turned = |k: usize| {
            let (x, y) = (&free.q[k * ORDER..(k + 1) * ORDER], &packed.q[k * ORDER..(k + 1) * ORDER]);
            assert!(x == y || x.iter().zip(y).all(|(x, y)| *x == -*y), "vector {k}");
            x != y
        };
        let turned = (0..ITEMS * ORDER).filter(|k| turned(*k)).count();
        assert!(turned > 0 && turned < ITEMS * ORDER, "{turned} turned");
    }

    #[test]
    fn parts_of_a_workspace_are_counted() {
        for (n, batch) in [(1, 1), (32, 3), (33, 2), (65, 4), (1000, 7)] {
            for (dtype, bytes) in [(Dtype::F32, 4), (Dtype::F64, 8)] {
                let of = |jobz| workspace_bytes(dtype, n, batch, jobz);
                // What documentation promises, and 256 bytes for each part's alignment.
                let most = |elements: usize| batch * bytes * elements + 8 * 256;
                assert!(of(Jobz::V) <= most(n * n.div_ceil(2) + 70 * n + 8), "{dtype} n={n} {}", of(Jobz::V));
                assert!(of(Jobz::N) <= of(Jobz::V).max(most(70 * n + 8)), "{dtype} n={n} {}", of(Jobz::N));
            }
        }
        assert_eq!(workspace_bytes(Dtype::F32, 0, 5, Jobz::V), 0);
    }
}
