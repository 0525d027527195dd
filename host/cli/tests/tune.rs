//! `tune` as a user meets it, on the cpu: the whole way, without a choice to make.

mod common;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::Lab;
use serde_json::Value;

const RUN: &str = "tune syev --device cpu --arch sm_90 --dtype f32 --n 3,5 --batch 1024,2048 --rounds 300 --seconds 0.2 \
                   -o syev.sm_90.txt --plot gain.svg";
const JOURNAL: &str = "syev.sm_90.journal.jsonl";

/// Names of the journal's cells, in its order.
fn cells(lab: &Lab) -> Vec<String> {
    let text = std::fs::read_to_string(lab.path(JOURNAL)).unwrap_or_default();
    let cell = |line: &str| Some(serde_json::from_str::<Value>(line).ok()?.get("cell")?.as_str()?.to_owned());
    text.lines().filter_map(cell).collect()
}

/// Starts a run and kills it once its journal has some cells.
fn kill_in_the_middle(lab: &Lab, at_least: usize) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_batchlas"));
    command
        .current_dir(lab.path("."))
        .args(RUN.split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    while cells(lab).len() < at_least {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be killed");
        assert!(start.elapsed() < Duration::from_secs(120), "no cell is done");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_run_goes_on_and_its_table_reads_back() {
    let lab = Lab::new();
    kill_in_the_middle(&lab, 2);
    let finished = cells(&lab);
    assert!(finished.len() < 8 && !lab.path("syev.sm_90.txt").exists(), "{finished:?}");
    let text = std::fs::read_to_string(lab.path(JOURNAL)).unwrap();
    let kept = &text[..=text.rfind("{\"kind\":\"cell\"").unwrap()];
    std::fs::write(lab.path(JOURNAL), text.clone() + "{\"op\":\"syev\",\"dty").unwrap();

    let run = lab.run(RUN).ok();
    assert!(
        run.stderr.contains(&format!("{} of 8 cells are in the journal", finished.len())),
        "{}",
        run.stderr
    );
    assert!(run.stdout.contains("8 of 8 cells take another family"), "{}", run.stdout);
    let whole = std::fs::read_to_string(lab.path(JOURNAL)).unwrap();
    assert!(whole.starts_with(kept), "finished cells are as they were");
    let all = cells(&lab);
    assert_eq!(all.len(), 8, "each cell once: {all:?}");
    assert_eq!((&all[..finished.len()], all[7].as_str()), (&finished[..], "f32 N n=5 batch=2048"));
    assert!(std::fs::read_to_string(lab.path("gain.svg")).unwrap().contains("Gain over the table in place"));

    let table = std::fs::read_to_string(lab.path("syev.sm_90.txt")).unwrap();
    for line in ["device: cpu\n", "status: provisional\n", "arch: sm_90\n", "rounds in 0.2 s"] {
        assert!(table.contains(line), "{line}: {table}");
    }
    let folder = lab.path(".").display().to_string();
    let env = [("BATCHLAS_TUNED_DIR", folder.as_str())];
    let route = lab.run_with("routes syev --dtype f32 --n 5 --batch 2048 --json", &env).ok().json();
    assert_eq!((&route["row"]["n"], &route["row"]["batch"]), (&5.into(), &2048.into()), "{route}");
    assert_eq!(route["candidates"][0], "cpu");
    assert_ne!(route["decision"], "cpu", "on a GPU the family cpu cannot run");
    let other = lab.run_with("routes syev --dtype f64 --n 5 --batch 2048 --json", &env).ok().json();
    assert_ne!(other["candidates"][0], "cpu", "other rows are those of the table in place");

    // Nothing is left to measure: the same table again.
    lab.run(RUN).ok();
    assert_eq!(std::fs::read_to_string(lab.path("syev.sm_90.txt")).unwrap(), table);
    assert_eq!(std::fs::read_to_string(lab.path(JOURNAL)).unwrap(), whole);

    // Another grid is another run, and the journal stays.
    lab.run(&RUN.replace("3,5", "3,6")).refused("n is 3 5 there, 3 6 now");
    let env = [("BATCHLAS_TUNED_DIR", folder.as_str())];
    lab.run_with(RUN, &env).refused("table in place is tuned/syev.sm_90.txt");
    assert_eq!(std::fs::read_to_string(lab.path(JOURNAL)).unwrap(), whole);
    // It is a run of bench to whoever compares.
    assert!(lab.run(&format!("compare {JOURNAL} {JOURNAL}")).ok().stdout.contains("8 pairs, 0 flagged"));
}

#[test]
fn saturation_has_a_row_and_steqr_a_table() {
    let lab = Lab::new();
    let run = "tune steqr --device cpu --arch sm_90 --dtype f64 --jobz N --n 4 --batch 16,auto --rounds 3 \
               --seconds 0.01 --memory 64M -o t.txt --journal j.jsonl";
    let run = lab.run(run).ok();
    assert!(run.stdout.contains("f64 N n=4 batch=16 "), "{}", run.stdout);
    let table = std::fs::read_to_string(lab.path("t.txt")).unwrap();
    assert!(table.contains("op: steqr\n") && table.contains("batches 16 saturation"), "{table}");
    assert!(std::fs::read_to_string(lab.path("j.jsonl")).unwrap().contains("f64 N n=4 batch=auto"));
}

#[test]
fn divide_and_conquer_and_bisection_have_tables() {
    let lab = Lab::new();
    let effort = "--device cpu --arch sm_90 --dtype f32 --n 5,40 --batch 4 --rounds 3 --seconds 0.01";
    for (op, note) in [("stedc", "measured f32, V N, n 5 40"), ("stebz", "measured f32, N, n 5 40")] {
        lab.run(&format!("tune {op} {effort} -o {op}.sm_90.txt")).ok();
        let table = std::fs::read_to_string(lab.path(&format!("{op}.sm_90.txt"))).unwrap();
        assert!(table.contains(&format!("op: {op}\n")) && table.contains(note), "{table}");
        let folder = lab.path(".").display().to_string();
        let env = [("BATCHLAS_TUNED_DIR", folder.as_str())];
        let route =
            lab.run_with(&format!("routes {op} --dtype f32 --n 40 --batch 4 --json"), &env).ok().json();
        assert_eq!((&route["candidates"][0], &route["row"]["n"]), (&"cpu".into(), &40.into()), "{route}");
        let family = if op == "stedc" { "levels" } else { "bisect" };
        assert!(route["candidates"][1].as_str().unwrap().starts_with(family), "what the table had: {route}");
    }
    lab.run(&format!("tune stebz {effort} --jobz V -o t.txt")).refused("values only: --jobz N");
    lab.run("tune stedc --device cpu --arch sm_90 --dtype c64 -o t.txt").refused("real types");
    assert!(!lab.path("t.txt").exists());
}

#[test]
fn products_have_ops_and_sizes_of_their_own() {
    let lab = Lab::new();
    lab.run(
        "tune gemm --device cpu --arch sm_90 --dtype f32 --n 8 --m 4 --k 5 --ops nt,tc --batch 64,auto --rounds 3 \
         --seconds 0.01 -o gemm.sm_90.txt",
    )
    .ok();
    let table = std::fs::read_to_string(lab.path("gemm.sm_90.txt")).unwrap();
    for row in ["f32  nt", "f32  tt"] {
        let mut rows = table.lines().filter(|line| line.starts_with(row));
        let found = rows.any(|line| line.split_whitespace().collect::<Vec<_>>()[2..5] == ["4", "8", "5"]);
        assert!(found, "{row}: {table}");
    }
    assert!(table.contains("measured f32, nt tc, n 8"), "{table}");
    let journal = std::fs::read_to_string(lab.path("gemm.sm_90.journal.jsonl")).unwrap();
    assert!(journal.contains("f32 tc m=4 n=8 k=5 batch=64"), "{journal}");
}

#[test]
fn verify_holds_auto_against_the_pinned_families() {
    let lab = Lab::new();
    let run = lab.run(
        "tune syev --verify --device cpu --arch sm_90 --dtype f32 --n 3,4 --batch 64 --jobz V --rounds 5 --plot r.svg",
    );
    assert!(run.stdout.contains("auto over the fastest pinned family: "), "{} {}", run.stdout, run.stderr);
    assert!(run.stdout.contains("geometric mean"), "{}", run.stdout);
    // Two arms of one family differ by noise alone, which a shared machine has plenty of.
    let passed = !run.stdout.contains("NOT passed");
    let known = !run.stdout.contains("not known");
    assert_eq!(
        run.code,
        if !known {
            5
        } else if passed {
            0
        } else {
            4
        },
        "{}",
        run.stdout
    );
    assert_eq!(lab.files(), ["r.svg"], "no table and no journal");
}

/// Times that are all too wide say nothing of the table, neither good nor bad.
#[test]
fn verify_by_wide_times_alone_knows_nothing() {
    let lab = Lab::new();
    let command = "tune syev --verify --device cpu --arch sm_90 --dtype f32 --n 3 --batch 64 --jobz V --rounds 3 \
                   --seconds 0.01 --journal j.jsonl --plot r.svg";
    lab.run(command);
    let journal = std::fs::read_to_string(lab.path("j.jsonl")).unwrap();
    assert!(journal.contains("\"trusted\":"), "{journal}");
    lab.write("j.jsonl", journal.replace("\"trusted\":true", "\"trusted\":false").as_bytes());
    let run = lab.run(command);
    assert_eq!(run.code, 5, "{} {}", run.stdout, run.stderr);
    assert!(run.stderr.contains("nothing is known of the table"), "{}", run.stderr);
    for said in ["family: no cell whose times can be trusted\n", "1.10: not known", "with the 1 cells"] {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
    let all = run.stdout.clone() + &run.stderr;
    assert!(!all.contains("NaN") && !all.contains("slower"), "{all}");
}

#[test]
fn what_cannot_be_tuned_is_one_line() {
    let lab = Lab::new();
    let cpu = "--device cpu --arch sm_90 --dtype f32 --n 3 --batch 8";
    lab.run("tune syev --device simt -o t.txt").refused("no times to tune by");
    lab.run("tune syev --device cpu -o t.txt").refused("--arch sm_90 names the table");
    lab.run(&format!("tune syev {cpu}")).refused("--output");
    lab.run(&format!("tune syev {cpu} -o t.csv")).refused(".txt");
    lab.run(&format!("tune syev {cpu} -o t.txt --journal j.json")).refused(".jsonl");
    lab.run(&format!("tune syev {cpu} -o t.txt --routes ctx")).refused("'ctx'");
    lab.run("tune syev --device cpu --arch sm_90 --n 0,3 -o t.txt").refused("at least 1");
    lab.run("tune steqr --device cpu --arch sm_90 --dtype c32 -o t.txt").refused("real types");
    lab.run("tune getrf -o t.txt").refused("syev, steqr, stedc, stebz, gemm");
    lab.run("tune gemm --device cpu --arch sm_90 --n 4 --m 0 -o t.txt").refused("at least 1");
    assert!(lab.files().is_empty(), "{:?}", lab.files());
    lab.run(&format!("tune syev {cpu} -o t.txt --memory 1K")).refused("are allowed");
    lab.write("notes.jsonl", b"my notes\n");
    lab.run(&format!("tune syev {cpu} -o t.txt --journal notes.jsonl")).refused("is no journal");
    assert_eq!(std::fs::read(lab.path("notes.jsonl")).unwrap(), b"my notes\n");
    assert!(!lab.path("t.txt").exists());
}
