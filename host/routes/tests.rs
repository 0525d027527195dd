//! Properties of tables, rows, choices and pins, over random input.

use super::*;
use crate::ops::syev::OPERATION;

/// xorshift64*: enough to spread test input.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }

    fn size(&mut self) -> u64 {
        let top = 1 << self.below(20);
        self.below(top) as u64 + 1
    }
}

const DTYPES: [&str; 4] = ["f32", "f64", "c32", "c64"];

fn header() -> String {
    "batchlas routes 1\nop: syev\narch: sm_90\nstatus: measured\ndevice: x\ndriver: x\ntool chain: x\n\
     date: x\ncommit: x\nnote: x\nkeys: dtype jobz n batch\n"
        .to_owned()
}

fn all_words(rows: &str) -> String {
    let mut text = header();
    for dtype in DTYPES {
        for jobz in ["V", "N"] {
            for row in rows.lines() {
                text += &format!("{dtype} {jobz} {row}\n");
            }
        }
    }
    text
}

fn table_of(rows: &str) -> Table {
    Table::parse(&OPERATION, "test.txt", &all_words(rows)).unwrap()
}

fn key(n: u64, batch: u64) -> ShapeKey {
    ShapeKey { words: vec!["f32", "V"], sizes: vec![n, batch] }
}

/// A family, half of the time with a parameter where it has one.
fn with_params(random: &mut Random, name: &str) -> String {
    let family = OPERATION.family(name).unwrap();
    match family.params.first().filter(|_| random.below(2) == 1) {
        Some(Param::Word(words)) => format!("{name}:{}", words[random.below(words.len())]),
        Some(Param::Named { name: param, min, max }) => {
            format!("{name}:{param}={}", min + random.below((max - min + 1) as usize) as u32)
        }
        _ => name.to_owned(),
    }
}

fn random_table(random: &mut Random) -> Table {
    let mut text = header();
    let mut seen = std::collections::HashSet::new();
    for dtype in DTYPES {
        for jobz in ["V", "N"] {
            for _ in 0..1 + random.below(5) {
                let (n, batch) = (random.size(), random.size());
                if !seen.insert((dtype, jobz, n, batch)) {
                    continue;
                }
                let mut names = OPERATION.family_names();
                for k in (1..names.len()).rev() {
                    names.swap(k, random.below(k + 1));
                }
                names.truncate(1 + random.below(names.len()));
                for name in &mut names {
                    *name = with_params(random, name);
                }
                text += &format!("{dtype} {jobz} {n} {batch} {}\n", names.join(" "));
            }
        }
    }
    Table::parse(&OPERATION, "random", &text).unwrap()
}

