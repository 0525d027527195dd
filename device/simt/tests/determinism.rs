//! The same seed gives the same run: counters, clocks and findings, however many threads run the blocks.

mod common;

use std::sync::Mutex;

use common::*;
use simt::{Counters, Launch, LaunchError};

fn with_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(run)
}

/// Races within and between blocks, reads of what nothing wrote, and a failed assertion late in the grid.
fn faulty(seed: u64) -> Result<Counters, LaunchError> {
    let memory = Memory::unwritten(1024);
    let (data, buffers) = (memory.view(), [memory.buffer("data")]);
    let kernel = || {
        let index = simt::block_idx() * 8 + thread();
        data.set(index % 1024, index);
        if index.is_multiple_of(7) {
            data.get((index + 8) % 1024);
        }
        s_set(thread() / 2, 1.0);
        shuffle_xor(FULL, 0, 1);
        s_get((thread() + 1) % 16);
        if simt::block_idx() == 77 && thread() == 5 {
            simt::assert_failed("block 77");
        }
        sync();
    };
    simt::run(&Launch { seed, ..launch(200, 32, 128, &buffers) }, &kernel)
}

#[test]
fn findings_are_the_same_on_any_number_of_threads() {
    for seed in simt::seeds(3).expect("seed") {
        let text = |threads| with_threads(threads, || faulty(seed).expect_err("findings").to_string());
        let alone = text(1);
        for threads in [2, 3, 8] {
            assert_eq!(text(threads), alone, "{threads} threads, seed {seed}");
        }
    }
}

#[test]
fn counters_and_clocks_are_the_same_on_any_number_of_threads() {
    let run = |threads, seed| {
        let clocks = Mutex::new(vec![0; 64]);
        let kernel = || {
            for round in 0..5 {
                s_set(thread(), 0.0);
                sync_warp(FULL);
                s_get(thread() / 32 * 32 + (thread() + round) % 32);
                sync_warp(FULL);
            }
            clocks.lock().unwrap()[simt::block_idx() as usize] += simt::clock();
            sync();
        };
        let base = launch(64, 64, 256, &[]);
        let counters =
            with_threads(threads, || simt::run(&Launch { seed, ..base }, &kernel).expect("no finding"));
        (counters, clocks.into_inner().unwrap())
    };
    let alone = run(1, 7);
    assert_eq!(run(4, 7), alone);
    let other = run(1, 8);
    assert_eq!(other.0, alone.0, "counters depend on no seed here");
}

#[test]
fn seeds_permute_lanes_warps_and_blocks() {
    let order = |seed| {
        let order = Mutex::new(Vec::new());
        let kernel = || order.lock().unwrap().push((simt::block_idx(), thread()));
        let base = launch(4, 64, 0, &[]);
        with_threads(1, || simt::run(&Launch { seed, ..base }, &kernel).expect("no finding"));
        order.into_inner().unwrap()
    };
    let first = order(1);
    assert_eq!(order(1), first);
    let others: Vec<_> = (2..6).map(order).collect();
    assert!(others.iter().all(|other| *other != first));
    let mut sorted = first.clone();
    sorted.sort_unstable();
    let all: Vec<_> = (0..4).flat_map(|block| (0..64).map(move |thread| (block, thread))).collect();
    assert_eq!(sorted, all);
}

#[test]
fn many_launches_at_once_do_not_disturb_each_other() {
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    run(20, 256, 0, || sync()).expect("no finding");
                    assert!(run(20, 64, 0, || assert_ne!(simt::block_idx(), 3)).is_err());
                }
            });
        }
    });
}
