//! Applies a round of logged sweeps to a row in registers.

use super::Track;
use cuda_std::scalar::Scalar;

/// Applies the sweeps that buffer `buffer` holds for problem `matrix` to this lane's row of its basis.
///
/// Planes are unrolled, so that the row stays in registers; a sweep skips, four planes at a time, what lies
/// outside of its span.
#[inline(always)]
pub fn apply_round<T: Scalar, const P: usize>(
    track: &Track<T::Real>,
    buffer: u32,
    matrix: u32,
    row: &mut [T; P],
) {
    let mut sweep = 0;
    while sweep < track.sweeps {
        let span = track.spans.get(track.span_index(buffer, sweep, matrix));
        let (l, m) = (span & 0xff, span >> 8);
        if m > l {
            apply_sweep::<T, P>(track, track.log_index(buffer, sweep, 0, matrix), l, m, row);
        }
        sweep += 1;
    }
}

#[inline(always)]
fn apply_sweep<T: Scalar, const P: usize>(
    track: &Track<T::Real>,
    base: u32,
    l: u32,
    m: u32,
    row: &mut [T; P],
) {
    let pairs = track.log.as_pairs();
    for quad in 0..P / 4 {
        let low = P - 4 * (quad + 1);
        if m > low as u32 && l < low as u32 + 4 {
            for step in 0..4 {
                let j = low + 3 - step;
                if j + 1 < P && j as u32 >= l && (j as u32) < m {
                    let [c, s] = pairs.get(base + j as u32 * track.matrices).into();
                    let (high, low) = (row[j + 1], row[j]);
                    row[j + 1] = high.scale_add(c, low.scale(s));
                    row[j] = low.scale_add(c, -high.scale(s));
                }
            }
        }
    }
}
