//! Routes of `steqr` as a user meets them.

use batchlas::linalg::{EighTridiagonalOptions, Method, eigh_tridiagonal_with};
use batchlas::ops::Target;
use batchlas::ops::steqr::{Form, OPERATION, Options, Problem, Update, explain, plan};
use batchlas::routes::{Pin, ScopedPin};
use batchlas::{Arch, Dtype, Jobz, Queue};

fn problem(dtype: Dtype, n: usize) -> Problem {
    Problem { dtype, n, batch: 4096, jobz: Jobz::V }
}

fn pin(text: &str) -> Option<Pin> {
    Some(Pin::parse(&OPERATION, text).unwrap())
}

#[test]
fn an_explanation_names_the_row_and_every_reason() {
    let asked = explain(&problem(Dtype::F64, 16), Arch(90), None).unwrap();
    let json = serde_json::to_value(&asked).unwrap();
    assert_eq!((json["op"].as_str(), json["row"]["n"].as_u64()), (Some("steqr"), Some(16)));
    if cfg!(feature = "kernels") {
        assert!(json["decision"].as_str().unwrap().starts_with("cta"), "{json}");
        let larger = explain(&problem(Dtype::F64, 40), Arch(90), None).unwrap();
        assert_eq!(larger.decision.unwrap().to_string(), "wg");
        let largest = explain(&problem(Dtype::F64, 2048), Arch(90), None).unwrap();
        let text = largest.decision.unwrap_err().to_string();
        assert!(text.contains("cta: n is at most 32") && text.contains("wg: needs 311332 bytes"), "{text}");
    }
    let error = explain(&problem(Dtype::C32, 16), Arch(90), None).unwrap_err();
    assert_eq!(error.to_string(), "steqr takes f32 or f64, not c32");
}

#[test]
fn form_and_update_pin_the_family_that_has_them() {
    let text = |options: &Options| options.pin().map(|p| p.map_or("none".to_owned(), |p| p.to_string()));
    let wanted = |form, update, route| Options { form, update, route, ..Options::default() };
    for (options, expected) in [
        (wanted(None, None, None), "none"),
        (wanted(None, None, pin("native")), "native"),
        (wanted(Some(Form::Flat), None, None), "cta:flat"),
        (wanted(None, Some(Update::Pg), pin("auto")), "cta:pg"),
        (wanted(Some(Form::Flat), Some(Update::Pg), pin("cta:warps=2")), "cta:flat,pg,warps=2"),
        (wanted(Some(Form::Flat), None, pin("cta:flat,exp")), "cta:flat,exp"),
    ] {
        assert_eq!(text(&options).unwrap(), expected);
    }
    for (options, expected) in [
        (
            wanted(Some(Form::Flat), None, pin("cta:nested")),
            "steqr route 'cta:nested': names nested, but flat is asked for",
        ),
        (
            wanted(None, Some(Update::Exp), pin("cpu")),
            "steqr route 'cpu': has neither forms nor a choice of updates",
        ),
    ] {
        assert_eq!(text(&options).unwrap_err().to_string(), expected);
    }
}

/// A family of QL makes QL the method; `auto` and `native`, which name none, do not, and `auto` undoes a pin further out.
#[test]
fn pins_without_a_family_leave_the_method_open() {
    let large = Problem { n: 40, ..problem(Dtype::F64, 0) };
    let target = Target::assumed(Arch(90));
    let method = |pin: Option<Pin>| Method::Auto.resolve(&large, &target, pin.as_ref()).unwrap();
    assert_eq!(method(None), Method::Dc);
    assert_eq!(method(pin("auto")), Method::Dc);
    assert_eq!(method(pin("native")), Method::Dc);
    assert_eq!(method(pin("wg")), Method::Qr);
    let _scope = ScopedPin::new(&OPERATION, pin("cta").unwrap());
    assert_eq!(method(None), Method::Qr);
    assert_eq!(method(pin("auto")), Method::Dc);
    let _inner = ScopedPin::new(&OPERATION, pin("native").unwrap());
    assert_eq!(method(None), Method::Dc);
}

#[test]
fn a_form_is_never_traded_for_the_cpu() {
    let (d, e) = ([1.0f64, 2.0], [0.5]);
    let options = EighTridiagonalOptions { form: Some(Form::Nested), or_cpu: true, ..Default::default() };
    let error = eigh_tridiagonal_with(&Queue::cpu(), &d, &e, 2, &options).unwrap_err().to_string();
    assert!(error.starts_with("steqr route 'cta:nested' cannot run dtype=f64 jobz=V n=2 batch=1"), "{error}");
    assert!(error.contains("these can: cpu; these cannot: wg: "), "{error}");
}

#[test]
fn budgets_past_32_bits_are_refused() {
    let options = Options { sweeps_per_value: u32::MAX, ..Options::default() };
    let error = plan(&problem(Dtype::F32, 3), &Target::CPU, &options).unwrap_err();
    assert_eq!(error.to_string(), "3 * 4294967295 sweeps pass 32 bits");
}

/// A decision names all that ran, and a pin of its text repeats it.
#[cfg(feature = "simt")]
#[test]
fn a_decision_is_a_pin() {
    let queue = Queue::simt(1);
    let target = Target::of(&queue);
    for (n, route, start) in [
        (4, None, "cta:"),
        (20, pin("cta:lockstep,pg"), "cta:lockstep,pg,private,warp,warps="),
        (20, pin("cta:decoupled"), "cta:decoupled,pg,rows="),
    ] {
        let options = Options { route, ..Options::default() };
        let (decision, planned) = plan(&problem(Dtype::F32, n), &target, &options).unwrap();
        let text = decision.to_string();
        assert!(text.starts_with(start), "{text}");
        assert_eq!(planned.workspace_bytes, 0);
        let again = Options { route: pin(&text), ..Options::default() };
        assert_eq!(plan(&problem(Dtype::F32, n), &target, &again).unwrap().0.to_string(), text);
    }
    let refused = Options { route: pin("cta:interleaved,pg"), ..Options::default() };
    let error = plan(&problem(Dtype::F32, 4), &target, &refused).unwrap_err().to_string();
    assert!(error.contains("interleaved is built for the update exp only"), "{error}");
}

/// Without a family for the order, the device gives an error or, on demand, its place to the CPU.
#[cfg(feature = "simt")]
#[test]
fn the_cpu_takes_over_where_asked_and_says_so() {
    let queue = Queue::simt(1);
    let n = 20_000;
    let (d, e) = (vec![1.0f32; n], vec![0.0; n - 1]);
    let solve = |or_cpu| {
        let options =
            EighTridiagonalOptions { or_cpu, method: Method::Qr, jobz: Jobz::N, ..Default::default() };
        eigh_tridiagonal_with(&queue, &d, &e, n, &options)
    };
    let error = solve(false).unwrap_err().to_string();
    assert!(error.contains("cta: n is at most 32") && error.contains("wg: needs 320036 bytes"), "{error}");
    let solved = solve(true).unwrap();
    assert_eq!((solved.values[n - 1], solved.route.to_string().as_str()), (1.0, "cpu"));
    let note = solved.route.note.unwrap();
    assert_eq!(note, "no family can run dtype=f32 jobz=N n=20000 batch=1 on simt: the CPU solves it");
}
