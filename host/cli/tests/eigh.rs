//! What `batchlas eigh` computes and writes.

mod common;

use common::{Lab, data, symmetric};
use ndarray::{ArrayD, Axis, s};
use ndarray_npy::ReadNpyExt;
use num_complex::Complex;

/// The largest |A v - w v| and |v^H v - 1| over all items, for a Hermitian `a` in C order.
fn defects(a: &[Complex<f64>], w: &ArrayD<f64>, v: &ArrayD<Complex<f64>>) -> (f64, f64) {
    let (batch, n) = (w.shape()[0], w.shape()[1]);
    let (mut residual, mut gram) = (0.0f64, 0.0f64);
    for b in 0..batch {
        let a = &a[b * n * n..][..n * n];
        for k in 0..n {
            for i in 0..n {
                let av: Complex<f64> = (0..n).map(|j| a[i * n + j] * v[[b, j, k]]).sum();
                residual = residual.max((av - v[[b, i, k]] * w[[b, k]]).norm());
                let dot: Complex<f64> = (0..n).map(|r| v[[b, r, i]].conj() * v[[b, r, k]]).sum();
                let unit = if i == k { 1.0 } else { 0.0 };
                gram = gram.max((dot - unit).norm());
            }
        }
    }
    (residual, gram)
}

fn complex(a: &[f64]) -> Vec<Complex<f64>> {
    a.iter().map(|&x| Complex::new(x, 0.0)).collect()
}

/// Hermitian matrices: a symmetric real part, an antisymmetric imaginary part.
fn hermitian(batch: usize, n: usize, seed: u64) -> Vec<Complex<f64>> {
    let (re, im) = (symmetric(batch, n, seed), symmetric(batch, n, seed + 1));
    let sign = |at: usize| {
        let (i, j) = (at / n % n, at % n);
        if i > j { 1.0 } else { -f64::from(i < j) }
    };
    (0..batch * n * n).map(|at| Complex::new(re[at], im[at] * sign(at))).collect()
}