#[test]
fn a_decision_can_run_or_the_error_names_every_family() {
    let mut random = Random(1);
    for _ in 0..400 {
        let table = random_table(&mut random);
        let able = random.below(1 << OPERATION.families.len()) & random.below(1 << OPERATION.families.len());
        let index =
            |c: &Candidate| OPERATION.families.iter().position(|f| f.name == c.family().name).unwrap();
        let can_run = |c: &Candidate| {
            if able >> index(c) & 1 == 1 { Ok(()) } else { Err(format!("reason {}", index(c))) }
        };
        let words = vec![DTYPES[random.below(4)], ["V", "N"][random.below(2)]];
        let key = ShapeKey { words, sizes: vec![random.size() - 1, random.size() - 1] };
        let pin = match random.below(4) {
            0 => Some(Pin::Native),
            1 => {
                let family = &OPERATION.families[random.below(OPERATION.families.len())];
                Some(Pin::Family(Candidate::plain(family)))
            }
            _ => None,
        };
        let pinned = pin.clone().map(Pinned::call);
        match choose(&OPERATION, &key, Some(&table), pinned.as_ref(), &can_run) {
            Ok(choice) => {
                assert!(can_run(&choice.candidate).is_ok());
                match pin {
                    Some(Pin::Family(wanted)) => assert_eq!(choice.candidate, wanted),
                    Some(Pin::Native) => assert_ne!(choice.candidate.family().kind, Kind::Vendor),
                    _ => first_of_the_row(&table, &key, &choice, &can_run),
                }
            }
            Err(RouteError::None { refused, .. }) => {
                assert_eq!(able, 0);
                let family = |r: &Refusal| r.family.split(':').next().unwrap_or_default().to_owned();
                let mut names: Vec<_> = refused.iter().map(family).collect();
                names.sort();
                // With the row's parameters and without.
                names.dedup();
                let mut all = OPERATION.family_names();
                all.sort();
                assert_eq!(names, all);
                assert!(refused.iter().all(|r| r.reason.starts_with("reason ")));
            }
            Err(RouteError::Pinned { refused, runnable, others, .. }) => {
                let wanted = pin.unwrap();
                assert!(!refused.is_empty());
                let told = |name: &str| {
                    let of = |r: &Refusal| r.family.split(':').next() == Some(name);
                    runnable.iter().any(|r| r == name) || refused.iter().chain(&others).any(of)
                };
                assert!(
                    OPERATION.families.iter().all(|f| told(f.name)),
                    "{refused:?} {runnable:?} {others:?}"
                );
                assert_eq!(runnable.len(), able.count_ones() as usize);
                if let Pin::Family(wanted) = wanted {
                    assert!(can_run(&wanted).is_err());
                }
            }
            Err(other) => panic!("{other}"),
        }
    }
}

fn first_of_the_row(table: &Table, key: &ShapeKey, choice: &Choice, can_run: &CanRun<'_>) {
    let row = table.nearest(key);
    assert_eq!(choice.row.as_ref(), Some(&row.key));
    let first = row.candidates.iter().find(|c| can_run(c).is_ok());
    match choice.source {
        Source::Table => assert_eq!(Some(&choice.candidate), first),
        Source::Rest => assert_eq!(first, None),
        other => panic!("{other:?}"),
    }
}

/// Parameters of a row that do not suit a shape near it say nothing of the family without them.
#[test]
fn a_family_refused_for_its_parameters_is_tried_without_them() {
    let table = table_of("8 1 blocked:nb=32 vendor:syevj");
    let can_run = |c: &Candidate| match (c.family().name, c.params().is_empty()) {
        ("blocked", true) => Ok(()),
        (name, _) => Err(format!("{name} cannot")),
    };
    let choice = choose(&OPERATION, &key(9, 1), Some(&table), None, &can_run).unwrap();
    assert_eq!((choice.candidate.to_string().as_str(), choice.source), ("blocked", Source::Rest));
    let never = |c: &Candidate| Err(format!("{c} cannot"));
    let text = choose(&OPERATION, &key(9, 1), Some(&table), None, &never).unwrap_err().to_string();
    assert!(text.contains("blocked:nb=32: blocked:nb=32 cannot; "), "{text}");
    assert!(text.contains("; vendor: vendor cannot") && text.contains("; blocked: blocked cannot"), "{text}");
}

#[test]
fn a_pin_that_cannot_run_tells_what_can_and_why_the_rest_cannot() {
    let can_run = |c: &Candidate| match c.family().name {
        "cpu" | "cta" if c.params().is_empty() => Ok(()),
        "vendor" => Err("no library".to_owned()),
        "cta" => Err("warps is 1".to_owned()),
        _ => Err("too small".to_owned()),
    };
    let pinned = Pinned::call(Pin::parse(&OPERATION, "cta:warps=2").unwrap());
    let text = choose(&OPERATION, &key(9, 1), None, Some(&pinned), &can_run).unwrap_err().to_string();
    assert_eq!(
        text,
        "syev route 'cta:warps=2' cannot run dtype=f32 jobz=V n=9 batch=1: cta:warps=2: warps is 1; these can: cta, cpu; \
         these cannot: thread, cta_fused, jacobi, block, blocked, two_stage: too small; vendor: no library"
    );
}

