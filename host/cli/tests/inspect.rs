//! `info`, `kernels`, `routes` and the help texts.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::Lab;

#[test]
fn every_command_explains_itself() {
    let lab = Lab::new();
    let top = lab.run("--help").ok().stdout;
    for command in
        ["eigh", "eigh-tridiagonal", "info", "kernels", "routes", "bench", "accuracy", "compare", "tune"]
    {
        assert!(top.contains(command));
        let help = lab.run(&format!("{command} --help")).ok().stdout;
        assert!(help.contains("Usage: batchlas") && help.contains("Examples:"), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
    assert!(lab.run("--version").ok().stdout.starts_with("batchlas "));
    assert_eq!(lab.run("").code, 1);
}

/// Names of environment variables of ours in a source text.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| {
        word.strip_prefix("BATCHLAS_").is_some_and(|rest| !rest.is_empty() && !rest.ends_with('_'))
    })
}

fn sources(folder: &Path, each: &mut dyn FnMut(&str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            sources(&path, each);
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            each(text.split("#[cfg(test)]").next().unwrap());
        }
    }
}

#[test]
fn help_and_documentation_list_every_variable() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut read: BTreeSet<String> = BTreeSet::new();
    // What the program is made of; the builder's own variables are the build's, but for ptxas.
    for folder in ["host", "device/simt/src"] {
        sources(&root.join(folder), &mut |text| read.extend(variables(text).map(str::to_string)));
    }
    read.extend(batchlas::ops::OPERATIONS.iter().map(|operation| batchlas::routes::variable(operation)));
    read.insert("BATCHLAS_PTXAS".to_string());
    let help = Lab::new().run("--help").ok().stdout;
    let page = std::fs::read_to_string(root.join("docs/cli.md")).unwrap();
    for name in &read {
        assert!(page.contains(name.as_str()), "docs/cli.md lacks {name}");
        // Messages of the library also name what its build reads.
        let of_build = ["BATCHLAS_ARCHS", "BATCHLAS_COMMIT", "BATCHLAS_PTX_DIR"].contains(&name.as_str());
        assert!(of_build || help.contains(name.as_str()), "--help lacks {name}");
    }
    assert!(read.len() >= 7, "{read:?}");
}

#[test]
fn info_names_devices_modules_and_tables() {
    let lab = Lab::new();
    let text = lab.run("info").ok().stdout;
    for word in [
        "cpu",
        "simt",
        "driver",
        "tool chain",
        "syev_cta_f32",
        "syev.sm_90",
        "steqr.sm_90",
        "cuSOLVER",
        "cuBLAS",
    ] {
        assert!(text.contains(word), "'{word}' is not in {text}");
    }
    let json = lab.run("info --json").ok().json();
    assert!(json["modules"].as_array().unwrap().iter().any(|m| m["name"] == "syev_cta_f32"));
    assert!(json["tables"].as_array().unwrap().iter().any(|t| t["op"] == "syev" && t["arch"] == "sm_90"));
}

#[test]
fn kernels_tell_what_each_one_costs() {
    let lab = Lab::new();
    let json = lab.run("kernels syev_cta_f32 --arch sm_90 --json").ok().json();
    let kernels = json["kernels"].as_array().unwrap();
    let assembled = json["resources_from"].as_str().unwrap().starts_with("ptxas");
    let known = |kernel: &&serde_json::Value| kernel["registers"].as_u64().is_some_and(|count| count > 0);
    let count = kernels.iter().filter(known).count();
    assert!(kernels.iter().all(|kernel| kernel["module"] == "syev_cta_f32"), "{json}");
    assert!(count > 0 && (count == kernels.len() || !assembled), "{json}");
    for kernel in kernels {
        assert!(kernel["instructions"].as_u64().unwrap() > 0, "{kernel}");
        for key in ["stack_bytes", "spill_store_bytes", "spill_load_bytes", "shared_bytes"] {
            assert_eq!(kernel[key].is_u64(), kernel["registers"].is_u64(), "{kernel}");
        }
    }
}

#[test]
fn routes_show_row_candidates_and_decision() {
    let lab = Lab::new();
    let json = lab.run("routes syev --dtype f32 --n 16 --batch 4096 --arch sm_90 --json").ok().json();
    assert_eq!(json["op"], "syev");
    assert_eq!(json["row"]["dtype"], "f32");
    let candidates = json["candidates"].as_array().unwrap();
    assert!(candidates.contains(&json["decision"]), "{json}");
    let text = lab.run("routes syev --dtype c64 --n 200 --batch 4 --jobz N").ok().stdout;
    assert!(text.contains("c64") && text.contains("decision"), "{text}");
    let pinned = [("BATCHLAS_SYEV_ROUTE", "cta")];
    let json = lab.run_with("routes syev --dtype f32 --n 16 --batch 4096 --json", &pinned).ok().json();
    assert!(json["decision"].as_str().unwrap().starts_with("cta"), "{json}");
}

