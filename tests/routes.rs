//! Routes of `syev` as a user meets them: tables, the environment, coverage, the CPU in a GPU's place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use batchlas::ops::syev::{Explanation, OPERATION, Problem, explain};
use batchlas::ops::{Jobz, Target, Uplo};
use batchlas::routes::{Pin, Refusal, RouteError, ScopedPin, coverage};
use batchlas::{Arch, Batch, Dtype, Error, Queue, linalg, ops};

fn problem(dtype: Dtype, jobz: Jobz, n: usize) -> Problem {
    Problem { dtype, n, batch: 4096, jobz, uplo: Uplo::Lower }
}

fn ask(arch: u32, dtype: Dtype, jobz: Jobz, n: usize) -> Explanation {
    explain(&problem(dtype, jobz, n), Arch(arch), None).unwrap()
}

/// The rules of the card that the table was transcribed from, on both sides of each boundary.
#[test]
fn the_transcribed_table_has_the_published_rules() {
    use Dtype::{C32, C64, F32, F64};
    for (dtype, jobz, n, first) in [
        (F32, Jobz::V, 8, "jacobi"),
        (F32, Jobz::V, 9, "cta_fused"),
        (F32, Jobz::V, 64, "blocked"),
        (F32, Jobz::V, 448, "blocked"),
        (F32, Jobz::V, 449, "two_stage"),
        (F32, Jobz::V, 1024, "two_stage"),
        (F32, Jobz::V, 1025, "vendor"),
        (F64, Jobz::V, 16, "jacobi"),
        (F64, Jobz::V, 32, "jacobi"),
        (F64, Jobz::V, 33, "blocked"),
        (F64, Jobz::V, 448, "blocked"),
        (F64, Jobz::V, 449, "vendor"),
        (C32, Jobz::V, 8, "cta_fused"),
        (C32, Jobz::V, 9, "cta"),
        (C32, Jobz::V, 512, "blocked"),
        (C32, Jobz::V, 513, "vendor"),
        (C64, Jobz::V, 24, "cta"),
        (C64, Jobz::V, 25, "vendor"),
        (C64, Jobz::V, 256, "blocked"),
        (C64, Jobz::V, 257, "vendor"),
    ] {
        let candidates = ask(89, dtype, jobz, n).candidates;
        assert_eq!(candidates[0].to_string(), first, "{dtype} {jobz} n={n}");
    }
    for dtype in Dtype::ALL {
        assert_eq!(ask(89, dtype, Jobz::N, 320).candidates[0].to_string(), "blocked");
        assert_eq!(ask(89, dtype, Jobz::N, 321).candidates[0].to_string(), "two_stage");
    }
    assert_eq!(ask(89, C64, Jobz::V, 25).candidates[1].to_string(), "cta");
    assert_eq!(ask(89, F64, Jobz::N, 16).candidates[0].to_string(), "jacobi");
    assert_eq!(ask(89, C64, Jobz::N, 25).candidates[0].to_string(), "cta");
}

#[test]
fn an_explanation_names_the_row_and_every_reason() {
    let asked = ask(89, Dtype::F32, Jobz::V, 2000);
    let json: serde_json::Value = serde_json::to_value(&asked).unwrap();
    assert_eq!(json["op"], "syev");
    assert_eq!(json["row"]["n"], 1025);
    assert_eq!(json["row"]["dtype"], "f32");
    assert_eq!(json["candidates"][0], "vendor");
    assert_eq!(json["decision"], "vendor", "with an architecture named, the vendor counts as present");
    assert_eq!(json["refused"]["two_stage"], "not built yet");
    assert_eq!(json["refused"]["cpu"], "runs on the device cpu, not on cuda");
    let borrowed = ask(86, Dtype::F32, Jobz::V, 8);
    assert_eq!(
        borrowed.note.as_deref(),
        Some("there is no syev table for sm_86; it borrows the one of sm_89")
    );
}

