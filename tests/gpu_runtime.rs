//! The runtime on a GPU. Without one each test says why it is skipped;
//! `BATCHLAS_REQUIRE_GPU=1` makes that a failure.
#![cfg(feature = "cuda")]

mod support;

#[cfg(feature = "simt")]
#[path = "support/kernels.rs"]
mod kernels;

use std::time::Duration;

use batchlas::cuda::EmbeddedModule;
use batchlas::{Device, Error, Queue};
use cuda_std::launch::{Call, Entry, KernelInfo, LaunchConfig};

/// A queue on the first GPU, or `None` with the reason on stderr.
fn gpu() -> Option<Queue> {
    support::queue(Device::Cuda(0))
}

#[test]
fn a_missing_gpu_says_what_was_looked_for() {
    match Device::gpus() {
        Ok(found) => {
            let past = Device::Cuda(found.len() as u32);
            let error = Queue::new(past).unwrap_err().to_string();
            assert!(error.contains(&past.to_string()) && error.contains("reports"), "{error}");
        }
        Err(error) => {
            assert!(matches!(error, Error::Unavailable { .. }));
            let text = error.to_string();
            assert!(text.contains("libcuda.so.1") || text.contains("GPU"), "{text}");
            assert_eq!(Device::auto(), Device::Cpu);
        }
    }
}

#[test]
fn the_device_has_sensible_limits() {
    let Some(queue) = gpu() else { return };
    assert_eq!(Device::auto(), Device::Cuda(0));
    let limits = queue.limits().unwrap();
    assert!(limits.arch.0 >= 50 && limits.multiprocessors > 0 && limits.warp_size == 32);
    assert!(limits.shared_bytes_per_block >= 48 << 10 && limits.max_threads_per_block >= 1024);
    let memory = queue.memory_info().unwrap().unwrap();
    assert!(memory.free <= memory.total && memory.total == Device::gpus().unwrap()[0].memory_bytes);
    assert!(!queue.device_name().is_empty());
}

