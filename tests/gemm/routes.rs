//! Routes of `gemm` as a user meets them: tables, pins, shapes that do not fit.

use batchlas::ops::Target;
#[cfg(feature = "kernels")]
use batchlas::ops::gemm::plan;
use batchlas::ops::gemm::{Decided, OPERATION, Op, Problem, explain, gemm};
#[cfg(feature = "simt")]
use batchlas::routes::ScopedPin;
use batchlas::routes::{Kind, Pin};
use batchlas::{Arch, DeviceBatch, Dtype, Layout, Queue};

fn problem(dtype: Dtype, m: usize, n: usize, k: usize, batch: usize) -> Problem {
    Problem { dtype, op_a: Op::N, op_b: Op::N, m, n, k, batch }
}

fn pin(text: &str) -> Pin {
    Pin::parse(&OPERATION, text).unwrap()
}

#[test]
fn every_type_and_shape_has_a_row_and_a_family_of_ours() {
    for dtype in Dtype::ALL {
        for (op_a, op_b) in [(Op::N, Op::N), (Op::N, Op::C), (Op::T, Op::N), (Op::C, Op::T)] {
            for (m, n, k, batch) in
                [(1, 1, 1, 1), (8, 8, 8, 100_000), (33, 5, 900, 7), (512, 512, 512, 1), (4096, 32, 1000, 3)]
            {
                let problem = Problem { op_a, op_b, ..problem(dtype, m, n, k, batch) };
                let asked = explain(&problem, Arch(90), Some(&Pin::Native)).unwrap();
                assert_eq!(asked.row.words, [dtype.name(), problem.trans()]);
                if cfg!(feature = "kernels") {
                    let decision = asked.decision.unwrap();
                    let ours = asked.candidates.iter().find(|route| route.family().kind != Kind::Vendor);
                    assert_eq!(Some(&decision), ours, "{problem:?}: the row's first of ours can run");
                }
                assert_eq!(asked.status, "provisional");
            }
        }
    }
}

#[test]
fn conjugates_count_as_transposed() {
    let asked =
        |op_b| explain(&Problem { op_b, ..problem(Dtype::C64, 64, 64, 64, 9) }, Arch(90), None).unwrap();
    assert_eq!(asked(Op::C).row, asked(Op::T).row);
    let json = serde_json::to_value(asked(Op::C)).unwrap();
    assert_eq!((json["op"].as_str(), json["row"]["trans"].as_str()), (Some("gemm"), Some("nt")));
}

#[cfg(feature = "kernels")]
#[test]
fn plans_name_tile_and_unroll() {
    let target = Target::assumed(Arch(90));
    let params = |problem: &Problem, route: &str| {
        plan(problem, &target, Some(&pin(route))).unwrap().0.route.to_string()
    };
    let wanted = [
        (problem(Dtype::F32, 512, 512, 512, 1), "reg", "reg:128x128x8,unroll=8"),
        (problem(Dtype::F32, 512, 20, 512, 1), "reg", "reg:128x32x32,unroll=8"),
        (problem(Dtype::C64, 512, 512, 512, 1), "reg", "reg:128x64x32,unroll=8"),
        (problem(Dtype::F64, 512, 50, 512, 1), "reg:unroll=16", "reg:128x64x32,unroll=16"),
        (problem(Dtype::F64, 512, 512, 512, 1), "wide", "wide:128x128x16"),
        (problem(Dtype::F32, 512, 512, 512, 1), "wide", "wide:128x128x8"),
        (problem(Dtype::C64, 40, 40, 512, 1), "wide", "wide:64x64x16"),
    ];
    for (problem, route, reached) in wanted {
        assert_eq!(params(&problem, route), reached);
    }
}

