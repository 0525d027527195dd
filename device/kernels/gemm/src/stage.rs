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
        let at = k * self.line + row;
        if T::LANES == 1 { self.shared.get_vector(at).as_ref()[0] } else { self.shared.get(at) }
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
        let at = k * self.line + row;
        if T::LANES == 1 { self.shared.set_vector(at, x.splat()) } else { self.shared.set(at, x) }
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
    /// Whether a pass moves 16 bytes; else one element.
    wide: bool,
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
        Self::of_runs(side, k, (rows, depth), threads, rank, (false, depth))
    }

    /// By 16 bytes: the side's lines and items begin at multiples of 16 bytes, and its lines hold a multiple of that.
    /// Threads that follow each other along k are as few as cover the rows, since their stores meet in the banks.
    #[inline(always)]
    pub fn wide(side: Side<T>, k: u32, rows: u32, depth: u32, threads: u32, rank: u32) -> Self {
        Self::of_runs(side, k, (rows, depth), threads, rank, (true, threads / rows))
    }

    /// `width` threads follow each other along k, where memory does.
    #[inline(always)]
    fn of_runs(
        side: Side<T>,
        k: u32,
        (rows, depth): (u32, u32),
        threads: u32,
        rank: u32,
        (wide, width): (bool, u32),
    ) -> Self {
        let lanes = if wide { T::LANES as u32 } else { 1 };
        let along_rows = Step { rows: 0, depth: threads / (rows / lanes) };
        let along_k = if width * lanes < depth {
            Step { rows: 0, depth: width * lanes }
        } else {
            Step { rows: threads / width, depth: 0 }
        };
        let (width, step) = if side.along_k { (width, along_k) } else { (rows / lanes, along_rows) };
        let (fast, slow) = (rank % width * lanes, rank / width);
        let (row, first) = if side.along_k { (slow, fast) } else { (fast, slow) };
        let distance = if side.along_k {
            step.rows as usize * side.ld + step.depth as usize
        } else {
            step.depth as usize * side.ld
        };
        Staging {
            side: side.moved(row, first),
            left: k,
            depth,
            passes: (rows * depth / (threads * lanes)) as usize,
            wide,
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
        let Staging { side, .. } = *self;
        let by = if side.along_k { self.along_k } else { self.along_rows };
        for pass in 0..self.passes {
            let (row, k) = (self.row + pass as u32 * by.rows, self.k + pass as u32 * by.depth);
            let (at, inside) = (pass * self.step, row < side.rows && k < self.left);
            if self.wide {
                let vector = if inside { side.vector_at(at) } else { T::ZERO.splat() };
                for lane in 0..T::LANES {
                    held[pass * T::LANES + lane] = vector.as_ref()[lane];
                }
            } else {
                held[pass] = if inside { side.at(at) } else { T::ZERO };
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
            let (row, k) = (pass as u32 * by.rows, pass as u32 * by.depth);
            if !self.wide {
                lines.set(row, k, held[pass]);
            } else if along_k {
                for lane in 0..T::LANES {
                    lines.set(row, k + lane as u32, held[pass * T::LANES + lane]);
                }
            } else {
                let mut vector = T::ZERO.splat();
                for lane in 0..T::LANES {
                    vector.as_mut()[lane] = held[pass * T::LANES + lane];
                }
                lines.shared.set_vector(k * lines.line + row, vector);
            }
        }
    }
}
