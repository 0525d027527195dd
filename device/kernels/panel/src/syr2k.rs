//! `syr2k`: the rank-2k update of a lower triangle.

use crate::shape::{MAX_PANEL, Syr2k, syr2k_staged};
use cuda_std::copy;
use cuda_std::matrix::product_16x8x16;
use cuda_std::prelude::*;

/// `A -= V W^H + W V^H` for the rows and columns of each matrix from `first` on.
///
/// # Layout and shapes
/// `a`: items of order `n`, column-major with `ld` and `stride`; the lower triangle from row and column `first` on is
/// updated, its diagonal is made real. `V`: columns `first - width..first` of `a`, of which rows from `first` on are
/// read, `width` at most [`MAX_PANEL`]; `w`: `n` by `width` an item with `ld` `n`, `w_stride` apart. `tiles` square tiles of `TILE` an item, those of
/// the triangle row by row, a block each.
///
/// # Lanes
/// [`Syr2k::threads`] threads. Single precision: a warp has 32 rows (`TILE` 128: 64) by 32 columns, lanes 8 along the
/// rows and 4 along the columns, a lane runs of 16 bytes of rows and columns, 4 (8) by 8 elements. Double precision: a
/// warp has 32 by 32 elements (complex: 32 by 16) as the fragments of `cuda_std::matrix`. Warps above the diagonal or
/// past the last row only stage.
///
/// # Shared memory
/// [`Syr2k::bytes`].
///
/// # Synchronisation
/// A block barrier, met by all threads; two more for each further [`syr2k_staged`] columns. A's elements are read and the
/// panels copied before it, all at once. In double precision products are collectives of warps, under conditions that are
/// uniform in a warp.
///
/// # Numerics
/// Starts from A's element and subtracts column by column, of `V W^H`, then of `W V^H`: fused multiply-adds in
/// single precision; in double precision products of 16 by 16 by 8 for 8 columns,
/// which the hardware rounds.
///
/// # Safety
/// The views cover the items that the grid counts, and the launch gives the shared memory.
///
/// # Source
/// BLAS's `zher2k`.
#[kernel(
    group(T = [f32], TILE = [64], launch_bounds(128, 5)),
    group(T = [f32], TILE = [128], launch_bounds(256, 2)),
    group(T = [f64], TILE = [64], launch_bounds(128, 3)),
    group(T = [c32], TILE = [64], launch_bounds(128, 3)),
    group(T = [c64], TILE = [64], launch_bounds(256, 1))
)]
pub unsafe fn syr2k<T: Scalar, const TILE: u32>(
    a: GlobalMut<T>,
    w: Global<T>,
    n: u32,
    ld: u32,
    stride: u64,
    w_stride: u64,
    first: u32,
    width: u32,
    tiles: u32,
) {
    let tiles = if tiles == 0 { 1 } else { tiles };
    let block = thread::block_idx_x();
    let (item, tile) = ((block / tiles) as usize, block % tiles);
    let (tile_row, tile_column) = triangle(tile);
    let matrix = a.at(item * stride as usize);
    let panel = (first - width) as usize * ld as usize;
    let tile = Tile::<T, TILE> {
        matrix,
        v: matrix.at(panel).as_global(),
        w: w.at(item * w_stride as usize),
        n,
        ld,
        row: first + tile_row * TILE,
        column: first + tile_column * TILE,
        wide: wide::<T>(a.as_ptr() as usize | w.as_ptr() as usize, n | ld | first, stride | w_stride),
    };
    if const { size_of::<T::Real>() == 8 } { tile.update_by_fragments(width) } else { tile.update(width) }
}

/// Whether all columns of all operands can move by 16 bytes; scalars of 16 bytes always do.
#[inline(always)]
fn wide<T: Scalar>(addresses: usize, elements: u32, strides: u64) -> bool {
    let lanes = T::LANES as u64;
    T::LANES == 1 || addresses.is_multiple_of(16) && (u64::from(elements) | strides).is_multiple_of(lanes)
}