/// `native` names no family: what it takes is the row's or the rest's still, and is told as such.
#[test]
fn what_decides_under_native_is_the_row_or_the_rest() {
    let native = Pinned::call(Pin::Native);
    for (row, wanted, source) in [
        ("8 1 vendor:syevj cta jacobi", "cta", Source::Table),
        ("8 1 cta vendor", "cta", Source::Table),
        ("8 1 vendor", "thread", Source::Rest),
    ] {
        let table = table_of(row);
        let choice = choose(&OPERATION, &key(9, 1), Some(&table), Some(&native), &|_| Ok(())).unwrap();
        assert_eq!((choice.candidate.to_string().as_str(), choice.source), (wanted, source), "{row}");
        assert_eq!(choice.row, Some(table.nearest(&key(9, 1)).key.clone()));
    }
    let choice = choose(&OPERATION, &key(9, 1), None, Some(&native), &|_| Ok(())).unwrap();
    assert_eq!((choice.source, choice.row), (Source::Device, None));
}

#[test]
fn a_pin_of_another_operation_is_unknown() {
    let other = Pin::parse(&crate::ops::steqr::OPERATION, "cta:warps=2").unwrap();
    let pinned = Pinned::call(other);
    let text = choose(&OPERATION, &key(9, 1), None, Some(&pinned), &|_| Ok(())).unwrap_err().to_string();
    assert!(text.starts_with("unknown syev route 'cta:warps=2': one of thread, cta, "), "{text}");
}

#[test]
fn the_nearest_row_is_the_nearest() {
    let mut random = Random(7);
    for _ in 0..400 {
        let table = random_table(&mut random);
        let key = key(random.size(), random.size());
        let found = table.nearest(&key);
        let distance = |a: u64, b: u64| (a as f64).ln() - (b as f64).ln();
        for row in table.rows().iter().filter(|r| r.key.words == key.words) {
            let (mine, other) = (
                distance(found.key.sizes[0], key.sizes[0]).abs(),
                distance(row.key.sizes[0], key.sizes[0]).abs(),
            );
            assert!(mine <= other + 1e-12, "{key:?} {found:?} {row:?}");
            if row.key.sizes[0] == found.key.sizes[0] {
                let mine = distance(found.key.sizes[1], key.sizes[1]).abs();
                assert!(mine <= distance(row.key.sizes[1], key.sizes[1]).abs() + 1e-12);
            }
        }
    }
}

#[test]
fn ties_go_to_the_smaller_size_and_zero_counts_as_one() {
    let table = table_of("4 1 cta\n16 1 jacobi\n16 100 block\n64 1 vendor");
    let family = |n, batch| table.nearest(&key(n, batch)).candidates[0].to_string();
    assert_eq!(family(8, 1), "cta", "8 is as near to 4 as to 16");
    assert_eq!(family(9, 1), "jacobi");
    assert_eq!(family(16, 10), "jacobi", "10 is as near to 1 as to 100");
    assert_eq!(family(16, 11), "block");
    assert_eq!(family(32, 1000), "block", "n first, then the batch of that n's rows");
    assert_eq!(family(0, 0), "cta");
    assert_eq!(family(u64::MAX, u64::MAX), "vendor");
}

