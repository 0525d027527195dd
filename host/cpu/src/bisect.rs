//! All eigenvalues of symmetric tridiagonal matrices by bisection on Sturm counts (Barth, Martin and Wilkinson, 1967).
//!
//! Scaled by a power of two to elements near 1, so that no square overflows and those that underflow are below the
//! rounding error. Every value is halved out of Gershgorin's interval by itself: items and values share no work. All
//! values of an item see the same points until one point parts them, so that they ascend whatever the rounding.

use rayon::prelude::*;

use crate::element::Real;
use crate::scale::to_one;
use crate::{CONVERGED, NOT_FINITE};

/// A batch of symmetric tridiagonal matrices whose eigenvalues are bisected.
#[derive(Clone, Copy, Debug)]
pub struct Bisections {
    /// Order of each matrix.
    pub n: usize,
    /// Number of matrices.
    pub batch: usize,
    /// At most so many halvings of an interval; `None`: as many as full accuracy takes.
    pub passes: Option<u32>,
}

/// About this many steps of a count are worth a task of their own.
const TASK_WORK: usize = 100_000;

/// Rows after which counts leave the floating-point numbers that they are kept in: exact in f32 up to 2^24.
const ROWS: usize = 1 << 20;

/// A row: the diagonal element, and the square of the coupling to the row before.
type Row<R> = [R; 2];

/// Narrows the intervals of consecutive values from `first` on, and leaves their middles.
type Narrow<R> = fn(rows: &[Row<R>], first: usize, bounds: Bounds<R>, values: &mut [R]);

/// What all intervals of an item begin with.
#[derive(Clone, Copy)]
struct Bounds<R> {
    low: R,
    high: R,
    passes: u32,
}

impl<R: Real> Bounds<R> {
    /// The width below which a value is found: an ulp of the norm.
    fn tolerance(&self) -> R {
        R::UNIT_ROUNDOFF * R::TWO * self.low.abs().max(self.high.abs())
    }
}

/// How many eigenvalues lie below each point: the negative pivots of `T - x`. Pivots near 0 are moved away from it,
/// so that no quotient overflows.
#[inline(always)]
fn counts<R: Real, const L: usize>(rows: &[Row<R>], points: &[R; L]) -> [usize; L] {
    let least = R::SAFE_MIN * (R::TWO * R::TWO * R::TWO);
    let mut pivots = [R::ONE; L];
    let mut all = [0; L];
    for rows in rows.chunks(ROWS) {
        // Numbers of the pivots' own type stay in the same lanes.
        let mut below = [R::ZERO; L];
        for &[d, square] in rows {
            for v in 0..L {
                let pivot = (d - points[v]) - square / pivots[v];
                let pivot = if pivot.abs() < least { -least } else { pivot };
                below[v] += if pivot < R::ZERO { R::ONE } else { R::ZERO };
                pivots[v] = pivot;
            }
        }
        for v in 0..L {
            all[v] += below[v].to_usize();
        }
    }
    all
}

/// As [`Narrow`], at most `L` values. Lanes behind the last one look for that one again.
#[inline(always)]
fn narrow<R: Real, const L: usize>(rows: &[Row<R>], first: usize, bounds: Bounds<R>, values: &mut [R]) {
    let Bounds { passes, .. } = bounds;
    let (mut low, mut high) = ([bounds.low; L], [bounds.high; L]);
    for _ in 0..passes {
        let mut points = [R::ZERO; L];
        for v in 0..L {
            points[v] = low[v] + (high[v] - low[v]) * R::HALF;
        }
        let below = counts(rows, &points);
        for v in 0..L {
            let above = below[v] > first + v.min(values.len() - 1);
            low[v] = if above { low[v] } else { points[v] };
            high[v] = if above { points[v] } else { high[v] };
        }
    }
    for (v, value) in values.iter_mut().enumerate() {
        let width = high[v] - low[v];
        *value = if width <= bounds.tolerance() { low[v] + width * R::HALF } else { R::NAN };
    }
}

