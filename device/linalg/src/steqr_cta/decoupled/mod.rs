//! The decoupled form: one lane chases one matrix, the tiles apply what it logs.
//!
//! In the other forms every lane of a tile computes the same rotation. Here lane `m` of one warp runs the scalar
//! QL iteration of matrix `m` alone and logs `(c, s)`; then the tiles, some rows a lane, apply the logged rotations. So the scalar chain is evaluated once a matrix, and a rotation costs the tile one broadcast
//! load and four arithmetic instructions.
//!
//! The log is double-buffered: while the chasing warp logs round `r + 1`, the others apply round `r`.

mod apply;
mod chaser;
pub mod scalar;

pub use apply::LaneRows;
use apply::apply_round;
pub use chaser::Chaser;

use cuda_std::math::Real;
use cuda_std::scalar::Scalar;
use cuda_std::shared::Shared;
use cuda_std::thread;

/// Shared memory of the chases of a block's `matrices` problems, item-minor: element `i` of problem `m` lies at
/// `i * matrices + m`, so that the lanes of the chasing warp meet different banks.
#[derive(Clone, Copy, Debug)]
pub struct Track<R> {
    /// Problems of the block.
    pub matrices: u32,
    /// Diagonals: `order` elements a problem.
    pub d: Shared<R>,
    /// Off-diagonals: `order` elements a problem.
    pub e: Shared<R>,
    /// Rotations `(c, s)` by plane: `2 * sweeps * order` pairs a problem.
    pub log: Shared<R>,
    /// First and last row of each logged sweep: `2 * sweeps` a problem.
    pub spans: Shared<u32>,
    /// What brings a problem's values back to the input's scale.
    pub scales: Shared<R>,
    /// One word a problem: its first row before the iteration, its unconverged couplings after.
    pub words: Shared<u32>,
    /// Rows of the padded problems: the tile's lanes.
    pub order: u32,
    /// Sweeps a round.
    pub sweeps: u32,
}

/// Bytes that a [`Track`] takes: the log first, since its pairs are the most aligned.
pub const fn track_bytes(real_bytes: usize, order: usize, matrices: usize, sweeps: usize) -> usize {
    matrices * (real_bytes * (4 * sweeps * order + 2 * order + 1) + 4 * (2 * sweeps + 1))
}

impl<R: Real> Track<R> {
    /// The track at byte `offset` of the block's shared memory.
    ///
    /// # Safety
    /// The launch gives [`track_bytes`] bytes from there, and `offset` is aligned to 16.
    #[inline(always)]
    pub unsafe fn carve(offset: usize, order: usize, matrices: usize, sweeps: usize) -> Self {
        let reals = 4 * sweeps * order * matrices;
        let part = order * matrices;
        // SAFETY: the caller gives the bytes; the parts are disjoint.
        let all = unsafe { cuda_std::shared::dynamic_shared_mem::<R>(offset, reals + 2 * part + matrices) };
        let spans_offset = offset + size_of::<R>() * (reals + 2 * part + matrices);
        // SAFETY: as above, behind the reals.
        let spans =
            unsafe { cuda_std::shared::dynamic_shared_mem::<u32>(spans_offset, (2 * sweeps + 1) * matrices) };
        Track {
            matrices: matrices as u32,
            log: all,
            d: all.at(reals as u32),
            e: all.at((reals + part) as u32),
            scales: all.at((reals + 2 * part) as u32),
            spans,
            words: spans.at((2 * sweeps * matrices) as u32),
            order: order as u32,
            sweeps: sweeps as u32,
        }
    }

    /// Index of the pair for `plane` of sweep `sweep` of buffer `buffer`.
    #[inline(always)]
    fn log_index(&self, buffer: u32, sweep: u32, plane: u32, matrix: u32) -> u32 {
        ((buffer * self.sweeps + sweep) * self.order + plane) * self.matrices + matrix
    }

    /// Index of the span of sweep `sweep` of buffer `buffer`.
    #[inline(always)]
    fn span_index(&self, buffer: u32, sweep: u32, matrix: u32) -> u32 {
        (buffer * self.sweeps + sweep) * self.matrices + matrix
    }

    /// First row of problem `matrix`, before its first round.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn first(&self, matrix: u32) -> u32 {
        self.words.get(matrix)
    }

    /// Sets what [`first`](Self::first) reads.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn set_first(&self, matrix: u32, first: u32) {
        self.words.set(matrix, first);
    }

    /// Couplings of problem `matrix` that did not converge, after its last round.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn unconverged(&self, matrix: u32) -> u32 {
        self.words.get(matrix)
    }

    /// The role of the chasing warp: logs round after round, one ahead of what [`follow`](Self::follow) applies.
    /// Ends behind the barrier after which the results are there. `chases`: this lane has a problem.
    #[inline(always)]
    pub fn lead(&self, chaser: &mut Chaser, chases: bool) {
        let (mut buffer, mut more) = (0, true);
        while more {
            let active = chases && chaser.is_active();
            if chases {
                chaser.log_round(self, buffer);
            }
            if chases && !active {
                chaser.report(self);
            }
            more = thread::sync_roles_or(active);
            buffer ^= 1;
        }
    }

    /// The role of the other warps: applies the rounds to this lane's rows of the basis of problem `matrix`, where
    /// it is `live`.
    #[inline(always)]
    pub fn follow<T: Scalar<Real = R>, const P: usize, const ROWS: usize, const SHARED: usize>(
        &self,
        matrix: u32,
        live: bool,
        rows: &mut LaneRows<'_, T, P, ROWS, SHARED>,
    ) {
        // The first round is logged with nothing to apply.
        let mut more = thread::sync_roles_or(false);
        let mut buffer = 0;
        while more {
            if live {
                apply_round(self, buffer, matrix, rows);
            }
            more = thread::sync_roles_or(false);
            buffer ^= 1;
        }
    }
}
