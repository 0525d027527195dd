//! On random programs of accesses and synchronisations the checker finds a race exactly where full vector
//! clocks over all pairs of accesses say that there is one.

mod common;

use common::launch;
use simt::{Access, Barrier, Collective, FindingKind, Launch};

const WORDS: u64 = 3;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    }
}

/// What the lanes do between two synchronisations: by lane, (word, access).
type Accesses = Vec<Vec<(usize, Access)>>;

enum Sync {
    /// Masks by warp; lanes in none of them do not synchronise.
    Warps(Vec<Vec<u32>>),
    Block,
}

/// How dense a program is: one lane in `lanes` accesses memory in a step, one access in `writes` writes.
#[derive(Clone, Copy)]
struct Density {
    lanes: u64,
    writes: u64,
    atomics: u64,
    words: u64,
}

fn random_density(random: &mut Random) -> Density {
    let pick = |random: &mut Random, values: [u64; 4]| values[random.below(4) as usize];
    let never = 1 << 30;
    if random.below(2) == 0 {
        // Little but reads or atomics before the last write: what the checker may forget is decisive.
        let (writes, atomics) = (never, pick(random, [never, never, never, 1]));
        return Density { lanes: pick(random, [12, 24, 48, 96]), writes, atomics, words: 1 };
    }
    Density {
        lanes: pick(random, [4, 16, 48, 96]),
        writes: pick(random, [4, 16, 64, never]),
        atomics: pick(random, [4, 64, never, never]),
        words: pick(random, [1, 1, 2, WORDS]),
    }
}

fn random_accesses(random: &mut Random, lanes: usize, density: Density) -> Accesses {
    let one = |random: &mut Random| {
        let access = if random.below(density.writes) == 0 {
            Access::Write
        } else if random.below(density.atomics) == 0 {
            Access::Atomic
        } else {
            Access::Read
        };
        (random.below(density.words) as usize, access)
    };
    let of_lane = |random: &mut Random| match random.below(density.lanes) {
        0 => (0..1 + random.below(2)).map(|_| one(random)).collect(),
        _ => Vec::new(),
    };
    (0..lanes).map(|_| of_lane(random)).collect()
}

fn random_sync(random: &mut Random, warps: usize) -> Sync {
    let masks = |random: &mut Random| match random.below(4) {
        0 => Vec::new(),
        1 => vec![u32::MAX],
        2 => (0..4).map(|tile| 0xFF << (8 * tile)).collect(),
        _ => {
            let bits = random.below(1 << 31) as u32 | 1;
            vec![bits, !bits]
        }
    };
    if random.below(5) == 0 { Sync::Block } else { Sync::Warps((0..warps).map(|_| masks(random)).collect()) }
}

/// An access with the vector clock of its lane.
struct Event {
    lane: usize,
    word: usize,
    access: Access,
    clock: Vec<u32>,
}

/// All pairs of lanes that race.
fn racing_pairs(program: &[(Accesses, Sync)], lanes: usize) -> Vec<(u32, u32)> {
    let mut clocks: Vec<Vec<u32>> =
        (0..lanes).map(|lane| (0..lanes).map(|other| u32::from(other == lane)).collect()).collect();
    let mut events: Vec<Event> = Vec::new();
    let join = |clocks: &mut Vec<Vec<u32>>, members: &[usize]| {
        let joined: Vec<u32> = (0..lanes)
            .map(|other| members.iter().map(|&member| clocks[member][other]).max().unwrap())
            .collect();
        for &member in members {
            clocks[member] = joined.clone();
            clocks[member][member] += 1;
        }
    };
    for (accesses, sync) in program {
        for (lane, accesses) in accesses.iter().enumerate() {
            for &(word, access) in accesses {
                events.push(Event { lane, word, access, clock: clocks[lane].clone() });
            }
        }
        match sync {
            Sync::Block => join(&mut clocks, &(0..lanes).collect::<Vec<_>>()),
            Sync::Warps(warps) => {
                for (warp, masks) in warps.iter().enumerate() {
                    for mask in masks {
                        let members: Vec<usize> = (0..32)
                            .filter(|lane| mask >> lane & 1 == 1)
                            .map(|lane| warp * 32 + lane)
                            .collect();
                        join(&mut clocks, &members);
                    }
                }
            }
        }
    }
    let mut pairs = Vec::new();
    for (index, a) in events.iter().enumerate() {
        for b in &events[index + 1..] {
            let ordered = a.clock[a.lane] <= b.clock[a.lane] || b.clock[b.lane] <= a.clock[b.lane];
            let conflict = a.word == b.word
                && (a.access == Access::Write || b.access == Access::Write || a.access != b.access);
            if a.lane != b.lane && conflict && !ordered {
                pairs.push((a.lane.min(b.lane) as u32, a.lane.max(b.lane) as u32));
            }
        }
    }
    pairs
}