#[test]
fn faults_of_a_table_have_their_line() {
    let row = |text: &str| format!("{}{text}\n", header());
    let replaced = |from: &str, to: &str| all_words("8 1 cta").replace(from, to);
    for (text, wanted) in [
        (String::new(), "t:0: empty; the first line is 'batchlas routes 1'"),
        ("routes 2\n".into(), "t:1: expected 'batchlas routes 1', found 'routes 2'"),
        (replaced("op: syev", "op: gemm"), "t:2: a table of 'gemm', not of 'syev'"),
        (replaced("sm_90", "hopper"), "t:3: unknown architecture `hopper`: write sm_90"),
        (
            replaced("status: measured", "status: guessed"),
            "t:4: 'guessed' is no status: one of measured, transcribed, provisional",
        ),
        (replaced("date: x\n", ""), "t:0: the header has no 'date'"),
        (replaced("date: x", "date:"), "t:8: 'date' is empty"),
        (replaced("date: x", "date: x\ndate: y"), "t:9: 'date' is given already, in line 8"),
        (
            replaced("date: x", "author: x"),
            "t:8: unknown field 'author': one of op, arch, keys, status, device, driver, tool chain, date, commit, note",
        ),
        (replaced("keys: dtype jobz n batch", "keys: n"), "t:11: the keys of syev are 'dtype jobz n batch'"),
        (row("f16 V 8 1 cta"), "t:12: 'f16' is no dtype: one of f32, f64, c32, c64"),
        (row("f32 v 8 1 cta"), "t:12: 'v' is no jobz: one of V, N"),
        (row("f32 V 0 1 cta"), "t:12: '0' is no n: a number from 1 to 4294967295"),
        (row("f32 V 8 -1 cta"), "t:12: '-1' is no batch: a number from 1 to 4294967295"),
        (row("f32 V 4294967296 1 cta"), "t:12: '4294967296' is no n: a number from 1 to 4294967295"),
        (
            format!("\u{feff}{}", header()),
            "t:1: expected 'batchlas routes 1', found '\\u{feff}batchlas routes 1'",
        ),
        (replaced("date: x", "date:x"), "t:8: 'date:x': a field is written 'date: value'"),
        (
            replaced("tool chain: x", "tool chain x"),
            "t:7: 'tool chain x': a field is written 'tool chain: value'",
        ),
        (row("f32 V 8"), "t:12: no value for 'batch'"),
        (row("f32 V 8 1"), "t:12: no family after the keys"),
        (
            row("# fine\nf32 V 8 1 cta qr"),
            "t:13: unknown family 'qr': one of thread, cta, cta_fused, jacobi, block, blocked, two_stage, vendor, cpu",
        ),
        (row("f32 V 8 1 cta cta"), "t:12: 'cta' is given twice"),
        (row("f32 V 8 1 cpu:nb=8"), "t:12: 'cpu:nb=8': 'cpu' has no parameter 'nb'; it takes none"),
        (row("f32 V 8 1 blocked:nb=0"), "t:12: 'blocked:nb=0': 'nb=0': nb is a number from 1 to 32"),
        (row("f32 V 8 1 blocked:nb=8,nb=8"), "t:12: 'blocked:nb=8,nb=8': parameter 'nb' is given twice"),
        (
            row("f32 V 8 1 two_stage:8"),
            "t:12: 'two_stage:8': '8' is no parameter of 'two_stage'; it takes kd=1..256",
        ),
        (
            row("f32 V 8 1 cta\nf32 V 8 1 block"),
            "t:13: dtype=f32 jobz=V n=8 batch=1 has a row already, in line 12",
        ),
        (row("f32 V 8 1 cta\nnote: late"), "t:13: 'note:' is no dtype: one of f32, f64, c32, c64"),
        (row("f32 V 8 1 cta"), "t:0: no row for 'f32 N'"),
    ] {
        let error = Table::parse(&OPERATION, "t", &text).unwrap_err();
        assert_eq!(error.to_string(), wanted);
    }
}

#[test]
fn parameters_round_trip() {
    static GEMM: Operation = Operation {
        name: "gemm",
        keys: &[Key::Size { name: "m" }],
        families: &[Family {
            name: "reg",
            kind: Kind::Native,
            params: &[Param::Tile, Param::Named { name: "stages", min: 1, max: 8 }],
        }],
    };
    for text in ["reg", "reg:128x128x8", "reg:128x64x8,stages=3", "reg:stages=2"] {
        assert_eq!(Candidate::parse(&GEMM, text).unwrap().to_string(), text);
    }
    assert_eq!(Candidate::parse(&GEMM, "reg:128x64x8").unwrap().params().tile(), Some([128, 64, 8]));
    for text in ["reg:", "reg:128x64", "reg:0x1x1", "reg:1x1x1,2x2x2", "reg:stages=9", "reg:stages=+1"] {
        assert!(matches!(Candidate::parse(&GEMM, text), Err(ParseError::Params(_))), "{text}");
    }
    let vendor = Candidate::parse(&OPERATION, "vendor:syevj").unwrap();
    assert_eq!((vendor.params().word(), vendor.to_string().as_str()), (Some("syevj"), "vendor:syevj"));
}