/// Gershgorin's interval of scaled rows, a little wider: its sums are rounded.
fn gershgorin<R: Real>(d: &[R], e: &[R], scale: R) -> (R, R) {
    let coupling = |i: Option<usize>| i.and_then(|i| e.get(i)).map_or(R::ZERO, |x| (*x * scale).abs());
    let (mut least, mut most) = (d[0] * scale, d[0] * scale);
    for (i, &x) in d.iter().enumerate() {
        let radius = coupling(i.checked_sub(1)) + coupling(Some(i));
        let (low, high) = (x * scale - radius, x * scale + radius);
        least = if low < least { low } else { least };
        most = most.max(high);
    }
    let margin = R::UNIT_ROUNDOFF * (R::TWO * R::TWO) * least.abs().max(most.abs());
    (least - margin, most + margin)
}

/// Solves one item of order at least 1; `L` values at a time. Returns its status.
fn item<R: Real, const L: usize>(
    items: &Bisections,
    (d, e): (&[R], &[R]),
    w: &mut [R],
    rows: &mut Vec<Row<R>>,
    narrow: Narrow<R>,
) -> i32 {
    if !d.iter().chain(e).all(|x| x.is_finite()) {
        w.fill(R::NAN);
        return NOT_FINITE;
    }
    let largest = d.iter().chain(e).fold(R::ZERO, |m, x| m.max(x.abs()));
    let scale = to_one(largest, 0);
    let (low, high) = gershgorin(d, e, scale);
    let bounds = Bounds { low, high, passes: items.passes.map_or(R::HALVINGS, |most| most.min(R::HALVINGS)) };
    let squares = std::iter::once(R::ZERO).chain(e.iter().map(|x| (*x * scale) * (*x * scale)));
    rows.clear();
    rows.extend(d.iter().zip(squares).map(|(d, square)| [*d * scale, square]));
    let rows = &rows[..];
    let group = L * (TASK_WORK / (L * rows.len() * R::HALVINGS as usize)).max(1);
    let solve = |(at, values): (usize, &mut [R])| {
        for (k, values) in values.chunks_mut(L).enumerate() {
            narrow(rows, at * group + k * L, bounds, values);
        }
    };
    if w.len() <= group {
        solve((0, w));
    } else {
        w.par_chunks_mut(group).enumerate().for_each(solve);
    }
    let missing = w.iter().filter(|x| x.is_nan()).count();
    if missing > 0 {
        w.fill(R::NAN);
        return missing as i32;
    }
    // The scale's inverse: both are powers of two.
    let back = R::ONE / scale;
    w.iter_mut().for_each(|x| *x *= back);
    CONVERGED
}

/// Panics where the slices do not hold the batch.
fn for_each_item<R: Real, const L: usize>(
    items: &Bisections,
    (d, e): (&[R], &[R]),
    w: &mut [R],
    status: &mut [i32],
    narrow: Narrow<R>,
) {
    let Bisections { n, batch, .. } = *items;
    assert_eq!((d.len(), w.len()), (n * batch, n * batch), "diagonals and eigenvalues");
    assert_eq!(e.len(), n.saturating_sub(1) * batch, "off-diagonals");
    assert_eq!(status.len(), batch, "statuses");
    if n == 0 || batch == 0 {
        status.fill(CONVERGED);
        return;
    }
    let work = n.saturating_mul(n).saturating_mul(R::HALVINGS as usize);
    let all = w.par_chunks_mut(n).zip(status.par_iter_mut()).enumerate();
    let all = all.with_min_len((TASK_WORK / work).max(1));
    all.for_each_init(Vec::new, |rows, (at, (w, status))| {
        let (d, e) = (&d[at * n..(at + 1) * n], &e[at * (n - 1)..(at + 1) * (n - 1)]);
        *status = item::<R, L>(items, (d, e), w, rows, narrow);
    });
}

macro_rules! entry {
    ($(#[$doc:meta])* $name:ident, $wide:ident, $t:ty, $l:literal) => {
        /// Wider registers change no bit: nothing is fused.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn $wide(rows: &[Row<$t>], first: usize, bounds: Bounds<$t>, values: &mut [$t]) {
            narrow::<$t, $l>(rows, first, bounds, values);
        }

        $(#[$doc])*
        pub fn $name(items: &Bisections, d: &[$t], e: &[$t], w: &mut [$t], status: &mut [i32]) {
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has avx2, by the test above.
                let wide: Narrow<$t> = |rows, first, bounds, values| unsafe { $wide(rows, first, bounds, values) };
                return for_each_item::<$t, $l>(items, (d, e), w, status, wide);
            }
            for_each_item::<$t, $l>(items, (d, e), w, status, narrow::<$t, $l>);
        }
    };
}

