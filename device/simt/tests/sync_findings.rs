//! Planted faults of synchronisation, each beside its repaired twin.

mod common;

use common::*;
use simt::{Collective, FindingKind, Launch};

#[test]
fn divergent_barrier_within_a_warp() {
    let (first, second) = (Line::new(), Line::new());
    let faulty = || {
        if thread() < 16 {
            mark!(first, sync());
        } else {
            mark!(second, sync());
        }
    };
    let finding = expect_one(run(1, 64, 0, faulty), FindingKind::DivergentBarrier, &[&first, &second]);
    assert!(finding.message.contains("Divergent thread(s) in warp"), "{finding}");
    let repaired = || sync();
    run(1, 64, 0, repaired).expect("no finding");
}

#[test]
fn divergent_barrier_between_warps() {
    let (first, second) = (Line::new(), Line::new());
    let faulty = || {
        if thread() < 32 {
            mark!(first, sync());
        } else {
            mark!(second, sync());
        }
    };
    let finding = expect_one(run(1, 64, 0, faulty), FindingKind::DivergentBarrier, &[&first, &second]);
    assert!(finding.message.contains("Divergent thread(s) in block"), "{finding}");
}

#[test]
fn barrier_of_roles() {
    let (first, second) = (Line::new(), Line::new());
    let apart = || {
        let any = if thread() < 32 {
            simt::barrier(simt::Barrier::RolesOr, false)
        } else {
            simt::barrier(simt::Barrier::RolesOr, thread() == 40)
        };
        assert_eq!(any, 1);
    };
    run(1, 64, 0, apart).expect("no finding: each warp waits at one place");
    let faulty = || {
        if thread().is_multiple_of(2) {
            mark!(first, simt::barrier(simt::Barrier::RolesOr, true));
        } else {
            mark!(second, simt::barrier(simt::Barrier::RolesOr, true));
        }
    };
    let finding = expect_one(run(1, 64, 0, faulty), FindingKind::DivergentBarrier, &[&first, &second]);
    assert!(finding.message.contains("Divergent thread(s) in warp"), "{finding}");
}

#[test]
fn barrier_that_some_lanes_skip_by_leaving() {
    let (barrier, last) = (Line::new(), Line::new());
    let faulty = || {
        mark!(last, sync_warp(FULL));
        if thread() < 48 {
            mark!(barrier, sync());
        }
    };
    let finding = expect_one(run(1, 64, 0, faulty), FindingKind::DivergentBarrier, &[&barrier, &last]);
    assert!(finding.to_string().contains("Exit of the kernel"), "{finding}");
    let repaired = || {
        sync_warp(FULL);
        sync();
    };
    run(1, 64, 0, repaired).expect("no finding");
}

#[test]
fn barrier_against_collective() {
    let (barrier, collective) = (Line::new(), Line::new());
    let faulty = || {
        if thread() == 5 {
            mark!(barrier, sync());
        } else {
            mark!(collective, ballot(FULL, true));
        }
    };
    let result = run(1, 32, 0, faulty);
    let finding = expect_one(result, FindingKind::CollectiveMask, &[&collective, &barrier]);
    assert!(finding.message.contains("names thread 5"), "{finding}");
    assert!(finding.repeats == 30, "one a waiting lane: {finding}");
}

#[test]
fn barriers_of_different_kinds() {
    let line = Line::new();
    let faulty = || {
        let kind = if thread() < 32 { simt::Barrier::Count } else { simt::Barrier::And };
        mark!(line, simt::barrier(kind, true));
    };
    let finding = expect_one(run(1, 64, 0, faulty), FindingKind::DivergentBarrier, &[&line, &line]);
    assert!(finding.to_string().contains("Barrier (Count)"), "{finding}");
    assert!(finding.to_string().contains("Barrier (And)"), "{finding}");
}

#[test]
fn matrix_product_of_half_a_warp() {
    let (product, rest) = (Line::new(), Line::new());
    let faulty = || {
        let mut fragments = simt::Fragments::default();
        if thread() < 16 {
            mark!(product, simt::warp_matrix_product(8, 4, &mut fragments));
        } else {
            mark!(rest, sync_warp(0xFFFF_0000));
        }
    };
    let error = run(1, 32, 0, faulty).expect_err("a finding");
    expect_among(&error, FindingKind::CollectiveMask, &[&product, &rest]);
    let shapes = || {
        let mut fragments = simt::Fragments::default();
        if thread() < 16 {
            mark!(product, simt::warp_matrix_product(8, 4, &mut fragments));
        } else {
            mark!(rest, simt::warp_matrix_product(16, 4, &mut fragments));
        }
    };
    let error = run(1, 32, 0, shapes).expect_err("a finding");
    expect_among(&error, FindingKind::CollectiveKind, &[&product, &rest]);
    run(1, 64, 0, every_shape_of_matrix_product).expect("no finding");
}