/// The rules that the table of sm_89 was transcribed from, as the command shows them: unfiltered.
#[test]
fn routes_of_sm_89_are_the_published_rules() {
    let lab = Lab::new();
    let ask = |dtype: &str, jobz: &str, n: usize| {
        let ask =
            format!("routes syev --arch sm_89 --dtype {dtype} --jobz {jobz} --n {n} --batch 4096 --json");
        lab.run(&ask).ok().json()
    };
    for (dtype, jobz, firsts) in [
        (
            "f32",
            "V",
            &[(8, "jacobi"), (9, "cta_fused"), (64, "blocked"), (448, "blocked"), (449, "two_stage")][..],
        ),
        ("f32", "V", &[(1025, "vendor")]),
        ("f64", "V", &[(16, "jacobi"), (448, "blocked"), (449, "vendor")]),
        ("c32", "V", &[(8, "cta_fused"), (9, "cta"), (512, "blocked"), (513, "vendor")]),
        ("c64", "V", &[(24, "cta"), (25, "vendor"), (256, "blocked"), (257, "vendor")]),
        ("f32", "N", &[(320, "blocked"), (321, "two_stage")]),
        ("f64", "N", &[(320, "blocked"), (321, "two_stage")]),
        ("c32", "N", &[(320, "blocked"), (321, "two_stage")]),
        ("c64", "N", &[(320, "blocked"), (321, "two_stage")]),
    ] {
        for (n, first) in firsts {
            let json = ask(dtype, jobz, *n);
            assert_eq!(json["candidates"][0], *first, "{dtype} {jobz} n={n}: {json}");
            assert_eq!(json["arch"], "sm_89");
        }
    }
    let json = ask("c64", "V", 25);
    assert_eq!(json["candidates"][1], "cta", "{json}");
    let json = ask("f32", "V", 2000);
    assert_eq!(json["decision"], "vendor", "it counts as present: {json}");
    assert_eq!(json["refused"]["two_stage"], "not built yet", "listed, and its reason told: {json}");
}

/// The kernels are compiled for sm_80 and newer: an older GPU has the vendor's routines or nothing.
#[test]
fn routes_of_a_gpu_that_is_too_old() {
    let lab = Lab::new();
    let json = lab.run("routes syev --dtype f32 --n 16 --batch 9 --arch sm_75 --json").ok().json();
    assert_eq!(
        (&json["decision"], &json["refused"]["cta"]),
        (&"vendor".into(), &"needs sm_80 or newer".into())
    );
    let text = lab.run("routes steqr --dtype f32 --n 16 --batch 9 --arch sm_75").ok().stdout;
    assert!(text.contains("decision  none"), "{text}");
    lab.run("routes syev --dtype f32 --n 16 --batch 9 --arch sm_090")
        .refused("unknown architecture `sm_090`");
}

/// A row's parameters may not suit the shape; the family is then tried without them, and shown so.
#[test]
fn routes_show_a_family_that_is_tried_without_its_parameters() {
    let lab = Lab::new();
    let table =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tuned/sytrd.sm_90.txt"))
            .unwrap();
    let (header, keys) = table.split_once("keys:").unwrap();
    let header = format!("{header}keys:{}\n", keys.lines().next().unwrap());
    std::fs::create_dir_all(lab.path("t")).unwrap();
    let rows = ["f32", "f64", "c32", "c64"].map(|dtype| format!("{dtype} 1 1 blocked:warps=3\n")).concat();
    lab.write("t/sytrd.sm_90.txt", format!("{header}{rows}").as_bytes());
    let given = [("BATCHLAS_TUNED_DIR", "t")];
    let text = lab.run_with("routes sytrd --dtype f32 --n 200 --batch 9", &given).ok().stdout;
    assert!(text.contains("decision  blocked\n"), "{text}");
    assert!(text.lines().any(|l| l.starts_with("blocked ") && l.ends_with("-           can run")), "{text}");
    lab.run_with("routes syev --dtype f32 --n 4 --batch 9", &given)
        .refused("no syev.sm_90.txt or other table of syev");
}

/// The vendor's library counts as present, but has bounds of its own.
#[test]
fn routes_of_orders_that_nobody_takes() {
    let lab = Lab::new();
    let text = lab.run("routes syev --dtype f32 --n 18446744073709551615 --batch 1").ok().stdout;
    assert!(text.contains("pass the vendor's sizes"), "{text}");
    let huge = u64::MAX;
    for op in ["syev", "steqr", "stedc", "stebz", "sytrd", "ormqr", "gemm"] {
        for n in [huge, 1 << 63, 1 << 33] {
            let text = lab.run(&format!("routes {op} --dtype f64 --n {n} --batch {huge}")).ok().stdout;
            assert!(text.contains("decision  none"), "{op} n={n}: {text}");
        }
    }
}

