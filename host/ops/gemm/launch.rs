//! What the families of kernels share: the operands as kernels take them, checks, and launches that split a batch.

use cuda_std::launch::{Call, LaunchConfig, NoEntry};
use cuda_std::{Global, GlobalMut};
use kernels_gemm::operand::{CONJ_A, CONJ_B, TRANS_A, TRANS_B};

use super::arrays::{Arrays, Place};
use super::{Op, Problem};
use crate::error::Result;
use crate::ops::Target;
use crate::ops::tiles::limits;
use crate::queue::Queue;
use crate::scalar::Scalar;

pub(super) use crate::ops::tiles::{KernelScalar, submit};

/// The largest m, n and k: sums of indices stay below 2^32.
const MAX_SIZE: usize = i32::MAX as usize;

/// Blocks of one launch: x of a grid is 31 bits wide.
const MAX_GRID: usize = i32::MAX as usize;

/// Whether a family of kernels can run a problem with `blocks` blocks an item.
pub(super) fn can_run(problem: &Problem, target: &Target, blocks: u64) -> std::result::Result<(), String> {
    limits(target)?;
    if [problem.m, problem.n, problem.k].into_iter().max() > Some(MAX_SIZE) {
        return Err(format!("m, n and k are at most {MAX_SIZE}"));
    }
    if blocks > MAX_GRID as u64 {
        return Err(format!("takes {blocks} blocks an item, and a launch has {MAX_GRID}"));
    }
    Ok(())
}

/// Tiles of an item along the rows and along the columns.
pub(super) fn tiles(problem: &Problem, m: u32, n: u32) -> (u64, u64) {
    (problem.m.div_ceil(m as usize) as u64, problem.n.div_ceil(n as usize) as u64)
}

/// The kernels' arguments.
#[derive(Clone, Copy)]
pub(super) struct Views<T> {
    pub(super) a: Global<T>,
    pub(super) b: Global<T>,
    pub(super) c: GlobalMut<T>,
    pub(super) m: u32,
    pub(super) n: u32,
    /// 0 where alpha is.
    pub(super) k: u32,
    pub(super) flags: u32,
    pub(super) lda: usize,
    pub(super) ldb: usize,
    pub(super) ldc: usize,
    pub(super) stride_a: usize,
    pub(super) stride_b: usize,
    pub(super) stride_c: usize,
    pub(super) alpha: [f64; 2],
    pub(super) beta: [f64; 2],
    batch: usize,
}

impl<T: KernelScalar> Views<T> {
    /// Of a problem that [`can_run`] has accepted.
    pub(super) fn new(problem: &Problem, arrays: &Arrays<'_, T>) -> Self {
        let Arrays { alpha, beta, a, b, c, .. } = arrays;
        let parts = |x: T| [Scalar::re(x), Scalar::im(x)].map(crate::scalar::Real::widen);
        let op = |op: Op, trans: u32, conj: u32| match op {
            Op::N => 0,
            Op::T => trans,
            Op::C => trans | conj,
        };
        // Without k nothing of A and B is read, and a factor that is no number must not matter.
        let k = if *alpha == T::zero() { 0 } else { problem.k as u32 };
        let alpha = if k == 0 { T::zero() } else { *alpha };
        Views {
            a: global(a),
            b: global(b),
            // SAFETY: as in `global`; the caller of `launch` has borrowed the buffer for writing.
            c: unsafe { GlobalMut::from_raw_parts(std::ptr::without_provenance_mut(c.addr as usize), c.len) },
            m: problem.m as u32,
            n: problem.n as u32,
            k,
            flags: op(problem.op_a, TRANS_A, CONJ_A) | op(problem.op_b, TRANS_B, CONJ_B),
            lda: a.ld,
            ldb: b.ld,
            ldc: c.ld,
            stride_a: a.stride,
            stride_b: b.stride,
            stride_c: c.stride,
            alpha: parts(alpha),
            beta: parts(*beta),
            batch: problem.batch,
        }
    }

    /// The items from `first` on, `count` of them.
    fn part(self, first: usize, count: usize) -> Self {
        Views {
            a: self.a.at(first * self.stride_a),
            b: self.b.at(first * self.stride_b),
            c: self.c.at(first * self.stride_c),
            batch: count,
            ..self
        }
    }

    /// Number of items.
    pub(super) fn items(&self) -> u32 {
        self.batch as u32
    }

    /// Whether the memory of op(A), and that of op(B), runs along k.
    pub(super) fn are_along_k(&self) -> [bool; 2] {
        [self.flags & TRANS_A != 0, self.flags & TRANS_B == 0]
    }

    /// Whether lines and items of A and of B begin at multiples of 16 bytes, and lines hold a multiple of that.
    pub(super) fn are_factors_wide(&self) -> bool {
        let along_a = if self.flags & TRANS_A == 0 { self.m } else { self.k };
        let along_b = if self.flags & TRANS_B == 0 { self.k } else { self.n };
        self.is_wide(self.a.as_ptr() as u64, self.lda, self.stride_a, along_a)
            && self.is_wide(self.b.as_ptr() as u64, self.ldb, self.stride_b, along_b)
    }

    /// The same of C.
    pub(super) fn is_target_wide(&self) -> bool {
        self.is_wide(self.c.as_ptr() as u64, self.ldc, self.stride_c, self.m)
    }

    fn is_wide(&self, addr: u64, ld: usize, stride: usize, along: u32) -> bool {
        let lanes = 16 / size_of::<T>();
        let stride = if self.batch > 1 { stride } else { 0 };
        addr.is_multiple_of(16) && [ld, stride, along as usize].into_iter().all(|x| x.is_multiple_of(lanes))
    }
}

fn global<T: KernelScalar>(place: &Place) -> Global<T> {
    // SAFETY: a place is one of a buffer that the queue owns; launches, which are unsafe, answer for the lifetime.
    unsafe { Global::from_raw_parts(std::ptr::without_provenance(place.addr as usize), place.len) }
}

/// Launches a batch, in as many parts as grids of 31 bits ask for: `per_item` blocks an item, or `per_block` items a
/// block, and the other number is 1.
pub(super) fn in_parts<T: KernelScalar>(
    queue: &Queue,
    views: &Views<T>,
    (per_item, per_block): (usize, usize),
    (threads, shared_bytes): (u32, usize),
    call: impl Fn(&Views<T>) -> std::result::Result<Call, NoEntry>,
) -> Result<()> {
    let most = (MAX_GRID / per_item).saturating_mul(per_block).min(MAX_GRID);
    let mut first = 0;
    while first < views.batch {
        let part = views.part(first, most.min(views.batch - first));
        let blocks = part.batch.div_ceil(per_block) * per_item;
        let config = LaunchConfig::new(blocks as u32, threads).with_shared(shared_bytes as u32);
        submit(queue, config, call(&part))?;
        first += part.batch;
    }
    Ok(())
}

/// Calls a kernel: its generic arguments, the views, and what is its own.
macro_rules! pack {
    ($kernel:ident::<$($generic:tt),*>($v:expr, $($own:expr),*)) => {{
        let v = $v;
        $kernel::call::<$($generic),*>(
            v.a, v.b, v.c, v.m, v.n, v.k, v.flags, v.lda, v.ldb, v.ldc, v.stride_a, v.stride_b, v.stride_c,
            v.alpha[0], v.alpha[1], v.beta[0], v.beta[1], $($own),*
        )
    }};
}
pub(super) use pack;
