//! Random programs of collectives give what a scalar model gives, whatever the seed.

mod common;

use std::sync::Mutex;

use common::launch;
use simt::{Barrier, Collective, Launch, ReduceOp};

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 33) % bound
    }
}

/// One collective of some lanes of one warp.
#[derive(Clone, Copy)]
struct Op {
    kind: Collective,
    mask: u32,
    width: u32,
    args: [u32; 32],
}

/// A step of the block: collectives with disjoint masks for each warp, or a barrier.
enum Step {
    Warps(Vec<Vec<Op>>),
    Barrier(Barrier),
}

const KINDS: [Collective; 18] = [
    Collective::ShuffleXor,
    Collective::ShuffleUp,
    Collective::ShuffleDown,
    Collective::ShuffleIdx,
    Collective::VoteAll,
    Collective::VoteAny,
    Collective::Ballot,
    Collective::MatchAny,
    Collective::MatchAll,
    Collective::SyncWarp,
    Collective::Reduce(ReduceOp::Add),
    Collective::Reduce(ReduceOp::MinU32),
    Collective::Reduce(ReduceOp::MaxU32),
    Collective::Reduce(ReduceOp::MinI32),
    Collective::Reduce(ReduceOp::MaxI32),
    Collective::Reduce(ReduceOp::And),
    Collective::Reduce(ReduceOp::Or),
    Collective::Reduce(ReduceOp::Xor),
];

const BARRIERS: [Barrier; 5] = [Barrier::Sync, Barrier::Count, Barrier::And, Barrier::Or, Barrier::RolesOr];

fn is_shuffle(kind: Collective) -> bool {
    KINDS[..4].contains(&kind)
}

/// The lane that a shuffle reads, from the definition: walk the segment.
fn source(op: &Op, lane: u32) -> u32 {
    let arg = op.args[lane as usize];
    let segment: Vec<u32> = (0..32).filter(|other| other / op.width == lane / op.width).collect();
    let inside = |other: i64| segment.contains(&u32::try_from(other).unwrap_or(u32::MAX));
    let (me, by) = (i64::from(lane), i64::from(arg % 32));
    match op.kind {
        Collective::ShuffleUp => {
            if inside(me - by) {
                lane - by as u32
            } else {
                lane
            }
        }
        Collective::ShuffleDown => {
            if inside(me + by) {
                lane + by as u32
            } else {
                lane
            }
        }
        Collective::ShuffleIdx => segment[arg as usize % segment.len()],
        _ => {
            let other = lane ^ (arg % 32);
            if other > *segment.last().unwrap() { lane } else { other }
        }
    }
}

fn random_op(random: &mut Random, mask: u32) -> Op {
    let kind = KINDS[random.below(KINDS.len() as u64) as usize];
    let mut op = Op { kind, mask, width: 1 << random.below(6), args: [0; 32] };
    let common = random.below(64) as u32;
    for arg in &mut op.args {
        *arg = if kind == Collective::ShuffleIdx { random.below(64) as u32 } else { common };
    }
    let strays = |op: &Op| (0..32).any(|lane| mask >> lane & 1 == 1 && mask >> source(op, lane) & 1 == 0);
    if is_shuffle(kind) && strays(&op) {
        // A shuffle may only read lanes of its mask: let every lane read itself.
        op.kind = Collective::ShuffleIdx;
        op.width = 32;
        op.args = std::array::from_fn(|lane| lane as u32);
    }
    op
}

fn random_program(random: &mut Random, warps: usize, steps: usize) -> Vec<Step> {
    let warp = |random: &mut Random| {
        let groups = 1 << random.below(4);
        let mut masks = vec![0_u32; groups as usize + 1];
        // Either aligned tiles, or any partition in which some lanes sit out.
        let tiles = random.below(2) == 0;
        for lane in 0..32 {
            let group = if tiles { lane * groups / 32 } else { random.below(groups + 1) };
            masks[group as usize] |= 1 << lane;
        }
        let idle = if tiles { masks.len() - 1 } else { random.below(groups + 1) as usize };
        masks.remove(idle);
        masks.into_iter().filter(|&mask| mask != 0).map(|mask| random_op(random, mask)).collect()
    };
    (0..steps)
        .map(|_| match random.below(8) {
            0 => Step::Barrier(BARRIERS[random.below(4) as usize]),
            _ => Step::Warps((0..warps).map(|_| warp(random)).collect()),
        })
        .collect()
}

/// A lane's next value from a result.
fn mix(value: u64, result: u64) -> u64 {
    // Few different values, so that matches and votes have something to find.
    let stirred = value.wrapping_mul(5) ^ (result.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61);
    (stirred % 7) | ((result & 1) << 35)
}

