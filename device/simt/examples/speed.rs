//! Prints what calls of the executor cost: `cargo run --release -p batchlas-simt --example speed [WORD]`;
//! with a word, only the lines that hold it.

use std::hint::black_box;
use std::time::Instant;

use simt::{Access, Barrier, Buffer, Collective, Launch};

const FULL: u32 = u32::MAX;

fn main() {
    let calls = 100_000;
    report("full-warp shuffle", 1, 32, 0, calls, &|| {
        let mut value = u64::from(simt::thread_idx());
        for step in 0..calls {
            value = simt::warp_collective(Collective::ShuffleXor, FULL, value, step & 31, 32);
        }
        black_box(value);
    });
    report("8-lane shuffle", 1, 32, 0, calls, &|| {
        let mask = 0xFF << (simt::thread_idx() / 8 * 8);
        for step in 0..calls {
            simt::warp_collective(Collective::ShuffleXor, mask, 1, step & 7, 8);
        }
    });
    report("8-lane sync_warp", 1, 32, 0, calls, &|| {
        let mask = 0xFF << (simt::thread_idx() / 8 * 8);
        for _ in 0..calls {
            simt::warp_collective(Collective::SyncWarp, mask, 0, 0, 32);
        }
    });
    report("block barrier", 1, 256, 0, calls / 10, &|| {
        for _ in 0..calls / 10 {
            simt::barrier(Barrier::Sync, true);
        }
    });
    report("shared access, own word", 1, 32, 4096, 20_000, &|| {
        let lane = simt::thread_idx() as usize;
        for step in 0..10_000 {
            let at = (lane + step % 32 * 32) * 4;
            simt::shared_access(at, 4, 4, Access::Write);
            simt::shared_access(at, 4, 4, Access::Read);
        }
    });
    report("shared access, same word read", 1, 32, 4096, 20_000, &|| {
        if simt::thread_idx() == 0 {
            for word in 0..1024 {
                simt::shared_access(word * 4, 4, 4, Access::Write);
            }
        }
        simt::barrier(Barrier::Sync, true);
        for step in 0..20_000 {
            simt::shared_access(step % 1024 * 4, 4, 4, Access::Read);
        }
    });
    report("shared access of f64", 1, 32, 32 * 8 * 16, 20_000, &|| {
        let lane = simt::thread_idx() as usize;
        for step in 0..10_000 {
            let at = (lane + step % 16 * 32) * 8;
            simt::shared_access(at, 8, 8, Access::Write);
            simt::shared_access(at, 8, 8, Access::Read);
        }
    });
    report("global access", 1, 32, 0, 20_000, &|| {
        let base = std::ptr::without_provenance::<u8>(BASE);
        let lane = simt::thread_idx() as usize;
        for step in 0..10_000 {
            let at = base.wrapping_add((lane + step % 512 * 32) * 4);
            simt::global_access(base, BYTES, at, 4, 4, Access::Write);
            simt::global_access(base, BYTES, at, 4, 4, Access::Read);
        }
    });
    report("1000 blocks of a warp", 1000, 32, 4096, 1, &|| {
        simt::warp_collective(Collective::SyncWarp, FULL, 0, 0, 32);
    });
}

const BASE: usize = 1 << 40;
const BYTES: usize = 1 << 20;

fn report(what: &str, grid: u32, block: u32, shared_bytes: usize, calls: u32, lane: &(dyn Fn() + Sync)) {
    if std::env::args().nth(1).is_some_and(|word| !what.contains(&word)) {
        return;
    }
    let buffers = [Buffer { name: "data", addr: BASE, bytes: BYTES, elem_bytes: 4, writable: true }];
    let (kernel, entry) = ("speed", "speed");
    let launch =
        Launch { kernel, entry, grid, block, shared_bytes, cooperative: false, buffers: &buffers, seed: 1 };
    simt::run(&launch, lane).expect("no finding");
    let (start, cpu_start) = (Instant::now(), cpu_seconds());
    simt::run(&launch, lane).expect("no finding");
    let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu_start);
    let each = |seconds: f64| seconds * 1e9 / (f64::from(grid) * f64::from(block) * f64::from(calls));
    println!("{what:32} {:7.1} ns of CPU a lane and call, {:7.1} elapsed", each(cpu), each(wall));
}

/// CPU time of the process: on a busy machine it says more than the clock on the wall.
#[cfg(unix)]
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(not(unix))]
fn cpu_seconds() -> f64 {
    f64::NAN
}
