//! Planted races, each beside its repaired twin.

mod common;

use std::sync::atomic::Ordering::Relaxed;

use common::*;
use simt::{Collective, FindingKind, Launch};

#[test]
fn write_then_read_of_a_neighbour() {
    let (write, read) = (Line::new(), Line::new());
    let faulty = || {
        mark!(write, s_set(thread(), 1.0));
        if thread() == 0 {
            mark!(read, s_get(1));
        }
    };
    // Where thread 0 runs before thread 1, it also reads what nothing wrote.
    let error = run(1, 32, 128, faulty).expect_err("a race");
    let finding = expect_among(&error, FindingKind::SharedRace, &[&write, &read]);
    assert!(finding.message.starts_with("Error: Race reported between"), "{finding}");
    assert!(finding.message.contains("__shared__ bytes 4..8"), "{finding}");
    let repaired = || {
        s_set(thread(), 1.0);
        sync_warp(FULL);
        if thread() == 0 {
            s_get(1);
        }
    };
    run(1, 32, 128, repaired).expect("no finding");
}

#[test]
fn writes_of_two_lanes() {
    let (first, second) = (Line::new(), Line::new());
    let faulty = || {
        if thread() == 0 {
            mark!(first, s_set(3, 1.0));
        } else if thread() == 40 {
            mark!(second, s_set(3, 2.0));
        }
    };
    expect_one(run(1, 64, 128, faulty), FindingKind::SharedRace, &[&first, &second]);
    let repaired = || {
        if thread() == 0 {
            s_set(3, 1.0);
        }
        sync();
        if thread() == 40 {
            s_set(3, 2.0);
        }
    };
    run(1, 64, 128, repaired).expect("no finding");
}

#[test]
fn read_by_all_then_write_by_one() {
    let (read, write) = (Line::new(), Line::new());
    let kernel = |guarded: bool| {
        let (read, write) = (&read, &write);
        move || {
            if thread() == 7 {
                s_set(0, 1.0);
            }
            sync();
            mark!(read, s_get(0));
            if guarded {
                sync_warp(FULL);
            }
            if thread() == 7 {
                mark!(write, s_set(0, 2.0));
            }
        }
    };
    expect_one(run(1, 32, 128, kernel(false)), FindingKind::SharedRace, &[&read, &write]);
    run(1, 32, 128, kernel(true)).expect("no finding");
    // A warp's synchronisation is not enough for the other warp's readers.
    expect_one(run(1, 64, 128, kernel(true)), FindingKind::SharedRace, &[&read, &write]);
}

#[test]
fn shuffles_and_votes_order_nothing() {
    let (write, read) = (Line::new(), Line::new());
    let faulty = || {
        mark!(write, s_set(thread(), 1.0));
        shuffle_xor(FULL, 0, 1);
        ballot(FULL, true);
        mark!(read, s_get(thread() ^ 1));
    };
    expect_one(run(1, 32, 128, faulty), FindingKind::SharedRace, &[&write, &read]);
}

#[test]
fn sub_warp_masks_order_their_lanes_only() {
    let (write, read) = (Line::new(), Line::new());
    let kernel = |distance: u32| {
        let (write, read) = (&write, &read);
        move || {
            let mask = 0xFF << (thread() / 8 * 8);
            for round in 0..4 {
                mark!(write, s_set(thread(), round as f32));
                sync_warp(mask);
                mark!(read, s_get(thread() ^ distance));
                sync_warp(mask);
            }
        }
    };
    run(1, 32, 128, kernel(7)).expect("within 8 lanes");
    let error = run(1, 32, 128, kernel(8)).expect_err("across 8 lanes");
    expect_among(&error, FindingKind::SharedRace, &[&write, &read]);
}

#[test]
fn a_lane_that_has_left_is_ordered_by_nothing() {
    let (write, read) = (Line::new(), Line::new());
    let kernel = |guarded: bool| {
        let (write, read) = (&write, &read);
        move || {
            mark!(write, s_set(thread(), 1.0));
            if guarded {
                sync_warp(FULL);
            }
            if thread() == 9 {
                return;
            }
            sync_warp(FULL & !(1 << 9));
            mark!(read, s_get(9));
        }
    };
    let error = run(1, 32, 128, kernel(false)).expect_err("a race");
    expect_among(&error, FindingKind::SharedRace, &[&write, &read]);
    run(1, 32, 128, kernel(true)).expect("no finding");
}

#[test]
fn bytes_of_one_word_do_not_race() {
    let kernel = || {
        s_set_byte(thread(), 1);
        sync();
        s_get_byte((thread() + 1) % 32);
    };
    run(1, 32, 32, kernel).expect("no finding");
    let (write, read) = (Line::new(), Line::new());
    let faulty = || {
        mark!(write, s_set_byte(thread(), 1));
        if thread() == 2 {
            mark!(read, s_get(0));
        }
    };
    let error = run(1, 32, 32, faulty).expect_err("a race");
    expect_among(&error, FindingKind::SharedRace, &[&write, &read]);
}

