//! `bench`, `accuracy`, `compare` and the trace, as a user meets them.

mod common;

use common::{Lab, symmetric};
use serde_json::{Value, json};

/// The lines of a file of JSON lines.
fn lines(lab: &Lab, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(lab.path(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn write_lines(lab: &Lab, name: &str, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    lab.write(name, text.as_bytes());
}

#[test]
fn a_bench_on_the_cpu_writes_rows_with_samples_a_figure_and_a_page() {
    let lab = Lab::new();
    let run = lab.run(
        "bench syev --device cpu --dtype f32,c64 --n 3..5:2 --batch 32,128 --jobz V,N --layout packed,padded \
         --rounds 5 --seconds 0.05 --json b.jsonl --plot b.svg --html b.html",
    );
    let text = run.ok().stdout;
    assert!(text.contains("x vendor") && text.contains("b.html"), "{text}");
    let rows = lines(&lab, "b.jsonl");
    assert_eq!(rows.len(), 2 * 2 * 2 * 2 * 2, "{text}");
    for row in &rows {
        assert_eq!(
            (&row["op"], &row["route"], &row["reached"]),
            (&"syev".into(), &"cpu".into(), &"cpu".into())
        );
        let samples = row["times_ms"].as_array().unwrap();
        assert_eq!(row["samples"].as_u64().unwrap() as usize, samples.len());
        assert!(samples.len() >= 3 && row["ms"].as_f64().unwrap() > 0.0);
        assert!(row["value_error"].as_f64().unwrap() <= 10.0);
        assert_eq!(row["residual"].is_null(), row["jobz"] == "N");
        for key in ["device", "version", "date", "layout", "spread", "trusted", "commit", "threads"] {
            assert!(row.get(key).is_some(), "{key}: {row}");
        }
    }
    let page = std::fs::read_to_string(lab.path("b.html")).unwrap();
    assert!(
        page.contains("prefers-color-scheme") && page.contains("<svg role") && page.ends_with("</html>\n")
    );
    let figure = std::fs::read_to_string(lab.path("b.svg")).unwrap();
    assert!(figure.contains("time an item (ns)") && figure.contains("items a second"));
}

#[test]
fn a_bench_of_products_has_sizes_and_operations() {
    let lab = Lab::new();
    let run = lab.run(
        "bench gemm --device cpu --dtype f64,c32 --n 6 --m 5 --k 7 --batch 40 --ops nn,ct --layout padded --rounds 3 \
         --seconds 0.01 --json g.jsonl --plot g.svg",
    );
    let text = run.ok().stdout;
    assert!(text.contains("m x n x k") && text.contains("5x6x7") && text.contains("GFLOP/s"), "{text}");
    let rows = lines(&lab, "g.jsonl");
    assert_eq!(rows.len(), 2 * 2);
    for row in &rows {
        assert_eq!((&row["m"], &row["n"], &row["k"]), (&5.into(), &6.into(), &7.into()));
        let each = if row["dtype"] == "c32" { 8.0 } else { 2.0 };
        let operations = row["gflops"].as_f64().unwrap() * 1e6 * row["ms"].as_f64().unwrap();
        assert!((operations / (each * 5.0 * 6.0 * 7.0 * 40.0) - 1.0).abs() < 1e-9, "{row}");
        assert!(row["residual"].as_f64().unwrap() < 1.0, "{row}");
    }
    let ops: Vec<&str> = rows.iter().map(|row| row["jobz"].as_str().unwrap()).collect();
    assert_eq!(ops, ["nn", "ct", "nn", "ct"]);
    let counted =
        lab.run("bench gemm --device simt --n 9 --batch 2 --routes native --json s.jsonl").ok().stdout;
    assert!(counted.contains("reg:128x32x32") && counted.contains("bank conflicts"), "{counted}");
    assert!(lines(&lab, "s.jsonl").iter().all(|row| row["error"].is_null()), "{counted}");
    lab.run("bench gemm --device cpu --n 4 --ops nx").refused("two letters of n, t and c");
}

#[test]
fn sizes_that_no_memory_holds_are_errors() {
    let lab = Lab::new();
    for op in ["syev", "steqr"] {
        lab.run(&format!("bench {op} --device cpu --n 4 --batch 99999999999999 --json b.jsonl"))
            .refused("out of memory");
        lab.run(&format!("accuracy {op} --device cpu --n 30000000 --json a.jsonl")).refused("out of memory");
    }
    lab.run("bench gemm --device cpu --n 4 --batch 99999999999999 --json b.jsonl").refused("out of memory");
    assert_eq!(lab.files(), [] as [String; 0]);
}

#[test]
fn a_bench_under_the_executor_counts_and_has_no_times() {
    let lab = Lab::new();
    let command = "bench syev --device simt --n 5 --batch 6 --routes cta,cta_fused --json s.jsonl";
    let text = lab.run(command).ok().stdout;
    assert!(text.contains("a model of a GPU's warps"), "{text}");
    let rows = lines(&lab, "s.jsonl");
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert!(row["counters"]["collectives"].as_u64().unwrap() > 0 && row.get("ms").is_none(), "{row}");
        let of = |name: &str| row["counters"][name].as_u64().unwrap();
        assert!(of("global_sectors") >= of("global_warp_accesses"), "an access touches a sector: {row}");
    }
    let again = command.replace("s.jsonl", "t.jsonl");
    lab.run(&again).ok();
    let run = lab.run("compare s.jsonl t.jsonl").ok();
    assert!(run.stdout.contains("2 pairs, 0 flagged"), "{}", run.stdout);
    let mut rows = lines(&lab, "t.jsonl");
    rows[0]["counters"]["barriers"] = json!(7777);
    write_lines(&lab, "t.jsonl", &rows);
    assert_eq!(lab.run("compare s.jsonl t.jsonl").code, 4);
    lab.run("bench syev --device simt --batch auto").refused("has none");
}

#[test]
fn steqr_is_benched_in_its_forms() {
    let lab = Lab::new();
    let routes = "cta:nested,cta:flat+pg,cta:decoupled";
    let command = format!("bench steqr --device simt --n 4 --batch 5 --routes {routes} --json f.jsonl");
    lab.run(&command).ok();
    let rows = lines(&lab, "f.jsonl");
    let reached: Vec<&str> = rows.iter().map(|row| row["reached"].as_str().unwrap()).collect();
    assert!(reached[1].starts_with("cta:flat,pg,") && reached[2].starts_with("cta:decoupled"), "{reached:?}");
    assert!(rows.iter().all(|row| row["shift"] == "lapack"));
    lab.run("bench steqr --dtype c32").refused("real types");
}

#[test]
fn what_cannot_be_measured_is_one_line() {
    let lab = Lab::new();
    lab.run("bench syev --device cpu --routes cta --json b.jsonl").refused("needs a GPU");
    lab.run("bench syev --device cpu --routes ctx").refused("'ctx'");
    lab.run("bench syev --n 9..4").refused("ends before");
    lab.run("bench syev --json b.txt").refused(".jsonl");
    lab.run("bench getrf").refused("syev, steqr, stedc, stebz, gemm");
    lab.run("bench syev --rounds 1").refused("rounds");
    lab.run("accuracy syev --n 0").refused("at least 1");
    lab.run("accuracy syev --device cpu --classes nice").refused("'nice'");
    assert!(lab.files().is_empty(), "{:?}", lab.files());
    // A named arm that cannot run stands beside one that can.
    let run = lab.run("bench syev --device cpu --n 3 --batch 8 --routes cpu,thread --seconds 0.01").ok();
    assert!(run.stdout.contains("thread") && run.stdout.contains("cannot run"), "{}", run.stdout);
}

#[test]
fn a_planted_slow_down_is_flagged_and_the_same_run_is_not() {
    let lab = Lab::new();
    let row = |route: &str, factor: f64| {
        let times: Vec<f64> = (0..15).map(|k| 0.4 * factor * (1.0 + 0.001 * f64::from(k % 5))).collect();
        json!({ "op": "syev", "dtype": "f32", "n": 16, "batch": 16384, "jobz": "V", "layout": "packed", "route": route,
                "ms": times[7], "spread": 0.002, "samples": 15, "times_ms": times, "trusted": true, "device": "H200" })
    };
    write_lines(&lab, "a.jsonl", &[row("cta", 1.0), row("thread", 1.0)]);
    write_lines(&lab, "b.jsonl", &[row("thread", 1.0), row("cta", 1.05)]);
    let same = lab.run("compare a.jsonl a.jsonl").ok();
    assert!(same.stdout.contains("2 pairs, 0 flagged"), "{}", same.stdout);
    let run = lab.run("compare a.jsonl b.jsonl --json c.jsonl");
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.stdout.contains("FLAG slower") && run.stdout.contains("1.050"), "{}", run.stdout);
    assert!(!run.stdout.contains("thread"), "only what is flagged: {}", run.stdout);
    let pairs = lines(&lab, "c.jsonl");
    assert_eq!(pairs.iter().filter(|pair| !pair["flag"].is_null()).count(), 1);
    for key in ["key", "measure", "ratio", "flag", "note"] {
        assert!(pairs[0].get(key).is_some(), "gpu-suite reads {key}: {}", pairs[0]);
    }
    assert!(lab.run("compare a.jsonl b.jsonl --all").stdout.contains("thread"));
    lab.run("compare a.jsonl b.jsonl --threshold 0.06").ok();
    lab.run("compare a.jsonl none.jsonl").refused("none.jsonl");
    write_lines(&lab, "d.jsonl", &[row("jacobi", 1.0)]);
    lab.run("compare a.jsonl d.jsonl").refused("nothing to compare: none of the 2 keys");
    lab.run("compare a.jsonl b.jsonl --json a.jsonl").refused("replace the input");
}

#[test]
fn accuracy_is_repeated_to_the_bit_and_a_changed_bit_is_flagged() {
    let lab = Lab::new();
    let command = "accuracy syev --device cpu --dtype f32,f64 --n 4 --items 2 --json a.jsonl --plot a.svg";
    let text = lab.run(command).ok().stdout;
    assert!(text.contains("worst class"), "{text}");
    lab.run(&command.replace("a.jsonl", "b.jsonl")).ok();
    let run = lab.run("compare a.jsonl b.jsonl --all").ok();
    assert!(run.stdout.contains("0 flagged"), "{}", run.stdout);
    let mut rows = lines(&lab, "b.jsonl");
    let samples = rows.iter().filter(|row| row["kind"] == "sample").count();
    assert_eq!((samples, rows.len() - samples), (2 * 2 * 19, 2));
    rows[5]["values"] = json!("0000000000000000");
    write_lines(&lab, "b.jsonl", &rows);
    let run = lab.run("compare a.jsonl b.jsonl");
    assert_eq!(run.code, 4);
    assert!(run.stdout.contains("other bits") && run.stdout.contains("37/38"), "{}", run.stdout);
    lab.run("compare a.jsonl b.jsonl --tolerate-bits").ok();
    let figure = std::fs::read_to_string(lab.path("a.svg")).unwrap();
    assert!(figure.contains("log10 of the condition") && figure.contains("the contract"));
    lab.write("c.jsonl", b"{\"op\":\"syev\",\"dtype\":\"f32\",\"n\":1,\"batch\":1,\"jobz\":\"V\",\"route\":\"cpu\",\"device\":\"cpu\"}\n");
    lab.run("compare a.jsonl c.jsonl").refused("one file is of a bench");
}

#[test]
fn accuracy_of_families_under_the_executor() {
    let lab = Lab::new();
    let command = "accuracy steqr --device simt --n 5 --items 1 --routes cta:flat,cta:decoupled \
                   --classes random,glued-wilkinson,times-1e-18 --json a.jsonl";
    lab.run(command).ok();
    let rows = lines(&lab, "a.jsonl");
    let of = |route: &str| -> Vec<&Value> {
        rows.iter().filter(|r| r["route"] == route && r["kind"] == "sample").collect()
    };
    let (flat, decoupled) = (of("cta:flat"), of("cta:decoupled"));
    assert_eq!((flat.len(), decoupled.len()), (3, 3));
    assert_eq!(flat[0]["input"], decoupled[0]["input"], "the same input for every family");
    assert!(flat.iter().all(|r| r["status"] == 0 && r["residual"].as_f64().unwrap() <= 10.0));
    assert!(lab.run("accuracy steqr --classes list").ok().stdout.contains("glued Wilkinson"));
}

#[test]
fn accuracy_of_divide_and_conquer_and_bisection() {
    let lab = Lab::new();
    let families = [("stedc", "levels:rows=2", "V"), ("stebz", "bisect:values=1", "N")];
    for (op, route, jobz) in families {
        let command = format!(
            "accuracy {op} --device simt --n 34 --items 1 --jobz {jobz} --routes {} --classes random,graded --json a.jsonl",
            route
        );
        lab.run(&command).ok();
        let samples =
            lines(&lab, "a.jsonl").into_iter().filter(|row| row["kind"] == "sample").collect::<Vec<_>>();
        assert_eq!(samples.len(), 2);
        for sample in samples {
            assert_eq!((&sample["op"], &sample["status"]), (&op.into(), &0.into()), "{sample}");
            assert!(sample["reached"].as_str().unwrap().starts_with(route), "{sample}");
            assert_eq!(sample["residual"].is_null(), jobz == "N", "{sample}");
        }
    }
    lab.run("accuracy stebz --device cpu --n 5").refused("values only: --jobz N");
}

#[test]
fn grids_of_blocked_are_arms_of_a_group() {
    let lab = Lab::new();
    lab.run("bench syev --device simt --dtype c64 --n 162 --batch 1 --jobz N --routes native --json g.jsonl")
        .ok();
    let routes: Vec<String> =
        lines(&lab, "g.jsonl").iter().map(|row| row["route"].as_str().unwrap().to_owned()).collect();
    // The executor stands for four multiprocessors. Up to 160 columns of c64 take no panel.
    let blocked: Vec<&String> = routes.iter().filter(|route| route.starts_with("blocked")).collect();
    assert_eq!(blocked, ["blocked", "blocked:grid=2", "blocked:grid=4"], "{routes:?}");
}

#[test]
fn captures_of_routes_are_compared() {
    let lab = Lab::new();
    lab.npy("a.npy", &[3, 4, 4], &symmetric(3, 4, 1));
    lab.npy("b.npy", &[3, 5, 5], &symmetric(3, 5, 1));
    let solve = |input: &str, capture: &str, route: &str| {
        let pinned = [("BATCHLAS_COVERAGE", capture), ("BATCHLAS_SYEV_ROUTE", route)];
        lab.run_with(&format!("eigh {input} --device simt"), &pinned).ok();
    };
    solve("a.npy", "x.jsonl", "cta");
    solve("b.npy", "x.jsonl", "cta");
    solve("a.npy", "y.jsonl", "cta_fused");
    solve("b.npy", "z.jsonl", "cta");
    lab.run("compare --routes y.jsonl z.jsonl").refused("nothing to compare");
    let same = lab.run("compare --routes x.jsonl x.jsonl").ok();
    assert!(same.stdout.contains("2 same, 0 changed, 0 in one alone"), "{}", same.stdout);
    let run = lab.run("compare --routes x.jsonl y.jsonl --json told.jsonl");
    assert_eq!(run.code, 4);
    assert!(run.stdout.contains("0 same, 1 changed, 1 in one alone"), "{}", run.stdout);
    assert!(
        run.stdout.contains("cta_fused (environment)") && run.stdout.contains("only in A"),
        "{}",
        run.stdout
    );
    assert_eq!(lines(&lab, "told.jsonl").len(), 3);
    lab.run("compare x.jsonl y.jsonl").refused("--routes compares them");
}

/// The command line solves a large batch in parts, under one decision: that is what a capture holds, as it was taken.
#[test]
fn a_batch_in_parts_is_one_decision_of_a_capture() {
    let lab = Lab::new();
    lab.npy("a.npy", &[150, 3, 3], &symmetric(150, 3, 1));
    lab.run_with("eigh a.npy --device simt", &[("BATCHLAS_COVERAGE", "c.jsonl")]).ok();
    let decisions = lines(&lab, "c.jsonl");
    assert_eq!(decisions.len(), 1, "{decisions:?}");
    let decision = &decisions[0];
    assert_eq!((&decision["shape"]["batch"], &decision["source"]), (&"150".into(), &"table".into()));
    assert!(decision["route"].as_str().unwrap().contains("warps="), "with what the plan chose: {decision}");
}

#[test]
fn a_trace_places_the_time_of_a_call() {
    let lab = Lab::new();
    lab.npy("a.npy", &[3, 4, 4], &symmetric(3, 4, 1));
    let traced = [("BATCHLAS_TRACE", "t.jsonl")];
    lab.run_with("eigh a.npy --device simt --route cta", &traced).ok();
    let rows = lines(&lab, "t.jsonl");
    let kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.iter().filter(|k| **k == "kernel").count(), 2, "{kinds:?}");
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("call", "summary"));
    let operation = rows.iter().find(|row| row["kind"] == "operation").unwrap();
    assert!(operation["name"].as_str().unwrap().starts_with("syev f64 V n=4 batch=3 cta"), "{operation}");
    let kernel = rows.iter().find(|row| row["kind"] == "kernel").unwrap();
    assert_eq!((&kernel["parent"], kernel["block"].as_u64()), (&operation["span"], Some(32)));
    let summary = rows.last().unwrap();
    let parts = summary["parts"].as_array().unwrap();
    let covered: f64 = parts.iter().map(|p| p["us"].as_f64().unwrap()).sum();
    let whole = summary["us"].as_f64().unwrap();
    assert!((covered + summary["idle_us"].as_f64().unwrap() - whole).abs() < 0.1, "{summary}");
    assert!(parts[0]["kind"] == "kernel", "the executor's kernels take the time: {summary}");
    // A second process adds its call.
    lab.run_with("eigh a.npy --device cpu", &traced).ok();
    assert_eq!(lines(&lab, "t.jsonl").iter().filter(|row| row["kind"] == "summary").count(), 2);
    lab.run_with("eigh a.npy --device cpu", &[("BATCHLAS_TRCE", "t.jsonl")]).refused("BATCHLAS_TRACE meant");
    lab.run_with("eigh a.npy --device cpu", &[("BATCHLAS_TRACE", "no/folder/t")]).refused("no/folder/t");
}
