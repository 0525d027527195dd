//! What warp collectives compute, as the PTX manual defines them.

use crate::clocks::lanes;
use crate::{Collective, ReduceOp, matrix};

/// What the lanes of a warp bring to a collective, by lane.
pub(crate) struct Inputs {
    pub(crate) values: [u64; 32],
    pub(crate) args: [u32; 32],
    pub(crate) widths: [u32; 32],
}

/// Results by lane, and the first lane that read from a lane outside the mask, with that lane.
pub(crate) struct Outputs {
    pub(crate) values: [u64; 32],
    pub(crate) stray: Option<(usize, usize)>,
}

/// Computes a collective over the lanes of `mask`.
pub(crate) fn evaluate(kind: Collective, mask: u32, inputs: &Inputs) -> Outputs {
    match kind {
        Collective::ShuffleXor | Collective::ShuffleUp | Collective::ShuffleDown | Collective::ShuffleIdx => {
            shuffle(kind, mask, inputs)
        }
        Collective::MatchAny => {
            let same = |lane: usize| lane_mask(mask, |other| inputs.values[other] == inputs.values[lane]);
            each(mask, |lane| u64::from(same(lane)))
        }
        Collective::MatrixProduct { rows, depth } => {
            matrix::product(rows, depth, mask, &inputs.values);
            each(mask, |_| 0)
        }
        _ => {
            let value = uniform(kind, mask, &inputs.values);
            each(mask, |_| value)
        }
    }
}

/// Collectives that give every lane the same.
fn uniform(kind: Collective, mask: u32, values: &[u64; 32]) -> u64 {
    let ballot = || lane_mask(mask, |lane| values[lane] != 0);
    match kind {
        Collective::VoteAll => u64::from(ballot() == mask),
        Collective::VoteAny => u64::from(ballot() != 0),
        Collective::Ballot => u64::from(ballot()),
        Collective::MatchAll => {
            let first = values[mask.trailing_zeros() as usize];
            if lanes(mask).all(|lane| values[lane] == first) { u64::from(mask) } else { 0 }
        }
        Collective::Reduce(op) => u64::from(reduce(op, mask, values)),
        _ => 0,
    }
}

fn reduce(op: ReduceOp, mask: u32, values: &[u64; 32]) -> u32 {
    let combine = |a: u32, b: u32| match op {
        ReduceOp::Add => a.wrapping_add(b),
        ReduceOp::MinU32 => a.min(b),
        ReduceOp::MaxU32 => a.max(b),
        ReduceOp::MinI32 => a.cast_signed().min(b.cast_signed()).cast_unsigned(),
        ReduceOp::MaxI32 => a.cast_signed().max(b.cast_signed()).cast_unsigned(),
        ReduceOp::And => a & b,
        ReduceOp::Or => a | b,
        ReduceOp::Xor => a ^ b,
    };
    lanes(mask).map(|lane| values[lane] as u32).reduce(combine).unwrap_or(0)
}

fn shuffle(kind: Collective, mask: u32, inputs: &Inputs) -> Outputs {
    let mut outputs = Outputs { values: [0; 32], stray: None };
    for lane in lanes(mask) {
        let source = source_lane(kind, lane as u32, inputs.args[lane], inputs.widths[lane]) as usize;
        let named = mask >> source & 1 != 0;
        outputs.values[lane] = inputs.values[if named { source } else { lane }];
        if !named && outputs.stray.is_none() {
            outputs.stray = Some((lane, source));
        }
    }
    outputs
}

/// The lane that a shuffle reads. A source beyond the segment gives the lane itself; a source of
/// `ShuffleXor` in an earlier segment is allowed, as the PTX manual has it.
fn source_lane(kind: Collective, lane: u32, arg: u32, width: u32) -> u32 {
    let first = lane & !(width - 1);
    let last = first + width - 1;
    let arg = arg & 31;
    match kind {
        Collective::ShuffleUp if lane < first + arg => lane,
        Collective::ShuffleUp => lane - arg,
        Collective::ShuffleDown if lane + arg > last => lane,
        Collective::ShuffleDown => lane + arg,
        Collective::ShuffleXor if lane ^ arg > last => lane,
        Collective::ShuffleXor => lane ^ arg,
        _ => first | (arg & (width - 1)),
    }
}

fn each(mask: u32, value: impl Fn(usize) -> u64) -> Outputs {
    let mut values = [0; 32];
    for lane in lanes(mask) {
        values[lane] = value(lane);
    }
    Outputs { values, stray: None }
}

fn lane_mask(mask: u32, predicate: impl Fn(usize) -> bool) -> u32 {
    lanes(mask).filter(|&lane| predicate(lane)).fold(0, |all, lane| all | 1 << lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(kind: Collective, arg: u32, width: u32) -> Vec<u32> {
        (0..32).map(|lane| source_lane(kind, lane, arg, width)).collect()
    }

    #[test]
    fn shuffles_clamp_at_their_segment() {
        let up = sources(Collective::ShuffleUp, 3, 8);
        assert_eq!(up[..12], [0, 1, 2, 0, 1, 2, 3, 4, 8, 9, 10, 8]);
        let down = sources(Collective::ShuffleDown, 3, 8);
        assert_eq!(down[..12], [3, 4, 5, 6, 7, 5, 6, 7, 11, 12, 13, 14]);
        let idx = sources(Collective::ShuffleIdx, 9, 8);
        assert_eq!(idx[..10], [1, 1, 1, 1, 1, 1, 1, 1, 9, 9]);
    }

    #[test]
    fn xor_reaches_earlier_segments_but_not_later_ones() {
        let xor = sources(Collective::ShuffleXor, 8, 8);
        assert_eq!((xor[0], xor[7], xor[8], xor[15]), (0, 7, 0, 7));
        assert_eq!(sources(Collective::ShuffleXor, 5, 32)[4], 1);
    }

    #[test]
    fn reductions_work_on_32_bits() {
        let mut values = [0_u64; 32];
        values[3] = 0xFFFF_FFFF;
        values[5] = 7;
        let reduce = |op| reduce(op, 0b10_1000, &values);
        assert_eq!(reduce(ReduceOp::Add), 6);
        assert_eq!(reduce(ReduceOp::MinU32), 7);
        assert_eq!(reduce(ReduceOp::MinI32), 0xFFFF_FFFF);
        assert_eq!(reduce(ReduceOp::MaxI32), 7);
        assert_eq!(reduce(ReduceOp::Xor), 0xFFFF_FFF8);
    }
}
