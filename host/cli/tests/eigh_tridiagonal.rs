//! What `batchlas eigh-tridiagonal` computes and writes.

mod common;

use common::{Lab, npy_bytes};
use ndarray::{ArrayD, s};

/// Numbers between -1 and 1, the same for the same seed.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    common::symmetric(1, count.max(1), seed).into_iter().take(count).collect()
}

/// Writes `d` (b, n) and `e` (b, n - 1).
fn chains(lab: &Lab, name: &str, shape: (usize, usize), d: &[f64], e: &[f64]) {
    let (b, n) = shape;
    let arrays = [("d", npy_bytes(&[b, n], d, false)), ("e", npy_bytes(&[b, n - 1], e, false))];
    lab.npz_of(name, &arrays, false);
}

/// The largest |T v - w v| and |v^T v - 1| over all items.
fn defects(d: &[f64], e: &[f64], w: &ArrayD<f64>, v: &ArrayD<f64>) -> (f64, f64) {
    let (batch, n) = (w.shape()[0], w.shape()[1]);
    let (mut residual, mut gram) = (0.0f64, 0.0f64);
    for (b, k) in (0..batch).flat_map(|b| (0..n).map(move |k| (b, k))) {
        let (d, e) = (&d[b * n..], &e[b * (n - 1)..]);
        for i in 0..n {
            let below = if i > 0 { e[i - 1] * v[[b, i - 1, k]] } else { 0.0 };
            let above = if i + 1 < n { e[i] * v[[b, i + 1, k]] } else { 0.0 };
            residual = residual.max((below + d[i] * v[[b, i, k]] + above - w[[b, k]] * v[[b, i, k]]).abs());
            let dot: f64 = (0..n).map(|r| v[[b, r, i]] * v[[b, r, k]]).sum();
            gram = gram.max((dot - f64::from(u8::from(i == k))).abs());
        }
    }
    (residual, gram)
}

#[test]
fn values_and_vectors_of_both_types_and_shifts() {
    let lab = Lab::new();
    let (b, n) = (5, 9);
    let (d, e) = (numbers(b * n, 1), numbers(b * (n - 1), 2));
    chains(&lab, "f64.npz", (b, n), &d, &e);
    let single = |x: &[f64]| x.iter().map(|x| *x as f32).collect::<Vec<_>>();
    let arrays =
        [("e", npy_bytes(&[b, n - 1], &single(&e), true)), ("d", npy_bytes(&[b, n], &single(&d), true))];
    lab.npz_of("f32.npz", &arrays, true);
    for shift in ["lapack", "wilkinson"] {
        let run = |input: &str| {
            let args =
                format!("eigh-tridiagonal {input} -o out.npz --device cpu --shift {shift} --check --json");
            lab.run(&args).ok().json()
        };
        let json = run("f64.npz");
        for (key, value) in
            [("op", "steqr"), ("dtype", "f64"), ("device", "cpu"), ("route", "cpu"), ("shift", shift)]
        {
            assert_eq!(json[key], value, "{json}");
        }
        assert_eq!((json["n"].as_u64(), json["batch"].as_u64()), (Some(9), Some(5)));
        assert_eq!((json["failed_items"].as_u64(), json["checked_items"].as_u64()), (Some(0), Some(5)));
        assert!(json["max_residual"].as_f64().unwrap() <= 10.0, "{json}");
        assert!(json["max_orthogonality"].as_f64().unwrap() <= 10.0, "{json}");
        let (residual, gram) = defects(&d, &e, &lab.array("out.npz", "w"), &lab.array("out.npz", "v"));
        assert!(residual < 1e-14 && gram < 1e-14, "{residual} {gram}");
        assert_eq!(run("f32.npz")["dtype"], "f32");
        let (w, v) = (lab.array::<f32>("out.npz", "w"), lab.array::<f32>("out.npz", "v"));
        let (residual, gram) = defects(&d, &e, &w.mapv(f64::from), &v.mapv(f64::from));
        assert!(residual < 2e-6 && gram < 2e-6, "{residual} {gram}");
    }
}

