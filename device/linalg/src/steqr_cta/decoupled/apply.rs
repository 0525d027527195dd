//! Applies a round of logged sweeps to rows in registers.

use super::Track;
use cuda_std::scalar::Scalar;

/// Applies the sweeps that buffer `buffer` holds for problem `matrix` to this lane's `R` rows of its basis.
///
/// Planes are unrolled, so that the rows stay in registers; a sweep skips, four planes at a time, what lies
/// outside of its span.
#[inline(always)]
pub fn apply_round<T: Scalar, const P: usize, const R: usize>(
    track: &Track<T::Real>,
    buffer: u32,
    matrix: u32,
    rows: &mut [[T; P]; R],
) {
    let mut sweep = 0;
    while sweep < track.sweeps {
        let span = track.spans.get(track.span_index(buffer, sweep, matrix));
        let (l, m) = (span & 0xff, span >> 8);
        if m > l {
            apply_sweep::<T, P, R>(track, track.log_index(buffer, sweep, 0, matrix), l, m, rows);
        }
        sweep += 1;
    }
}

#[inline(always)]
fn apply_sweep<T: Scalar, const P: usize, const R: usize>(
    track: &Track<T::Real>,
    base: u32,
    l: u32,
    m: u32,
    rows: &mut [[T; P]; R],
) {
    let pairs = track.log.as_pairs();
    for quad in 0..P / 4 {
        let low = P - 4 * (quad + 1);
        if m > low as u32 && l < low as u32 + 4 {
            for step in 0..4 {
                let j = low + 3 - step;
                if j + 1 < P && j as u32 >= l && (j as u32) < m {
                    let [c, s] = pairs.get(base + j as u32 * track.matrices).into();
                    for r in 0..R {
                        let (high, low) = (rows[r][j + 1], rows[r][j]);
                        rows[r][j + 1] = high.scale_add(c, low.scale(s));
                        rows[r][j] = low.scale_add(c, -high.scale(s));
                    }
                }
            }
        }
    }
}
