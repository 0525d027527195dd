//! Real input: the Coulomb matrices of 162 molecules, order 14, through every family and type.

use batchlas::{Device, Real, Scalar, Uplo};

use crate::arms::Arm;
use crate::checks::check_items;
use crate::support::Matrix;
use crate::support::random::Random;

const MATRICES: &[u8] = include_bytes!("../../examples/data/g2_coulomb.npy");
const EIGENVALUES: &[u8] = include_bytes!("../../examples/data/g2_coulomb_eigenvalues.npy");
const N: usize = 14;
const MOLECULES: usize = 162;

/// The numbers of a file of little-endian f64 in C order.
fn numbers(npy: &[u8]) -> Vec<f64> {
    let header = u16::from_le_bytes([npy[8], npy[9]]) as usize;
    npy[10 + header..].chunks_exact(8).map(|x| f64::from_le_bytes(x.try_into().unwrap())).collect()
}

/// The matrices; with phases `E A E^H`, which has the eigenvalues of A.
fn molecules(phases: bool) -> Vec<Matrix> {
    let all = numbers(MATRICES);
    assert_eq!(all.len(), MOLECULES * N * N);
    let mut random = Random::new(162);
    let molecule = |a: &[f64]| {
        let angle: Vec<f64> = (0..N).map(|_| if phases { 3.0 * random.symmetric() } else { 0.0 }).collect();
        let mut out = Matrix::zeros(N);
        for j in 0..N {
            for i in j..N {
                let (sin, cos) = (angle[i] - angle[j]).sin_cos();
                out.set(i, j, a[i * N + j] * cos, a[i * N + j] * sin);
            }
        }
        out
    };
    all.chunks(N * N).map(molecule).collect()
}

pub fn every_molecule<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue().filter(|_| arm.max_n(T::DTYPE) >= N) else { return };
    let mut items = molecules(T::DTYPE.is_complex());
    let mut exact: Vec<f64> = numbers(EIGENVALUES);
    assert_eq!(exact.len(), MOLECULES * N);
    if arm.device == Device::Simt {
        // A few, from small to large.
        let some = [0, 40, 81, 120, 161];
        items = some.iter().map(|k| items[*k].clone()).collect();
        exact = some.iter().flat_map(|k| exact[k * N..(k + 1) * N].to_vec()).collect();
    }
    for uplo in [Uplo::Lower, Uplo::Upper] {
        let solved = check_items::<T>(arm, &queue, "molecules", &items, uplo);
        // Rounding to the type moves the eigenvalues by another eps of the norm.
        let limit = (if arm.is_vendor() { 1000.0 } else { 10.0 }) * N as f64 * T::DTYPE.epsilon();
        for item in 0..items.len() {
            let exact = &exact[item * N..(item + 1) * N];
            let norm = exact.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            for (x, y) in solved.values_of(item).iter().zip(exact) {
                let off = (x.widen() - y).abs();
                assert!(off <= limit * norm, "{arm:?} {} item {item}: {x} {y}", T::DTYPE);
            }
        }
    }
}
