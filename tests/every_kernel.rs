//! Every kernel of the workspace under the executor: all instantiations, in
//! three orders of lanes, without a finding and with the same bits. A kernel
//! that nothing launches fails the test. `gpu_runtime` launches them on a GPU.
#![cfg(feature = "simt")]

mod support;

#[path = "support/kernels.rs"]
mod kernels;

use std::collections::BTreeSet;

use batchlas::Queue;
use kernels::{BLOCK_SYEV, Crate, GEMM, PACK, PACKED, PANEL, SMALL_SYEV, STEBZ, STEDC, TRIDIAG, same};

/// Runs a crate with three seeds: no finding, every entry launched, the same bits.
fn covers(krate: &Crate) {
    let wanted: BTreeSet<&str> = krate.kernels.iter().flat_map(|k| k.entries).map(|e| e.name).collect();
    let seeds = simt::seeds(3).expect("a seed");
    let run = |seed: u64| {
        let queue = Queue::simt(seed);
        let outcomes = (krate.drive)(&queue);
        (outcomes, queue.take_launches().iter().map(|record| record.entry).collect::<BTreeSet<_>>())
    };
    let runs: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = seeds.iter().map(|&seed| scope.spawn(move || run(seed))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no finding")).collect()
    });
    for ((outcomes, launched), seed) in runs.iter().zip(&seeds) {
        let missing: Vec<_> = wanted.difference(launched).collect();
        assert!(missing.is_empty(), "{}: seed {seed} launches none of {missing:?}", krate.folder);
        for (outcome, first) in outcomes.iter().zip(&runs[0].0) {
            same(outcome, first, |x, y| x.to_bits() == y.to_bits());
        }
    }
}

#[test]
fn kernels_of_small_syev() {
    covers(&SMALL_SYEV);
}

#[test]
fn kernels_of_block_syev() {
    covers(&BLOCK_SYEV);
}

#[test]
fn kernels_of_gemm() {
    covers(&GEMM);
}

#[test]
fn kernels_of_stebz() {
    covers(&STEBZ);
}

#[test]
fn kernels_of_stedc() {
    covers(&STEDC);
}

#[test]
fn kernels_of_tridiag() {
    covers(&TRIDIAG);
}

#[test]
fn kernels_of_pack() {
    covers(&PACK);
}

#[test]
fn kernels_of_packed() {
    covers(&PACKED);
}

#[test]
fn kernels_of_panel() {
    covers(&PANEL);
}

#[test]
fn no_kernel_crate_is_forgotten() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("device/kernels");
    let here = [&BLOCK_SYEV, &GEMM, &PACK, &PACKED, &PANEL, &SMALL_SYEV, &STEBZ, &STEDC, &TRIDIAG]
        .map(|krate| krate.folder);
    for entry in std::fs::read_dir(folder).expect("device/kernels").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_crate = entry.path().join("Cargo.toml").is_file();
        assert!(!is_crate || here.contains(&name.as_str()), "device/kernels/{name} is in no test");
    }
}