/// Row and column of tile `index` of a lower triangle, whose rows have 1, 2, 3, .. tiles.
#[inline(always)]
fn triangle(index: u32) -> (u32, u32) {
    // Within one of the row for every 32-bit index.
    let guess = (f32::from_u32(2 * index) + 0.25).sqrt() - 0.5;
    let mut row = guess as u32;
    if row * (row + 1) / 2 > index {
        row -= 1;
    }
    if (row + 1) * (row + 2) / 2 <= index {
        row += 1;
    }
    (row, index - row * (row + 1) / 2)
}

/// What a block updates, and from what.
#[derive(Clone, Copy)]
struct Tile<T, const TILE: u32> {
    matrix: GlobalMut<T>,
    v: Global<T>,
    w: Global<T>,
    n: u32,
    ld: u32,
    row: u32,
    column: u32,
    wide: bool,
}

/// The staged panels at the tile's rows and at its columns: of column `c`, line `2 c` holds V and line `2 c + 1` W.
#[derive(Clone, Copy)]
struct Panels<T> {
    rows: Shared<T>,
    columns: Shared<T>,
}

/// The elements of the triangle that a thread has, at constant distances from a first one.
#[derive(Clone, Copy)]
struct Own<T> {
    view: GlobalMut<T>,
    ld: usize,
    /// Rows from the first element on.
    rows: i32,
    /// Rows that the first element is below the diagonal.
    below: i32,
    wide: bool,
}

impl<T: Scalar> Own<T> {
    #[inline(always)]
    fn at(&self, row: u32, column: u32) -> usize {
        column as usize * self.ld + row as usize
    }

    /// Whether an element is one of the triangle's.
    #[inline(always)]
    fn has(&self, row: u32, column: u32) -> bool {
        (row as i32) < self.rows && column as i32 - row as i32 <= self.below
    }

    /// Whether a run of rows is moved by 16 bytes: it is below the diagonal then.
    #[inline(always)]
    fn whole(&self, row: u32, column: u32) -> bool {
        self.wide && (row as i32) < self.rows && column as i32 - (row as i32) < self.below
    }

    #[inline(always)]
    fn on_diagonal(&self, row: u32, column: u32) -> bool {
        column as i32 - row as i32 == self.below
    }
}

impl<T: Scalar, const TILE: u32> Tile<T, TILE> {
    const SHAPE: Syr2k = Syr2k::new(TILE, size_of::<T>(), size_of::<T::Real>());
    /// Columns of V and W that are staged at a time.
    const STAGED: u32 = syr2k_staged(size_of::<T>());
    /// Whether these are all.
    const WHOLE: bool = Self::STAGED == MAX_PANEL as u32;

    /// The panels; at the diagonal there is but one.
    #[inline(always)]
    fn panels(&self) -> Panels<T> {
        let elements = const { 2 * Self::STAGED * Self::SHAPE.line } as usize;
        let columns = if self.row == self.column { 0 } else { elements * size_of::<T>() };
        // SAFETY: the launch gives Syr2k::bytes, which hold both.
        unsafe {
            Panels { rows: shared_array![T; elements, @ 0], columns: shared_array![T; elements, @ columns] }
        }
    }

    /// The thread's elements, from a row and a column of the tile on.
    #[inline(always)]
    fn own(&self, row: u32, column: u32) -> Own<T> {
        let (row, column) = (self.row + row, self.column + column);
        Own {
            view: self.matrix.at(column as usize * self.ld as usize + row as usize),
            ld: self.ld as usize,
            rows: self.n as i32 - row as i32,
            below: row as i32 - column as i32,
            wide: self.wide,
        }
    }

    /// Begins to stage columns `from..from + STAGED`, zero from `width` on and past the last row. A barrier lies before
    /// the columns after the first ones.
    #[inline(always)]
    fn stage(&self, from: u32, width: u32) {
        if from > 0 {
            thread::sync_threads();
        }
        if self.wide {
            self.stage_as::<true>(from, width)
        } else {
            self.stage_as::<false>(from, width)
        }
        copy::commit();
    }

