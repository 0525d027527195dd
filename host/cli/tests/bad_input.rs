//! Everything a user can get wrong: exit status 1, one line on stderr, no file left.

mod common;

use common::{Lab, npy_bytes, npy_raw, symmetric};

fn header(descr: &str, shape: &str) -> String {
    format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}")
}

/// Runs `eigh INPUT -o out.npz --plot plot.svg` and checks that only the input is there afterwards.
#[track_caller]
fn refused(lab: &Lab, input: &str, word: &str) {
    let before = lab.files();
    lab.run(&format!("eigh {input} -o out.npz --plot plot.svg --device cpu")).refused(word);
    assert_eq!(lab.files(), before);
}

#[test]
fn shapes() {
    let lab = Lab::new();
    for (shape, word) in [
        (&[3, 4][..], "(3, 4): matrices of 3x4 are not square"),
        (&[2, 3, 4], "3x4 are not square"),
        (&[9], "(9,)"),
        (&[2, 2, 2, 2], "(2, 2, 2, 2)"),
        (&[], "shape ()"),
        (&[0, 2, 3], "not square"),
    ] {
        lab.npy("a.npy", shape, &vec![1.0f64; shape.iter().product()]);
        refused(&lab, "a.npy", word);
    }
}

#[test]
fn element_types() {
    let lab = Lab::new();
    lab.npy("a.npy", &[2, 2], &[1i64, 2, 2, 1]);
    refused(&lab, "a.npy", "int64");
    lab.npy("a.npy", &[2, 2], &[true, false, false, true]);
    refused(&lab, "a.npy", "bool");
    for (descr, word) in [
        ("'<f2'", "float16"),
        ("'|O'", "Python objects"),
        ("'<U8'", "<U8"),
        ("[('x', '<f8'), ('y', '<f8')]", "structured"),
        ("'<f16'", "long double"),
    ] {
        lab.write("a.npy", &npy_raw(&header(descr, "(2, 2)"), &[0; 64]));
        refused(&lab, "a.npy", word);
    }
}