#[test]
fn pins_that_cannot_run_say_what_can() {
    let parse = |text| Pin::parse(&OPERATION, text).unwrap();
    let error = ops::syev::plan(&problem(Dtype::F32, Jobz::V, 33), &Target::CPU, Some(&parse("two_stage")));
    assert_eq!(
        error.unwrap_err().to_string(),
        if cfg!(feature = "vendor") {
            "syev route 'two_stage' cannot run dtype=f32 jobz=V n=33 batch=4096: two_stage: not built yet; these can: cpu; \
             these cannot: thread, cta, cta_fused, jacobi, block, blocked: needs a GPU or the executor; vendor: needs a GPU"
        } else if cfg!(feature = "kernels") {
            "syev route 'two_stage' cannot run dtype=f32 jobz=V n=33 batch=4096: two_stage: not built yet; these can: cpu; \
             these cannot: thread, cta, cta_fused, jacobi, block, blocked: needs a GPU or the executor; \
             vendor: this build lacks the feature `vendor`"
        } else {
            "syev route 'two_stage' cannot run dtype=f32 jobz=V n=33 batch=4096: two_stage: not built yet; these can: cpu; \
             these cannot: thread, cta, cta_fused, jacobi, block, blocked: this build lacks the features `cuda` and `simt`; \
             vendor: this build lacks the feature `vendor`"
        }
    );
    let native =
        ops::syev::plan(&problem(Dtype::F32, Jobz::V, 33), &Target::CPU, Some(&parse("native"))).unwrap();
    assert_eq!(native.0.to_string(), "cpu");
    let a = Batch::<f64>::zeros(2, 2, 1);
    let options = linalg::EighOptions { route: Some(parse("vendor")), or_cpu: true, ..Default::default() };
    let error = linalg::eigh_with(&Queue::cpu(), &a, &options).unwrap_err();
    assert!(matches!(error, Error::Route(_)), "a pin is never traded for the CPU: {error}");
}