#[test]
fn molecules_agree_with_lapack() {
    let lab = Lab::new();
    let input = data("g2_coulomb.npy");
    let run = lab
        .run(&format!("eigh {} -o out.npz --plot out.svg --device cpu --check --json", input.display()))
        .ok();
    let json = run.json();
    for (key, value) in [("op", "syev"), ("dtype", "f64"), ("device", "cpu"), ("route", "cpu")] {
        assert_eq!(json[key], value);
    }
    assert_eq!(
        (json["n"].as_u64(), json["batch"].as_u64(), json["failed_items"].as_u64()),
        (Some(14), Some(162), Some(0))
    );
    assert!(json["seconds"].as_f64().unwrap() > 0.0);
    assert!(json["max_residual"].as_f64().unwrap() <= 10.0, "{json}");
    assert!(json["max_orthogonality"].as_f64().unwrap() <= 10.0, "{json}");

    let file = std::fs::File::open(data("g2_coulomb_eigenvalues.npy")).unwrap();
    let expected = ArrayD::<f64>::read_npy(file).unwrap();
    let w = lab.array::<f64>("out.npz", "w");
    assert_eq!(w.shape(), expected.shape());
    for (mine, theirs) in w.axis_iter(Axis(0)).zip(expected.axis_iter(Axis(0))) {
        let largest = theirs.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        for (x, y) in mine.iter().zip(theirs.iter()) {
            assert!((x - y).abs() <= 1e-10 * largest, "{x} {y}");
        }
    }
    assert_eq!(lab.array::<f64>("out.npz", "v").shape(), &[162, 14, 14]);
    assert_eq!(lab.array::<i32>("out.npz", "status").into_raw_vec_and_offset().0, vec![0; 162]);
    let svg = std::fs::read_to_string(lab.path("out.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("g2_coulomb.npy") && svg.contains("162 matrices"));
    assert_eq!(lab.files(), ["out.npz", "out.svg"]);
}

#[test]
fn types_and_orders() {
    let lab = Lab::new();
    let (b, n) = (5, 6);
    let h = hermitian(b, n, 3);
    let s = symmetric(b, n, 4);
    let single: Vec<f32> = s.iter().map(|&x| x as f32).collect();
    let half: Vec<Complex<f32>> = h.iter().map(|x| Complex::new(x.re as f32, x.im as f32)).collect();
    let shape = [b, n, n];
    for fortran in [false, true] {
        let put = |name: &str, bytes: Vec<u8>| lab.write(name, &bytes);
        put("f32.npy", common::npy_bytes(&shape, &single, fortran));
        put("f64.npy", common::npy_bytes(&shape, &s, fortran));
        put("c32.npy", common::npy_bytes(&shape, &half, fortran));
        put("c64.npy", common::npy_bytes(&shape, &h, fortran));
        for dtype in ["f32", "f64", "c32", "c64"] {
            for uplo in ["lower", "upper"] {
                let args = format!("eigh {dtype}.npy -o out.npz --device cpu --uplo {uplo} --check --json");
                assert_eq!(lab.run(&args).ok().json()["dtype"], dtype);
                let (w, v, a) = match dtype {
                    "f32" => (
                        lab.array::<f32>("out.npz", "w").mapv(f64::from),
                        lab.array::<f32>("out.npz", "v").mapv(|x| Complex::new(f64::from(x), 0.0)),
                        complex(&s),
                    ),
                    "f64" => (
                        lab.array("out.npz", "w"),
                        lab.array::<f64>("out.npz", "v").mapv(|x| Complex::new(x, 0.0)),
                        complex(&s),
                    ),
                    "c32" => (
                        lab.array::<f32>("out.npz", "w").mapv(f64::from),
                        lab.array::<Complex<f32>>("out.npz", "v")
                            .mapv(|x| Complex::new(f64::from(x.re), f64::from(x.im))),
                        h.clone(),
                    ),
                    _ => (lab.array("out.npz", "w"), lab.array("out.npz", "v"), h.clone()),
                };
                let limit = if dtype.ends_with("32") { 1e-5 } else { 1e-13 };
                let (residual, gram) = defects(&a, &w, &v);
                assert!(residual < limit && gram < limit, "{dtype} {uplo} {fortran}: {residual} {gram}");
            }
        }
    }
}

#[test]
fn inputs_of_every_format_give_the_same() {
    let lab = Lab::new();
    let a = symmetric(1, 4, 9);
    lab.npy("a.npy", &[4, 4], &a);
    lab.npy_fortran("f.npy", &[4, 4], &a);
    lab.npz("a.npz", "a", &[4, 4], &a, false);
    lab.npz("z.npz", "a", &[1, 4, 4], &a, true);
    let mut array = String::from("%%MatrixMarket matrix array real symmetric\n% a comment\n4 4\n");
    let mut sparse = String::from("%%MatrixMarket matrix coordinate real symmetric\n4 4 10\n");
    for j in 0..4 {
        for i in j..4 {
            array += &format!("{:e}\n", a[i * 4 + j]);
            sparse += &format!("{} {} {:e}\n", i + 1, j + 1, a[i * 4 + j]);
        }
    }
    lab.write("array.mtx", array.as_bytes());
    lab.write("sparse.mtx", sparse.as_bytes());
    let solve = |input: &str| {
        lab.run(&format!("eigh {input} -o out.npz --device cpu")).ok();
        (lab.array::<f64>("out.npz", "w"), lab.array::<f64>("out.npz", "v"))
    };
    let first = solve("a.npy");
    assert_eq!(first.0.shape(), &[1, 4], "a single matrix is a batch of one");
    for input in ["f.npy", "a.npz", "z.npz", "array.mtx", "sparse.mtx"] {
        assert_eq!(solve(input), first, "{input}");
    }
    lab.write(
        "h.mtx",
        b"%%MatrixMarket matrix coordinate complex hermitian\n2 2 3\n1 1 1 0\n2 1 0 -1\n2 2 2 0\n",
    );
    lab.run("eigh h.mtx -o out.npz --device cpu --check").ok();
    let w = lab.array::<f64>("out.npz", "w");
    assert!((w[[0, 0]] - (3.0 - 5f64.sqrt()) / 2.0).abs() < 1e-15, "{w}");
}

#[test]
fn only_one_triangle_is_read() {
    let lab = Lab::new();
    let (b, n) = (3, 5);
    let a = symmetric(b, n, 2);
    let poisoned = |upper: bool| -> Vec<f64> {
        let keep = |i: usize, j: usize| if upper { i <= j } else { i >= j };
        (0..a.len()).map(|at| if keep(at / n % n, at % n) { a[at] } else { f64::NAN }).collect()
    };
    lab.npy("lower.npy", &[b, n, n], &poisoned(false));
    lab.npy("upper.npy", &[b, n, n], &poisoned(true));
    lab.run("eigh lower.npy -o lower.npz --device cpu").ok();
    lab.run("eigh upper.npy -o upper.npz --device cpu --uplo upper").ok();
    let (lower, upper) = (lab.array::<f64>("lower.npz", "w"), lab.array::<f64>("upper.npz", "w"));
    assert!((lower - upper).iter().all(|x| x.abs() < 1e-13));
}

#[test]
fn empty_and_tiny_shapes_are_kept() {
    let lab = Lab::new();
    for (shape, b, n) in [
        (&[0, 3, 3][..], 0, 3),
        (&[4, 0, 0], 4, 0),
        (&[0, 0, 0], 0, 0),
        (&[0, 0], 1, 0),
        (&[2, 1, 1], 2, 1),
        (&[1, 1], 1, 1),
    ] {
        lab.npy("a.npy", shape, &vec![3.0f64; shape.iter().product()]);
        let run = lab.run("eigh a.npy -o out.npz --plot out.svg --device cpu --check").ok();
        assert_eq!(run.stdout.contains("nothing was checked"), b * n == 0, "{}", run.stdout);
        assert_eq!(lab.array::<f64>("out.npz", "w").shape(), &[b, n]);
        assert_eq!(lab.array::<f64>("out.npz", "v").shape(), &[b, n, n]);
        assert_eq!(lab.array::<i32>("out.npz", "status").shape(), &[b]);
    }
    assert_eq!(lab.array::<f64>("out.npz", "w")[[0, 0]], 3.0);
    assert_eq!(lab.array::<f64>("out.npz", "v")[[0, 0, 0]], 1.0);
}

/// The norm of such a matrix has few digits: a residual in its roundings would be large where every value is right.
#[test]
fn subnormal_matrices_are_checked_by_the_steps_of_the_type() {
    let lab = Lab::new();
    let (b, n) = (2, 9);
    let steps = symmetric(b, n, 6).iter().map(|x| (x * 20.0).round() * f64::from_bits(1)).collect::<Vec<_>>();
    lab.npy("a.npy", &[b, n, n], &steps);
    let run = lab.run("eigh a.npy -o out.npz --device cpu --check --json").ok();
    assert!(run.json()["max_residual"].as_f64().unwrap() <= 10.0, "{}", run.stdout);
}

#[test]
fn a_bad_item_spoils_only_itself() {
    let lab = Lab::new();
    let (b, n) = (6, 7);
    let mut a = symmetric(b, n, 5);
    lab.npy("good.npy", &[b, n, n], &a);
    a[2 * n * n + 3 * n + 1] = f64::NAN;
    a[4 * n * n] = f64::INFINITY;
    lab.npy("bad.npy", &[b, n, n], &a);
    lab.run("eigh good.npy -o good.npz --device cpu").ok();
    let run = lab.run("eigh bad.npy -o bad.npz --plot bad.svg --device cpu --check --json");
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(run.json()["failed_items"], 2);
    assert!(run.json()["max_residual"].as_f64().unwrap() <= 10.0);
    assert!(run.stderr.contains("item 2"), "{}", run.stderr);
    let (good, bad) = (lab.array::<f64>("good.npz", "w"), lab.array::<f64>("bad.npz", "w"));
    let (good_v, bad_v) = (lab.array::<f64>("good.npz", "v"), lab.array::<f64>("bad.npz", "v"));
    let status = lab.array::<i32>("bad.npz", "status");
    for i in 0..b {
        let failed = i == 2 || i == 4;
        assert_eq!(status[[i]], if failed { -1 } else { 0 });
        if failed {
            assert!(bad.slice(s![i, ..]).iter().all(|x| x.is_nan()));
            assert!(bad_v.slice(s![i, .., ..]).iter().all(|x| x.is_nan()));
        } else {
            assert_eq!(bad.slice(s![i, ..]), good.slice(s![i, ..]));
            assert_eq!(bad_v.slice(s![i, .., ..]), good_v.slice(s![i, .., ..]));
        }
    }
    assert!(lab.files().contains(&"bad.svg".to_string()));
}

#[test]
fn a_check_of_failed_items_alone_says_that_it_checked_nothing() {
    let lab = Lab::new();
    lab.npy("a.npy", &[2, 2, 2], &[f64::NAN; 8]);
    let run = lab.run("eigh a.npy --device cpu --check");
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stdout.contains("nothing was checked") && !run.stdout.contains("passed"), "{}", run.stdout);
    let json = lab.run("eigh a.npy --device cpu --check --json").json();
    assert_eq!((json["checked_items"].as_u64(), json["failed_items"].as_u64()), (Some(0), Some(2)));
    assert!(json["max_residual"].is_null() && json["max_orthogonality"].is_null(), "{json}");
    assert!(json.get("max_residual").is_some(), "{json}");
    let json = lab.run("eigh a.npy --device cpu --json").json();
    assert!(json.get("max_residual").is_none() && json.get("checked_items").is_none(), "{json}");
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let lab = Lab::new();
    lab.npy("a.npy", &[2, 3, 3], &symmetric(2, 3, 6));
    let names = [
        "BATCHLAS_SYEV_ROUTE",
        "BATCHLAS_TUNE_CHUNK_ITEMS",
        "BATCHLAS_TUNED_DIR",
        "BATCHLAS_COVERAGE",
        "BATCHLAS_SIMT_SEED",
    ];
    let env = names.map(|name| (name, ""));
    lab.run_with("eigh a.npy --device cpu", &env).ok();
    lab.run_with("eigh a.npy --device simt --route cta", &env).ok();
}

#[test]
fn values_only() {
    let lab = Lab::new();
    lab.npy("a.npy", &[3, 8, 8], &symmetric(3, 8, 6));
    lab.run("eigh a.npy -o all.npz --device cpu").ok();
    let run = lab.run("eigh a.npy -o out.npz --device cpu --values-only --json").ok();
    assert_eq!(run.json()["jobz"], "N");
    assert_eq!(lab.arrays("out.npz"), ["status", "w"]);
    let difference = lab.array::<f64>("out.npz", "w") - lab.array::<f64>("all.npz", "w");
    assert!(difference.iter().all(|x| x.abs() < 1e-13));
}

#[test]
fn text_says_what_was_done() {
    let lab = Lab::new();
    lab.npy("a.npy", &[3, 8, 8], &symmetric(3, 8, 6));
    let run = lab.run("eigh a.npy --device cpu --check").ok();
    for word in ["3 matrices of 8x8", "f64", "cpu", "residual", "orthogonality", "item 0"] {
        assert!(run.stdout.contains(word), "'{word}' is not in {}", run.stdout);
    }
    assert_eq!(lab.files(), ["a.npy"]);
    assert_eq!(run.stderr, "");
}

#[test]
fn a_second_run_replaces_the_first() {
    let lab = Lab::new();
    lab.npy("a.npy", &[3, 8, 8], &symmetric(3, 8, 6));
    lab.npy("b.npy", &[2, 2], &symmetric(1, 2, 6));
    lab.run("eigh a.npy -o out.npz --device cpu").ok();
    lab.run("eigh b.npy -o out.npz --device cpu").ok();
    assert_eq!(lab.array::<f64>("out.npz", "w").shape(), &[1, 2]);
    assert_eq!(lab.files(), ["a.npy", "b.npy", "out.npz"]);
}

#[test]
fn the_executor_solves_and_counts() {
    let lab = Lab::new();
    let (b, n) = (3, 5);
    let a = symmetric(b, n, 8);
    lab.npy("a.npy", &[b, n, n], &a);
    let run = lab.run("eigh a.npy -o out.npz --device simt --route cta --check --counters").ok();
    for word in ["simt", "cta", "collectives", "model"] {
        assert!(run.stdout.contains(word), "'{word}' is not in {}", run.stdout);
    }
    let v = lab.array::<f64>("out.npz", "v").mapv(|x| Complex::new(x, 0.0));
    let (residual, gram) = defects(&complex(&a), &lab.array("out.npz", "w"), &v);
    assert!(residual < 1e-13 && gram < 1e-13, "{residual} {gram}");
    let json = lab.run("eigh a.npy --device simt --route cta --counters --json").ok().json();
    assert!(json["counters"][0]["collectives"].as_u64().unwrap() > 0, "{json}");
}
