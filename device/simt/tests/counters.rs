//! Counters of kernels whose accesses are known.

mod common;

use common::*;

#[test]
fn lockstep_accesses_are_warp_accesses() {
    let memory = Memory::written(64);
    let (data, buffers) = (memory.view(), [memory.buffer("data")]);
    let kernel = || {
        s_set(thread(), 1.0);
        data.get(thread());
        sync();
        s_get(63 - thread());
        shuffle_xor(FULL, 0, 1);
    };
    let counters = simt::run(&launch(3, 64, 256, &buffers), &kernel).expect("no finding");
    assert_eq!((counters.shared_accesses, counters.shared_warp_accesses), (3 * 128, 3 * 4));
    assert_eq!((counters.global_accesses, counters.global_warp_accesses), (3 * 64, 3 * 2));
    assert_eq!((counters.bank_conflicts, counters.collectives, counters.barriers), (0, 3 * 2, 3));
    assert!((counters.divergence() - 1.0).abs() < 1e-12);
    // A vector of u32 need not start at a sector.
    assert!((4.0..=5.0).contains(&counters.sectors_per_access()), "{counters}");
}

#[test]
fn strides_cost_banks_and_sectors() {
    let memory = Memory::written(32 * 32);
    let (data, buffers) = (memory.view(), [memory.buffer("data")]);
    let kernel = || {
        for step in 0..10 {
            s_set(thread() * 32 + step, 1.0);
            data.get(thread() * 32 + step);
        }
    };
    let counters = simt::run(&launch(1, 32, 4096, &buffers), &kernel).expect("no finding");
    assert_eq!((counters.shared_warp_accesses, counters.bank_conflicts), (10, 10 * 31));
    assert!((counters.sectors_per_access() - 32.0).abs() < 1e-12);
    assert_eq!(counters.lines.len(), 2);
    let [shared, global] = &counters.lines[..] else { panic!("two lines") };
    assert_eq!((shared.what, shared.bank_conflicts, shared.lanes), ("shared", 310, 320));
    assert_eq!((global.what, global.sectors), ("global", 320));
    assert_eq!(global.line, shared.line + 1);
}

#[test]
fn lanes_that_sit_out_are_divergence() {
    let kernel = || {
        if thread() < 8 {
            s_set(thread(), 1.0);
        } else {
            s_set(thread(), 2.0);
        }
        sync_warp(FULL);
    };
    let counters = run(1, 32, 128, kernel).expect("no finding");
    // 8 and 24 lanes of two accesses, 32 of the collective.
    assert_eq!((counters.lane_slots, counters.active_lanes), (96, 64));
    assert!((counters.divergence() - 1.5).abs() < 1e-12);
}

#[test]
fn partitions_in_lockstep_are_one_warp_instruction() {
    let kernel = || {
        let mask = 0xFF << (thread() / 8 * 8);
        shuffle_xor(mask, 0, 1);
    };
    let counters = run(1, 32, 0, kernel).expect("no finding");
    assert_eq!((counters.collectives, counters.lane_slots), (4, 32));
}

#[test]
fn the_table_says_that_it_is_a_model() {
    let counters = run(1, 32, 128, || s_set(thread(), 1.0)).expect("no finding");
    assert!(counters.to_string().contains("a model of a warp, not a measurement"), "{counters}");
}

#[track_caller]
fn exchange(value: f32) -> f32 {
    s_set(thread(), value);
    sync_warp(FULL);
    s_get(thread() ^ 1)
}

#[test]
fn a_line_that_does_several_things_is_counted_by_what_it_does() {
    let counters = run(1, 32, 128, || assert_eq!(exchange(1.0), 1.0)).expect("no finding");
    let by_kind: Vec<_> =
        counters.lines.iter().map(|line| (line.what, line.warp_accesses, line.lanes)).collect();
    assert_eq!(by_kind, [("collective", 1, 32), ("shared", 2, 64)]);
}