    #[inline(always)]
    fn stage_as<const WIDE: bool>(&self, from: u32, width: u32) {
        let (lanes, line) = (T::LANES as u32, const { Self::SHAPE.line });
        let runs = TILE / lanes;
        // Columns of a pass.
        let step = const { Self::SHAPE.threads } / runs;
        let (place, own) = (thread::thread_idx_x() % runs * lanes, thread::thread_idx_x() / runs);
        let (ld, n, square) = (self.ld as usize, self.n as usize, self.row == self.column);
        let panels = self.panels();
        let (rows, columns) = (panels.rows.at(place), panels.columns.at(place));
        let (row, column) = (self.row + place, self.column + place);
        // Products take 8 columns at a time.
        let end = width.next_multiple_of(8) - from;
        let end = if end < Self::STAGED { end } else { Self::STAGED };
        let mut first = own;
        while first < end {
            let (k, at) = (from + first, 2 * first * line);
            let (v, w) = (self.v.at(k as usize * ld), self.w.at(k as usize * n));
            let inside = |row: u32| k < width && row < self.n;
            copy_run::<T, WIDE>(rows.at(at), v, row, inside);
            copy_run::<T, WIDE>(rows.at(at + line), w, row, inside);
            if !square {
                copy_run::<T, WIDE>(columns.at(at), v, column, inside);
                copy_run::<T, WIDE>(columns.at(at + line), w, column, inside);
            }
            first += step;
        }
    }

    /// The columns from `from` on are there; returns their lines.
    #[inline(always)]
    fn staged(&self, from: u32, width: u32) -> u32 {
        copy::wait::<0>();
        thread::sync_threads();
        let left = width - from;
        2 * if left < Self::STAGED { left } else { Self::STAGED }
    }
}

/// Begins to copy the 16 bytes of a column from `row` on, zeros where a row is not inside.
#[inline(always)]
fn copy_run<T: Scalar, const WIDE: bool>(
    to: Shared<T>,
    column: Global<T>,
    row: u32,
    inside: impl Fn(u32) -> bool,
) {
    if WIDE {
        to.copy_vector_async(0, column, row as usize, inside(row));
    } else {
        for lane in 0..T::LANES as u32 {
            to.copy_async(lane, column, (row + lane) as usize, inside(row + lane));
        }
    }
}

/// Single precision, by multiply-adds.
impl<T: Scalar, const TILE: u32> Tile<T, TILE> {
    /// Rows and columns of a thread.
    const ROWS: usize = if TILE > 64 { 8 } else { 4 };
    const COLUMNS: usize = 8;

    /// Distance of element `i` of a thread from its first one, along an axis with so many lanes.
    #[inline(always)]
    fn distance(i: usize, lanes: u32) -> u32 {
        (i / T::LANES) as u32 * lanes * T::LANES as u32 + (i % T::LANES) as u32
    }

    #[inline(always)]
    fn update(&self, width: u32) {
        let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
        let height = 8 * Self::ROWS as u32;
        let (row, column) = (warp % 2 * height, warp / 2 * 32);
        let active = self.row + row < self.n && self.column + column < self.row + row + height;
        let (row, column) = (row + lane % 8 * T::LANES as u32, column + lane / 8 * T::LANES as u32);
        let own = self.own(row, column);
        // Whether there may be elements in runs that are not whole.
        let broken = !self.wide || self.row == self.column;
        let mut sums = [[T::ZERO; 8]; 8];
        self.stage(0, width);
        Self::get(own, broken, &mut sums);
        let mut from = 0;
        loop {
            let lines = self.staged(from, width);
            if active {
                self.multiply(lines, row, column, &mut sums);
            }
            from += Self::STAGED;
            if Self::WHOLE || from >= width {
                break;
            }
            self.stage(from, width);
        }
        Self::set(own, broken, &sums);
    }

    /// Subtracts the product of the first `lines` lines.
    #[inline(always)]
    fn multiply(&self, lines: u32, row: u32, column: u32, sums: &mut [[T; 8]; 8]) {
        let (panels, line) = (self.panels(), const { Self::SHAPE.line });
        let (rows, columns) = (panels.rows.at(row), panels.columns.at(column));
        let mut k = 0;
        while k < lines * line {
            // V W^H, then W V^H.
            for half in 0..2 {
                let left = Self::elements(rows, k + half * line, Self::ROWS, 8);
                let right = Self::elements(columns, k + (1 - half) * line, Self::COLUMNS, 4);
                for c in 0..Self::COLUMNS {
                    for r in 0..Self::ROWS {
                        sums[c][r] = (-left[r]).mul_add(right[c].conj(), sums[c][r]);
                    }
                }
            }
            k += 2 * line;
        }
    }

