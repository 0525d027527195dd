//! Applies a round of logged sweeps to rows in registers and in shared memory.

use super::Track;
use crate::rows::SharedRows;
use cuda_std::scalar::Scalar;

/// This lane's `R` rows of the basis of one problem, the last `S` of them in shared memory.
pub struct LaneRows<'a, T, const P: usize, const R: usize, const S: usize> {
    /// Those in registers: the last `S` are not in use.
    pub registers: &'a mut [[T; P]; R],
    /// Those in shared memory.
    pub shared: SharedRows<T>,
}

/// Applies the sweeps that buffer `buffer` holds for problem `matrix` to this lane's rows of its basis.
///
/// Planes are unrolled, so that the rows in registers stay there; a sweep skips, four planes at a time, what lies
/// outside of its span.
#[inline(always)]
pub fn apply_round<T: Scalar, const P: usize, const R: usize, const S: usize>(
    track: &Track<T::Real>,
    buffer: u32,
    matrix: u32,
    rows: &mut LaneRows<'_, T, P, R, S>,
) {
    let mut sweep = 0;
    while sweep < track.sweeps {
        let span = track.spans.get(track.span_index(buffer, sweep, matrix));
        let (l, m) = (span & 0xff, span >> 8);
        if m > l {
            apply_sweep(track, track.log_index(buffer, sweep, 0, matrix), l, m, rows);
        }
        sweep += 1;
    }
}

#[inline(always)]
fn apply_sweep<T: Scalar, const P: usize, const R: usize, const S: usize>(
    track: &Track<T::Real>,
    base: u32,
    l: u32,
    m: u32,
    rows: &mut LaneRows<'_, T, P, R, S>,
) {
    let pairs = track.log.as_pairs();
    // The column that a plane shares with the next one: read once, and written once, in shared memory.
    let mut carried = [T::ZERO; S];
    for s in 0..S {
        carried[s] = rows.shared.get(s as u32, m);
    }
    for quad in 0..P / 4 {
        let low = P - 4 * (quad + 1);
        if m > low as u32 && l < low as u32 + 4 {
            for step in 0..4 {
                let j = low + 3 - step;
                if j + 1 < P && j as u32 >= l && (j as u32) < m {
                    let [c, s] = pairs.get(base + j as u32 * track.matrices).into();
                    for r in 0..R - S {
                        let (high, low) = (rows.registers[r][j + 1], rows.registers[r][j]);
                        rows.registers[r][j + 1] = high.scale_add(c, low.scale(s));
                        rows.registers[r][j] = low.scale_add(c, -high.scale(s));
                    }
                    for k in 0..S {
                        let (high, low) = (carried[k], rows.shared.get(k as u32, j as u32));
                        rows.shared.set(k as u32, j as u32 + 1, high.scale_add(c, low.scale(s)));
                        carried[k] = low.scale_add(c, -high.scale(s));
                    }
                }
            }
        }
    }
    for s in 0..S {
        rows.shared.set(s as u32, l, carried[s]);
    }
}