/// Products of whole numbers, exact, in the layout of fragments that PTX has.
fn every_shape_of_matrix_product() {
    let lane = (thread() % 32) as usize;
    let (g, t) = (lane / 4, lane % 4);
    let a = |i: usize, k: usize| (3 * i + k) as f64;
    let b = |k: usize, j: usize| (k * k) as f64 - j as f64;
    for (rows, depth) in [(8_u8, 4_u8), (16, 4), (16, 8), (16, 16)] {
        let halves = usize::from(rows) / 8;
        let mut fragments = simt::Fragments { c: [1.0; 4], ..Default::default() };
        for s in 0..usize::from(depth) / 4 {
            for h in 0..halves {
                fragments.a[h + s * halves] = a(g + 8 * h, t + 4 * s);
            }
            fragments.b[s] = b(t + 4 * s, g);
        }
        simt::warp_matrix_product(rows, depth, &mut fragments);
        for h in 0..halves {
            for j in 0..2 {
                let sum: f64 = (0..usize::from(depth)).map(|k| a(g + 8 * h, k) * b(k, 2 * t + j)).sum();
                assert_eq!(fragments.c[2 * h + j], 1.0 + sum, "{rows} x {depth}");
            }
        }
    }
}

#[test]
fn collective_with_a_mask_too_wide() {
    let (shuffle, rest) = (Line::new(), Line::new());
    let faulty = || {
        if thread() < 8 {
            mark!(shuffle, shuffle_xor(0xFFFF, 1, 1));
        } else {
            mark!(rest, sync_warp(0xFFFF_FF00));
        }
    };
    let result = run(1, 32, 0, faulty);
    let error = result.expect_err("a finding");
    expect_among(&error, FindingKind::CollectiveMask, &[&shuffle, &rest]);
    let repaired = || {
        if thread() < 8 {
            shuffle_xor(0xFF, 1, 1);
        } else {
            sync_warp(0xFFFF_FF00);
        }
    };
    run(1, 32, 0, repaired).expect("no finding");
}

#[test]
fn collective_whose_mask_names_a_lane_that_has_left() {
    let (ballot_line, last) = (Line::new(), Line::new());
    let faulty = || {
        mark!(last, sync_warp(FULL));
        if thread() == 9 {
            return;
        }
        mark!(ballot_line, ballot(FULL, true));
    };
    let finding = expect_one(run(1, 32, 0, faulty), FindingKind::CollectiveMask, &[&ballot_line, &last]);
    assert!(finding.message.contains("thread 9, which has left the kernel"), "{finding}");
    let repaired = || {
        sync_warp(FULL);
        if thread() != 9 {
            ballot(FULL & !(1 << 9), true);
        }
    };
    run(1, 32, 0, repaired).expect("no finding");
}

#[test]
fn collectives_of_different_kinds() {
    let (shuffle, vote) = (Line::new(), Line::new());
    let faulty = || {
        if thread().is_multiple_of(2) {
            mark!(shuffle, shuffle_xor(FULL, 0, 1));
        } else {
            mark!(vote, ballot(FULL, true));
        }
    };
    expect_one(run(1, 32, 0, faulty), FindingKind::CollectiveKind, &[&shuffle, &vote]);
    // The same collective at two places is one collective, as in CUDA.
    let repaired = || {
        if thread().is_multiple_of(2) {
            assert_eq!(shuffle_xor(FULL, 10, 1), 11);
        } else {
            assert_eq!(shuffle_xor(FULL, 11, 1), 10);
        }
    };
    run(1, 32, 0, repaired).expect("no finding");
}

#[test]
fn mask_without_the_calling_lane() {
    let line = Line::new();
    let faulty = || {
        mark!(line, sync_warp(0xFFFF));
    };
    let finding = expect_one(run(1, 32, 0, faulty), FindingKind::InvalidArguments, &[&line]);
    assert!(finding.message.contains("does not name the calling lane"), "{finding}");
    assert_eq!(finding.repeats, 15);
}

#[test]
fn mask_with_lanes_that_the_block_does_not_have() {
    let line = Line::new();
    let finding = expect_one(
        run(1, 48, 0, || mark!(line, sync_warp(if thread() < 32 { FULL } else { 0x1_FFFF }))),
        FindingKind::InvalidArguments,
        &[&line],
    );
    assert!(finding.message.contains("a block of 48 threads"), "{finding}");
    run(1, 48, 0, || sync_warp(if thread() < 32 { FULL } else { 0xFFFF })).expect("no finding");
}

