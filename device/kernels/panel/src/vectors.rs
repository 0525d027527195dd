//! The vectors of a panel of reflectors, and how they come to shared memory.

use cuda_std::hint;
use cuda_std::prelude::*;

/// The vectors of some reflectors of an item, from `first` on.
#[derive(Clone, Copy)]
pub(crate) struct Vectors<T> {
    pub v: Global<T>,
    pub n: u32,
    pub ld: u32,
    /// The first reflector.
    pub first: u32,
    /// Reflectors of the item.
    pub count: u32,
    /// How many rows below the diagonal a vector begins.
    pub shift: u32,
    /// Whether words of 16 bytes begin the columns.
    pub is_aligned: bool,
}

impl<T: Scalar> Vectors<T> {
    /// Reflectors from the first on, at most `most`.
    #[inline(always)]
    pub fn used(&self, most: u32) -> u32 {
        let left = self.count - self.first;
        if left < most { left } else { most }
    }

    /// Begins to stage rows `from..from + rows` of `columns` vectors in `to`, `to_ld` apart, by a block of `THREADS`;
    /// zero past the last row and the last reflector, 1 at a vector's first row, zero above. `rows` is a power of two, `from`
    /// a multiple of it. Where all `is_live`, nothing is compared.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn stage<const THREADS: u32>(
        &self,
        to: Shared<T>,
        to_ld: u32,
        from: u32,
        shape: (u32, u32),
        is_live: bool,
    ) {
        let source = self.v.at(self.first as usize * self.ld as usize);
        let chunk = Chunk { source, ld: self.ld, is_aligned: self.is_aligned, from, to, to_ld };
        chunk.stage::<THREADS>(shape, is_live, |column| {
            let k = self.first + column;
            let end = if k < self.count { self.n } else { 0 };
            Live { start: k + self.shift + 1, end, is_led: true }
        });
    }

    /// Whether rows `from..from + rows` of `columns` vectors are all there and below where the vectors begin.
    #[inline(always)]
    pub fn is_live(&self, from: u32, (rows, columns): (u32, u32)) -> bool {
        let end = self.first + columns;
        from >= end + self.shift && from + rows <= self.n && end <= self.count
    }
}

/// Whether words of 16 bytes begin the columns of a matrix.
#[inline(always)]
pub(crate) fn is_aligned<T: Scalar>(matrix: Global<T>, ld: u32) -> bool {
    ld & (T::LANES as u32 - 1) == 0 && matrix.as_ptr() as usize & 15 == 0
}

/// The rows of a column that are copied.
#[derive(Clone, Copy)]
pub(crate) struct Live {
    pub start: u32,
    /// No row where 0.
    pub end: u32,
    /// Whether a 1 stands before the first, if it is above `end`.
    pub is_led: bool,
}

/// Columns of a matrix on their way to shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<T> {
    /// The first column, from row 0 on.
    pub source: Global<T>,
    pub ld: u32,
    pub is_aligned: bool,
    /// The first row.
    pub from: u32,
    pub to: Shared<T>,
    pub to_ld: u32,
}

impl<T: Scalar> Chunk<T> {
    /// Begins to copy `rows` (a power of two) of `columns` columns by `THREADS` threads; what is not live is zero. Where all
    /// `is_live`, nothing is compared.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn stage<const THREADS: u32>(
        self,
        (rows, columns): (u32, u32),
        is_live: bool,
        live: impl Fn(u32) -> Live,
    ) {
        if self.is_aligned && is_live {
            self.walk::<THREADS>(rows, T::LANES as u32, columns, |to, source, _, _| {
                to.copy_vector_async(0, source, 0, true);
            });
        } else if self.is_aligned {
            self.walk::<THREADS>(rows, T::LANES as u32, columns, |to, source, row, column| {
                Self::word(to, source, row, live(column));
            });
        } else {
            self.walk::<THREADS>(rows, 1, columns, |to, source, row, column| {
                Self::element(to, source, 0, row, live(column));
            });
        }
    }

    /// Calls `f` with place, source, row and column of each run of `lanes` rows of this thread.
    #[inline(always)]
    fn walk<const THREADS: u32>(
        self,
        rows: u32,
        lanes: u32,
        columns: u32,
        f: impl Fn(Shared<T>, Global<T>, u32, u32),
    ) {
        let words = rows / lanes;
        // Neither multiples of ld nor what follows from the thread is held in registers from chunk to chunk.
        let (ld, thread) = (hint::opaque(self.ld), hint::opaque(thread::thread_idx_x()));
        let (row, mut column) = (thread % words * lanes, thread / words);
        let mut to = self.to.at(column * self.to_ld + row);
        let row = self.from + row;
        let mut source = self.source.at((column * ld + row) as usize);
        let step = THREADS / words;
        // A bound that is not known keeps the loop rolled, or the multiples of ld take all registers.
        let end = if ld == 0 { 0 } else { columns };
        while column < end {
            f(to, source, row, column);
            to = to.at(step * self.to_ld);
            source = source.at((step * ld) as usize);
            column += step;
        }
    }

    /// 16 bytes from `row` on.
    #[inline(always)]
    fn word(to: Shared<T>, source: Global<T>, row: u32, live: Live) {
        let past = row + T::LANES as u32;
        let is_live = row >= live.start && past <= live.end;
        // Up to the 1 all is zero, and from the end on.
        let is_zero = row >= live.end || past < live.start + u32::from(!live.is_led);
        if is_live || is_zero {
            to.copy_vector_async(0, source, 0, is_live);
        } else {
            for lane in 0..T::LANES as u32 {
                Self::element(to, source, lane, row + lane, live);
            }
        }
    }

    /// Element `at`, which is that of `row`.
    #[inline(always)]
    fn element(to: Shared<T>, source: Global<T>, at: u32, row: u32, live: Live) {
        if live.is_led && row + 1 == live.start && row < live.end {
            to.set(at, T::ONE);
        } else {
            to.copy_async(at, source, at as usize, row >= live.start && row < live.end);
        }
    }
}
