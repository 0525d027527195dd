//! Planted faults of memory accesses, panics and stacks, each beside its repaired twin.

mod common;

use common::*;
use simt::{Buffer, FindingKind, Launch, STACK_BYTES};

#[test]
fn global_access_past_the_end() {
    let memory = Memory::written(32);
    let (data, buffers) = (memory.view(), [memory.buffer("data")]);
    let line = Line::new();
    let faulty = || mark!(line, data.set(thread() + 1, 0));
    let result = simt::run(&launch(1, 32, 0, &buffers), &faulty);
    let finding = expect_one(result, FindingKind::OutOfBounds, &[&line]);
    assert!(finding.message.contains("Invalid __global__ write of size 4 bytes"), "{finding}");
    let text = "address is out of bounds, element 32, 0 bytes past the end of buffer `data`";
    assert!(finding.message.contains(text), "{finding}");
    assert_eq!((finding.sides[0].thread, finding.repeats), (31, 0));
    simt::run(&launch(1, 32, 0, &buffers), &|| data.set(thread(), 0)).expect("no finding");
}

#[test]
fn global_access_past_a_view_names_the_buffer_behind_it() {
    let memory = Memory::written(32);
    let (data, buffers) = (memory.view().part(8, 8), [memory.buffer("data")]);
    let line = Line::new();
    let result = simt::run(&launch(1, 1, 0, &buffers), &|| {
        mark!(line, data.get(11));
    });
    let finding = expect_one(result, FindingKind::OutOfBounds, &[&line]);
    assert!(
        finding.message.contains("12 bytes past the end of a view of 32 bytes into buffer `data`"),
        "{finding}"
    );
    let result = simt::run(&launch(1, 1, 0, &buffers), &|| {
        mark!(line, data.get(u32::MAX));
    });
    expect_one(result, FindingKind::OutOfBounds, &[&line]);
}

#[test]
fn global_access_before_the_start() {
    let memory = Memory::written(32);
    let (data, buffers) = (memory.view().part(8, 8), [memory.buffer("data")]);
    let line = Line::new();
    let result = simt::run(&launch(1, 1, 0, &buffers), &|| {
        let base = std::ptr::without_provenance::<u8>(data.addr());
        mark!(line, simt::global_access(base, 32, base.wrapping_sub(4), 4, 4, simt::Access::Read));
    });
    let finding = expect_one(result, FindingKind::OutOfBounds, &[&line]);
    assert!(finding.message.contains("4 bytes before the start"), "{finding}");
}

#[test]
fn view_of_memory_that_the_launch_was_not_given() {
    let (memory, other) = (Memory::written(32), Memory::written(32));
    let (data, buffers) = (memory.view(), [other.buffer("other")]);
    let line = Line::new();
    let result = simt::run(&launch(1, 1, 0, &buffers), &|| mark!(line, data.set(0, 0)));
    let finding = expect_one(result, FindingKind::OutOfBounds, &[&line]);
    assert!(finding.message.contains("in no buffer of the launch"), "{finding}");
    // A view that claims more than its buffer has.
    let result = simt::run(&launch(1, 1, 0, &buffers), &|| mark!(line, other.view().of_len(33).set(32, 0)));
    expect_one(result, FindingKind::OutOfBounds, &[&line]);
}

#[test]
fn misaligned_global_access() {
    let memory = Memory::written(32);
    let (data, buffers) = (memory.view(), [memory.buffer("data")]);
    let line = Line::new();
    let result = simt::run(&launch(1, 1, 0, &buffers), &|| mark!(line, data.shifted(2).set(3, 0)));
    let finding = expect_one(result, FindingKind::Misaligned, &[&line]);
    assert!(finding.message.contains("byte 14 of buffer `data`"), "{finding}");
    simt::run(&launch(1, 1, 0, &buffers), &|| data.shifted(4).set(3, 0)).expect("no finding");
}

