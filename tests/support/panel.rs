//! Launches every kernel of the crate `panel`, and of `pack` those around a reduction.

use batchlas::ops::{ormqr, sytrd};
use batchlas::routes::Pin;
use batchlas::{Batch, Complex, DeviceBatch, DeviceBuffer, Layout, Queue, Scalar, Uplo};

use super::{Outcome, integers, numbers};
use crate::support::{self, random::Random};

/// A panel that is not the last, in two sizes of block.
pub fn panel(queue: &Queue) -> Vec<Outcome> {
    let mut outcomes = reductions(queue, 45, Some("blocked:nb=20,warps=2,tail=0"));
    outcomes.extend(reductions(queue, 67, Some("blocked:nb=32,warps=4,tail=0")));
    outcomes.extend(reductions(queue, 36, Some("blocked:nb=16,warps=2,grid=2,tail=0")));
    outcomes.extend(super::syr2k::updates(queue));
    // Panels of 32 reflectors, where 64 are the usual.
    for nb in [32, 64] {
        let apply = Some(format!("blocked:nb={nb}"));
        outcomes.push(reduction::<f64>(queue, 40, None, apply.as_deref()));
        outcomes.push(reduction::<Complex<f32>>(queue, 70, None, apply.as_deref()));
    }
    outcomes
}

/// A reduction and its product of reflectors in every type.
pub fn reductions(queue: &Queue, n: usize, route: Option<&str>) -> Vec<Outcome> {
    vec![
        reduction::<f32>(queue, n, route, None),
        reduction::<f64>(queue, n, route, None),
        reduction::<Complex<f32>>(queue, n, route, None),
        reduction::<Complex<f64>>(queue, n, route, None),
    ]
}

/// A batch of two items, the second bad, after its reduction.
pub struct Reduced<T: Scalar> {
    /// The triangle that was read: by the order's parity.
    pub uplo: Uplo,
    pub a: DeviceBatch<T>,
    pub d: DeviceBuffer<T::Real>,
    pub e: DeviceBuffer<T::Real>,
    pub tau: DeviceBuffer<T>,
    pub status: DeviceBuffer<i32>,
}

impl<T: Scalar> Reduced<T> {
    pub fn new(queue: &Queue, n: usize, route: Option<&str>) -> Self {
        let (batch, uplo) = (2, if n % 2 == 1 { Uplo::Upper } else { Uplo::Lower });
        let layout = Layout::new(n, n, n + 1, (n + 1) * n + 2, batch).expect("a layout");
        let mut random = Random::new(n as u64);
        let items: Vec<_> = (0..batch).map(|_| random.hermitian(n)).collect();
        let mut host = support::poisoned::<T>(&items, uplo);
        host.set(1, 0, 0, T::nan());
        let mut a = DeviceBatch::upload_as(queue, &host, layout).expect("an upload");
        let mut d = queue.alloc::<T::Real>(n * batch).expect("memory");
        let mut e = queue.alloc::<T::Real>((n - 1) * batch).expect("memory");
        let mut tau = queue.alloc::<T>(n * batch).expect("memory");
        let mut status = queue.alloc::<i32>(batch).expect("memory");
        let out = sytrd::Tridiagonal { d: &mut d, e: &mut e, tau: &mut tau, status: &mut status };
        let pin = route.map(|route| Pin::parse(&sytrd::OPERATION, route).expect("a route"));
        sytrd::solve(queue, &mut a, out, &sytrd::Options { uplo, route: pin })
            .unwrap_or_else(|error| panic!("sytrd {} n={n} {route:?} {uplo}: {error}", T::DTYPE));
        Reduced { uplo, a, d, e, tau, status }
    }
}

/// A batch with one bad item.
fn reduction<T: Scalar>(queue: &Queue, n: usize, route: Option<&str>, apply: Option<&str>) -> Outcome {
    let Reduced { uplo, a, d, e, tau, status } = Reduced::<T>::new(queue, n, route);
    let (batch, layout) = (a.batch(), a.layout());
    let identity = Batch::<T>::from_fn(n, n, batch, |_, i, j| T::from_f64(f64::from(u8::from(i == j)), 0.0));
    let mut q = DeviceBatch::upload_as(queue, &identity, layout).expect("an upload");
    let apply = apply.map(|route| Pin::parse(&ormqr::OPERATION, route).expect("a route"));
    let options = ormqr::Options { shift: 1, route: apply, ..Default::default() };
    ormqr::solve(queue, &a, &tau, &mut q, &options).expect("no finding");
    let arrays = vec![
        ("status", integers(&queue.download(&status).expect("a download"))),
        ("d", numbers(&queue.download(&d).expect("a download"))),
        ("e", numbers(&queue.download(&e).expect("a download"))),
        ("q", numbers(q.download(queue).expect("a download").as_slice())),
    ];
    // Roots and quotients are correctly rounded on both devices, sums in the same order; tensor cores have an order of
    // their own, which the reduction of such items makes some hundred times larger.
    let double = T::DTYPE.real() == batchlas::Dtype::F64;
    let error = if double { 16.0 * (n * n) as f64 * T::DTYPE.epsilon() } else { 0.0 };
    Outcome { problem: format!("sytrd {} n={n} {uplo}", T::DTYPE), error, arrays }
}
