//! Queues, buffers and launches on the CPU executor, with a kernel of this test's own.
#![cfg(feature = "simt")]

use batchlas::{Batch, Device, DeviceBatch, Error, Layout, Queue};
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;

/// `y[i] = factor * x[i]` for a thread an element.
#[kernel(T = [f32, f64], launch_bounds(64))]
unsafe fn scale<T: Scalar>(x: Global<T>, y: GlobalMut<T>, n: u32, factor: u32) {
    let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if i < n {
        y.set(i as usize, x.get(i as usize).scale(<T::Real as Real>::from_u32(factor)));
    }
}

fn launch_scale(queue: &Queue, x: Global<f64>, y: GlobalMut<f64>, n: u32) -> batchlas::Result<()> {
    let call = scale::call::<f64>(x, y, n, 3)?;
    // SAFETY: the buffers belong to the queue, and the executor ends the kernel before it returns.
    unsafe { queue.launch(LaunchConfig::for_num_elems(n, 64), &call) }
}

#[test]
fn a_kernel_reads_and_writes_the_queues_buffers() {
    let queue = Queue::simt(1);
    let x: Vec<f64> = (0..100).map(f64::from).collect();
    let source = queue.upload(&x).unwrap();
    let mut target = queue.alloc::<f64>(100).unwrap();
    launch_scale(&queue, source.view(), target.view_mut(), 100).unwrap();
    let expected: Vec<f64> = x.iter().map(|x| 3.0 * x).collect();
    assert_eq!(queue.download(&target).unwrap(), expected);

    let records = queue.take_launches();
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].entry, records[0].config.grid), ("scale_f64", 2));
    assert_eq!(records[0].counters.global_accesses, 200);
    assert!(queue.take_launches().is_empty());
}

#[test]
fn reads_of_what_nothing_wrote_are_found_until_something_writes() {
    let queue = Queue::simt(1);
    let mut source = queue.alloc::<f64>(8).unwrap();
    let mut target = queue.alloc::<f64>(8).unwrap();
    let error = launch_scale(&queue, source.view(), target.view_mut(), 8).unwrap_err();
    let Error::Findings { kernel, findings, .. } = &error else { panic!("{error}") };
    assert_eq!(kernel, "scale_f64");
    assert!(findings[0].contains("runtime_simt.rs"), "{error}");
    queue.upload_into(&[1.0; 8], &mut source).unwrap();
    launch_scale(&queue, source.view(), target.view_mut(), 8).unwrap();
    // What a kernel wrote, a later kernel may read.
    let mut third = queue.alloc::<f64>(8).unwrap();
    launch_scale(&queue, target.view(), third.view_mut(), 8).unwrap();
    assert_eq!(queue.download(&third).unwrap(), [9.0; 8]);
}

#[test]
fn a_workspace_taken_again_is_stale() {
    let queue = Queue::simt(1);
    let source = queue.upload(&[1.0; 8]).unwrap();
    let bytes = batchlas::workspace_bytes::<f64>(8);
    let first = queue.workspace(bytes).unwrap().take::<f64>(8).unwrap();
    launch_scale(&queue, source.view(), first, 8).unwrap();
    let mut target = queue.alloc::<f64>(8).unwrap();
    launch_scale(&queue, first.as_global(), target.view_mut(), 8).unwrap();

    let mut workspace = queue.workspace(bytes).unwrap();
    assert!(queue.workspace(bytes).is_err(), "one operation at a time holds the workspace");
    let again = workspace.take::<f64>(8).unwrap();
    assert!(workspace.take::<f64>(1).is_err(), "the parts pass the bytes asked for");
    assert_eq!(again.as_ptr(), first.as_ptr());
    assert!(launch_scale(&queue, again.as_global(), target.view_mut(), 8).is_err());
}

#[test]
fn accesses_past_a_buffer_are_found() {
    let queue = Queue::simt(1);
    let source = queue.upload(&[1.0; 8]).unwrap();
    let mut target = queue.alloc::<f64>(7).unwrap();
    let error = launch_scale(&queue, source.view(), target.view_mut(), 8).unwrap_err().to_string();
    assert!(error.contains("scale_f64") && error.contains("`y`"), "{error}");
}