#[test]
fn shared_access_past_the_end_and_misaligned() {
    let line = Line::new();
    let finding =
        expect_one(run(1, 32, 124, || mark!(line, s_set(thread(), 0.0))), FindingKind::OutOfBounds, &[&line]);
    assert!(finding.message.contains("byte 124 is out of bounds"), "{finding}");
    run(1, 32, 128, || s_set(thread(), 0.0)).expect("no finding");
    let faulty = || {
        mark!(line, simt::shared_access(6, 4, 4, simt::Access::Write));
    };
    let finding = expect_one(run(1, 1, 128, faulty), FindingKind::Misaligned, &[&line]);
    assert!(finding.message.contains("multiple of 4"), "{finding}");
}

#[test]
fn shared_access_past_its_view() {
    let line = Line::new();
    let kernel = |index: usize| {
        let line = &line;
        move || {
            let at = 64_usize.wrapping_add(4 * index);
            mark!(line, simt::shared_view_access(64, 32, at, 4, 4, simt::Access::Write));
        }
    };
    for index in [8, usize::MAX / 4] {
        let finding = expect_one(run(1, 1, 128, kernel(index)), FindingKind::OutOfBounds, &[&line]);
        assert!(finding.message.contains("of a view of bytes 64..96"), "{finding}");
    }
    run(1, 1, 128, kernel(7)).expect("no finding");
}

#[test]
fn read_of_shared_memory_that_nothing_wrote() {
    let line = Line::new();
    let kernel = |guarded: bool| {
        let line = &line;
        move || {
            if thread() > 0 || guarded {
                s_set(thread(), 1.0);
            }
            sync();
            if thread() == 5 {
                mark!(line, s_get(0));
            }
        }
    };
    let finding = expect_one(run(1, 32, 128, kernel(false)), FindingKind::UninitializedRead, &[&line]);
    assert!(finding.message.contains("Uninitialized __shared__ memory read of size 4 bytes"), "{finding}");
    run(1, 32, 128, kernel(true)).expect("no finding");
}

/// Copies thread index + 1 to this thread's element.
#[track_caller]
fn begin_copy(shared_bytes: usize) {
    let value = thread() as f32 + 1.0;
    simt::copy_async(0, shared_bytes, thread() as usize * 4, &value.to_ne_bytes());
    simt::copy_commit();
}

#[test]
fn read_of_a_copy_before_its_wait() {
    let line = Line::new();
    let kernel = |pending: usize| {
        let line = &line;
        move || {
            begin_copy(128);
            // A group of nothing, which the first wait may leave out.
            simt::copy_commit();
            simt::copy_wait(pending);
            let x = mark!(line, s_get(thread()));
            assert!(pending == 2 || x == thread() as f32 + 1.0);
        }
    };
    expect_one(run(1, 32, 128, kernel(2)), FindingKind::UninitializedRead, &[&line]);
    run(1, 32, 128, kernel(1)).expect("no finding");
    run(1, 32, 128, kernel(0)).expect("no finding");
}

#[test]
fn copy_past_a_view() {
    let line = Line::new();
    let faulty = || mark!(line, begin_copy(124));
    let error = run(1, 32, 128, faulty).expect_err("a finding");
    assert_eq!(error.findings[0].kind, FindingKind::OutOfBounds, "{error}");
}

#[test]
fn shared_memory_is_fresh_in_every_block() {
    let line = Line::new();
    let faulty = || {
        if simt::block_idx() == 0 {
            s_set(0, 1.0);
        }
        mark!(line, s_get(0));
    };
    expect_one(run(2, 1, 4, faulty), FindingKind::UninitializedRead, &[&line]);
}