fn reported_pairs(program: &[(Accesses, Sync)], lanes: usize, seed: u64) -> Vec<(u32, u32)> {
    let kernel = || {
        let thread = simt::thread_idx();
        let (warp, lane) = ((thread / 32) as usize, thread % 32);
        if thread == 0 {
            for word in 0..WORDS as usize {
                simt::shared_access(4 * word, 4, 4, Access::Write);
            }
        }
        simt::barrier(Barrier::Sync, true);
        for (accesses, sync) in program {
            for &(word, access) in &accesses[thread as usize] {
                simt::shared_access(4 * word, 4, 4, access);
            }
            match sync {
                Sync::Block => {
                    simt::barrier(Barrier::Sync, true);
                }
                Sync::Warps(warps) => {
                    if let Some(&mask) = warps[warp].iter().find(|&mask| mask >> lane & 1 == 1) {
                        simt::warp_collective(Collective::SyncWarp, mask, 0, 0, 32);
                    }
                }
            }
        }
    };
    let base = launch(1, lanes as u32, 4 * WORDS as usize, &[]);
    match simt::run(&Launch { seed, ..base }, &kernel) {
        Ok(_) => Vec::new(),
        Err(error) => {
            assert!(error.findings.iter().all(|finding| finding.kind == FindingKind::SharedRace), "{error}");
            let pair = |finding: &simt::Finding| {
                let [a, b] = [finding.sides[0].thread, finding.sides[1].thread];
                (a.min(b), a.max(b))
            };
            error.findings.iter().map(pair).collect()
        }
    }
}

#[test]
fn races_are_found_exactly_where_they_are() {
    let mut random = Random(0xACE5);
    let (mut clean, mut nearly_clean, mut racy) = (0, 0, 0);
    for index in 0..10_000 {
        let warps = 1 + random.below(3) as usize;
        let lanes = 32 * warps;
        let (steps, density) = (1 + random.below(8), random_density(&mut random));
        let mut program: Vec<_> = (0..steps)
            .map(|_| (random_accesses(&mut random, lanes, density), random_sync(&mut random, warps)))
            .collect();
        // One write at the end meets whatever the checker still remembers.
        let mut last = vec![Vec::new(); lanes];
        last[random.below(lanes as u64) as usize].push((0, Access::Write));
        program.push((last, Sync::Block));
        let expected = racing_pairs(&program, lanes);
        let reported = reported_pairs(&program, lanes, index + 1);
        assert_eq!(reported.is_empty(), expected.is_empty(), "program {index}: {expected:?}");
        for pair in &reported {
            assert!(expected.contains(pair), "program {index}: {pair:?} is no race; {expected:?}");
        }
        match expected.len() {
            0 => clean += 1,
            1..4 => nearly_clean += 1,
            _ => racy += 1,
        }
    }
    let counts = [clean, nearly_clean, racy];
    assert!(counts.iter().all(|&count| count > 100), "clean, nearly clean, racy: {counts:?}");
}
