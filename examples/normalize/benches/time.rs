//! Both numbers of lanes against each other on a GPU: `cargo bench --features cuda`.

use std::time::Duration;

use batchlas::cuda::EmbeddedModule;
use batchlas::measure::{Arm, interleaved};
use batchlas::{Device, DeviceBuffer, Queue, Result};
use kernels_normalize::config;
use kernels_normalize::normalize;

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// One instantiation; what it overwrites is restored before each run.
struct Tiles<'a, const P: u32> {
    n: u32,
    batch: u32,
    before: &'a DeviceBuffer<f32>,
    x: DeviceBuffer<f32>,
    norms: DeviceBuffer<f32>,
}

impl<const P: u32> Arm for Tiles<'_, P> {
    fn prepare(&mut self, queue: &Queue) -> Result<()> {
        queue.copy(self.before, &mut self.x)
    }

    fn run(&mut self, queue: &Queue) -> Result<()> {
        let call = normalize::call::<f32, P>(self.x.view_mut(), self.norms.view_mut(), self.n, self.batch)?;
        // SAFETY: the buffers hold the batch and outlive the kernel: `main` waits for each round.
        unsafe { queue.launch(config(self.batch, P), &call) }
    }
}

fn main() -> Result<()> {
    batchlas::cuda::register_modules(MODULES);
    let queue = match Queue::new(Device::Cuda(0)) {
        Ok(queue) => queue,
        Err(error) => {
            eprintln!("skipped: {error}");
            return Ok(());
        }
    };
    println!("{}, {TOOL_CHAIN}", queue.device_name());
    let batch = 1 << 20;
    for n in [8, 16, 32, 64] {
        let before = queue.upload(&vec![1.5_f32; (n * batch) as usize])?;
        let buffers = || -> batchlas::Result<_> {
            Ok((queue.alloc((n * batch) as usize)?, queue.alloc(batch as usize)?))
        };
        let ((x, norms), (x2, norms2)) = (buffers()?, buffers()?);
        let mut eight = Tiles::<8> { n, batch, before: &before, x, norms };
        let mut whole = Tiles::<32> { n, batch, before: &before, x: x2, norms: norms2 };
        let times = interleaved(&queue, &mut [&mut eight, &mut whole], 21, Duration::from_secs(2))?;
        for (lanes, times) in [8, 32].into_iter().zip(times) {
            // Each element is read and written once, as far as memory goes.
            let bytes = 8.0 * f64::from(n) * f64::from(batch);
            let (median, spread) = (times.median(), times.spread());
            let (us, rate) = (1e6 * median, 1e-9 * bytes / median);
            println!("n={n:2} lanes={lanes:2}: {us:8.1} us, {rate:6.0} GB/s, spread {spread:.2}");
        }
    }
    Ok(())
}
