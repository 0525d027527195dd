//! The order of a run, with scripts in place of compiled programs.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gpu_suite::run::{self, Places};
use gpu_suite::{Kind, Program, programs_in};

/// A script that is still open for writing, in a child that another test just forked, cannot be run.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

struct Pack(PathBuf, #[expect(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

impl Pack {
    fn new(name: &str) -> Self {
        let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = std::env::temp_dir().join(format!("gpu-suite-run-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("work")).unwrap();
        Self(folder, guard)
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.0.join("programs").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn bench(&self, ms: &str) {
        let row = format!(
            r#"{{"op":"syev","dtype":"f32","n":8,"batch":16384,"jobz":"V","route":"cta","device":"d","ms":{ms},"spread":0.01,"trusted":true}}"#
        );
        self.script("bench/syev", &format!("echo some card >&2\necho '{row}'"));
    }

    /// Stands for `batchlas compare A B --json C`: it flags.
    fn comparer(&self) {
        let pair = r#"{"key":"d syev f32 V n=8 batch=16384 packed cta","measure":"ms","ratio":1.2,"flag":"slower","note":null}"#;
        let script = format!(
            "grep -q 0.5 \"$2\" && grep -q 0.6 \"$3\" || exit 1\necho '{pair}' > \"$5\"; echo 1 flagged; exit 4"
        );
        self.script("bin/batchlas", &script);
    }

    fn programs(&self) -> Vec<Program> {
        programs_in(&self.0.join("programs")).unwrap()
    }

    fn places(&self) -> Places {
        Places { work: self.0.join("work"), results: self.0.join("results") }
    }

    fn result(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join("results").join(name)).unwrap()
    }

    fn has(&self, name: &str) -> bool {
        Path::new(&self.0).join("results").join(name).exists()
    }
}

impl Drop for Pack {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn tests_then_bench_then_the_comparison() {
    let pack = Pack::new("order");
    pack.script("test/a", "echo 'test one ... ok'; echo \"gpu $BATCHLAS_REQUIRE_GPU in $(pwd)\"");
    pack.bench("0.5");
    let kinds: Vec<Kind> = pack.programs().iter().map(|program| program.kind).collect();
    assert_eq!(kinds, [Kind::Test, Kind::Bench]);

    run::tests_then_bench(&pack.programs(), &pack.places()).unwrap();
    let log = pack.result("log.txt");
    assert!(log.contains("gpu 1 in ") && log.contains("/work\n"), "{log}");
    assert!(log.find("== a").unwrap() < log.find("== bench syev").unwrap());
    assert!(log.ends_with("2 passed, 0 failed\n") && log.contains("V cta: 0.5000 ms"), "{log}");
    assert!(pack.result("junit.xml").contains("<testsuite name=\"bench syev\" tests=\"1\""));
    assert_eq!(pack.result("first.jsonl"), pack.result("bench.jsonl"));

    pack.bench("0.6");
    run::tests_then_bench(&pack.programs(), &pack.places()).unwrap_err();
    assert!(pack.result("junit.xml").contains("<failure>runs are compared by the program batchlas"));
    pack.comparer();
    run::tests_then_bench(&pack.programs(), &pack.places()).unwrap();
    let log = pack.result("log.txt");
    assert!(log.contains("1 flagged") && log.contains("1.200 of the first run's: FLAG slower"), "{log}");
    assert!(pack.result("junit.xml").contains("<testsuite name=\"bench against the first run\" tests=\"1\""));
    assert!(pack.result("first.jsonl").contains("0.5"), "the first run stays the first");
}

#[test]
fn a_failed_test_leaves_no_time() {
    let pack = Pack::new("failed");
    pack.script("test/a", "echo 'test one ... FAILED'; exit 101");
    pack.script("test/b", "echo 'test two ... ok'");
    pack.bench("0.5");
    let error = run::tests_then_bench(&pack.programs(), &pack.places()).unwrap_err().to_string();
    assert_eq!(error, "1 failed");
    assert!(pack.result("log.txt").contains("test two ... ok"), "the others run all the same");
    assert!(!pack.has("bench.jsonl") && !pack.has("first.jsonl"));
}

#[test]
fn a_wrong_arm_fails_and_is_no_first_run() {
    let pack = Pack::new("wrong");
    pack.script("test/a", "echo 'test one ... ok'");
    let row = r#"{"op":"syev","dtype":"f32","n":8,"batch":1,"jobz":"V","route":"cta","device":"d","error":"wrong result"}"#;
    pack.script("bench/syev", &format!("echo '{row}'"));
    run::tests_then_bench(&pack.programs(), &pack.places()).unwrap_err();
    assert!(pack.result("junit.xml").contains("<failure>wrong result</failure>"));
    assert!(!pack.has("first.jsonl"));
}

#[test]
fn nothing_is_no_success() {
    let pack = Pack::new("nothing");
    std::fs::create_dir_all(pack.0.join("programs")).unwrap();
    let error = run::tests_then_bench(&pack.programs(), &pack.places()).unwrap_err().to_string();
    assert_eq!(error, "no GPU test ran");
    run::benches(&pack.programs(), &pack.places()).unwrap_err();
}

#[test]
fn full_benches_keep_what_they_print() {
    let pack = Pack::new("full");
    pack.script("bench/syev", "echo \"{} $1\"; echo card >&2");
    run::benches(&pack.programs(), &pack.places()).unwrap();
    assert_eq!(
        (pack.result("syev.jsonl").as_str(), pack.result("syev.err").as_str()),
        ("{} --bench\n", "card\n")
    );
    pack.script("bench/other", "exit 3");
    let error = run::benches(&pack.programs(), &pack.places()).unwrap_err().to_string();
    assert_eq!(error, "failed: other");
}
