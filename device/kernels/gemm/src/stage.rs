//! From global to shared memory: some lines of a side, by way of registers, so that a load can be under way while
//! the lines before it are used.

use crate::operand::Side;
use crate::shape::STAGED;
use cuda_std::prelude::*;

/// Lines of a side in shared memory: element (row, k) at `k * line + row`.
#[derive(Clone, Copy, Debug)]
pub struct Lines<T> {
    shared: Shared<T>,
    line: u32,
}

impl<T: Scalar> Lines<T> {
    /// Lines of `line` elements from byte `offset` of the block's shared memory on, `depth` of them.
    ///
    /// # Safety
    /// As [`cuda_std::shared::dynamic_shared_mem`].
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub unsafe fn new(offset: u32, line: u32, depth: u32) -> Self {
        // SAFETY: as the caller promises.
        let shared = unsafe { shared_array![T; (line * depth) as usize, @ offset as usize] };
        Lines { shared, line }
    }

    /// The lines from `k` on.
    #[inline(always)]
    pub fn from(self, k: u32) -> Self {
        Lines { shared: self.shared.at(k * self.line), ..self }
    }

    /// The lines from an element on.
    #[inline(always)]
    fn at(self, row: u32, k: u32) -> Self {
        Lines { shared: self.shared.at(k * self.line + row), ..self }
    }

    /// Element of a row at depth `k`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn get(self, row: u32, k: u32) -> T {
        self.shared.get(k * self.line + row)
    }

    /// 16 bytes of rows at depth `k`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn get_vector(self, row: u32, k: u32) -> T::Vector {
        self.shared.get_vector(k * self.line + row)
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn set(self, row: u32, k: u32, x: T) {
        self.shared.set(k * self.line + row, x);
    }
}

/// What a thread moves of `rows` by `depth` elements of a side, and on to the next `depth`: the same number of elements,
/// or of vectors of 16 bytes, for each thread, at equal distances.
#[derive(Clone, Copy, Debug)]
pub struct Staging<T> {
    side: Side<T>,
    /// Depth that is left.
    left: u32,
    depth: u32,
    passes: usize,
    /// Elements of a pass: 1, or those of 16 bytes.
    lanes: u32,
    /// Row and depth of the first element, and the distance of the passes.
    row: u32,
    k: u32,
    along_rows: Step,
    along_k: Step,
    /// Elements from a pass to the next in global memory.
    step: usize,
}

/// Rows and depths from a pass to the next.
#[derive(Clone, Copy, Debug)]
struct Step {
    rows: u32,
    depth: u32,
}

impl<T: Scalar> Staging<T> {
    /// Element by element: thread `rank` of `threads`, of a side that is `k` deep. All sizes but `k` are powers of two,
    /// `rows` and `depth` at most `threads`.
    #[inline(always)]
    pub fn new(side: Side<T>, k: u32, rows: u32, depth: u32, threads: u32, rank: u32) -> Self {
        Self::of_lanes(side, k, (rows, depth), threads, rank, 1)
    }

    /// By 16 bytes: the side's lines and items begin at multiples of 16 bytes, and its lines hold a multiple of that.
    #[inline(always)]
    pub fn wide(side: Side<T>, k: u32, rows: u32, depth: u32, threads: u32, rank: u32) -> Self {
        Self::of_lanes(side, k, (rows, depth), threads, rank, T::LANES as u32)
    }

    #[inline(always)]
    fn of_lanes(
        side: Side<T>,
        k: u32,
        (rows, depth): (u32, u32),
        threads: u32,
        rank: u32,
        lanes: u32,
    ) -> Self {
        let along_rows = Step { rows: 0, depth: threads / (rows / lanes) };
        let along_k = Step { rows: threads / (depth / lanes), depth: 0 };
        let (width, step) = if side.along_k { (depth / lanes, along_k) } else { (rows / lanes, along_rows) };
        let (fast, slow) = (rank % width * lanes, rank / width);
        let (row, first) = if side.along_k { (slow, fast) } else { (fast, slow) };
        let distance = if side.along_k { step.rows } else { step.depth } as usize * side.ld;
        Staging {
            side: side.moved(row, first),
            left: k,
            depth,
            passes: (rows * depth / (threads * lanes)) as usize,
            lanes,
            row,
            k: first,
            along_rows,
            along_k,
            step: distance,
        }
    }

    /// Reads the next elements; 0 past the side's rows and past its depth.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn load(&mut self, held: &mut [T; STAGED]) {
        let Staging { side, lanes, .. } = *self;
        let by = if side.along_k { self.along_k } else { self.along_rows };
        for pass in 0..self.passes {
            let (at, pass) = (pass * self.step, pass as u32);
            let (row, k) = (self.row + pass * by.rows, self.k + pass * by.depth);
            let first = (pass * lanes) as usize;
            let inside = row < side.rows && k < self.left;
            if lanes == 1 {
                held[first] = if inside { side.at(at) } else { T::ZERO };
            } else {
                let vector = if inside { side.vector_at(at) } else { T::ZERO.splat() };
                for lane in 0..T::LANES {
                    held[first + lane] = vector.as_ref()[lane];
                }
            }
        }
        self.side = side.moved(0, self.depth);
        self.left = self.left.saturating_sub(self.depth);
    }

    /// Writes them to lines.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn store(&self, lines: Lines<T>, held: &[T; STAGED]) {
        // Two loops, so that distances are constants.
        if self.side.along_k {
            self.store_by(lines, held, self.along_k, true);
        } else {
            self.store_by(lines, held, self.along_rows, false);
        }
    }

    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn store_by(&self, lines: Lines<T>, held: &[T; STAGED], by: Step, along_k: bool) {
        let lines = lines.at(self.row, self.k);
        for pass in 0..self.passes {
            let first = pass * self.lanes as usize;
            let (row, k) = (pass as u32 * by.rows, pass as u32 * by.depth);
            if along_k || self.lanes == 1 {
                for lane in 0..self.lanes {
                    let k = if along_k { k + lane } else { k };
                    lines.set(row, k, held[first + lane as usize]);
                }
            } else {
                let mut vector = T::ZERO.splat();
                for lane in 0..T::LANES {
                    vector.as_mut()[lane] = held[first + lane];
                }
                lines.shared.set_vector(k * lines.line + row, vector);
            }
        }
    }
}