fn predicate(value: u64) -> bool {
    !value.is_multiple_of(3)
}

fn scalar_op(op: &Op, values: &[u64], lane: u32) -> u64 {
    let members: Vec<usize> = (0..32).filter(|member| op.mask >> member & 1 == 1).collect();
    let all = || members.iter().map(|&member| values[member]);
    let low = || all().map(|value| value as u32);
    let signed = || all().map(|value| value as u32 as i32);
    let mine = values[lane as usize];
    let as_mask = |test: &dyn Fn(u64) -> bool| {
        members.iter().filter(|&&member| test(values[member])).map(|&member| 1_u64 << member).sum()
    };
    match op.kind {
        Collective::VoteAll => u64::from(all().all(|value| value != 0)),
        Collective::VoteAny => u64::from(all().any(|value| value != 0)),
        Collective::Ballot => as_mask(&|value| value != 0),
        Collective::MatchAny => as_mask(&|value| value == mine),
        Collective::MatchAll => {
            if all().all(|value| value == mine) {
                u64::from(op.mask)
            } else {
                0
            }
        }
        Collective::SyncWarp => 0,
        Collective::Reduce(ReduceOp::Add) => u64::from(low().fold(0, u32::wrapping_add)),
        Collective::Reduce(ReduceOp::MinU32) => u64::from(low().min().unwrap()),
        Collective::Reduce(ReduceOp::MaxU32) => u64::from(low().max().unwrap()),
        Collective::Reduce(ReduceOp::MinI32) => u64::from(signed().min().unwrap() as u32),
        Collective::Reduce(ReduceOp::MaxI32) => u64::from(signed().max().unwrap() as u32),
        Collective::Reduce(ReduceOp::And) => u64::from(low().fold(u32::MAX, |a, b| a & b)),
        Collective::Reduce(ReduceOp::Or) => u64::from(low().fold(0, |a, b| a | b)),
        Collective::Reduce(ReduceOp::Xor) => u64::from(low().fold(0, |a, b| a ^ b)),
        _ => values[source(op, lane) as usize],
    }
}

fn scalar(program: &[Step], mut values: Vec<u64>) -> Vec<u64> {
    for step in program {
        let before = values.clone();
        match step {
            Step::Warps(warps) => {
                for (warp, ops) in warps.iter().enumerate() {
                    let of_warp = &before[warp * 32..][..32];
                    for op in ops {
                        for lane in (0..32).filter(|lane| op.mask >> lane & 1 == 1) {
                            let value = &mut values[warp * 32 + lane as usize];
                            *value = mix(*value, scalar_op(op, of_warp, lane));
                        }
                    }
                }
            }
            Step::Barrier(kind) => {
                let count = before.iter().filter(|&&value| predicate(value)).count() as u64;
                let result = match kind {
                    Barrier::Count => count,
                    Barrier::And => u64::from(count == before.len() as u64),
                    Barrier::Or | Barrier::RolesOr => u64::from(count > 0),
                    Barrier::Sync | Barrier::Grid => 0,
                };
                for value in &mut values {
                    *value = mix(*value, result);
                }
            }
        }
    }
    values
}

fn executed(program: &[Step], start: &[u64], seed: u64) -> Vec<u64> {
    let results = Mutex::new(vec![0; start.len()]);
    let kernel = || {
        let thread = simt::thread_idx();
        let (warp, lane) = ((thread / 32) as usize, thread % 32);
        let mut value = start[thread as usize];
        for step in program {
            let result = match step {
                Step::Barrier(kind) => Some(u64::from(simt::barrier(*kind, predicate(value)))),
                Step::Warps(warps) => {
                    let op = warps[warp].iter().find(|op| op.mask >> lane & 1 == 1);
                    op.map(|op| {
                        simt::warp_collective(op.kind, op.mask, value, op.args[lane as usize], op.width)
                    })
                }
            };
            value = result.map_or(value, |result| mix(value, result));
        }
        results.lock().unwrap()[thread as usize] = value;
    };
    let base = launch(1, start.len() as u32, 0, &[]);
    simt::run(&Launch { seed, ..base }, &kernel).unwrap_or_else(|error| panic!("{error}"));
    results.into_inner().unwrap()
}

#[test]
fn random_programs_agree_with_the_scalar_model() {
    let mut random = Random(0x5EED);
    for program_index in 0..120 {
        let warps = 1 + random.below(4) as usize;
        let program = random_program(&mut random, warps, 40);
        let start: Vec<u64> = (0..warps * 32).map(|_| random.below(7)).collect();
        let expected = scalar(&program, start.clone());
        for seed in simt::seeds(3).expect("seed") {
            assert_eq!(executed(&program, &start, seed), expected, "program {program_index}, seed {seed}");
        }
    }
}
