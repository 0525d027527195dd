//! The kernel on the CPU under the executor's checker, and on a GPU with the feature `cuda`.

use std::collections::BTreeSet;

use batchlas::{DeviceElement, Error, Queue};
use cuda_std::math::Real;
use kernels_normalize::normalize;
use kernels_normalize::{KERNELS, config};

/// Vectors of length `n` of which the last is 0.
fn input<T: Real>(n: u32, batch: u32) -> Vec<T> {
    let element = |i: u32| if i < n * (batch - 1) { T::from_u32(i * 37 % 101 + 1) } else { T::ZERO };
    (0..n * batch).map(element).collect()
}

/// One launch: the vectors and their lengths before.
fn run<T: Real + DeviceElement, const P: u32>(
    queue: &Queue,
    x: &[T],
    n: u32,
    batch: u32,
) -> batchlas::Result<(Vec<T>, Vec<T>)> {
    let mut vectors = queue.upload(x)?;
    let mut norms = queue.alloc::<T>(batch as usize)?;
    let call = normalize::call::<T, P>(vectors.view_mut(), norms.view_mut(), n, batch)?;
    // SAFETY: the buffers hold the batch, and live until the downloads have waited for the kernel.
    unsafe { queue.launch(config(batch, P), &call)? };
    Ok((queue.download(&vectors)?, queue.download(&norms)?))
}

/// Runs one instantiation and compares it with plain code.
fn check<T: Real + DeviceElement + Into<f64>, const P: u32>(queue: &Queue, epsilon: f64) {
    for (n, batch) in [(1, 2), (5, 9), (33, 18)] {
        let x = input::<T>(n, batch);
        let (vectors, norms) = run::<T, P>(queue, &x, n, batch).unwrap_or_else(|error| panic!("{error}"));
        for (item, before) in x.chunks(n as usize).enumerate() {
            let norm = before.iter().map(|&x| x.into().powi(2)).sum::<f64>().sqrt();
            assert!((norms[item].into() - norm).abs() <= f64::from(n) * epsilon * norm, "length of {item}");
            for (k, &element) in before.iter().enumerate() {
                let expected = if norm > 0.0 { element.into() / norm } else { 0.0 };
                let got = vectors[item * n as usize + k].into();
                assert!((got - expected).abs() <= f64::from(n) * epsilon, "item {item}, element {k}: {got}");
            }
        }
    }
}

#[test]
fn every_instantiation_passes_the_checker() {
    // The seed permutes lanes, warps and blocks.
    for seed in [1, 2, 3] {
        let queue = Queue::simt(seed);
        check::<f32, 8>(&queue, f32::EPSILON.into());
        check::<f32, 32>(&queue, f32::EPSILON.into());
        check::<f64, 8>(&queue, f64::EPSILON);
        check::<f64, 32>(&queue, f64::EPSILON);
        let launched: BTreeSet<_> = queue.take_launches().iter().map(|launch| launch.entry).collect();
        let all: BTreeSet<_> = KERNELS.iter().flat_map(|kernel| kernel.entries).map(|e| e.name).collect();
        assert_eq!(launched, all);
    }
}

#[test]
fn a_buffer_that_is_too_short_is_found() {
    let error = run::<f32, 8>(&Queue::simt(1), &input(5, 9)[1..], 5, 9).unwrap_err();
    let Error::Findings { findings, .. } = &error else { panic!("{error}") };
    assert!(findings[0].contains("Invalid __global__ read") && findings[0].contains("buffer `x`"), "{error}");
    assert!(findings[0].contains("lib.rs"), "{error}");
}

#[cfg(feature = "cuda")]
mod on_a_gpu {
    use super::*;
    use batchlas::Device;
    use batchlas::cuda::EmbeddedModule;

    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

    #[test]
    fn every_entry_is_compiled() {
        for entry in KERNELS.iter().flat_map(|kernel| kernel.entries) {
            let module = MODULES.iter().find(|module| module.name == entry.module);
            let module = module.unwrap_or_else(|| panic!("no module {} by {TOOL_CHAIN}", entry.module));
            assert!(module.entries.contains(&entry.name), "{} lacks {}", module.name, entry.name);
            assert!(module.ptx().unwrap().contains(&format!(".entry {}(", entry.name)));
        }
    }

    /// The same bits as the executor's; a failure names the first element that differs.
    fn compare<T: Real + DeviceElement + std::fmt::Debug, const P: u32>(gpu: &Queue) {
        let x = input::<T>(33, 1000);
        let there = run::<T, P>(&Queue::simt(1), &x, 33, 1000).unwrap_or_else(|error| panic!("{error}"));
        let here = run::<T, P>(gpu, &x, 33, 1000).unwrap_or_else(|error| panic!("{error}"));
        for (name, here, there) in [("x", here.0, there.0), ("norms", here.1, there.1)] {
            if let Some(at) = (0..here.len()).find(|&at| here[at] != there[at]) {
                panic!("{name}[{at}] is {:?} on the GPU, {:?} on the executor", here[at], there[at]);
            }
        }
    }

    #[test]
    fn a_gpu_gives_the_executors_bits() {
        batchlas::cuda::register_modules(MODULES);
        let gpu = match Queue::new(Device::Cuda(0)) {
            Ok(gpu) => gpu,
            Err(error) if std::env::var_os("BATCHLAS_REQUIRE_GPU").is_none() => {
                return eprintln!("skipped: {error}");
            }
            Err(error) => panic!("BATCHLAS_REQUIRE_GPU, but {error}"),
        };
        compare::<f32, 8>(&gpu);
        compare::<f32, 32>(&gpu);
        compare::<f64, 8>(&gpu);
        compare::<f64, 32>(&gpu);
    }
}
