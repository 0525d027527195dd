//! `blocked` whose reduction ends, or is done, by one launch.
#![cfg(any(feature = "simt", feature = "cuda"))]

use batchlas::{Device, Scalar, Uplo};

use crate::arms::Arm;
use crate::checks::check_items;
use crate::support::random::Random;

/// Random items of one order, both triangles on a GPU.
pub fn random_items<T: Scalar>(arm: Arm, orders: &[usize]) {
    let Some(queue) = arm.queue() else { return };
    for &n in orders {
        let mut random = Random::new(n as u64);
        let items = [random.hermitian(n), random.hermitian(n)];
        for uplo in [Uplo::Lower, Uplo::Upper] {
            if arm.device != Device::Simt || (uplo == Uplo::Upper) == n.is_multiple_of(2) {
                check_items::<T>(arm, &queue, "random", &items, uplo);
            }
        }
    }
}

#[cfg(feature = "simt")]
#[test]
fn on_the_executor() {
    random_items::<f32>(Arm { device: Device::Simt, route: "blocked:tail=160" }, &[130]);
    random_items::<f64>(Arm { device: Device::Simt, route: "blocked:tail=64" }, &[63, 70]);
    random_items::<batchlas::Complex<f32>>(Arm { device: Device::Simt, route: "blocked:tail=64" }, &[48]);
    random_items::<batchlas::Complex<f64>>(Arm { device: Device::Simt, route: "blocked:tail=96" }, &[65]);
}

#[cfg(feature = "cuda")]
mod cuda {
    use super::*;
    use batchlas::ops::Target;
    use batchlas::ops::syev::{Problem, plan};
    use batchlas::{Complex, Dtype, Jobz};

    macro_rules! on_a_gpu {
        ($($dtype:ident = $t:ty;)*) => { $(
            #[test]
            fn $dtype() { all::<$t>(); }
        )* };
    }
    on_a_gpu! {
        f32 = f32;
        f64 = f64;
        c32 = Complex<f32>;
        c64 = Complex<f64>;
    }

    fn all<T: Scalar>() {
        let routes: &[(usize, &'static str)] = match T::DTYPE {
            Dtype::C64 => &[(64, "blocked:tail=64"), (128, "blocked:tail=128"), (160, "blocked:tail=160")],
            Dtype::F32 => &[
                (96, "blocked:tail=96"),
                (192, "blocked:tail=192"),
                (256, "blocked:tail=256"),
                (320, "blocked:tail=320"),
            ],
            _ => &[
                (96, "blocked:tail=96"),
                (160, "blocked:tail=160"),
                (192, "blocked:tail=192"),
                (256, "blocked:tail=256"),
            ],
        };
        // What a smaller tail has room for is the same launch as with that one.
        let mut previous = 0;
        for &(tail, route) in routes {
            let arm = Arm { device: Device::Cuda(0), route };
            let Some(queue) = arm.queue() else { return };
            let problem = Problem { dtype: T::DTYPE, n: 300, batch: 2, jobz: Jobz::V, uplo: Uplo::Lower };
            if let Err(error) = plan(&problem, &Target::of(&queue), Some(&arm.pin())) {
                eprintln!("skipped: {error}");
                continue;
            }
            let orders = [33, 64, 65, 96, 97, 128, 129, 160, 192, 200, 224, 256, 300, 320, 500];
            let larger: Vec<usize> = orders.into_iter().filter(|n| *n > previous).collect();
            random_items::<T>(arm, &larger);
            previous = tail;
        }
    }
}