#[test]
fn a_single_matrix_is_a_batch_of_one() {
    let lab = Lab::new();
    let (d, e) = (numbers(6, 3), numbers(5, 4));
    chains(&lab, "two.npz", (1, 6), &d, &e);
    lab.npz_of("one.npz", &[("d", npy_bytes(&[6], &d, false)), ("e", npy_bytes(&[5], &e, false))], false);
    let solve = |input: &str| {
        lab.run(&format!("eigh-tridiagonal {input} -o out.npz --device cpu")).ok();
        (lab.array::<f64>("out.npz", "w"), lab.array::<f64>("out.npz", "v"))
    };
    let one = solve("one.npz");
    assert_eq!(one.0.shape(), &[1, 6]);
    assert_eq!(solve("two.npz"), one);
    let json = lab.run("eigh-tridiagonal one.npz -o n.npz --device cpu --values-only --json").ok().json();
    assert_eq!(json["jobz"], "N");
    assert_eq!(lab.arrays("n.npz"), ["status", "w"]);
    assert!((lab.array::<f64>("n.npz", "w") - one.0).iter().all(|x| x.abs() < 1e-14));
}

#[test]
fn empty_and_tiny_shapes_are_kept() {
    let lab = Lab::new();
    for (d, e, b, n) in [
        (&[0, 3][..], &[0, 2][..], 0, 3),
        (&[4, 0], &[4, 0], 4, 0),
        (&[0], &[0], 1, 0),
        (&[2, 1], &[2, 0], 2, 1),
        (&[1], &[0], 1, 1),
    ] {
        let of = |shape: &[usize]| {
            let data = vec![3.0f64; shape.iter().product::<usize>().max(1)];
            npy_bytes(shape, &data[..shape.iter().product()], false)
        };
        lab.npz_of("a.npz", &[("d", of(d)), ("e", of(e))], false);
        lab.run("eigh-tridiagonal a.npz -o out.npz --plot out.svg --device cpu --check").ok();
        assert_eq!(lab.array::<f64>("out.npz", "w").shape(), &[b, n]);
        assert_eq!(lab.array::<f64>("out.npz", "v").shape(), &[b, n, n]);
        assert_eq!(lab.array::<i32>("out.npz", "status").shape(), &[b]);
    }
    assert_eq!(lab.array::<f64>("out.npz", "w")[[0, 0]], 3.0);
    assert_eq!(lab.array::<f64>("out.npz", "v")[[0, 0, 0]], 1.0);
}

#[test]
fn a_bad_item_spoils_only_itself() {
    let lab = Lab::new();
    let (b, n) = (6, 7);
    let (mut d, mut e) = (numbers(b * n, 5), numbers(b * (n - 1), 6));
    chains(&lab, "good.npz", (b, n), &d, &e);
    d[2 * n + 3] = f64::NAN;
    e[4 * (n - 1)] = f64::INFINITY;
    chains(&lab, "bad.npz", (b, n), &d, &e);
    lab.run("eigh-tridiagonal good.npz -o out.npz --device cpu").ok();
    let (good, good_v) = (lab.array::<f64>("out.npz", "w"), lab.array::<f64>("out.npz", "v"));
    let run = lab.run("eigh-tridiagonal bad.npz -o out.npz --device cpu --check --json");
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(run.json()["failed_items"], 2);
    assert!(run.stderr.contains("item 2") && run.stderr.contains("item 4"), "{}", run.stderr);
    let (w, v) = (lab.array::<f64>("out.npz", "w"), lab.array::<f64>("out.npz", "v"));
    let status = lab.array::<i32>("out.npz", "status");
    for i in 0..b {
        let failed = i == 2 || i == 4;
        assert_eq!(status[[i]], if failed { -1 } else { 0 });
        if failed {
            assert!(w.slice(s![i, ..]).iter().all(|x| x.is_nan()));
            assert!(v.slice(s![i, .., ..]).iter().all(|x| x.is_nan()));
        } else {
            assert_eq!(w.slice(s![i, ..]), good.slice(s![i, ..]));
            assert_eq!(v.slice(s![i, .., ..]), good_v.slice(s![i, .., ..]));
        }
    }
}

#[test]
fn text_says_what_was_done() {
    let lab = Lab::new();
    chains(&lab, "a.npz", (3, 8), &numbers(24, 7), &numbers(21, 8));
    let run = lab.run("eigh-tridiagonal a.npz --device cpu --check").ok();
    for word in ["3 tridiagonal matrices of 8x8, f64", "route cpu", "residual", "item 0"] {
        assert!(run.stdout.contains(word), "'{word}' is not in {}", run.stdout);
    }
    assert_eq!(lab.files(), ["a.npz"]);
}

