//! Launches of the kernels of `gemm`.

use batchlas::ops::gemm::{OPERATION, Op, gemm as multiply};
use batchlas::routes::Pin;
use batchlas::{Batch, Complex, DeviceBatch, Layout, Queue, Scalar};

use super::{Outcome, numbers};
use crate::support::random::Random;

/// Every family, tile and unroll of every type, with columns that are aligned to 16 bytes and without.
pub fn gemm(queue: &Queue) -> Vec<Outcome> {
    let mut outcomes = vec![];
    for unroll in [8, 16] {
        for tile in ["64x64x16", "128x64x32", "128x32x32"] {
            let route = format!("reg:{tile},unroll={unroll}");
            outcomes.push(product::<f32>(queue, &route, 9, 1));
            outcomes.push(product::<f64>(queue, &route, 9, 1));
            if unroll == 8 {
                outcomes.push(product::<Complex<f32>>(queue, &route, 9, 1));
                outcomes.push(product::<Complex<f64>>(queue, &route, 9, 1));
            }
        }
    }
    outcomes.push(product::<f32>(queue, "reg:128x128x8", 9, 1));
    outcomes.push(product::<f64>(queue, "reg:128x128x8", 9, 1));
    outcomes.push(product::<Complex<f32>>(queue, "reg:128x128x8", 9, 1));
    outcomes.push(product::<f32>(queue, "wide:128x128x8", 8, 0));
    for tile in ["64x64x16", "128x64x16", "128x128x16"] {
        for ops in [(Op::N, Op::N), (Op::N, Op::T), (Op::T, Op::N), (Op::C, Op::C)] {
            outcomes.push(product_of::<f64>(queue, ops, &format!("wide:{tile}"), 8, 0));
        }
        outcomes.push(product::<f64>(queue, &format!("wide:{tile}"), 9, 1));
    }
    outcomes.extend(of_type::<f32>(queue));
    outcomes.extend(of_type::<f64>(queue));
    outcomes.extend(of_type::<Complex<f32>>(queue));
    outcomes.extend(of_type::<Complex<f64>>(queue));
    outcomes
}

/// What all types have.
fn of_type<T: Scalar>(queue: &Queue) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> =
        [7, 15, 31, 63].into_iter().map(|m| product::<T>(queue, "small", m, 1)).collect();
    for route in ["direct", "tiled", "wide:64x64x16"] {
        outcomes.push(product::<T>(queue, route, 8, 0));
    }
    outcomes
}

/// A batch of 3 products, both sides transposed where there is a gap between columns.
fn product<T: Scalar>(queue: &Queue, route: &str, m: usize, gap: usize) -> Outcome {
    product_of::<T>(queue, if gap == 0 { (Op::N, Op::N) } else { (Op::C, Op::T) }, route, m, gap)
}

/// A batch of 3 products of m by m + 1, m + 3 deep where there is a gap between columns, else all m.
fn product_of<T: Scalar>(queue: &Queue, ops: (Op, Op), route: &str, m: usize, gap: usize) -> Outcome {
    let (batch, n, k) = (3, m + gap, m + 3 * gap);
    let mut random = Random::new((m + gap) as u64);
    let mut factor = |rows: usize, cols: usize| {
        let host =
            Batch::from_fn(rows, cols, batch, |_, _, _| T::from_f64(random.symmetric(), random.symmetric()));
        let layout = Layout::new(rows, cols, rows + gap, (rows + gap) * cols + gap, batch).expect("a layout");
        DeviceBatch::upload_as(queue, &host, layout).expect("memory")
    };
    let a = if ops.0 == Op::N { factor(m, k) } else { factor(k, m) };
    let b = if ops.1 == Op::N { factor(k, n) } else { factor(n, k) };
    let mut c = factor(m, n);
    let pin = Pin::parse(&OPERATION, route).expect("a family");
    let (alpha, beta) = (T::from_f64(0.5, 0.25), T::from_f64(-0.75, 0.5));
    let problem = format!("{route} {} {}{} m={m} gap={gap}", T::DTYPE, ops.0, ops.1);
    multiply(queue, ops, alpha, &a, &b, beta, &mut c, Some(&pin))
        .unwrap_or_else(|e| panic!("{problem}: {e}"));
    let numbers = numbers(c.download(queue).expect("a download").as_slice());
    Outcome { problem, error: 4.0 * (k + 4) as f64 * T::DTYPE.epsilon(), arrays: vec![("c", numbers)] }
}
