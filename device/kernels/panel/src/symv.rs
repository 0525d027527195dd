//! `y = A v` for a Hermitian matrix of which the lower triangle is read, each element once.

use cuda_std::hint::opaque;
use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::fold::{choose, fold};

/// Columns of a tile. A warp has 4 KB of loads in flight: of 4-byte scalars two tiles.
const fn tile_columns(scalar_bytes: usize) -> usize {
    if scalar_bytes > 8 { 8 } else { 16 }
}

/// The matrix and the vector, whose elements up to `done` are zero.
#[derive(Clone, Copy)]
pub struct Operands<T> {
    /// Element (0, 0).
    pub a: GlobalMut<T>,
    /// Distance between columns.
    pub ld: u32,
    /// Order.
    pub n: u32,
    /// Elements of `v` from 0 to `done` are zero.
    pub done: u32,
    /// The vector, zero from `n` to the next multiple of 32.
    pub v: Shared<T>,
}

/// A place in the tiles of the lower triangle, which are counted column by column.
#[derive(Clone, Copy)]
struct Place {
    strip: u32,
    row_tile: u32,
}

impl<T: Scalar> Operands<T> {
    const COLUMNS: usize = tile_columns(size_of::<T>());
    /// Strips of columns beside each other in 32 columns.
    const STRIPS: u32 = (32 / Self::COLUMNS) as u32;

    #[inline(always)]
    fn row_tiles(&self) -> u32 {
        self.n.div_ceil(32)
    }

    /// The first strip that `v` does not leave out.
    #[inline(always)]
    fn first_strip(&self) -> u32 {
        (self.done + 1) / Self::COLUMNS as u32
    }

    /// What the strips that count cost: their tiles, and one for the end of each.
    #[inline(always)]
    fn cost(&self) -> u32 {
        let strip = self.first_strip();
        let whole = self.row_tiles() - strip / Self::STRIPS;
        (Self::STRIPS - strip % Self::STRIPS) * (whole + 1) + Self::STRIPS * ((whole - 1) * (whole + 2) / 2)
    }

    /// The first tile from which on the cost is at most `rest`.
    #[inline(always)]
    fn place(&self, rest: u32) -> Place {
        // From the end on, strips of one tile, then of two, and so on, STRIPS of each.
        let groups = rest.div_ceil(Self::STRIPS);
        let guess = (f32::from_u32(2 * groups) + 2.25).sqrt() - 1.5;
        let mut tiles = guess as u32;
        if tiles * (tiles + 3) / 2 < groups {
            tiles += 1;
        }
        if tiles > 0 && (tiles - 1) * (tiles + 2) / 2 >= groups {
            tiles -= 1;
        }
        let mut strip = (self.row_tiles() - tiles) * Self::STRIPS;
        let mut skipped = Self::STRIPS * (tiles * (tiles + 3) / 2) - rest;
        while skipped > tiles {
            skipped -= tiles + 1;
            strip += 1;
        }
        if skipped == tiles && tiles > 0 {
            // In the end of a strip.
            (strip, skipped) = (strip + 1, 0);
        }
        Place { strip, row_tile: strip / Self::STRIPS + skipped }
    }

    /// This warp's share of the product, one of `warps` (a power of two): it is left in `part`, whose elements from the tile of `done`
    /// to the padded end are set. Element `r` is touched by lane `r % 32` alone.
    #[inline(always)]
    pub fn multiply(self, tile: Tile, warp: u32, warps: u32, part: Shared<T>) {
        let height = self.row_tiles();
        let mut row = (self.done + 1) / 32 * 32 + tile.rank();
        while row < 32 * height {
            part.set(row, T::ZERO);
            row += 32;
        }
        // Tiles in turn would balance no better, and would end a strip at each tile.
        let cost = self.cost();
        let shift = warps.trailing_zeros();
        let mut place = self.place(cost - ((cost * warp) >> shift));
        let end = self.place(cost - ((cost * (warp + 1)) >> shift));
        while place.strip < end.strip || (place.strip == end.strip && place.row_tile < end.row_tile) {
            let stop = if place.strip < end.strip { height } else { end.row_tile };
            self.strip(tile, place, stop - place.row_tile, part);
            place.strip += 1;
            place.row_tile = place.strip / Self::STRIPS;
        }
    }