/// Whatever the shape and the target, what is decided can run it, and what is refused says why, family by family.
#[test]
fn random_shapes_reach_a_family_that_can_run_them() {
    let mut state = 88_172_645_463_325_252_u64;
    let mut below = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % n
    };
    let native = Pin::parse(&OPERATION, "native").unwrap();
    let families = OPERATION.family_names();
    let (mut decided, mut refused) = (0, 0);
    for _ in 0..3000 {
        // Up to orders whose columns no block's shared memory holds.
        let top = 1 << below(20);
        let (n, batch) = (below(top), below(top * 100));
        let jobz = if below(2) == 0 { Jobz::V } else { Jobz::N };
        let problem = Problem { dtype: Dtype::ALL[below(4)], n, batch, jobz, uplo: Uplo::Lower };
        let arch = Arch([75, 80, 86, 89, 90, 100, 120, 130][below(8)]);
        let target = if below(4) == 0 { Target::CPU } else { Target::assumed(arch) };
        let pin = (below(2) == 0).then_some(&native);
        match ops::syev::plan(&problem, &target, pin) {
            Ok((decision, plan)) => {
                decided += 1;
                assert_eq!(plan.family, decision.route.family().name);
                let again = Pin::Family(decision.route.clone());
                let again = ops::syev::plan(&problem, &target, Some(&again)).unwrap().1;
                assert_eq!(again, plan, "pinned, {decision} does the same");
                assert!(pin.is_none() || plan.family != "vendor");
            }
            Err(Error::Route(
                RouteError::None { refused: all, .. } | RouteError::Pinned { refused: all, .. },
            )) => {
                refused += 1;
                let excused = |r: &Refusal, name: &str| {
                    r.family.split(':').next() == Some(name) && !r.reason.is_empty()
                };
                for name in families.iter().filter(|name| pin.is_none() || *name != "vendor") {
                    assert!(all.iter().any(|r| excused(r, name)), "{name}: {all:?}");
                }
                for name in &families {
                    // Nothing that can run was passed over.
                    let alone = Pin::parse(&OPERATION, name).unwrap();
                    let runs = ops::syev::plan(&problem, &target, Some(&alone)).is_ok();
                    assert!(!runs || (pin.is_some() && name == "vendor"), "{name} can run {problem:?}");
                }
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(decided > 500 && refused > 100, "{decided} decided, {refused} refused");
}

/// Pins as a program meets them: what a solve reaches, in nested scopes and on other threads.
#[cfg(feature = "simt")]
#[test]
fn solves_follow_nested_pins_of_their_own_thread() {
    let a = Batch::<f32>::from_fn(4, 4, 3, |item, i, j| (1 + item + i * j) as f32);
    let reached = |pin: Option<Pin>| {
        let options = linalg::EighOptions { route: pin, ..Default::default() };
        linalg::eigh_with(&Queue::simt(1), &a, &options).map(|solved| solved.route.to_string())
    };
    let pin = |text| Pin::parse(&OPERATION, text).unwrap();
    let scoped = |text| ScopedPin::new(&OPERATION, pin(text));
    let table = reached(None).unwrap();
    let outer = scoped("cta");
    assert_eq!(reached(None).unwrap(), "cta");
    {
        let _inner = scoped("jacobi");
        assert_eq!(reached(None).unwrap(), "jacobi");
        assert_eq!(reached(Some(pin("thread"))).unwrap(), "thread", "the call's own option wins");
        let _auto = scoped("auto");
        assert_eq!(reached(None).unwrap(), table, "auto undoes the pins around it");
    }
    assert_eq!(reached(None).unwrap(), "cta");
    std::thread::scope(|threads| {
        let other = threads.spawn(|| {
            let before = reached(None).unwrap();
            let _own = scoped("cta_fused");
            (before, reached(None).unwrap())
        });
        assert_eq!(
            other.join().unwrap(),
            (table.clone(), "cta_fused".to_owned()),
            "a thread has its own pins"
        );
    });
    assert_eq!(reached(None).unwrap(), "cta", "and leaves those of others alone");
    {
        let _impossible = scoped("two_stage");
        let text = reached(None).unwrap_err().to_string();
        assert!(text.starts_with("syev route 'two_stage' (scoped pin) cannot run"), "{text}");
        assert!(text.contains("two_stage: not built yet; these can: thread, cta"), "{text}");
    }
    drop(outer);
    assert_eq!(reached(None).unwrap(), table);
}

/// Without a family for the shape, the device gives an error or, on demand, its place to the CPU.
#[cfg(feature = "simt")]
#[test]
fn the_cpu_takes_over_where_asked_and_says_so() {
    let queue = Queue::simt(1);
    // A column does not fit a block's shared memory, however few there are.
    let a = Batch::<f64>::zeros(20_000, 20_000, 0);
    let error = linalg::eigh(&queue, &a).unwrap_err().to_string();
    assert!(error.starts_with("no syev family can run dtype=f64 jobz=V n=20000 batch=0: "), "{error}");
    assert!(
        error.contains("two_stage: not built yet") && error.contains("blocked: a column takes"),
        "{error}"
    );
    let options = linalg::EighOptions { or_cpu: true, ..Default::default() };
    let solved = linalg::eigh_with(&queue, &a, &options).unwrap();
    assert!(solved.values.is_empty());
    assert_eq!(solved.route.to_string(), "cpu");
    assert_eq!(
        solved.route.note.as_deref(),
        Some("no family can run dtype=f64 jobz=V n=20000 batch=0 on simt: the CPU solves it")
    );
}

/// Runs one of the ignored tests below in a process of its own, with an environment.
fn child(test: &str, environment: &[(&str, &Path)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    let output = command.envs(environment.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("batchlas-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn decisions_are_written_once_each() {
    let folder = folder("coverage");
    let file = folder.join("decisions.jsonl");
    child("child_solves_three_times", &[("BATCHLAS_COVERAGE", &file)]);
    let records = coverage::read(&file).unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!((records[0].route.as_str(), records[0].source.as_str()), ("cpu", "device"));
    assert_eq!(records[0].shape["n"], "3");
    assert_eq!((records[1].source.as_str(), records[1].shape["jobz"].as_str()), ("scope", "N"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[ignore = "run by decisions_are_written_once_each"]
fn child_solves_three_times() {
    let a = Batch::<f64>::zeros(3, 3, 2);
    linalg::eigh(&Queue::cpu(), &a).unwrap();
    linalg::eigh(&Queue::cpu(), &a).unwrap();
    let _pin = ScopedPin::new(&OPERATION, Pin::parse(&OPERATION, "cpu").unwrap());
    linalg::eigvalsh(&Queue::cpu(), &a).unwrap();
    assert_eq!(coverage::decisions().iter().map(|(_, count)| count).sum::<u64>(), 3);
}

/// What could not be written is tried again, never taken for written.
#[test]
fn a_record_that_cannot_be_written_fails_each_time() {
    child("child_solves_without_a_place", &[("BATCHLAS_COVERAGE", Path::new("no/such/folder/file"))]);
}

#[test]
#[ignore = "run by a_record_that_cannot_be_written_fails_each_time"]
fn child_solves_without_a_place() {
    let a = Batch::<f64>::zeros(3, 3, 2);
    for _ in 0..2 {
        let text = linalg::eigh(&Queue::cpu(), &a).unwrap_err().to_string();
        assert!(text.starts_with("BATCHLAS_COVERAGE=no/such/folder/file: "), "{text}");
    }
    assert!(coverage::decisions().is_empty());
    coverage::paused(|| linalg::eigh(&Queue::cpu(), &a)).unwrap();
}

/// Parameters that the plan chose are part of what was reached.
#[cfg(feature = "simt")]
#[test]
fn a_record_has_the_parameters_reached() {
    let a = Batch::<f32>::zeros(5, 5, 77);
    let route = Some(Pin::parse(&OPERATION, "cta").unwrap());
    let options = linalg::EighOptions { route, ..Default::default() };
    linalg::eigh_with(&Queue::simt(1), &a, &options).unwrap();
    let all = coverage::decisions();
    let record = all.iter().find(|(r, _)| r.shape["batch"] == "77").unwrap();
    assert_eq!(record.0.route, "cta:warps=1");
}

/// Of operations with one family too.
#[cfg(feature = "kernels")]
#[test]
fn a_record_has_the_parameters_of_reductions_and_reflectors() {
    use batchlas::ops::{ormqr, sytrd};
    let (dtype, n, batch, target) = (Dtype::F64, 200, 78, Target::assumed(Arch(90)));
    let problem = sytrd::Problem { dtype, n, batch, uplo: Uplo::Lower };
    let pin = Pin::parse(&sytrd::OPERATION, "blocked:nb=24").unwrap();
    let (_, reduction) = sytrd::plan(&problem, &target, Some(&pin)).unwrap();
    let problem = ormqr::Problem { dtype, n, columns: 3, reflectors: 5, batch };
    let (_, product) = ormqr::plan(&problem, &target, None).unwrap();
    for (op, params, said) in [
        (&sytrd::OPERATION, reduction.params, "blocked:nb=24,warps=4,grid=1,tail=256"),
        (&ormqr::OPERATION, product.params, "blocked:nb=64"),
    ] {
        let all = coverage::decisions();
        let is_it = |r: &coverage::Record| r.op == op.name && r.shape["batch"] == "78";
        let record = all.iter().find(|(r, _)| is_it(r)).unwrap();
        assert_eq!(record.0.route, said);
        let Pin::Family(again) = Pin::parse(op, said).unwrap() else { panic!("a family") };
        assert_eq!(again.params(), &params, "the record names the plan");
    }
}

#[test]
fn a_folder_replaces_the_embedded_tables() {
    let folder = folder("tuned");
    let mut text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tuned/syev.sm_89.txt")).unwrap();
    text =
        text.replace("arch: sm_89", "arch: sm_70").replace("jacobi cta_fused cta vendor", "vendor:syevj cta");
    std::fs::write(folder.join("syev.sm_70.txt"), text).unwrap();
    child("child_reads_the_folder", &[("BATCHLAS_TUNED_DIR", &folder)]);
    std::fs::write(folder.join("syev.sm_90.txt"), "batchlas routes 1\nop: syev\nwhat: x\n").unwrap();
    child("child_finds_a_fault", &[("BATCHLAS_TUNED_DIR", &folder)]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[ignore = "run by a_folder_replaces_the_embedded_tables"]
fn child_reads_the_folder() {
    let asked = ask(90, Dtype::F32, Jobz::V, 4);
    assert_eq!(asked.candidates[0].to_string(), "vendor:syevj");
    assert!(asked.note.unwrap().contains("borrows the one of sm_70"));
    assert!(asked.table.ends_with("syev.sm_70.txt"));
}

#[test]
#[ignore = "run by a_folder_replaces_the_embedded_tables"]
fn child_finds_a_fault() {
    let error = explain(&problem(Dtype::F32, Jobz::V, 4), Arch(90), None).unwrap_err().to_string();
    assert!(error.contains("syev.sm_90.txt:3: unknown field 'what'"), "{error}");
}

#[test]
fn a_batch_in_parts_gives_the_same_bits() {
    child("child_solves_in_parts", &[("BATCHLAS_TUNE_CHUNK_ITEMS", Path::new("3"))]);
    child("child_refuses_a_typo", &[("BATCHLAS_TUNE_CHUNK_ITEM", Path::new("3"))]);
    child("child_refuses_a_value", &[("BATCHLAS_TUNE_CHUNK_ITEMS", Path::new("0"))]);
}

#[test]
#[ignore = "run by a_batch_in_parts_gives_the_same_bits"]
fn child_solves_in_parts() {
    let a = Batch::from_fn(5, 5, 8, |item, i, j| ((item + 1) * (i * j + 1)) as f64 / (1 + i + j) as f64);
    let all = linalg::eigh(&Queue::cpu(), &a).unwrap();
    for item in 0..8 {
        let alone = Batch::from_fn(5, 5, 1, |_, i, j| a.get(item, i, j));
        let alone = linalg::eigh(&Queue::cpu(), &alone).unwrap();
        assert_eq!(all.values_of(item), alone.values_of(0));
        let place = &all.vectors.as_ref().unwrap().as_slice()[25 * item..25 * (item + 1)];
        assert_eq!(place, alone.vectors.unwrap().as_slice());
    }
}

#[test]
#[ignore = "run by a_batch_in_parts_gives_the_same_bits"]
fn child_refuses_a_value() {
    let error = linalg::eigh(&Queue::cpu(), &Batch::<f32>::zeros(2, 2, 2)).unwrap_err().to_string();
    assert_eq!(error, "BATCHLAS_TUNE_CHUNK_ITEMS=0: a number from 1 to 4294967295");
}

#[test]
#[ignore = "run by a_batch_in_parts_gives_the_same_bits"]
fn child_refuses_a_typo() {
    let error = linalg::eigh(&Queue::cpu(), &Batch::<f32>::zeros(2, 2, 2)).unwrap_err().to_string();
    assert!(error.starts_with("unknown tuning parameter BATCHLAS_TUNE_CHUNK_ITEM: one of"), "{error}");
}

/// Where a plan is of a named family it is of that one; notes the operation and the family.
fn note<P>(
    route: Option<&Pin>,
    planned: batchlas::Result<(ops::Decision<P>, ops::Plan<P>)>,
    noted: &mut BTreeSet<(&'static str, &'static str)>,
) {
    let (Some(Pin::Family(named)), Ok((decision, plan))) = (route, planned) else { return };
    assert_eq!((decision.route.family().name, plan.family), (named.family().name, named.family().name));
    noted.insert((decision.operation, plan.family));
}

/// Sizes that pass every bound: a plan or an error from each family, and no arithmetic that overflows on the way.
#[test]
fn plans_of_any_size_answer() {
    use ops::{gemm, ormqr, stebz, stedc, steqr, syev, sytrd};
    let sizes = [0, 1, 33, 1 << 20, 1 << 26, 1 << 31, 1 << 32, 1 << 40, 1 << 58, usize::MAX / 8, usize::MAX];
    // One size at its end and the others common, or all at theirs.
    let shapes = sizes.iter().flat_map(|&size| {
        let one = move |at: usize, rest: usize| std::array::from_fn(|k| if k == at { size } else { rest });
        (0..4).flat_map(move |at| [1, 64, usize::MAX].map(|rest| one(at, rest)))
    });
    let shapes: Vec<[usize; 4]> = shapes.collect();
    let pins = |operation: &'static batchlas::routes::Operation| {
        let pin = |name| Pin::parse(operation, name).expect("a family's name is a pin");
        let named = operation.families.iter().map(|family| Some(pin(family.name)));
        named.chain([None]).collect::<Vec<_>>()
    };
    let mut noted = BTreeSet::new();
    for target in [Target::CPU, Target::assumed(Arch(90))] {
        for (&[m, n, k, batch], dtype) in shapes.iter().flat_map(|s| Dtype::ALL.iter().map(move |t| (s, *t)))
        {
            for route in pins(&gemm::OPERATION) {
                let (op_a, op_b) = (gemm::Op::N, gemm::Op::T);
                let problem = gemm::Problem { dtype, op_a, op_b, m, n, k, batch };
                note(route.as_ref(), gemm::plan(&problem, &target, route.as_ref()), &mut noted);
            }
            for route in pins(&ormqr::OPERATION) {
                let problem = ormqr::Problem { dtype, n, columns: m, reflectors: k, batch };
                note(route.as_ref(), ormqr::plan(&problem, &target, route.as_ref()), &mut noted);
            }
            for route in pins(&sytrd::OPERATION) {
                let problem = sytrd::Problem { dtype, n, batch, uplo: Uplo::Upper };
                note(route.as_ref(), sytrd::plan(&problem, &target, route.as_ref()), &mut noted);
            }
            for jobz in [Jobz::V, Jobz::N] {
                for route in pins(&OPERATION) {
                    let problem = Problem { dtype, n, batch, jobz, uplo: Uplo::Upper };
                    note(route.as_ref(), syev::plan(&problem, &target, route.as_ref()), &mut noted);
                }
                for route in pins(&steqr::OPERATION) {
                    let options = steqr::Options { route: route.clone(), ..Default::default() };
                    let problem = steqr::Problem { dtype, n, batch, jobz };
                    note(route.as_ref(), steqr::plan(&problem, &target, &options), &mut noted);
                }
                for route in pins(&stedc::OPERATION) {
                    let options = stedc::Options { route: route.clone() };
                    let problem = stedc::Problem { dtype, n, batch, jobz };
                    note(route.as_ref(), stedc::plan(&problem, &target, &options), &mut noted);
                }
            }
            for route in pins(&stebz::OPERATION) {
                let options = stebz::Options { route: route.clone(), ..Default::default() };
                let problem = stebz::Problem { dtype, n, batch };
                note(route.as_ref(), stebz::plan(&problem, &target, &options), &mut noted);
            }
        }
    }
    // Each operation has planned something.
    let on_the_cpu = ["gemm", "syev", "steqr", "stedc", "stebz"].map(|operation| (operation, "cpu"));
    let kernels = [("ormqr", "blocked"), ("sytrd", "blocked")];
    let has_kernels = cfg!(any(feature = "cuda", feature = "simt"));
    for expected in on_the_cpu.into_iter().chain(kernels.into_iter().filter(|_| has_kernels)) {
        assert!(noted.contains(&expected), "{expected:?} of {noted:?}");
    }
}
