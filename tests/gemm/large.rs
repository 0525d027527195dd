//! On a GPU alone: offsets past 2^31 elements, and memory where there is enough of it.

use batchlas::ops::gemm::{OPERATION, Op, gemm};
use batchlas::routes::Pin;
use batchlas::{Batch, BatchRef, Device, DeviceBatch, Layout, Queue};

use crate::support;

/// A GPU with so many free bytes.
fn queue(bytes: u64) -> Option<Queue> {
    let queue = support::queue(Device::Cuda(0))?;
    let free = queue.memory_info().expect("a device").map_or(0, |memory| memory.free);
    if free < bytes {
        eprintln!("skipped: {bytes} bytes are needed, {free} are free");
        return None;
    }
    Some(queue)
}

const N: usize = 70;

fn numbers() -> Batch<f32> {
    Batch::from_fn(N, N, 2, |item, i, j| ((item + 3 * i + 5 * j) % 17) as f32 - 8.0)
}

/// What A times B is, in whole numbers that f32 holds.
fn wanted(item: usize, i: usize, j: usize) -> f32 {
    let x = numbers();
    (0..N).map(|k| x.get(item, i, k) * x.get(item, k, j)).sum()
}

fn routes() -> Vec<Pin> {
    let all = [
        "direct",
        "tiled",
        "reg:64x64x16",
        "reg:128x128x8",
        "reg:128x64x32",
        "reg:128x32x32",
        "wide",
        "wide:64x64x16",
    ];
    all.iter().map(|route| Pin::parse(&OPERATION, route).expect("a route")).collect()
}

/// The second item of A begins past 2^31 elements, then that of C does.
#[test]
fn items_past_two_to_the_31_elements() {
    let stride = (1 << 31) + 4096;
    let Some(queue) = queue(2 * 4 * stride as u64 + (1 << 30)) else { return };
    let far = Layout::new(N, N, N, stride, 2).expect("a layout");
    let near = DeviceBatch::upload(&queue, &numbers()).expect("memory");
    let mut spread = DeviceBatch::<f32>::alloc(&queue, far).expect("memory");
    let identity = Batch::<f32>::from_fn(N, N, 2, |_, i, j| f32::from(i == j));
    let identity = DeviceBatch::upload(&queue, &identity).expect("memory");
    for pin in routes() {
        queue.fill_bytes(spread.buffer_mut(), 0xff).expect("memory");
        gemm(&queue, (Op::N, Op::N), 1.0, &near, &identity, 0.0, &mut spread, Some(&pin)).expect("a product");
        let mut c = DeviceBatch::<f32>::alloc(&queue, Layout::packed(N, N, 2)).expect("memory");
        gemm(&queue, (Op::N, Op::N), 1.0, &spread, &near, 0.0, &mut c, Some(&pin)).expect("a product");
        let c = c.download(&queue).expect("a download");
        for (item, i, j) in [(0, 0, 0), (1, 0, 0), (1, N - 1, N - 1), (1, 3, 50)] {
            assert_eq!(c.get(item, i, j), wanted(item, i, j), "{pin}: item {item} ({i}, {j})");
        }
    }
}

/// Columns so far apart that the last ones begin past 2^31 elements.
#[test]
fn columns_past_two_to_the_31_elements() {
    let ld = (1 << 25) + 64;
    let Some(queue) = queue(4 * (ld * N) as u64 + (1 << 30)) else { return };
    let far = Layout::new(N, N, ld, ld * N, 1).expect("a layout");
    let first = numbers();
    let layout = Layout::packed(N, N, 1);
    let first = BatchRef::new(&first.as_slice()[..N * N], layout).expect("an item");
    let near = DeviceBatch::upload(&queue, first).expect("memory");
    let identity = Batch::<f32>::from_fn(N, N, 1, |_, i, j| f32::from(i == j));
    let identity = DeviceBatch::upload(&queue, &identity).expect("memory");
    let mut spread = DeviceBatch::<f32>::alloc(&queue, far).expect("memory");
    for pin in routes() {
        gemm(&queue, (Op::N, Op::N), 1.0, &near, &identity, 0.0, &mut spread, Some(&pin)).expect("a product");
        let mut c = DeviceBatch::<f32>::alloc(&queue, layout).expect("memory");
        gemm(&queue, (Op::N, Op::N), 1.0, &near, &spread, 0.0, &mut c, Some(&pin)).expect("a product");
        let c = c.download(&queue).expect("a download");
        for (i, j) in [(0, 0), (N - 1, N - 1), (3, 50)] {
            assert_eq!(c.get(0, i, j), wanted(0, i, j), "{pin}: ({i}, {j})");
        }
    }
}