#[test]
fn copies_keep_every_byte() {
    let Some(queue) = gpu() else { return };
    let data: Vec<u64> = (0..8_000_000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let first = queue.upload(&data).unwrap();
    assert_eq!((first.addr() % 256, first.as_host_slice()), (0, None));
    let mut second = queue.alloc::<u64>(data.len()).unwrap();
    queue.copy(&first, &mut second).unwrap();
    drop(first);
    assert!(queue.download(&second).unwrap() == data);
    let mut part = vec![0; 3];
    queue.download_part(&second, 5, &mut part).unwrap();
    assert_eq!(part, data[5..8]);
    queue.fill_bytes(&mut second, 0x5a).unwrap();
    assert!(queue.download(&second).unwrap().iter().all(|&x| x == 0x5a5a_5a5a_5a5a_5a5a));
    assert!(queue.download(&queue.upload::<f64>(&[]).unwrap()).unwrap().is_empty());
    assert!(queue.upload_into(&data[..5], &mut second).is_err());
}

#[test]
fn asynchronous_copies_and_events_follow_the_queue() {
    let Some(queue) = gpu() else { return };
    let mut from = queue.pinned::<f32>(1 << 22).unwrap();
    let mut to = queue.pinned::<f32>(1 << 22).unwrap();
    from.as_mut_slice().unwrap().iter_mut().enumerate().for_each(|(i, x)| *x = i as f32);
    let mut buffer = queue.alloc::<f32>(1 << 22).unwrap();
    let start = queue.record().unwrap();
    queue.upload_async(&mut from, &mut buffer).unwrap();
    queue.download_async(&buffer, &mut to).unwrap();
    let end = queue.record().unwrap();
    // Waits for the copy to the device, which reads these pages.
    from.as_mut_slice().unwrap().fill(-1.0);
    assert!(to.as_slice().unwrap().iter().enumerate().all(|(i, &x)| x == i as f32));
    let elapsed = end.since(&start).unwrap();
    assert!(end.is_done().unwrap() && elapsed > Duration::ZERO && elapsed < Duration::from_secs(10));

    // Another queue waits on the device for this one's work.
    queue.fill_bytes(&mut buffer, 1).unwrap();
    let other = Queue::new(Device::Cuda(0)).unwrap();
    other.wait_for(&queue.record().unwrap()).unwrap();
    other.synchronize().unwrap();
    assert!(other.download(&buffer).unwrap_err().to_string().contains("another queue"));
}

#[test]
fn memory_is_given_back_and_its_end_is_an_error_with_the_bytes() {
    let Some(queue) = gpu() else { return };
    let free = || queue.memory_info().unwrap().unwrap().free;
    let before = free();
    let big = queue.alloc::<u8>(1 << 30).unwrap();
    // Tests beside this one take and free memory too.
    assert!(before.saturating_sub(free()) > 512 << 20, "a buffer takes its bytes");
    drop(big);
    for _ in 0..64 {
        drop(queue.alloc::<u8>(1 << 30).unwrap());
    }
    queue.synchronize().unwrap();
    let error = queue.alloc::<f64>(1 << 39).unwrap_err();
    let Error::OutOfMemory { bytes, .. } = &error else { panic!("{error}") };
    assert_eq!(*bytes, 1 << 42);
    assert!(matches!(queue.workspace(1 << 42), Err(Error::OutOfMemory { .. })));
    assert_eq!(queue.download(&queue.upload(&[7_u32; 3]).unwrap()).unwrap(), [7; 3]);
}

#[test]
fn the_workspace_grows_and_is_used_again() {
    let Some(queue) = gpu() else { return };
    let first = queue.workspace(1 << 20).unwrap().take_addr::<f64>(100).unwrap();
    assert_eq!(queue.workspace(1 << 10).unwrap().take_addr::<f64>(100).unwrap(), first);
    let mut grown = queue.workspace(1 << 22).unwrap();
    let (a, b) = (grown.take_addr::<u8>(1).unwrap(), grown.take_addr::<f64>(8).unwrap());
    assert_eq!((a % 256, b), (0, a + 256));
}

#[test]
fn queues_and_buffers_move_between_threads() {
    let Some(queue) = gpu() else { return };
    let buffer = queue.upload(&[3_i32; 1000]).unwrap();
    let (queue, buffer) = std::thread::spawn(move || {
        assert_eq!(queue.download(&buffer).unwrap(), [3; 1000]);
        (queue, buffer)
    })
    .join()
    .unwrap();
    std::thread::spawn(move || drop(buffer)).join().unwrap();
    queue.synchronize().unwrap();
}

#[test]
fn every_embedded_kernel_loads_without_spills() {
    let Some(queue) = gpu() else { return };
    let kernels = queue.load_kernels().unwrap();
    assert_eq!(kernels.is_empty(), batchlas::cuda::modules().unwrap().is_empty());
    for kernel in kernels {
        println!("{kernel:?}");
        assert!(kernel.local_bytes == 0, "{}: {} bytes", kernel.entry, kernel.local_bytes);
    }
}

static BROKEN: &[EmbeddedModule] = &[EmbeddedModule {
    name: "gpu_runtime_broken",
    krate: "tests",
    arch: 50,
    ptx: b".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry broken() { no_such_op; ret; }\n",
    cubin: None,
    entries: &["broken"],
    resources: &[],
}];
static BROKEN_KERNEL: KernelInfo = KernelInfo {
    name: "broken",
    krate: "tests",
    file: file!(),
    line: 1,
    entries: &[Entry { name: "broken", module: "gpu_runtime_broken", bounds: None }],
    params: &[],
};

#[test]
fn the_drivers_compiler_is_heard() {
    let Some(queue) = gpu() else { return };
    batchlas::cuda::register_modules(BROKEN);
    let lane = std::sync::Arc::new(|| ());
    let call = Call { kernel: &BROKEN_KERNEL, entry: &BROKEN_KERNEL.entries[0], params: vec![], lane };
    // SAFETY: the module does not load, so nothing runs.
    let error = unsafe { queue.launch(LaunchConfig::new(1, 1), &call) }.unwrap_err();
    assert!(matches!(error, Error::Build { .. }), "{error}");
    assert!(error.to_string().contains("no_such_op"), "{error}");
}

/// The executor's results on a GPU: the same bits where a kernel keeps to IEEE 754, else the same numbers.
#[cfg(feature = "simt")]
#[test]
fn a_gpu_gives_the_executors_results() {
    use kernels::{BLOCK_SYEV, GEMM, PACK, PACKED, PANEL, SMALL_SYEV, STEBZ, STEDC, TRIDIAG, same};
    let Some(gpu) = gpu() else { return };
    for krate in [&BLOCK_SYEV, &GEMM, &PACK, &PACKED, &PANEL, &SMALL_SYEV, &STEBZ, &STEDC, &TRIDIAG] {
        let executor = Queue::simt(simt::DEFAULT_SEED);
        let (here, there) = ((krate.drive)(&gpu), (krate.drive)(&executor));
        for (on_gpu, on_executor) in here.iter().zip(&there) {
            let most = on_executor.error;
            same(on_gpu, on_executor, |x, y| x == y || (x - y).abs() <= most);
        }
    }
}