#[test]
fn shuffle_that_reads_outside_its_mask() {
    let line = Line::new();
    let faulty = || {
        let mask = 0xFF << (thread() / 8 * 8);
        mark!(line, simt::warp_collective(Collective::ShuffleDown, mask, 1, 4, 32));
    };
    let finding = expect_one(run(1, 32, 0, faulty), FindingKind::InvalidArguments, &[&line]);
    assert!(finding.message.contains("which mask"), "{finding}");
    let repaired = || {
        let mask = 0xFF << (thread() / 8 * 8);
        simt::warp_collective(Collective::ShuffleDown, mask, 1, 4, 8);
    };
    run(1, 32, 0, repaired).expect("no finding");
}

#[test]
fn shuffle_of_an_impossible_width() {
    let line = Line::new();
    let faulty = || mark!(line, simt::warp_collective(Collective::ShuffleIdx, FULL, 0, 0, 12));
    let finding = expect_one(
        run(1, 32, 0, || {
            faulty();
        }),
        FindingKind::InvalidArguments,
        &[&line],
    );
    assert!(finding.message.contains("width 12"), "{finding}");
}

#[test]
fn grid_barrier_in_an_ordinary_launch() {
    let line = Line::new();
    let finding =
        expect_one(run(1, 32, 0, || mark!(line, grid_sync())), FindingKind::InvalidArguments, &[&line]);
    assert!(finding.message.contains("not cooperative"), "{finding}");
    let cooperative = Launch { cooperative: true, ..launch(3, 32, 0, &[]) };
    simt::run(&cooperative, &|| grid_sync()).expect("no finding");
}

#[test]
fn grid_barrier_that_a_block_skips() {
    let line = Line::new();
    let cooperative = Launch { cooperative: true, ..launch(3, 32, 0, &[]) };
    let last = Line::new();
    let faulty = || {
        mark!(last, sync_warp(FULL));
        if simt::block_idx() != 1 {
            mark!(line, grid_sync());
        }
    };
    let finding =
        expect_one(simt::run(&cooperative, &faulty), FindingKind::DivergentBarrier, &[&line, &last]);
    assert!(finding.message.contains("Divergent block(s) in grid"), "{finding}");
}

#[test]
fn deadlock_of_a_lane_that_waits_in_a_loop() {
    let (spin, rest) = (Line::new(), Line::new());
    let memory = Memory::written(1);
    let (flag, buffers) = (memory.view(), [memory.buffer("flag")]);
    let faulty = || {
        if thread() == 3 {
            while mark!(spin, flag.atomic(0)).load(std::sync::atomic::Ordering::Relaxed) == 0 {}
        }
        mark!(rest, sync_warp(FULL));
        if thread() == 4 {
            flag.atomic(0).store(1, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let result = simt::run(&launch(1, 32, 0, &buffers), &faulty);
    expect_one(result, FindingKind::Deadlock, &[&spin, &rest]);
}

#[test]
fn deadlock_on_a_plain_flag_is_found_too() {
    let spin = Line::new();
    let memory = Memory::written(1);
    let (flag, buffers) = (memory.view(), [memory.buffer("flag")]);
    let faulty = || while mark!(spin, flag.get(0)) == 0 {};
    expect_one(simt::run(&launch(1, 1, 0, &buffers), &faulty), FindingKind::Deadlock, &[&spin]);
}

#[test]
fn a_lock_that_is_released_is_no_deadlock() {
    use std::sync::atomic::Ordering::Relaxed;
    let memory = Memory::written(2);
    let (lock, buffers) = (memory.view(), [memory.buffer("lock")]);
    let kernel = || {
        while lock.atomic(0).compare_exchange(0, 1, Relaxed, Relaxed).is_err() {}
        lock.atomic(1).fetch_add(1, Relaxed);
        lock.atomic(0).store(0, Relaxed);
    };
    simt::run(&launch(4, 64, 0, &buffers), &kernel).expect("no finding");
    assert_eq!(memory.words(), [0, 256]);
}

#[test]
fn blocks_of_a_cooperative_launch_may_wait_for_each_other() {
    use std::sync::atomic::Ordering::Relaxed;
    let memory = Memory::written(1);
    let (turn, buffers) = (memory.view(), [memory.buffer("turn")]);
    let kernel = || {
        while turn.atomic(0).load(Relaxed) != simt::block_idx() {}
        turn.atomic(0).fetch_add(1, Relaxed);
    };
    let cooperative = Launch { cooperative: true, ..launch(5, 1, 0, &buffers) };
    simt::run(&cooperative, &kernel).expect("no finding");
    assert_eq!(memory.words(), [5]);
}
