//! Faults planted in real kernels: findings name the kernel's own lines, through cuda_std's helpers.

use cuda_std::launch::{Call, LaunchConfig, Param};
use cuda_std::prelude::*;
use cuda_std::{Shuffle, atomic, grid};
use simt::{Buffer, Counters, Finding, FindingKind, Launch, LaunchError};

/// Sums tiles of `P` elements, with what can go wrong behind `fault`.
#[kernel(T = [f32, f64], P = [4, 8, 16, 32])]
pub unsafe fn tile_sums<T: Real + Shuffle, const P: u32>(
    input: Global<T>,
    sums: GlobalMut<T>,
    n: u32,
    fault: u32,
) {
    let tile = tiled_partition::<P>();
    let i = thread::index_1d();
    // SAFETY: the launch gives one element a thread.
    let shared = unsafe { dynamic_shared_mem::<T>(0, thread::block_dim_x() as usize) };
    let limit = if fault == 1 { n as usize + 1 } else { n as usize };
    let x = if i < limit { input.get(i) } else { T::ZERO };
    shared.set(thread::thread_idx_x(), x); // write
    if fault != 2 {
        tile.sync();
    }
    let beyond = if fault == 7 { 64 } else { 0 };
    let neighbour = shared.get((thread::thread_idx_x() ^ 1) + beyond); // read
    let pair = if tile.rank().is_multiple_of(2) { x + neighbour } else { neighbour + x };
    let sum = if fault == 3 && tile.rank() == 0 {
        tile.any(true); // vote
        pair
    } else {
        let mut step = P / 2;
        let mut sum = pair;
        while step > 1 {
            sum = sum + tile.shuffle_xor(sum, step); // shuffle
            step /= 2;
        }
        sum
    };
    if fault == 4 && thread::thread_idx_x() < 32 {
        thread::sync_threads(); // first barrier
    } else {
        thread::sync_threads(); // second barrier
    }
    gpu_assert!(fault != 5 || i != 7, "item seven"); // assertion
    if tile.rank() == 0 || fault == 6 {
        sums.set(i / P as usize, sum); // result
    }
}

/// Counts by atomics, meets the other blocks, and reads the count.
#[kernel]
pub unsafe fn grid_count(count: GlobalMut<u32>, total: GlobalMut<u32>, round: GlobalMut<u32>, early: u32) {
    atomic::fetch_add(count, 0, 1); // add
    if early == 0 {
        grid::sync_grid(round);
    }
    if thread::index_1d() == 0 {
        total.set(0, count.get(0)); // plain read
    }
}

/// Sums four elements that it reads at once.
#[kernel]
pub unsafe fn wide_sum(sum: GlobalMut<f32>, first: u32) {
    // SAFETY: the launch gives eight elements.
    let shared = unsafe { dynamic_shared_mem::<f32>(0, 8) };
    shared.set(thread::thread_idx_x(), 1.0);
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        let four = shared.get_array::<4>(first); // wide read
        sum.set(0, four.iter().sum());
    }
}

/// The line of this file that ends in that comment.
fn line(comment: &str) -> u32 {
    let marker = format!("// {comment}");
    let index = include_str!("kernels.rs").lines().position(|line| line.ends_with(&marker));
    index.expect("a marked line") as u32 + 1
}

fn submit(config: LaunchConfig, call: &Call) -> Result<Counters, LaunchError> {
    let buffer = |param: &Param| match param {
        Param::Buffer(buffer) => Some(Buffer {
            name: buffer.name,
            addr: buffer.addr as usize,
            bytes: buffer.len * buffer.elem_bytes,
            elem_bytes: buffer.elem_bytes,
            writable: buffer.writable,
        }),
        _ => None,
    };
    let buffers: Vec<_> = call.params.iter().filter_map(buffer).collect();
    let launch = Launch {
        kernel: call.kernel.name,
        entry: call.entry.name,
        grid: config.grid,
        block: config.block,
        shared_bytes: config.shared_bytes as usize,
        cooperative: config.cooperative,
        buffers: &buffers,
        seed: simt::seed_from_env().expect("seed"),
    };
    simt::run(&launch, &|| (call.lane)())
}

fn sums<const P: u32>(n: u32, fault: u32) -> (Result<Counters, LaunchError>, Vec<f64>) {
    let input: Vec<f64> = (0..n).map(f64::from).collect();
    let mut sums = vec![0.0; (128 / P) as usize];
    // SAFETY: both vectors outlive the launch, which is over when `submit` returns.
    let (from, to) = unsafe {
        (
            Global::from_raw_parts(input.as_ptr(), input.len()),
            GlobalMut::from_raw_parts(sums.as_mut_ptr(), sums.len()),
        )
    };
    let call = tile_sums::call::<f64, P>(from, to, n, fault).expect("an entry");
    let result = submit(LaunchConfig::new(2, 64).with_shared(64 * 8), &call);
    (result, sums)
}

fn fault(number: u32) -> Finding {
    let error = sums::<8>(128, number).0.expect_err("a finding");
    let finding = error.findings.into_iter().next().expect("a finding");
    assert_eq!((finding.kernel.as_str(), finding.entry.as_str()), ("tile_sums", "tile_sums_f64_8"));
    assert!(finding.sides.iter().all(|side| side.file.ends_with("kernels.rs")), "{finding}");
    finding
}