#[test]
fn routes_of_the_tridiagonal_solver() {
    let lab = Lab::new();
    let json = lab.run("routes steqr --dtype f64 --n 32 --batch 32768 --json").ok().json();
    assert_eq!((json["op"].as_str(), json["row"]["n"].as_u64()), (Some("steqr"), Some(32)));
    assert!(json["decision"].as_str().unwrap().starts_with("cta"), "{json}");
    let text = lab.run("routes steqr --dtype f32 --n 40 --batch 7").ok().stdout;
    assert!(text.contains("n is at most 32") && text.contains("decision  wg"), "{text}");
    let text = lab.run("routes steqr --dtype f32 --n 5000 --batch 7").ok().stdout;
    assert!(text.contains("bytes of shared memory") && text.contains("decision  none"), "{text}");
    let json = lab.run("routes stedc --dtype f32 --n 1024 --batch 128 --json").ok().json();
    assert_eq!((json["op"].as_str(), json["decision"].as_str()), (Some("stedc"), Some("levels")), "{json}");
    let json = lab.run("routes stebz --dtype f64 --n 2048 --batch 1 --json").ok().json();
    assert_eq!((json["op"].as_str(), json["decision"].as_str()), (Some("stebz"), Some("bisect:values=1")));
    let pinned = [("BATCHLAS_STEQR_ROUTE", "cta:flat,pg")];
    let json = lab.run_with("routes steqr --dtype f32 --n 16 --batch 64 --json", &pinned).ok().json();
    assert_eq!(json["decision"], "cta:flat,pg");
    lab.run("routes steqr --dtype c32 --n 4 --batch 1").refused("f32 or f64");
}

#[test]
fn routes_of_products() {
    let lab = Lab::new();
    let json = lab.run("routes gemm --dtype f64 --n 512 --batch 100 --ops nc --json").ok().json();
    assert_eq!((json["op"].as_str(), json["row"]["trans"].as_str()), (Some("gemm"), Some("nt")));
    assert_eq!(json["decision"], "wide:128x128x16", "{json}");
    let json = lab.run("routes gemm --dtype c64 --m 900 --n 20 --k 30 --batch 4 --json").ok().json();
    assert_eq!(json["decision"], "reg:128x32x32", "{json}");
    let pinned = [("BATCHLAS_GEMM_ROUTE", "reg:128x128x8")];
    let text = lab.run_with("routes gemm --dtype c64 --n 300 --batch 2", &pinned).ok().stdout;
    assert!(text.contains("do not fit the registers"), "{text}");
}

#[test]
fn a_folder_of_kernels_takes_the_place_of_the_embedded_ones() {
    let lab = Lab::new();
    let mut manifest = "tool_chain of another build\n".to_owned();
    for module in batchlas::cuda::modules().unwrap() {
        let arch = batchlas::Arch(module.arch);
        manifest += &format!("module {} {} {arch} {}\n", module.krate, module.name, module.entries.join(","));
        std::fs::create_dir_all(lab.path("k").join(module.krate)).unwrap();
        lab.write(
            &format!("k/{}/{}.{arch}.ptx", module.krate, module.name),
            module.ptx().unwrap().as_bytes(),
        );
    }
    lab.write("k/manifest.txt", manifest.as_bytes());
    let given = [("BATCHLAS_KERNEL_DIR", "k")];
    let info: serde_json::Value =
        serde_json::from_str(&lab.run_with("info --json", &given).ok().stdout).unwrap();
    assert_eq!((&info["tool_chain"], &info["kernel_dir"]), (&"of another build".into(), &"k".into()));
    assert!(info["modules"].as_array().unwrap().iter().all(|m| m["cubin"].as_array().unwrap().is_empty()));
    let text = lab.run_with("info", &given).ok().stdout;
    assert!(text.contains("kernels     of k (BATCHLAS_KERNEL_DIR)"), "{text}");

    let (first, rest) = manifest.split_once("module ").unwrap();
    lab.write("k/manifest.txt", [first, "module ", &rest.replace(' ', "  ")].concat().as_bytes());
    lab.run_with("info", &given).refused("cannot read `module");
    lab.write("k/manifest.txt", first.as_bytes());
    lab.run_with("info", &given).refused("it belongs to another program");
    lab.run_with("kernels", &[("BATCHLAS_KERNEL_DIR", "none")]).refused("cargo xtask ptx");
    lab.run_with("routes syev --dtype f32 --n 4 --batch 9", &[("BATCHLAS_KERNEL_DIRS", "k")])
        .refused("BATCHLAS_KERNEL_DIR meant");
}
