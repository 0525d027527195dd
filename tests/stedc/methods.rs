//! `linalg::eigh_tridiagonal` by each method, and the routes of the operations behind it.

use batchlas::linalg::{EighTridiagonalOptions, Method, decide_tridiagonal};
use batchlas::ops::steqr::{Form, Problem};
use batchlas::ops::{Target, stebz, stedc};
use batchlas::{Arch, Dtype, Jobz};

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
            "the method dc has neither forms",
        ),
        (EighTridiagonalOptions { form: Some(Form::Flat), ..by(Method::Auto) }, "n is at most 32"),
    ] {
        let text = decided(40, Jobz::V, &gpu, &options);
        assert!(text.contains(words), "{text}");
    }
    assert_eq!("DC".parse::<Method>().unwrap(), Method::Dc);
    let unknown = "qz".parse::<Method>().unwrap_err().to_string();
    assert_eq!(unknown, "unknown method 'qz': one of auto, qr, dc, bisection");
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