#[test]
fn global_race_between_lanes() {
    let memory = Memory::written(64);
    let (data, buffers) = (memory.view(), [memory.buffer("data")]);
    let (write, read) = (Line::new(), Line::new());
    let faulty = || {
        mark!(write, data.set(thread(), thread()));
        mark!(read, data.get(63 - thread()));
    };
    let finding = expect_one(
        simt::run(&launch(1, 64, 0, &buffers), &faulty),
        FindingKind::GlobalRace,
        &[&write, &read],
    );
    assert!(finding.message.contains("buffer `data` (allocation `test memory`)"), "{finding}");
    let repaired = || {
        data.set(thread(), thread());
        sync();
        assert_eq!(data.get(63 - thread()), 63 - thread());
    };
    simt::run(&launch(1, 64, 0, &buffers), &repaired).expect("no finding");
}

#[test]
fn global_race_between_blocks() {
    let memory = Memory::written(256);
    let (data, buffers) = (memory.view(), [memory.buffer("data")]);
    let (write, read) = (Line::new(), Line::new());
    let index = || simt::block_idx() * 32 + thread();
    let faulty = || {
        mark!(write, data.set(index(), 1));
        sync();
        mark!(read, data.get((index() + 32) % 256));
    };
    let result = simt::run(&launch(8, 32, 0, &buffers), &faulty);
    let finding = expect_one(result, FindingKind::GlobalRace, &[&write, &read]);
    assert!(finding.message.contains("of two blocks"), "{finding}");
    assert_ne!(finding.sides[0].block, finding.sides[1].block);
    let repaired = || {
        data.set(index(), 1);
        grid_sync();
        data.get((index() + 32) % 256);
    };
    let cooperative = Launch { cooperative: true, ..launch(8, 32, 0, &buffers) };
    let counters = simt::run(&cooperative, &repaired).expect("no finding");
    assert_eq!(counters.grid_barriers, 1);
}

#[test]
fn blocks_that_share_what_they_only_read() {
    let memory = Memory::written(32);
    let output = Memory::unwritten(256);
    let buffers = [memory.read_only("input"), output.buffer("output")];
    let (input, data) = (memory.view(), output.view());
    let kernel = || data.set(simt::block_idx() * 32 + thread(), input.get(thread()));
    simt::run(&launch(8, 32, 0, &buffers), &kernel).expect("no finding");
}

#[test]
fn atomics_race_with_plain_accesses_only() {
    let memory = Memory::written(1);
    let (count, buffers) = (memory.view(), [memory.buffer("count")]);
    let kernel = || {
        count.atomic(0).fetch_add(1, Relaxed);
    };
    simt::run(&launch(4, 64, 0, &buffers), &kernel).expect("no finding");
    assert_eq!(memory.words(), [256]);
    let (atomic, plain) = (Line::new(), Line::new());
    let faulty = || {
        mark!(atomic, count.atomic(0)).fetch_add(1, Relaxed);
        if thread() == 9 {
            mark!(plain, count.get(0));
        }
    };
    let result = simt::run(&launch(1, 64, 0, &buffers), &faulty);
    expect_one(result, FindingKind::GlobalRace, &[&atomic, &plain]);
    let result = simt::run(&launch(2, 1, 0, &buffers), &|| {
        if simt::block_idx() == 0 {
            mark!(atomic, count.atomic(0)).fetch_add(1, Relaxed);
        } else {
            mark!(plain, count.set(0, 1));
        }
    });
    expect_one(result, FindingKind::GlobalRace, &[&atomic, &plain]);
}

#[test]
fn a_repeated_race_counts_and_is_listed_once() {
    let line = Line::new();
    let faulty = || {
        for index in 0..100 {
            mark!(line, s_set(index, 1.0));
        }
    };
    let finding = expect_one(run(1, 32, 400, faulty), FindingKind::SharedRace, &[&line, &line]);
    assert_eq!(finding.repeats, 100 * 31 - 1);
}

#[test]
fn opportunistic_warps_use_the_active_mask() {
    let memory = Memory::written(1);
    let (count, buffers) = (memory.view(), [memory.buffer("count")]);
    let kernel = || {
        if thread() % 3 == 1 {
            let mask = simt::active_mask();
            let leader = mask.trailing_zeros();
            assert_ne!(mask >> (thread() % 32) & 1, 0);
            if thread() % 32 == leader {
                count.atomic(0).fetch_add(mask.count_ones(), Relaxed);
            }
            simt::warp_collective(Collective::SyncWarp, mask, 0, 0, 32);
        }
    };
    simt::run(&launch(1, 96, 0, &buffers), &kernel).expect("no finding");
    assert_eq!(memory.words(), [32]);
}

#[test]
fn read_of_a_neighbours_copy_without_a_barrier() {
    let (copy, read) = (Line::new(), Line::new());
    let kernel = |ordered: bool| {
        let (copy, read) = (&copy, &read);
        move || {
            let value = thread() as f32;
            mark!(copy, simt::copy_async(0, 256, thread() as usize * 4, &value.to_ne_bytes()));
            simt::copy_commit();
            simt::copy_wait(0);
            if ordered {
                sync();
            }
            mark!(read, s_get(63 - thread()));
        }
    };
    let error = run(1, 64, 256, kernel(false)).expect_err("a finding");
    expect_among(&error, FindingKind::SharedRace, &[&copy, &read]);
    run(1, 64, 256, kernel(true)).expect("no finding");
}