    /// `count` tiles of a strip, downwards.
    #[inline(always)]
    fn strip(&self, tile: Tile, place: Place, count: u32, part: Shared<T>) {
        let first_column = place.strip * Self::COLUMNS as u32;
        // What column c of the strip gives to element c of the product, by the rows of this lane.
        let mut sums = [T::ZERO; 16];
        let mut row_tile = place.row_tile;
        let end = row_tile + count;
        let two = |row_tile: u32| size_of::<T>() == 4 && row_tile + 2 <= end && 32 * (row_tile + 2) <= self.n;
        if row_tile == place.strip / Self::STRIPS {
            if two(row_tile) {
                self.take_tiles::<2, true>(tile, first_column, row_tile, &mut sums, part);
                row_tile += 2;
            } else {
                self.take_tiles::<1, true>(tile, first_column, row_tile, &mut sums, part);
                row_tile += 1;
            }
        }
        while two(row_tile) {
            self.take_tiles::<2, false>(tile, first_column, row_tile, &mut sums, part);
            row_tile += 2;
        }
        while row_tile < end {
            self.take_tiles::<1, false>(tile, first_column, row_tile, &mut sums, part);
            row_tile += 1;
        }
        let total = fold_columns::<T>(tile, &mut sums);
        let row = first_column + tile.rank() % Self::COLUMNS as u32;
        if row % 32 == tile.rank() {
            part.set(row, part.get(row) + total);
        }
    }

    /// `R` tiles under each other, of which the first lies on the diagonal or none; only where it is one may rows pass the
    /// last. Of the diagonal only the real part is used.
    #[inline(always)]
    fn take_tiles<const R: usize, const DIAGONAL: bool>(
        &self,
        tile: Tile,
        first_column: u32,
        row_tile: u32,
        sums: &mut [T; 16],
        part: Shared<T>,
    ) {
        let mut elements = [[T::ZERO; 16]; R];
        let mut v_row = [T::ZERO; R];
        let first_row = 32 * row_tile + tile.rank();
        let partial = |r: usize| DIAGONAL && r == 0;
        // Its multiples would take 15 registers.
        let ld = opaque(self.ld);
        if R > 1 || first_row < self.n {
            let from = self.a.at(first_column as usize * self.ld as usize + first_row as usize);
            for c in 0..Self::COLUMNS {
                for r in 0..R {
                    if !partial(r) || first_row >= first_column + c as u32 {
                        elements[r][c] = from.get_evict_first((c as u32 * ld) as usize + 32 * r);
                    }
                }
            }
        }
        for r in 0..R {
            v_row[r] = self.v.get(first_row + 32 * r as u32);
        }
        let mut product = [[T::ZERO; 2]; R];
        for quad in 0..Self::COLUMNS / 4 {
            let v = self.v.get_array::<4>(first_column + 4 * quad as u32);
            for s in 0..4 {
                let c = 4 * quad + s;
                for r in 0..R {
                    let (mut x, mut v_r) = (elements[r][c], v_row[r]);
                    if partial(r) {
                        let on = first_row == first_column + c as u32;
                        x = choose(on, T::from_real(x.re()), x);
                        v_r = choose(on, T::ZERO, v_r);
                    }
                    product[r][s % 2] = x.mul_add(v[s], product[r][s % 2]);
                    sums[c] = x.conj().mul_add(v_r, sums[c]);
                }
            }
        }
        for r in 0..R {
            let row = first_row + 32 * r as u32;
            part.set(row, part.get(row) + (product[r][0] + product[r][1]));
        }
    }
}

/// The sum over all lanes of `sums[c]`, on the lanes whose rank is `c` modulo the columns of a tile.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn fold_columns<T: Scalar>(tile: Tile, sums: &mut [T; 16]) -> T {
    let columns = const { tile_columns(size_of::<T>()) };
    if columns > 8 {
        fold::<T, 8, 16>(tile, sums);
    }
    fold::<T, 4, 16>(tile, sums);
    fold::<T, 2, 16>(tile, sums);
    fold::<T, 1, 16>(tile, sums);
    let mut total = sums[0];
    total += tile.shuffle_xor(total, 16);
    if columns < 16 {
        total += tile.shuffle_xor(total, 8);
    }
    total
}