#[test]
fn groups_of_words_are_independent_and_have_one_order() {
    static OP: Operation = Operation {
        name: "steqr",
        keys: &[Key::Size { name: "n" }],
        families: &[Family {
            name: "cta",
            kind: Kind::Native,
            params: &[
                Param::Word(&["nested", "flat"]),
                Param::Named { name: "warps", min: 0, max: 4 },
                Param::Word(&["exp", "pg"]),
            ],
        }],
    };
    let parse = |text| Candidate::parse(&OP, text);
    for text in ["cta:flat,pg,warps=2", "cta:pg,warps=2,flat", "cta:warps=2,flat,pg"] {
        let candidate = parse(text).unwrap();
        assert_eq!(candidate, parse("cta:flat,pg,warps=2").unwrap(), "{text}");
        assert_eq!(candidate.to_string(), "cta:flat,pg,warps=2");
        let params = candidate.params();
        assert_eq!(
            (params.word_at(0), params.word_at(1), params.word_at(2)),
            (Some("flat"), None, Some("pg"))
        );
    }
    let mut params = parse("cta:pg").unwrap().params().clone();
    assert_eq!((params.word_at(0), params.word_at(2)), (None, Some("pg")));
    params.set_word(0, "nested");
    params.set_word(2, "exp");
    assert_eq!(params.to_string(), "nested,exp");
    for (text, reason) in [
        ("cta:flat,nested", "'nested' comes after another of its kind"),
        ("cta:flat,exp,flat", "'flat' comes after another of its kind"),
        ("cta:qr", "'qr' is no parameter of 'cta'; it takes nested or flat, warps=0..4, exp or pg"),
    ] {
        assert_eq!(parse(text).unwrap_err(), ParseError::Params(reason.into()));
    }
}

fn pin_of(pinned: Option<Pinned>) -> String {
    pinned.map_or_else(|| "auto".to_owned(), |p| p.pin.to_string())
}

#[test]
fn pins_nest_and_end_in_any_order_and_stay_on_their_thread() {
    let pin = |text| Pin::parse(&OPERATION, text).unwrap();
    let now = || pin_of(effective(&OPERATION, None).unwrap());
    assert_eq!(now(), "auto");
    let outer = ScopedPin::new(&OPERATION, pin("CTA"));
    assert_eq!(now(), "cta");
    {
        let _inner = ScopedPin::new(&OPERATION, pin("blocked:NB=32"));
        assert_eq!(now(), "blocked:nb=32");
        {
            let _auto = ScopedPin::new(&OPERATION, pin("auto"));
            assert_eq!(now(), "auto", "auto undoes the pins around it");
        }
        assert_eq!(now(), "blocked:nb=32");
        assert_eq!(pin_of(effective(&OPERATION, Some(&pin("jacobi"))).unwrap()), "jacobi");
    }
    assert_eq!(now(), "cta");
    std::thread::scope(|s| {
        s.spawn(|| {
            assert_eq!(now(), "auto", "another thread is not touched");
            let _own = ScopedPin::new(&OPERATION, pin("vendor"));
            assert_eq!(now(), "vendor");
        });
    });
    let late = ScopedPin::new(&OPERATION, pin("native"));
    drop(outer);
    assert_eq!(now(), "native", "a pin ends by itself, not the newest one");
    drop(late);
    assert_eq!(now(), "auto");
}