#[test]
fn launches_are_checked_before_they_run() {
    let queue = Queue::simt(1);
    let source = queue.upload(&[1.0_f32; 8]).unwrap();
    let mut target = queue.alloc::<f32>(8).unwrap();
    let call = scale::call::<f32>(source.view(), target.view_mut(), 8, 2).unwrap();
    // SAFETY: refused before anything runs.
    let error = unsafe { queue.launch(LaunchConfig::new(1, 65), &call) }.unwrap_err().to_string();
    assert!(error.contains("launch bounds"), "{error}");
    // SAFETY: as above.
    let error = unsafe { Queue::cpu().launch(LaunchConfig::new(1, 8), &call) }.unwrap_err().to_string();
    assert!(error.contains("cpu"), "{error}");
}

#[test]
fn gaps_of_a_device_batch_stay_as_they_were() {
    let queue = Queue::simt(1);
    let host = Batch::<f32>::from_fn(3, 2, 2, |item, i, j| (100 * item + 10 * j + i) as f32);
    let layout = Layout::new(3, 2, 5, 13, 2).unwrap();
    let mut device = DeviceBatch::upload_as(&queue, &host, layout).unwrap();
    let all = device.buffer_mut().as_host_mut_slice().unwrap();
    assert_eq!((all.len(), all[13 + 5 + 1]), (13 + 8, 111.0));
    for (place, element) in all.iter_mut().enumerate() {
        let (item, rest) = (place / 13, place % 13);
        let gap = rest % 5 >= 3 || rest / 5 >= 2;
        assert_eq!(*element == 0.0, gap || (item, rest) == (0, 0), "place {place}");
    }
    assert_eq!(device.download(&queue).unwrap(), host);

    let mut wide = Batch::from_parts(vec![-1.0_f32; 30], Layout::new(3, 2, 4, 15, 2).unwrap()).unwrap();
    device.download_into(&queue, wide.view_mut()).unwrap();
    assert_eq!(wide.get(1, 2, 1), 112.0);
    assert_eq!((wide.as_slice()[3], wide.as_slice()[7], wide.as_slice()[29]), (-1.0, -1.0, -1.0));
    assert!(device.download_into(&queue, Batch::zeros(2, 3, 2).view_mut()).is_err());
}

#[test]
fn a_part_of_a_buffer_is_downloaded_and_its_end_is_kept() {
    let queue = Queue::simt(1);
    let buffer = queue.upload(&[1.0f64, 2.0, 3.0, 4.0]).unwrap();
    let mut two = [0.0; 2];
    queue.download_part(&buffer, 1, &mut two).unwrap();
    assert_eq!(two, [2.0, 3.0]);
    queue.download_part(&buffer, 4, &mut []).unwrap();
    let text = queue.download_part(&buffer, 3, &mut two).unwrap_err().to_string();
    assert_eq!(text, "2 elements from 3 on: the buffer has 4");
    assert!(queue.download_part(&buffer, usize::MAX, &mut two).is_err());
    assert!(Queue::simt(1).download_part(&buffer, 0, &mut two).is_err());
}

#[test]
fn pinned_buffers_and_events_work_without_a_gpu() {
    let queue = Queue::new(Device::Simt).unwrap();
    let start = queue.record().unwrap();
    let mut pinned = queue.pinned::<u32>(4).unwrap();
    pinned.as_mut_slice().unwrap().copy_from_slice(&[1, 2, 3, 4]);
    let mut buffer = queue.alloc::<u32>(4).unwrap();
    queue.upload_async(&mut pinned, &mut buffer).unwrap();
    queue.fill_bytes(&mut buffer, 0xff).unwrap();
    queue.download_async(&buffer, &mut pinned).unwrap();
    assert_eq!(pinned.as_slice().unwrap(), [u32::MAX; 4]);
    let end = queue.record().unwrap();
    assert!(end.is_done().unwrap() && end.since(&start).unwrap().as_secs() < 60);
}
