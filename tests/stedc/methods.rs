//! `linalg::eigh_tridiagonal` by each method, and the routes of the operations behind it.

use batchlas::linalg::{
    EighTridiagonalOptions, Method, decide_tridiagonal, eigh, eigh_tridiagonal, eigvalsh,
};
use batchlas::ops::steqr::{Form, Problem, Shift, Update};
use batchlas::ops::{Target, stebz, stedc};
use batchlas::{Arch, Batch, Dtype, Error, Jobz, Queue};

fn decided(n: usize, jobz: Jobz, target: &Target, options: &EighTridiagonalOptions) -> String {
    let problem = Problem { dtype: Dtype::F32, n, batch: 128, jobz };
    let options = EighTridiagonalOptions { jobz, ..options.clone() };
    match decide_tridiagonal(&problem, target, &options) {
        Ok(decision) => format!("{} {}", decision.operation, decision.route.family().name),
        Err(error) => error.to_string(),
    }
}

#[test]
fn auto_takes_what_a_device_has_for_the_order() {
    let (gpu, auto) = (Target::assumed(Arch(90)), EighTridiagonalOptions::default());
    for (n, jobz, target, wanted) in [
        (32, Jobz::V, &gpu, "steqr cta"),
        (32, Jobz::N, &gpu, "steqr cta"),
        (33, Jobz::V, &gpu, "stedc levels"),
        (33, Jobz::N, &gpu, "stebz bisect"),
        (224, Jobz::N, &gpu, "stebz bisect"),
        (225, Jobz::N, &gpu, "stedc levels"),
        (4096, Jobz::N, &gpu, "stedc levels"),
        (2048, Jobz::V, &gpu, "stedc levels"),
        (100_000, Jobz::N, &gpu, "stebz bisect"),
        (33, Jobz::V, &Target::CPU, "steqr cpu"),
        (33, Jobz::N, &Target::CPU, "steqr cpu"),
    ] {
        assert_eq!(decided(n, jobz, target, &auto), wanted, "n={n} {jobz}");
    }
}

#[test]
fn a_method_is_an_operation() {
    let gpu = Target::assumed(Arch(90));
    let by = |method| EighTridiagonalOptions { method, ..EighTridiagonalOptions::default() };
    assert_eq!(decided(20, Jobz::V, &gpu, &by(Method::Dc)), "stedc levels");
    assert_eq!(decided(20, Jobz::N, &gpu, &by(Method::Dc)), "stedc levels");
    assert_eq!(decided(20, Jobz::N, &gpu, &by(Method::Bisection)), "stebz bisect");
    assert_eq!(decided(99, Jobz::V, &Target::CPU, &by(Method::Dc)), "stedc cpu");
    assert_eq!(decided(99, Jobz::V, &gpu, &by(Method::Qr)), "steqr wg");
    for (options, words) in [
        (by(Method::Bisection), "bisection finds values only"),
        (
            EighTridiagonalOptions { form: Some(Form::Flat), ..by(Method::Dc) },
            "the method dc knows nothing of forms",
        ),
        (
            EighTridiagonalOptions { update: Some(Update::Pg), ..by(Method::Dc) },
            "the method dc knows nothing of updates",
        ),
        (
            EighTridiagonalOptions { shift: Some(Shift::Wilkinson), ..by(Method::Dc) },
            "the method dc knows nothing of shifts",
        ),
        (
            EighTridiagonalOptions { shift: Some(Shift::Lapack), ..by(Method::Auto) },
            "dc knows nothing of shifts: leave that out, or take the method qr",
        ),
        (
            EighTridiagonalOptions { sweeps_per_value: Some(40), ..by(Method::Auto) },
            "the method dc knows nothing of sweeps",
        ),
        (EighTridiagonalOptions { form: Some(Form::Flat), ..by(Method::Auto) }, "n is at most 32"),
    ] {
        let text = decided(40, Jobz::V, &gpu, &options);
        assert!(text.contains(words), "{text}");
    }
    // Where QL solves they are taken.
    let shifted = EighTridiagonalOptions {
        shift: Some(Shift::Wilkinson),
        sweeps_per_value: Some(40),
        ..by(Method::Auto)
    };
    assert_eq!(decided(32, Jobz::V, &gpu, &shifted), "steqr cta");
    assert_eq!(decided(99, Jobz::N, &Target::CPU, &shifted), "steqr cpu");
    assert_eq!("DC".parse::<Method>().unwrap(), Method::Dc);
    let unknown = "qz".parse::<Method>().unwrap_err().to_string();
    assert_eq!(unknown, "unknown method 'qz': one of auto, qr, dc, bisection");
}

/// What no memory holds and what no number counts: errors, also for an empty batch.
#[test]
fn sizes_at_the_end() {
    // Vectors of more bytes than a process has addresses.
    let (queue, n) = (Queue::cpu(), 1 << 22);
    let error = eigh_tridiagonal(&queue, &vec![2.0f64; n], &vec![1.0; n - 1], n).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::OutOfMemory { bytes: 140_737_488_355_328, .. }), "{text}");
    assert!(text.contains("for values only, which take 33554432 bytes"), "{text}");
    let none = eigh_tridiagonal::<f64>(&queue, &[], &[], 1 << 27).unwrap();
    assert_eq!((none.values.len(), none.status.len()), (0, 0));
    for n in [1 << 31, 1 << 33, usize::MAX] {
        assert!(matches!(eigh_tridiagonal::<f64>(&queue, &[], &[], n), Err(Error::Argument(_))), "{n}");
    }
    let empty = Batch::<f64>::zeros(1 << 31, 1 << 31, 0);
    assert_eq!(eigh(&queue, &empty).unwrap().status.len(), 0);
    assert_eq!(eigvalsh(&queue, &empty).unwrap().values.len(), 0);
}

#[test]
fn routes_are_explained_and_workspaces_known() {
    let arch = Arch(90);
    let problem = stedc::Problem { dtype: Dtype::F64, n: 1024, batch: 128, jobz: Jobz::V };
    let explained = stedc::explain(&problem, arch, None).unwrap();
    assert_eq!(explained.decision.unwrap().to_string(), "levels");
    let values = stebz::Problem { dtype: Dtype::F32, n: 2048, batch: 1 };
    let explained = stebz::explain(&values, arch, None).unwrap();
    assert_eq!(explained.decision.unwrap().to_string(), "bisect:values=1");

    let gpu = Target::assumed(arch);
    let plan = |problem| stedc::plan(&problem, &gpu, &stedc::Options::default()).unwrap().1;
    let (items, matrix) = (problem.batch, 8 * problem.n * problem.n);
    let bytes = plan(problem).workspace_bytes;
    assert!(bytes >= items * matrix / 2 && bytes < items * matrix * 6 / 10, "{bytes}");
    let values = plan(stedc::Problem { jobz: Jobz::N, ..problem }).workspace_bytes;
    assert!(values < items * matrix / 10, "{values}");
    assert_eq!(plan(stedc::Problem { batch: 0, ..problem }).workspace_bytes, 0);

    // What no block's shared memory holds, and a complex type.
    let large = stedc::Problem { n: 9000, ..problem };
    let error = stedc::plan(&large, &gpu, &stedc::Options::default()).unwrap_err().to_string();
    assert!(error.contains("bytes of shared memory a block"), "{error}");
    let complex = stedc::Problem { dtype: Dtype::C32, ..problem };
    assert!(stedc::plan(&complex, &gpu, &stedc::Options::default()).unwrap_err().to_string().contains("c32"));
}