#[track_caller]
fn expect(finding: &Finding, kind: FindingKind, comments: &[&str]) {
    let mut found: Vec<u32> = finding.sides.iter().map(|side| side.line).collect();
    let mut expected: Vec<u32> = comments.iter().map(|comment| line(comment)).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!((finding.kind, found), (kind, expected), "{finding}");
}

fn check<const P: u32>() {
    let (result, sums) = sums::<P>(128, 0);
    let counters = result.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(counters.barriers, 2);
    for (tile, &sum) in sums.iter().enumerate() {
        let first = tile as u32 * P;
        assert_eq!(sum, f64::from((first..first + P).sum::<u32>()), "tile {tile} of {P}");
    }
}

#[test]
fn the_sound_kernel_passes() {
    check::<4>();
    check::<8>();
    check::<16>();
    check::<32>();
    // Fewer elements than threads.
    sums::<4>(100, 0).0.expect("no finding");
}

#[test]
fn a_read_past_the_input_names_it() {
    let error = sums::<8>(100, 1).0.expect_err("a finding");
    let finding = &error.findings[0];
    assert_eq!(finding.kind, FindingKind::OutOfBounds);
    assert!(finding.message.contains("0 bytes past the end of buffer `input` of 800 bytes"), "{finding}");
}

/// Reads the first element of an item.
#[kernel]
pub unsafe fn first_of_item(x: Global<f32>, y: GlobalMut<f32>, item: usize) {
    y.set(0, x.at(4 * item).get(0)); // first element
}

#[test]
fn an_item_past_the_input_names_it() {
    let run = |item| {
        let mut memory = [1.0_f32; 9];
        let pointer = memory.as_mut_ptr();
        // SAFETY: the array outlives the launch.
        let (x, y) =
            unsafe { (Global::from_raw_parts(pointer.add(1), 8), GlobalMut::from_raw_parts(pointer, 1)) };
        submit(LaunchConfig::new(1, 1), &first_of_item::call(x, y, item).expect("an entry"))
    };
    run(1).unwrap_or_else(|error| panic!("{error}"));
    for (item, expected) in [
        (2, "element 8, 0 bytes past the end of buffer `x` of 32 bytes"),
        (4, "element 16, 32 bytes past the end of buffer `x` of 32 bytes"),
        (5, "element 0, 0 bytes past the end of a view of 0 bytes that is in no buffer of the launch"),
    ] {
        let error = run(item).expect_err("a finding");
        expect(&error.findings[0], FindingKind::OutOfBounds, &["first element"]);
        assert!(error.findings[0].message.ends_with(expected), "{error}");
    }
}

#[test]
fn a_read_past_a_shared_view() {
    let finding = fault(7);
    expect(&finding, FindingKind::OutOfBounds, &["read"]);
    assert!(finding.message.contains("of a view of bytes 0..512"), "{finding}");
}

#[test]
fn a_wide_shared_read_off_its_alignment() {
    let run = |first| {
        let mut sum = [0.0_f32];
        // SAFETY: the array outlives the launch.
        let view = unsafe { GlobalMut::from_raw_parts(sum.as_mut_ptr(), 1) };
        let call = wide_sum::call(view, first).expect("an entry");
        (submit(LaunchConfig::new(1, 8).with_shared(32), &call), sum[0])
    };
    let (result, sum) = run(4);
    assert_eq!(result.unwrap_or_else(|error| panic!("{error}")).shared_accesses, 9);
    assert_eq!(sum, 4.0);
    let error = run(2).0.expect_err("a finding");
    expect(&error.findings[0], FindingKind::Misaligned, &["wide read"]);
    assert!(error.findings[0].message.contains("multiple of 16"), "{error}");
}

#[test]
fn a_missing_sync_is_a_race() {
    let error = sums::<8>(128, 2).0.expect_err("a finding");
    let races = error.findings.iter().filter(|finding| finding.kind == FindingKind::SharedRace);
    let races: Vec<_> = races.collect();
    assert_eq!(races.len(), 1, "{error}");
    expect(races[0], FindingKind::SharedRace, &["write", "read"]);
}

#[test]
fn divergence_at_a_collective() {
    expect(&fault(3), FindingKind::CollectiveKind, &["vote", "shuffle"]);
}

#[test]
fn divergence_at_a_barrier() {
    expect(&fault(4), FindingKind::DivergentBarrier, &["first barrier", "second barrier"]);
}

#[test]
fn a_failed_assertion_has_its_message() {
    let finding = fault(5);
    expect(&finding, FindingKind::Assertion, &["assertion"]);
    assert!(finding.message.contains("item seven"), "{finding}");
}

#[test]
fn several_lanes_write_one_result() {
    let finding = fault(6);
    expect(&finding, FindingKind::GlobalRace, &["result", "result"]);
    assert!(finding.message.contains("buffer `sums`"), "{finding}");
}

#[test]
fn a_count_is_read_behind_the_grid_barrier_only() {
    let run = |early| {
        let mut words = [0_u32; 3];
        let pointer = words.as_mut_ptr();
        // SAFETY: the array outlives the launch.
        let word = |index| unsafe { GlobalMut::from_raw_parts(pointer.add(index), 1) };
        let call = grid_count::call(word(0), word(1), word(2), early).expect("an entry");
        let result = submit(LaunchConfig::new(3, 32).cooperative(), &call);
        (result, words[1])
    };
    let (result, total) = run(0);
    result.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(total, 96);
    let error = run(1).0.expect_err("a race");
    expect(&error.findings[0], FindingKind::GlobalRace, &["add", "plain read"]);
}