    /// A thread's elements of a line.
    #[inline(always)]
    fn elements(line: Shared<T>, at: u32, count: usize, lanes: u32) -> [T; 8] {
        let mut values = [T::ZERO; 8];
        for run in 0..count / T::LANES {
            let vector = line.get_vector(at + Self::distance(run * T::LANES, lanes));
            for lane in 0..T::LANES {
                values[run * T::LANES + lane] = vector.as_ref()[lane];
            }
        }
        values
    }

    /// Reads the thread's elements.
    #[inline(always)]
    fn get(own: Own<T>, broken: bool, sums: &mut [[T; 8]; 8]) {
        for c in 0..Self::COLUMNS {
            for run in 0..Self::ROWS / T::LANES {
                let (i, j) = (Self::distance(run * T::LANES, 8), Self::distance(c, 4));
                if own.whole(i, j) {
                    let vector = own.view.get_vector(own.at(i, j));
                    for lane in 0..T::LANES {
                        sums[c][run * T::LANES + lane] = vector.as_ref()[lane];
                    }
                }
            }
        }
        if broken {
            for c in 0..Self::COLUMNS {
                for r in 0..Self::ROWS {
                    let (i, j) = (Self::distance(r, 8), Self::distance(c, 4));
                    if !own.whole(i - (r % T::LANES) as u32, j) && own.has(i, j) {
                        sums[c][r] = own.view.get(own.at(i, j));
                    }
                }
            }
        }
    }

    /// Writes them.
    #[inline(always)]
    fn set(own: Own<T>, broken: bool, sums: &[[T; 8]; 8]) {
        for c in 0..Self::COLUMNS {
            for run in 0..Self::ROWS / T::LANES {
                let (i, j) = (Self::distance(run * T::LANES, 8), Self::distance(c, 4));
                if own.whole(i, j) {
                    let mut vector = T::ZERO.splat();
                    for lane in 0..T::LANES {
                        vector.as_mut()[lane] = sums[c][run * T::LANES + lane];
                    }
                    own.view.set_vector(own.at(i, j), vector);
                }
            }
        }
        if broken {
            for c in 0..Self::COLUMNS {
                for r in 0..Self::ROWS {
                    let (i, j) = (Self::distance(r, 8), Self::distance(c, 4));
                    if !own.whole(i - (r % T::LANES) as u32, j) && own.has(i, j) {
                        let x = sums[c][r];
                        own.view
                            .set(own.at(i, j), if own.on_diagonal(i, j) { T::from_real(x.re()) } else { x });
                    }
                }
            }
        }
    }
}

/// Fragments of a warp by tile of 16 rows and tile of 8 columns.
type Fragments = [[[f64; 4]; 4]; 2];

/// Double precision, on the tensor cores.
impl<T: Scalar, const TILE: u32> Tile<T, TILE> {
    /// Tiles of 16 rows and of 8 columns of a warp.
    const TILES_M: usize = 2;
    const TILES_N: usize = if T::COMPLEX { 2 } else { 4 };