#[test]
fn read_of_global_memory_that_nothing_wrote() {
    let memory = Memory::unwritten(64);
    let (data, buffers) = (memory.view(), [memory.buffer("data")]);
    let line = Line::new();
    let read = || {
        mark!(line, data.get(thread()));
    };
    let finding =
        expect_one(simt::run(&launch(1, 32, 0, &buffers), &read), FindingKind::UninitializedRead, &[&line]);
    assert!(finding.message.contains("Uninitialized __global__ memory read of size 4 bytes"), "{finding}");
    assert!(finding.message.contains("of buffer `data`"), "{finding}");
    assert_eq!(finding.repeats, 31);
    // A kernel writes the first half; a later launch may read that half only.
    simt::run(&launch(1, 32, 0, &buffers), &|| data.set(thread(), 1)).expect("no finding");
    simt::run(&launch(1, 32, 0, &buffers), &read).expect("no finding");
    let result = simt::run(&launch(1, 33, 0, &buffers), &read);
    let finding = expect_one(result, FindingKind::UninitializedRead, &[&line]);
    assert!(finding.message.contains("element 32"), "{finding}");
    // Memory that an arena hands out again counts as unwritten.
    simt::memory::mark_unwritten(data.addr(), 4);
    assert!(simt::run(&launch(1, 32, 0, &buffers), &read).is_err());
}

#[test]
fn a_block_may_read_what_it_wrote() {
    let memory = Memory::unwritten(64);
    let (data, buffers) = (memory.view(), [memory.buffer("data")]);
    let kernel = || {
        data.set(thread(), 1);
        sync();
        data.get(63 - thread());
    };
    simt::run(&launch(1, 64, 0, &buffers), &kernel).expect("no finding");
}

#[test]
fn memory_written_before_a_grid_barrier_is_written() {
    let memory = Memory::unwritten(64);
    let (data, buffers) = (memory.view(), [memory.buffer("data")]);
    let kernel = || {
        data.set(simt::block_idx() * 32 + thread(), 1);
        grid_sync();
        data.get((1 - simt::block_idx()) * 32 + thread());
    };
    let cooperative = Launch { cooperative: true, ..launch(2, 32, 0, &buffers) };
    simt::run(&cooperative, &kernel).expect("no finding");
}

#[test]
fn memory_that_nobody_registered_counts_as_written() {
    let words = [0_u32; 8];
    let addr = words.as_ptr().expose_provenance();
    let buffers = [Buffer { name: "data", addr, bytes: 32, elem_bytes: 4, writable: false }];
    let kernel = || {
        let base = std::ptr::without_provenance::<u8>(addr);
        simt::global_access(base, 32, base, 4, 4, simt::Access::Read);
    };
    simt::run(&launch(1, 1, 0, &buffers), &kernel).expect("no finding");
}

#[test]
fn write_to_a_read_only_buffer() {
    let memory = Memory::written(32);
    let (data, buffers) = (memory.view(), [memory.read_only("data")]);
    let line = Line::new();
    let result = simt::run(&launch(1, 32, 0, &buffers), &|| mark!(line, data.set(thread(), 0)));
    let finding = expect_one(result, FindingKind::ReadOnlyWrite, &[&line]);
    assert!(finding.message.contains("buffer `data` (allocation `test memory`) is read-only"), "{finding}");
    assert_eq!(finding.repeats, 31);
    let buffers = [memory.buffer("data")];
    simt::run(&launch(1, 32, 0, &buffers), &|| data.set(thread(), 0)).expect("no finding");
    // The same memory given twice may be written where one of the two may.
    let buffers = [memory.read_only("input"), memory.buffer("output")];
    simt::run(&launch(1, 32, 0, &buffers), &|| data.set(thread(), 0)).expect("no finding");
}

#[test]
fn panic_with_message_and_place() {
    let panic = Line::new();
    let faulty = || {
        sync_warp(FULL);
        let table = [1, 2, 3];
        if thread() == 4 {
            mark!(panic, panic!("thread {} of {}", table[thread() as usize % 3], "four"));
        }
        sync();
    };
    let finding = expect_one(run(1, 32, 0, faulty), FindingKind::Panic, &[&panic]);
    assert_eq!(finding.message, "Kernel panicked: thread 2 of four");
    assert_eq!(finding.sides[0].thread, 4);
    // A panic of the language has a place too.
    let index = || thread() as usize;
    let faulty = || mark!(panic, assert_ne!([1, 2, 3][index()], 0));
    let finding = expect_one(run(1, 4, 0, faulty), FindingKind::Panic, &[&panic]);
    assert!(finding.message.contains("index out of bounds: the len is 3 but the index is 3"), "{finding}");
}