#[cfg(feature = "kernels")]
#[test]
fn pins_that_cannot_run_say_why() {
    let target = Target::assumed(Arch(90));
    for (problem, route, reason) in [
        (problem(Dtype::F32, 65, 4, 4, 1), "small", "small: m and n are at most 64"),
        (problem(Dtype::C64, 200, 200, 4, 1), "reg:128x128x8", "do not fit the registers"),
        (problem(Dtype::F32, 200, 200, 4, 1), "reg:32x32x8", "128x128x8, 64x64x16, 128x64x32, 128x32x32"),
        (problem(Dtype::C32, 200, 200, 4, 1), "reg:64x64x16,unroll=16", "unroll is 8 for this type and tile"),
        (problem(Dtype::F32, 200, 200, 4, 1), "wide:128x128x16", "one of 64x64x16, 128x128x8"),
        (problem(Dtype::F32, 1 << 31, 2, 2, 1), "tiled", "m, n and k are at most 2147483647"),
        (problem(Dtype::F32, 1 << 30, 1 << 30, 2, 1), "tiled", "blocks an item"),
    ] {
        let text = plan(&problem, &target, Some(&pin(route))).unwrap_err().to_string();
        assert!(text.contains(reason), "{route}: {text}");
    }
    let text =
        plan(&problem(Dtype::F32, 2, 2, 2, 1), &Target::CPU, Some(&pin("tiled"))).unwrap_err().to_string();
    assert!(text.contains("tiled: needs a GPU or the executor; these can: cpu"), "{text}");
}

#[test]
fn words_that_are_none_are_refused() {
    for text in ["reg:8", "reg:64x64x16,unroll=4", "wide:unroll=8", "mma", "direct:64x64x16"] {
        assert!(Pin::parse(&OPERATION, text).is_err(), "{text}");
    }
    assert_eq!(pin("REG:128x64x32,unroll=16").to_string(), "reg:128x64x32,unroll=16");
}

#[test]
fn shapes_that_do_not_fit_are_errors_that_name_them() {
    let queue = Queue::cpu();
    let batch =
        |rows, cols, items| DeviceBatch::<f64>::alloc(&queue, Layout::packed(rows, cols, items)).unwrap();
    for (a, b, c, ops) in [
        (batch(2, 3, 1), batch(4, 5, 1), batch(2, 5, 1), (Op::N, Op::N)),
        (batch(2, 3, 1), batch(3, 5, 1), batch(5, 2, 1), (Op::N, Op::N)),
        (batch(2, 3, 2), batch(3, 5, 1), batch(2, 5, 2), (Op::N, Op::N)),
        (batch(2, 3, 1), batch(3, 5, 1), batch(2, 5, 1), (Op::T, Op::N)),
    ] {
        let mut c = c;
        let text = gemm(&queue, ops, 1.0, &a, &b, 0.0, &mut c, None).unwrap_err().to_string();
        assert!(text.contains("do not fit") && text.contains("2x3"), "{text}");
    }
    let other = Queue::cpu();
    let mut c = DeviceBatch::<f64>::alloc(&other, Layout::packed(2, 5, 1)).unwrap();
    let (a, b) = (batch(2, 3, 1), batch(3, 5, 1));
    let text = gemm(&queue, (Op::N, Op::N), 1.0, &a, &b, 0.0, &mut c, None).unwrap_err().to_string();
    assert!(text.contains("another queue"), "{text}");
    let decided = Decided::new(&problem(Dtype::F64, 2, 5, 4, 1), &Target::of(&queue), None).unwrap();
    let text = decided.gemm(&queue, 1.0, &a, &b, 0.0, &mut batch(2, 5, 1)).unwrap_err().to_string();
    assert!(text.contains("decided for f64, m = 2, n = 5, k = 4"), "{text}");
}

#[cfg(feature = "simt")]
#[test]
fn a_scoped_pin_holds_and_the_executor_sees_nothing_read_that_is_not_set() {
    let queue = Queue::simt(1);
    let a = DeviceBatch::upload(&queue, &batchlas::Batch::<f32>::from_fn(5, 4, 2, |_, i, j| (i * j) as f32))
        .unwrap();
    let b = DeviceBatch::upload(&queue, &batchlas::Batch::<f32>::from_fn(4, 6, 2, |_, i, j| (i + j) as f32))
        .unwrap();
    // Never written: a read would be a finding.
    let mut c = DeviceBatch::<f32>::alloc(&queue, Layout::packed(5, 6, 2)).unwrap();
    for route in ["direct", "small", "tiled", "reg", "wide"] {
        let _pin = ScopedPin::new(&OPERATION, pin(route));
        let decision = gemm(&queue, (Op::N, Op::N), 2.0, &a, &b, 0.0, &mut c, None).unwrap();
        assert_eq!(decision.route.family().name, route);
        let c = c.download(&queue).unwrap();
        assert_eq!(c.get(1, 3, 2), 2.0 * (0..4).map(|k| (3 * k * (k + 2)) as f32).sum::<f32>(), "{route}");
    }
}
