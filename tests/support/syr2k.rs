//! Launches the update behind a panel by itself, against sums in double precision.

use batchlas::{Batch, Complex, DeviceBatch, Layout, Queue, Scalar};
use cuda_std::launch::LaunchConfig;
use kernels_panel::shape::Syr2k;
use kernels_panel::syr2k::syr2k;

use super::{KernelScalar, Outcome, numbers};
use crate::support::random::Random;

/// A panel of `width` columns up to column `first` of matrices of order `n`.
#[derive(Clone, Copy)]
struct Shape {
    n: usize,
    ld: usize,
    first: usize,
    width: usize,
}

/// Every type and tile: several tiles, by 16 bytes and by elements, whole panels and others.
pub fn updates(queue: &Queue) -> Vec<Outcome> {
    let wide = Shape { n: 32 + 72, ld: 104, first: 32, width: 32 };
    let odd = Shape { n: 9 + 67, ld: 77, first: 9, width: 7 };
    let large = Shape { n: 16 + 132, ld: 152, first: 16, width: 12 };
    let mut outcomes = vec![];
    for shape in [wide, odd] {
        outcomes.push(update::<f32, 64>(queue, shape));
        outcomes.push(update::<f64, 64>(queue, shape));
        outcomes.push(update::<Complex<f32>, 64>(queue, shape));
        outcomes.push(update::<Complex<f64>, 64>(queue, shape));
    }
    outcomes.push(update::<f32, 128>(queue, large));
    outcomes.push(update::<f32, 128>(queue, Shape { n: 3 + 35, ld: 39, first: 3, width: 1 }));
    outcomes
}

fn update<T: KernelScalar, const TILE: u32>(queue: &Queue, shape: Shape) -> Outcome {
    let Shape { n, ld, first, width } = shape;
    let batch = 2;
    let mut random = Random::new((n + first) as u64);
    let mut next = || T::from_f64(random.symmetric(), random.symmetric());
    // What lies above the diagonal is neither read nor written.
    let before = Batch::<T>::from_fn(n, n, batch, |_, i, j| if i < j { T::nan() } else { next() });
    let w: Vec<T> = (0..n * width * batch).map(|_| next()).collect();
    let layout = Layout::new(n, n, ld, ld * n + 4, batch).expect("a layout");
    let mut a = DeviceBatch::upload_as(queue, &before, layout).expect("an upload");
    let w_device = queue.upload(&w).expect("an upload");

    let side = (n - first).div_ceil(TILE as usize);
    let tiles = side * (side + 1) / 2;
    let call = syr2k::call::<T, TILE>(
        a.buffer_mut().view_mut(),
        w_device.view(),
        n as u32,
        layout.ld() as u32,
        layout.stride() as u64,
        (n * width) as u64,
        first as u32,
        width as u32,
        tiles as u32,
    );
    let block = Syr2k::new(TILE, size_of::<T>(), size_of::<<T as Scalar>::Real>());
    let config = LaunchConfig::new((batch * tiles) as u32, block.threads).with_shared(block.bytes as u32);
    // SAFETY: the buffers hold the batch and live until the download has waited for the kernel.
    unsafe { queue.launch(config, &call.expect("an entry")) }.expect("no finding");
    let after = a.download(queue).expect("a download");

    let problem = format!("syr2k {} tile={TILE} n={n} first={first} width={width}", T::DTYPE);
    let error = 16.0 * (width + 1) as f64 * T::DTYPE.epsilon();
    for item in 0..batch {
        for j in 0..n {
            for i in 0..n {
                let (x, y) = (double(before.get(item, i, j)), double(after.get(item, i, j)));
                if j < first || i < j {
                    assert!(x == y || x.re.is_nan() && y.re.is_nan(), "{problem}: ({i}, {j}) is touched");
                    continue;
                }
                let mut sum = x;
                for k in 0..width {
                    let v = |row: usize| double(before.get(item, row, first - width + k));
                    let w = |row: usize| double(w[(item * width + k) * n + row]);
                    sum -= v(i) * w(j).conj() + w(i) * v(j).conj();
                }
                if i == j {
                    sum.im = 0.0;
                    assert_eq!(y.im, 0.0, "{problem}: ({i}, {j}) is real");
                }
                assert!((y - sum).norm() <= error, "{problem}: ({i}, {j}) is {y}, not {sum}");
            }
        }
    }
    Outcome { problem, error, arrays: vec![("a", numbers(after.as_slice()))] }
}

fn double<T: Scalar>(x: T) -> Complex<f64> {
    Complex::new(batchlas::Real::widen(x.re()), batchlas::Real::widen(x.im()))
}