entry!(
    /// All eigenvalues of a batch of symmetric tridiagonal `f32` matrices by bisection, each within a few units of the
    /// roundoff of the norm.
    ///
    /// `d` holds n diagonal elements an item, `e` the n - 1 off-diagonals; both are only read. `w` takes n eigenvalues
    /// an item, ascending. `status` has one number an item: 0 all found, k > 0 values not found within the passes, -1 a
    /// NaN or infinity in `d` or `e`; the last two leave NaN in all of the item's `w`.
    ///
    /// An item costs some 28 n^2 (f32) or 57 n^2 (f64) steps of a count.
    ///
    /// # Panics
    /// Where a slice does not fit `items`.
    stebz_f32, narrow_f32, f32, 16
);
entry!(
    /// As [`stebz_f32`], for `f64`.
    ///
    /// # Panics
    /// Where a slice does not fit `items`.
    stebz_f64, narrow_f64, f64, 8
);

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 - 2 cos(k pi / (n + 1)): within a few roundings of the norm, which is 4, at orders where QL is some n off.
    #[test]
    fn second_differences() {
        for (n, batch) in [(1, 3), (2, 5), (16, 3), (17, 40), (300, 2), (1000, 1)] {
            let items = Bisections { n, batch, passes: None };
            let (d, e) = (vec![2.0; n * batch], vec![-1.0; (n - 1) * batch]);
            let (mut w, mut status) = (vec![9.0f32; n * batch], vec![7; batch]);
            stebz_f32(&items, &d, &e, &mut w, &mut status);
            assert!(status.iter().all(|s| *s == CONVERGED));
            let (d, e): (Vec<f64>, Vec<f64>) = (vec![2.0; n * batch], vec![-1.0; (n - 1) * batch]);
            let mut wide = vec![9.0f64; n * batch];
            stebz_f64(&items, &d, &e, &mut wide, &mut status);
            assert!(status.iter().all(|s| *s == CONVERGED));
            for (at, (x, y)) in w.iter().zip(&wide).enumerate() {
                let exact = 2.0 - 2.0 * (std::f64::consts::PI * (at % n + 1) as f64 / (n + 1) as f64).cos();
                let off = ((f64::from(*x) - exact).abs() / 4.0, (y - exact).abs() / 4.0);
                assert!(off.0 <= 2.0 * f64::from(f32::EPSILON), "n={n}: {x} {exact}");
                assert!(off.1 <= 2.0 * f64::EPSILON, "n={n}: {y} {exact}");
            }
        }
    }

    /// Wide registers, narrow ones and every place in a group: the same bits.
    #[test]
    fn the_width_changes_no_bit() {
        let n = 45;
        let d: Vec<f64> = (0..n).map(|i| ((i * 7) % 11) as f64 - 3.3).collect();
        let e: Vec<f64> = (1..n).map(|i| 1.0 / i as f64).collect();
        let items = Bisections { n, batch: 1, passes: None };
        let (mut w, mut status) = (vec![0.0; n], vec![7]);
        stebz_f64(&items, &d, &e, &mut w, &mut status);
        let mut one = vec![0.0; n];
        for_each_item::<f64, 1>(&items, (&d, &e), &mut one, &mut status, narrow::<f64, 1>);
        assert_eq!(w, one);
        assert!(w.is_sorted());
    }

    /// The ends of the range: scaled by powers of two alone.
    #[test]
    fn the_ends_of_the_range() {
        let solve = |d: [f32; 2], e: f32| {
            let (mut w, mut status) = ([0.0; 2], [7]);
            stebz_f32(&Bisections { n: 2, batch: 1, passes: None }, &d, &[e], &mut w, &mut status);
            assert_eq!(status, [0]);
            w
        };
        let tiny = f32::from_bits(1);
        assert_eq!(solve([0.0; 2], tiny), [-tiny, tiny]);
        assert!((solve([0.0; 2], f32::MAX)[1] / f32::MAX - 1.0).abs() <= f32::EPSILON);
        assert_eq!(solve([f32::MAX; 2], f32::MAX)[1], f32::INFINITY);
        assert_eq!(solve([0.0; 2], 0.0), [0.0; 2]);
    }
}