    #[inline(always)]
    fn update_by_fragments(&self, width: u32) {
        let (warp, lane, warps_m) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32, TILE / 32);
        let (row, column) = (warp % warps_m * 32, warp / warps_m * 8 * Self::TILES_N as u32);
        let active = self.row + row < self.n && self.column + column < self.row + row + 32;
        let own = self.own(row + lane / 4, column + 2 * (lane % 4));
        let (mut re, mut im): (Fragments, Fragments) = ([[[0.0; 4]; 4]; 2], [[[0.0; 4]; 4]; 2]);
        for i in 0..Self::TILES_M {
            for j in 0..Self::TILES_N {
                for e in 0..4 {
                    let (row, column) = fragment(i, j, e);
                    if own.has(row, column) {
                        let x = load(own.view.as_global(), own.at(row, column));
                        (re[i][j][e], im[i][j][e]) = (double(x.re()), double(x.im()));
                    }
                }
            }
        }
        self.stage(0, width);
        let mut from = 0;
        loop {
            let lines = self.staged(from, width);
            let mut k = 0;
            // Lines past the last column are zero.
            while active && k < lines {
                self.accumulate(k, row + lane / 4, column + lane / 4, &mut re, &mut im);
                k += 16;
            }
            from += Self::STAGED;
            if Self::WHOLE || from >= width {
                break;
            }
            self.stage(from, width);
        }
        for i in 0..Self::TILES_M {
            for j in 0..Self::TILES_N {
                for e in 0..4 {
                    let (row, column) = fragment(i, j, e);
                    if own.has(row, column) {
                        let imaginary = if own.on_diagonal(row, column) { 0.0 } else { im[i][j][e] };
                        let x = T::from_parts(T::Real::from_f64(re[i][j][e]), T::Real::from_f64(imaginary));
                        store(own.view, own.at(row, column), x);
                    }
                }
            }
        }
    }

    /// Subtracts the product of the 16 lines from `k` on, for the lane's first row and column.
    #[inline(always)]
    fn accumulate(&self, k: u32, row: u32, column: u32, re: &mut Fragments, im: &mut Fragments) {
        let (within, line, panels) = (thread::thread_idx_x() % 4, const { Self::SHAPE.line }, self.panels());
        let rows = panels.rows.at((k + within) * line + row);
        // V meets W.
        let columns = panels.columns.at((k + (within ^ 1)) * line + column);
        let (mut right_re, mut right_im) = ([[0.0; 4]; 4], [[0.0; 4]; 4]);
        for j in 0..Self::TILES_N {
            for e in 0..4 {
                let x = element(columns, 8 * j as u32 + 4 * e as u32 * line);
                (right_re[j][e], right_im[j][e]) = (double(x.re()), double(x.im()));
            }
        }
        for i in 0..Self::TILES_M {
            let (mut left_re, mut left_im) = ([0.0; 8], [0.0; 8]);
            for e in 0..8 {
                let x = element(rows, 16 * i as u32 + 8 * (e as u32 % 2) + 4 * (e as u32 / 2) * line);
                (left_re[e], left_im[e]) = (-double(x.re()), -double(x.im()));
            }
            for j in 0..Self::TILES_N {
                re[i][j] = product_16x8x16(left_re, right_re[j], re[i][j]);
                if T::COMPLEX {
                    re[i][j] = product_16x8x16(left_im, right_im[j], re[i][j]);
                    im[i][j] = product_16x8x16(left_im, right_re[j], im[i][j]);
                    im[i][j] = product_16x8x16(left_re, right_im[j].map(|x| -x), im[i][j]);
                }
            }
        }
    }
}

/// Row and column of element `e` of a lane's fragment, from its first one on.
#[inline(always)]
fn fragment(i: usize, j: usize, e: usize) -> (u32, u32) {
    (16 * i as u32 + 8 * (e as u32 / 2), 8 * j as u32 + e as u32 % 2)
}

/// An element of shared memory by one access; those of 16 bytes lie at multiples of them.
#[inline(always)]
fn element<T: Scalar>(line: Shared<T>, at: u32) -> T {
    if T::LANES == 1 { line.get_vector(at).as_ref()[0] } else { line.get(at) }
}

/// The same of global memory.
#[inline(always)]
fn load<T: Scalar>(view: Global<T>, at: usize) -> T {
    if T::LANES == 1 { view.get_vector(at).as_ref()[0] } else { view.get(at) }
}

/// Stores such an element.
#[inline(always)]
fn store<T: Scalar>(view: GlobalMut<T>, at: usize, x: T) {
    if T::LANES == 1 { view.set_vector(at, x.splat()) } else { view.set(at, x) }
}

/// A number of double precision, which is all that this is used for.
#[inline(always)]
fn double<R: Real>(x: R) -> f64 {
    if size_of::<R>() != size_of::<f64>() {
        return 0.0;
    }
    // SAFETY: of the real types only f64 has that size.
    unsafe { core::mem::transmute_copy::<R, f64>(&x) }
}