/// Every form on the executor; the route that is printed repeats the run.
#[test]
fn forms_on_the_executor() {
    let lab = Lab::new();
    let (b, n) = (3, 5);
    let (d, e) = (numbers(b * n, 9), numbers(b * (n - 1), 10));
    chains(&lab, "a.npz", (b, n), &d, &e);
    let solve = |args: &str| {
        let json =
            lab.run(&format!("eigh-tridiagonal a.npz -o out.npz --device simt --json {args}")).ok().json();
        (
            json["route"].as_str().unwrap().to_string(),
            lab.array::<f64>("out.npz", "w"),
            lab.array("out.npz", "v"),
        )
    };
    let (_, w, v) = solve("--form nested --update exp");
    for (args, words) in [
        ("", "cta:"),
        ("--form nested --update exp --check", "cta:nested,exp,"),
        ("--form flat --update exp", "cta:flat,exp,"),
        ("--form lockstep --update exp", "cta:lockstep,exp,"),
        ("--form lockstep --update pg", "cta:lockstep,pg,"),
        ("--form decoupled", "cta:decoupled,pg"),
    ] {
        let (route, other_w, other_v) = solve(args);
        assert!(route.starts_with(words), "{args}: {route}");
        if words.contains("exp") {
            assert_eq!((&other_w, &other_v), (&w, &v), "{args}");
        }
        let (residual, gram) = defects(&d, &e, &other_w, &other_v);
        assert!(residual < 1e-14 && gram < 1e-14, "{args}: {residual} {gram}");
        let again = solve(&format!("--route {route}"));
        assert_eq!(again, (route, other_w, other_v), "{args}");
    }
}

/// Above n = 32 a GPU's families are those of other operations; the method and the route that are printed repeat the run.
#[test]
fn methods_on_the_executor() {
    let lab = Lab::new();
    let (b, n) = (2, 40);
    let (d, e) = (numbers(b * n, 11), numbers(b * (n - 1), 12));
    chains(&lab, "a.npz", (b, n), &d, &e);
    let solve = |args: &str| {
        lab.run(&format!("eigh-tridiagonal a.npz -o out.npz --device simt --json {args}")).ok().json()
    };
    let json = solve("--check");
    let route = json["route"].as_str().unwrap().to_owned();
    assert_eq!(json["op"], "stedc", "{json}");
    assert!(route.starts_with("levels:") && json["shift"].is_null(), "{json}");
    let (w, v) = (lab.array::<f64>("out.npz", "w"), lab.array("out.npz", "v"));
    let (residual, gram) = defects(&d, &e, &w, &v);
    assert!(residual < 1e-13 && gram < 1e-13, "{residual} {gram}");
    solve(&format!("--method dc --route {route}"));
    assert_eq!((lab.array("out.npz", "w"), lab.array("out.npz", "v")), (w.clone(), v));

    for (args, op, family) in [
        ("--values-only", "stebz", "bisect:"),
        ("--values-only --method bisection --route bisect:values=1", "stebz", "bisect:values=1"),
        ("--values-only --method dc", "stedc", "levels:"),
        ("--method qr", "steqr", "wg"),
    ] {
        let json = solve(args);
        assert_eq!(json["op"], op, "{args}: {json}");
        assert!(json["route"].as_str().unwrap().starts_with(family), "{args}: {json}");
        let off = (lab.array::<f64>("out.npz", "w") - &w).iter().fold(0.0f64, |m, x| m.max(x.abs()));
        assert!(off < 1e-13, "{args}: {off}");
    }
    for (args, words) in [
        ("--method qr --form flat", "n is at most 32"),
        ("--method bisection", "finds values only"),
        ("--method dc --form flat", "has none of --form, --update and --shift"),
        ("--method dc --route cta", "unknown stedc route 'cta'"),
        ("--route levels", "unknown steqr route 'levels'"),
    ] {
        lab.run(&format!("eigh-tridiagonal a.npz -o out.npz --device simt {args}")).refused(words);
    }
}