/// A guard in a thread local of a program may be dropped when the thread's pins are gone already.
#[test]
fn a_pin_may_outlive_its_threads_pins() {
    thread_local! {
        static KEPT: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) };
    }
    struct Last(#[expect(dead_code, reason = "dropped after this")] Option<ScopedPin>);
    impl Drop for Last {
        fn drop(&mut self) {
            // The pins may be gone or not; neither ends the process.
            assert!(["cta", "auto"].contains(&pin_of(effective(&OPERATION, None).unwrap()).as_str()));
        }
    }
    let pin = || ScopedPin::new(&OPERATION, Pin::parse(&OPERATION, "cta").unwrap());
    // Registered before the pins, and after them.
    let before = std::thread::spawn(move || {
        KEPT.set(Some(Last(None)));
        KEPT.set(Some(Last(Some(pin()))));
    });
    let after = std::thread::spawn(move || KEPT.set(Some(Last(Some(pin())))));
    before.join().unwrap();
    after.join().unwrap();
}

#[test]
fn the_environment_pins_and_its_typos_are_errors() {
    let read = |pairs: &[(&str, &str)]| {
        super::environment::check_names(pairs.iter().map(|(name, _)| (*name).to_owned()))?;
        let value = |name: &str| pairs.iter().find(|(k, _)| *k == name).map(|(_, v)| (*v).to_owned());
        pin::from_environment(&OPERATION, |name| Ok(value(name)))
    };
    assert_eq!(read(&[("HOME", "/")]).unwrap(), None);
    assert_eq!(pin_of(read(&[("BATCHLAS_SYEV_ROUTE", "Blocked:nb=16")]).unwrap()), "blocked:nb=16");
    let text = read(&[("BATCHLAS_SYEV_ROUTE", "qr")]).unwrap_err().to_string();
    assert_eq!(
        text,
        "unknown syev route 'qr' (BATCHLAS_SYEV_ROUTE): one of thread, cta, cta_fused, jacobi, block, blocked, \
         two_stage, vendor, cpu, auto, native"
    );
    let others = |name: &'static str, value: &'static str| {
        super::environment::check_pins(|asked| (asked == name).then(|| value.to_owned()))
    };
    others("BATCHLAS_GEMM_ROUTE", "reg:128x128x8").unwrap();
    for name in ["BATCHLAS_GEMM_ROUTE", "BATCHLAS_STEBZ_ROUTE", "BATCHLAS_ORMQR_ROUTE"] {
        let text = others(name, "bogus").unwrap_err().to_string();
        assert!(text.contains(&format!("'bogus' ({name})")), "{text}");
    }
    let text = read(&[("BATCHLAS_SYEVD_ROUTE", "cta")]).unwrap_err().to_string();
    let known = "BATCHLAS_SYEVD_ROUTE pins no operation: one of BATCHLAS_SYEV_ROUTE, BATCHLAS_STEQR_ROUTE, ";
    assert!(text.contains(known), "{text}");
    let text = read(&[("BATCHLAS_SYEV_ROUTE", "cpu:nb=2")]).unwrap_err().to_string();
    assert!(text.contains("'cpu' has no parameter 'nb'"), "{text}");
}

/// The page for people has every family and parameter that a table may hold.
#[test]
fn the_page_of_tables_lists_families_and_parameters() {
    let page = include_str!("../../tuned/README.md");
    for operation in crate::ops::OPERATIONS {
        let start = format!("| {} |", operation.name);
        let line = page.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{start}"));
        let said: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '=').collect();
        let has = |word: &str| assert!(said.contains(&word), "'{word}' is not in {line}");
        operation.keys.iter().for_each(|key| has(key.name()));
        for family in operation.families {
            has(family.name);
            for param in family.params {
                match param {
                    Param::Named { name, .. } => has(&format!("{name}=")),
                    Param::Tile => has("MxNxK"),
                    Param::Word(words) => words.iter().copied().for_each(has),
                }
            }
        }
    }
}