#[test]
fn files_that_are_not_what_they_say() {
    let lab = Lab::new();
    refused(&lab, "missing.npy", "missing.npy: No such file");
    std::fs::create_dir(lab.path("folder.npy")).unwrap();
    refused(&lab, "folder.npy", "directory");
    lab.write("a.npy", b"");
    refused(&lab, "a.npy", "empty");
    lab.write("a.npy", b"1 2\n2 1\n");
    refused(&lab, "a.npy", "not a .npy file");
    lab.write("a.txt", b"1 2\n2 1\n");
    refused(&lab, "a.txt", "unknown format");
    lab.write("a.npz", b"not a zip");
    refused(&lab, "a.npz", "not a .npz file");
    lab.write("a.npz", b"PK\x03\x04 and nothing more");
    refused(&lab, "a.npz", "a.npz");
    lab.npz("a.npz", "b", &[2, 2], &[1.0f64; 4], false);
    refused(&lab, "a.npz", "no array 'a' (the archive holds b)");
    lab.npz("a.npz", "a", &[2, 3], &[1.0f64; 6], true);
    refused(&lab, "a.npz", "array 'a': shape (2, 3)");
    lab.write("a.mtx", b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n2\n1\n");
    refused(&lab, "a.mtx", "a.mtx: line 1: the matrix is general");
}

#[test]
fn damaged_files() {
    let lab = Lab::new();
    let whole = npy_bytes(&[4, 5, 5], &symmetric(4, 5, 1), false);
    for cut in [3, 7, 9, 40, 128, whole.len() - 1] {
        lab.write("a.npy", &whole[..cut]);
        refused(&lab, "a.npy", if cut < 6 { "not a .npy file" } else { "cut short" });
    }
    lab.write("a.npy", &[&whole[..], b"tail"].concat());
    refused(&lab, "a.npy", "4 bytes follow");
    let mut huge = b"\x93NUMPY\x02\x00".to_vec();
    huge.extend(u32::MAX.to_le_bytes());
    lab.write("a.npy", &huge);
    refused(&lab, "a.npy", "4294967295 bytes");
    lab.write("a.npy", &npy_raw(&"(".repeat(9000), b""));
    refused(&lab, "a.npy", "header");
    lab.write("a.npy", b"\x93NUMPY\x09\x00\x10\x00");
    refused(&lab, "a.npy", "version 9.0");

    lab.npz("a.npz", "a", &[4, 5, 5], &symmetric(4, 5, 1), true);
    let whole = std::fs::read(lab.path("a.npz")).unwrap();
    lab.write("a.npz", &whole[..whole.len() / 2]);
    refused(&lab, "a.npz", "a.npz: ");
    let mut flipped = whole.clone();
    flipped[whole.len() / 3] ^= 0x55;
    lab.write("a.npz", &flipped);
    refused(&lab, "a.npz", "a.npz: ");
}

#[test]
fn shapes_that_no_memory_holds() {
    let lab = Lab::new();
    for (shape, data, word) in [
        ("(1000000000, 1000, 1000)", &[0; 64][..], "cut short"),
        ("(18446744073709551615, 3, 3)", &[0; 64], "larger than any memory"),
        ("(1000000000000000000, 1000000000000000000)", &[], "larger than any memory"),
        ("(99999999999999999999999, 3, 3)", &[], "header cannot be read"),
        // No element at all, but a status for each item.
        ("(4611686018427387904, 0, 0)", &[], "out of memory"),
        ("(18446744073709551615, 0, 0)", &[], "out of memory"),
        // Nor here, but the product of two orders overflows, or its bytes do.
        ("(0, 1000000000000000000, 1000000000000000000)", &[], "order 1000000000000000000 is larger"),
        ("(0, 4294967296, 4294967296)", &[], "order 4294967296 is larger"),
        ("(0, 3037000500, 3037000500)", &[], "order 3037000500 is larger"),
    ] {
        for name in ["a.npy", "a.npz"] {
            let array = npy_raw(&header("'<f8'", shape), data);
            if name == "a.npy" {
                lab.write(name, &array)
            } else {
                lab.npz_raw(name, "a", &array)
            }
            refused(&lab, name, &format!("{name}: "));
            refused(&lab, name, word);
        }
    }
}

#[test]
fn outputs_that_cannot_be_written() {
    let lab = Lab::new();
    lab.npy("a.npy", &[3, 3], &symmetric(1, 3, 1));
    lab.npz("a.npz", "a", &[3, 3], &symmetric(1, 3, 1), false);
    std::fs::create_dir(lab.path("dir.npz")).unwrap();
    let before = lab.files();
    for (args, word) in [
        ("a.npy -o none/out.npz", "none/out.npz: cannot be written: No such file"),
        ("a.npy -o dir.npz", "is a directory"),
        ("a.npy -o out.npy", "must end in .npz"),
        ("a.npy -o /dev/null", "must end in .npz"),
        ("a.npy -o a.npy/out.npz", "out.npz: "),
        ("a.npz -o a.npz", "replace the input"),
        ("a.npy -o out.npz --plot out.png", "must end in .svg"),
        ("a.npy -o out.npz --plot none/p.svg", "none/p.svg: cannot be written"),
    ] {
        lab.run(&format!("eigh --device cpu {args}")).refused(word);
        assert_eq!(lab.files(), before, "{args}");
    }
}

#[test]
fn routes_and_devices() {
    let lab = Lab::new();
    lab.npy("a.npy", &[2, 40, 40], &symmetric(2, 40, 1));
    let before = lab.files();
    for (args, words) in [
        ("--route nonsense --device cpu", &["nonsense", "cpu", "cta"][..]),
        ("--route cta --device simt", &["cta", "40"]),
        ("--route cta --device cpu", &["cta"]),
        ("--route cpu:x=1 --device cpu", &["cpu:x=1"]),
        ("--device gpu", &["gpu", "auto, cpu, simt, cuda, cuda:N"]),
        ("--device cuda:x", &["cuda:x"]),
        ("--counters --device cpu", &["--counters", "simt"]),
        ("--check --values-only", &["--check", "--values-only"]),
        ("--uplo left", &["left", "lower, upper"]),
        ("--nonsense", &["--nonsense"]),
    ] {
        for word in words {
            lab.run(&format!("eigh a.npy -o out.npz {args}")).refused(word);
        }
        assert_eq!(lab.files(), before, "{args}");
    }
    let env = [("BATCHLAS_SYEV_ROUTE", "nonsense")];
    for args in ["--device cpu", "--device cpu --route cpu", "--route cpu", "--device simt --route cta"] {
        lab.run_with(&format!("eigh a.npy -o out.npz {args}"), &env)
            .refused("'nonsense' (BATCHLAS_SYEV_ROUTE)");
    }
    lab.run_with("routes syev --dtype f32 --n 4 --batch 1", &env).refused("BATCHLAS_SYEV_ROUTE");
    // Also where another operation runs.
    for name in ["BATCHLAS_GEMM_ROUTE", "BATCHLAS_STEDC_ROUTE"] {
        lab.run_with("eigh a.npy -o out.npz --device cpu", &[(name, "bogus")])
            .refused(&format!("'bogus' ({name})"));
    }
    for name in ["BATCHLAS_SYEVD_ROUTE", "BATCHLAS_TUNE_CHUNK_ITEM"] {
        lab.run_with("eigh a.npy -o out.npz --device cpu", &[(name, "")]).refused(name);
    }
    let env = [("BATCHLAS_TUNE_CHUNK_ITEMS", "0")];
    lab.run_with("eigh a.npy -o out.npz --device cpu", &env).refused("BATCHLAS_TUNE_CHUNK_ITEMS=0");
    let solve = "eigh a.npy -o out.npz --device cpu";
    for (args, name, value) in [
        ("routes syev --dtype f32 --n 4 --batch 1", "BATCHLAS_TUNED_DIR", "no/folder"),
        (solve, "BATCHLAS_COVERAGE", "no/folder/c"),
        (solve, "BATCHLAS_TRACE", "no/folder/t"),
        (solve, "RAYON_NUM_THREADS", "many"),
    ] {
        let run = lab.run_with(args, &[(name, value)]);
        run.refused(&format!("{name}={value}: "));
        assert!(!run.stderr.contains("os error"), "{}", run.stderr);
    }
    for (name, meant) in
        [("BATCHLAS_SYEV_ROUT", "BATCHLAS_SYEV_ROUTE"), ("BATCHLAS_SIMTSEED", "BATCHLAS_SIMT_SEED")]
    {
        lab.run_with(solve, &[(name, "1")]).refused(&format!("{name}: is {meant} meant"));
    }
    let env = [("BATCHLAS_SIMT_SEED", "many")];
    lab.run_with("eigh a.npy -o out.npz --device simt", &env).refused("BATCHLAS_SIMT_SEED");
    assert_eq!(lab.files(), before);
}

#[test]
fn a_gpu_that_is_not_there() {
    let lab = Lab::new();
    lab.npy("a.npy", &[2, 4, 4], &symmetric(2, 4, 1));
    // An ordinal that no machine has, so that the test holds with GPUs too.
    lab.run("eigh a.npy -o out.npz --device cuda:4000000000").refused("cuda");
    assert_eq!(lab.files(), ["a.npy"]);
}

#[test]
fn other_commands() {
    let lab = Lab::new();
    for (args, word) in [
        ("routes nonsense --dtype f32 --n 4 --batch 1", "syev"),
        ("routes syev --dtype f16 --n 4 --batch 1", "f32, f64, c32, c64"),
        ("routes syev --n 4 --batch 1", "--dtype"),
        ("routes syev --dtype f32 --n 4 --batch 1 --jobz X", "X"),
        ("routes syev --dtype f32 --n 4 --batch 1 --arch 90", "sm_90"),
        ("kernels --arch hopper", "sm_90"),
        ("kernels nonsense", "syev_cta_f32"),
        ("nonsense", "nonsense"),
    ] {
        lab.run(args).refused(word);
    }
}

/// Runs `eigh-tridiagonal INPUT -o out.npz` and checks that only the input is there afterwards.
#[track_caller]
fn refused_tridiagonal(lab: &Lab, input: &str, word: &str) {
    let before = lab.files();
    lab.run(&format!("eigh-tridiagonal {input} -o out.npz --plot plot.svg --device cpu")).refused(word);
    assert_eq!(lab.files(), before);
}

#[test]
fn tridiagonal_files() {
    let lab = Lab::new();
    let of = |shape: &[usize]| npy_bytes(shape, &vec![1.0f64; shape.iter().product()], false);
    refused_tridiagonal(&lab, "missing.npz", "missing.npz: No such file");
    lab.write("a.npz", b"");
    refused_tridiagonal(&lab, "a.npz", "empty");
    lab.npy("a.npy", &[4], &[1.0f64; 4]);
    refused_tridiagonal(&lab, "a.npy", "numpy.savez");
    lab.write("a.npz", b"PK\x03\x04 and nothing more");
    refused_tridiagonal(&lab, "a.npz", "a.npz: ");
    for (arrays, word) in [
        (vec![("d", of(&[3, 4]))], "no array 'e' (the archive holds d)"),
        (vec![("e", of(&[3, 4])), ("a", of(&[2, 2]))], "no array 'd' (the archive holds a, e)"),
        (vec![("d", of(&[3, 4])), ("e", of(&[3, 4]))], "array 'e': shape (3, 4): (3, 3) is needed"),
        (vec![("d", of(&[4])), ("e", of(&[1, 3]))], "array 'e': shape (1, 3): (3,) is needed"),
        (
            vec![("d", of(&[2, 2, 2])), ("e", of(&[2, 2, 1]))],
            "array 'd': shape (2, 2, 2): (batch, n) or (n,)",
        ),
        (vec![("d", of(&[4])), ("e", npy_bytes(&[3], &[1.0f32; 3], false))], "d is float64, e is float32"),
        (vec![("d", of(&[4])), ("e", npy_bytes(&[3], &[1i32; 3], false))], "array 'e': elements are int32"),
        (
            vec![("d", of(&[2])), ("e", npy_bytes(&[1], &[num_complex::Complex::new(1.0f64, 0.0)], false))],
            "d and e are real",
        ),
        (vec![("d", of(&[4])[..100].to_vec()), ("e", of(&[3]))], "array 'd': the file is cut short"),
        (vec![("d", npy_raw(&header("'<f8'", "(99999999999, 1)"), b"")), ("e", of(&[3]))], "array 'd': "),
    ] {
        lab.npz_of("a.npz", &arrays, false);
        refused_tridiagonal(&lab, "a.npz", word);
    }
    // No element at all, but vectors or statuses that no memory holds.
    let empty = |shape: &str| npy_raw(&header("'<f8'", shape), b"");
    for (d, e) in [
        ("(4611686018427387904, 0)", "(4611686018427387904, 0)"),
        ("(0, 9223372036854775807)", "(0, 9223372036854775806)"),
    ] {
        lab.npz_of("a.npz", &[("d", empty(d)), ("e", empty(e))], false);
        refused_tridiagonal(&lab, "a.npz", "a.npz: ");
    }
}

/// Vectors of more bytes than a process has addresses: an error before any work, which says what is possible.
#[test]
fn results_that_no_memory_holds() {
    let lab = Lab::new();
    let n = 1 << 22;
    let (d, e) = (npy_bytes(&[n], &vec![2.0f64; n], false), npy_bytes(&[n - 1], &vec![1.0f64; n - 1], false));
    lab.npz_of("long.npz", &[("d", d), ("e", e)], false);
    lab.run("eigh-tridiagonal long.npz -o out.npz --device cpu").refused("--values-only");
    assert_eq!(lab.files(), ["long.npz"]);
}

#[test]
fn tridiagonal_options() {
    let lab = Lab::new();
    let arrays = [
        ("d", npy_bytes(&[2, 40], &vec![1.0f64; 80], false)),
        ("e", npy_bytes(&[2, 39], &vec![0.5f64; 78], false)),
    ];
    lab.npz_of("a.npz", &arrays, true);
    let before = lab.files();
    for (args, words) in [
        ("--route nonsense --device cpu", &["nonsense", "cpu", "cta", "wg"][..]),
        ("--route wg --device cpu", &["wg", "needs a GPU or the executor"]),
        ("--route cta --device simt", &["cta", "40", "n is at most 32"]),
        ("--form flat --device cpu", &["cta:flat", "needs a GPU or the executor"]),
        ("--form flat --route cta:nested --device simt", &["names nested, but flat is asked for"]),
        ("--form flat --route cpu --device cpu", &["neither forms nor a choice of updates"]),
        ("--form decoupled --update exp --device simt", &["cta:decoupled,exp"]),
        ("--form loose", &["loose", "auto, nested, flat, lockstep, decoupled"]),
        ("--update qr", &["qr", "exp, pg"]),
        ("--shift rayleigh", &["rayleigh", "lapack, wilkinson"]),
        ("--shift lapack --method dc --device cpu", &["--method dc has none of", "--shift"]),
        ("--shift wilkinson --device simt", &["dc knows nothing of shifts", "the method qr"]),
        ("--route levels:rows=8 --device simt", &["unknown steqr route", "goes with --method dc"]),
        ("--route bisect --values-only --device simt", &["goes with --method bisection"]),
        ("--route cta --method dc --device simt", &["unknown stedc route", "goes with --method qr"]),
        ("--check --values-only", &["--check", "--values-only"]),
        ("--counters --device cpu", &["--counters", "simt"]),
        ("--uplo lower", &["--uplo"]),
    ] {
        for word in words {
            lab.run(&format!("eigh-tridiagonal a.npz -o out.npz {args}")).refused(word);
        }
        assert_eq!(lab.files(), before, "{args}");
    }
    let env = [("BATCHLAS_STEQR_ROUTE", "nonsense")];
    lab.run_with("eigh-tridiagonal a.npz -o out.npz --device cpu", &env).refused("BATCHLAS_STEQR_ROUTE");
    lab.run("eigh-tridiagonal a.npz -o a.npz --device cpu").refused("replace the input");
    assert_eq!(lab.files(), before);
}