#[test]
fn failed_assertion() {
    let line = Line::new();
    let faulty = || {
        if thread() == 3 {
            mark!(line, simt::assert_failed("n <= 32"));
        }
        sync();
    };
    let finding = expect_one(run(1, 32, 0, faulty), FindingKind::Assertion, &[&line]);
    assert_eq!(finding.message, "Assertion failed: n <= 32");
}

#[inline(never)]
fn recurse(depth: usize) -> usize {
    let frame = std::hint::black_box([depth; 256]);
    if depth == 0 { 0 } else { recurse(depth - 1) + frame[depth % 256] }
}

#[test]
fn stack_overflow_in_kernel_code() {
    let line = Line::new();
    let kernel = |depth: usize| {
        let line = &line;
        move || {
            mark!(line, sync_warp(FULL));
            std::hint::black_box(recurse(depth));
        }
    };
    // Twice: the stacks go back to the pool and still have their guards.
    for _ in 0..2 {
        let finding = expect_one(run(2, 32, 0, kernel(1 << 20)), FindingKind::StackOverflow, &[&line]);
        assert!(finding.message.contains(&STACK_BYTES.to_string()), "{finding}");
    }
    run(2, 32, 0, kernel(100)).expect("no finding");
}

#[test]
fn stack_overflow_at_a_call_of_the_executor() {
    #[inline(never)]
    fn deep(depth: usize) -> usize {
        let frame = std::hint::black_box([depth; 16]);
        s_set(thread(), 0.0);
        if depth == usize::MAX { 0 } else { deep(depth + 1) + frame[depth % 16] }
    }
    let error = run(1, 32, 128, || {
        std::hint::black_box(deep(0));
    })
    .expect_err("an overflow");
    assert_eq!(error.findings.len(), 1, "{error}");
    assert_eq!(error.findings[0].kind, FindingKind::StackOverflow);
    assert!(error.findings[0].sides[0].line > 0);
}

#[test]
fn wild_pointer_past_the_checker() {
    let line = Line::new();
    let faulty = || {
        mark!(line, sync_warp(FULL));
        if thread() == 3 {
            let wild = std::hint::black_box(std::ptr::without_provenance::<u32>(64));
            // SAFETY: none; the test wants the fault.
            std::hint::black_box(unsafe { wild.read_volatile() });
        }
        sync();
    };
    let finding = expect_one(run(1, 32, 0, faulty), FindingKind::OutOfBounds, &[&line]);
    assert!(finding.message.contains("0x40"), "{finding}");
}

#[test]
fn impossible_launches() {
    let cooperative = Launch { cooperative: true, ..launch(1 << 20, 32, 0, &[]) };
    let cases = [
        launch(0, 32, 0, &[]),
        launch(1, 0, 0, &[]),
        launch(1, 1025, 0, &[]),
        launch(1, 32, 1 << 20, &[]),
        cooperative,
    ];
    for case in cases {
        let error = simt::run(&case, &|| ()).expect_err("refused");
        assert_eq!(error.findings[0].kind, FindingKind::InvalidLaunch, "{error}");
    }
}

#[test]
fn findings_are_capped_and_counted() {
    let faulty = || match thread() {
        0 => simt::assert_failed("a"),
        thread => simt::assert_failed(["b", "c", "d"][thread as usize % 3]),
    };
    let error = run(1, 32, 0, faulty).expect_err("findings");
    assert_eq!((error.findings.len(), error.suppressed), (4, 0), "{error}");
    let faulty = || simt::assert_failed(&thread().to_string());
    let error = run(1, 128, 0, faulty).expect_err("findings");
    assert_eq!((error.findings.len(), error.suppressed), (simt::MAX_FINDINGS, 112), "{error}");
    assert!(error.to_string().contains("112 more findings are not listed"), "{error}");
}
