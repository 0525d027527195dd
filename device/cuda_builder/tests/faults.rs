//! Kernel crates that must not ship: what the person who wrote them is told.

mod common;

use std::path::{Path, PathBuf};

use common::builder;
use cuda_builder::check::{Fault, Policy};
use cuda_builder::ledger::{self, changes};
use cuda_builder::{Arch, BuildError, DebugInfo, ptxas};

const PANIC: &str = "#[panic_handler]\nfn panic(_: &core::panic::PanicInfo<'_>) -> ! { unsafe { core::arch::nvptx::trap() } }\n";

/// A kernel crate of one file below the target folder.
fn krate(name: &str, source: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults").join(name);
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let manifest =
        format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n");
    let write = |file: &str, text: &str| {
        let path = folder.join(file);
        if std::fs::read_to_string(&path).ok().as_deref() != Some(text) {
            std::fs::write(&path, text).unwrap();
        }
    };
    write("Cargo.toml", &manifest);
    write("src/lib.rs", &format!("#![cfg(target_os = \"cuda\")]\n{PANIC}{source}"));
    folder
}

#[test]
fn parameters_must_match_the_hosts_signature() {
    let folder = krate(
        "fault-signature",
        "#[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn k(a: *mut f32, x: f64) { unsafe { *a = x as f32 } }\n\
         #[allow(non_upper_case_globals)] #[unsafe(no_mangle)] pub static __cuda_std_sig__u64_f32__k: u8 = 0;\n",
    );
    let error = builder(&folder).build().unwrap_err();
    assert_eq!(error.to_string(), "entry k: the host passes (.u64, .f32), the PTX takes (.u64, .f64)");
}

#[test]
fn local_memory_fails_unless_allowed() {
    let source = "#[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn indexed(a: *mut f32, i: u32) { unsafe {\n\
                  let mut x = [0.0f32; 64]; let mut k = 0;\n\
                  while k < 64 { x[k] = *a.add(k); k += 1; }\n\
                  *a = x[(i & 63) as usize]; } }\n";
    let folder = krate("fault-local", source);
    let BuildError::Kernel { faults, .. } = builder(&folder).build().unwrap_err() else {
        panic!("another error")
    };
    assert!(faults.iter().all(|fault| fault.entry == "indexed"), "{faults:?}");
    assert!(
        faults.iter().any(|fault| fault.arch == "sm_80" && fault.what == "256 bytes of local memory"),
        "{faults:?}"
    );
    let allowed = builder(&folder).allow("indexed", Fault::LocalMemory, "the test wants it").build();
    assert!(allowed.unwrap_or_else(|error| panic!("{error}")).faults.is_empty());
    let file = folder.join("allowed-faults.txt");
    std::fs::write(&file, "# why\nindexed local-memory the test wants it\n").unwrap();
    let by_file = builder(&folder).build();
    std::fs::remove_file(&file).unwrap();
    assert!(by_file.unwrap_or_else(|error| panic!("{error}")).faults.is_empty());
    let warned = builder(&folder).faults(Policy::Warn).build().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(warned.faults, faults);
}

#[test]
fn calls_and_undefined_functions_fail() {
    let called = "#[inline(never)] fn helper(x: f32, n: u32) -> f32 {\n\
                  let mut y = x; let mut k = 0; while k < n { y = y * x + 1.0; k += 1; } y }\n\
                  #[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn calling(a: *mut f32, n: u32) {\n\
                  unsafe { *a = helper(*a, n) + helper(*a.add(1), n) } }\n";
    let BuildError::Kernel { faults, .. } = builder(krate("fault-call", called)).build().unwrap_err() else {
        panic!("another error")
    };
    assert!(faults[0].what.contains("which was not inlined"), "{faults:?}");

    let missing = "unsafe extern \"C\" { fn nowhere(x: f32) -> f32; }\n\
                   #[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn lost(a: *mut f32) { unsafe { *a = nowhere(*a) } }\n";
    let error = builder(krate("fault-undefined", missing)).build().unwrap_err().to_string();
    assert!(error.contains("the function `nowhere` is defined nowhere"), "{error}");
}

/// Sums 64 values that all live at once; the marker leaves 32 registers a thread.
const SPILLING: &str = "#[allow(non_upper_case_globals)] #[unsafe(no_mangle)] pub static __cuda_std_bounds__1024_2__full: u8 = 0;\n\
    #[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn full(a: *mut f64) { unsafe {\n\
    let mut x = [0.0f64; 64]; let mut k = 0; while k < 64 { x[k] = a.add(k).read_volatile(); k += 1; }\n\
    let mut i = 0; while i < 64 { let mut s = 0.0; let mut j = 0; while j < 64 { s += x[j] * x[(i + j) & 63]; j += 1; }\n\
    a.add(i).write_volatile(s); i += 1; } } }\n";

/// Stores through a pointer that comes from memory.
const GENERIC: &str = "#[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn through(p: *const *mut f32) { unsafe { **p = 1.0 } }\n";

#[test]
fn the_ledger_shows_spills_and_generic_accesses() {
    let Some(nvdisasm) = ptxas::find("nvdisasm", Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap() else {
        eprintln!("skipped: no nvdisasm");
        return;
    };
    let folder = krate("fault-ledger", &format!("{SPILLING}{GENERIC}"));
    let BuildError::Kernel { faults, .. } = builder(&folder).build().unwrap_err() else {
        panic!("another error")
    };
    assert!(
        faults.iter().all(|fault| fault.entry == "full" && fault.what.contains("spill stores")),
        "{faults:?}"
    );

    let built = builder(&folder).faults(Policy::Warn).build().unwrap_or_else(|error| panic!("{error}"));
    let ledgers = ledger::measure(&[built], Some(&nvdisasm)).unwrap();
    assert_eq!(ledgers.iter().map(|ledger| ledger.arch).collect::<Vec<_>>(), [Arch::SM_80, Arch::SM_90]);
    for ledger in ledgers {
        assert!(ledger.is_complete());
        let full = ledger.row("full").unwrap();
        let (resources, sass) = (full.resources.unwrap(), full.sass.as_ref().unwrap());
        assert!(resources.registers <= 32 && resources.spill_store_bytes > 0, "{full:?}");
        assert!(
            sass.get("local_store") > 0 && full.ptx.get("local_store") == 0,
            "only ptxas spilled: {full:?}"
        );
        assert!(changes::faults(full).is_empty(), "the build tells of spills");
        let through = changes::faults(ledger.row("through").unwrap());
        assert_eq!(through, [(Fault::Generic, "generic accesses in the machine code: 1".to_owned())]);
        assert_eq!(ledger::parse(&ledger::format(&ledger)).unwrap(), ledger);
    }
}

#[test]
fn a_marker_without_its_kernel_fails() {
    let source = "#[allow(non_upper_case_globals)] #[unsafe(no_mangle)] pub static __cuda_std_sig__u64__gone: u8 = 0;\n";
    let error = builder(krate("fault-marker", source)).build().unwrap_err().to_string();
    assert!(error.contains("marker `__cuda_std_sig__u64__gone` names no exported kernel"), "{error}");
}

#[test]
fn a_checked_build_keeps_bounds_checks_and_line_tables() {
    let source = "#[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn sum(a: *mut u32, n: u32) {\n\
                  unsafe { debug_assert!(n < 9); *a = *a + n } }\n";
    let folder = krate("variants", source);
    let text = |built: cuda_builder::BuiltKernels| std::fs::read_to_string(&built.modules[0].ptx).unwrap();
    let plain = text(builder(&folder).build().unwrap());
    let checked = text(builder(&folder).release(false).build().unwrap());
    let lines = text(builder(&folder).debug(DebugInfo::LineTables).build().unwrap());
    assert!(!plain.contains("trap") && checked.contains("trap"), "{checked}");
    assert!(!plain.contains(".loc") && lines.contains(".loc"), "{lines}");
}

#[test]
fn flags_change_the_code_and_leave_what_ships_alone() {
    let source = "#[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn joined(a: *mut f32, b: f32, c: f32) {\n\
                  unsafe { *a = *a * b + c } }\n";
    let folder = krate("flags", source);
    let build =
        |flags: &str| builder(&folder).arch(Arch::SM_90).flags(flags.parse().unwrap()).build().unwrap();
    let text = |built: &cuda_builder::BuiltKernels| std::fs::read_to_string(&built.modules[0].ptx).unwrap();
    let ships = build("default");
    assert!(text(&ships).contains("mul.rn.f32") && !text(&ships).contains("fma.rn.f32"), "{}", text(&ships));
    let joined = build("contraction");
    assert!(text(&joined).contains("fma.rn.f32"), "{}", text(&joined));
    assert!(joined.tool_chain.ends_with(", contraction") && !ships.tool_chain.contains("contraction"));
    assert_ne!(ships.modules[0].ptx, joined.modules[0].ptx);
    let bare = build("no-cubin,O2");
    assert!(bare.modules[0].cubin.is_none() && bare.modules[0].resources.is_empty());
    assert!(
        !bare.tool_chain.contains("ptxas") && bare.tool_chain.ends_with(", no-cubin,O2"),
        "{}",
        bare.tool_chain
    );
    assert!(!text(&build("default")).contains("fma.rn.f32"));
}

#[test]
fn outputs_go_where_they_are_asked() {
    let source =
        "#[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn one(a: *mut u32) { unsafe { *a = 1 } }\n";
    let folder = krate("outputs", source);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outputs");
    std::fs::create_dir_all(&target).unwrap();
    let linked = target.join("linked.ll");
    let built =
        builder(&folder).emit_llvm_ir(true).emit_cubin(false).final_module_path(&linked).copy_to(&target);
    let built = built.build().unwrap();
    assert!(std::fs::read_to_string(linked).unwrap().starts_with("; cuda_builder entry one"));
    assert!(target.join("outputs/outputs.sm_90.ptx").is_file() && target.join("manifest.txt").is_file());
    for module in built.modules {
        assert!(module.cubin.is_none());
        assert!(std::fs::read_to_string(module.ir.unwrap()).unwrap().contains("define"));
    }
}

#[test]
fn a_compiler_error_is_readable() {
    let folder = krate("fault-compile", "pub fn broken() -> u32 { \"no number\" }\n");
    let error = builder(&folder).build().unwrap_err();
    // A build script ends with this text on stderr, and cargo shows it.
    let text = error.to_string();
    for part in
        ["does not compile for the GPU", "error[E0308]: mismatched types", "src/lib.rs:", "\"no number\""]
    {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
    assert_eq!(text.matches("error[E0308]").count(), 1, "{text}");
}

#[cfg(unix)]
#[test]
fn an_assembler_that_is_too_old_costs_the_cubin_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let source =
        "#[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn two(a: *mut u32) { unsafe { *a = 2 } }\n";
    let folder = krate("old-assembler", source);
    let ptxas = folder.join("ptxas");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'Cuda compilation tools, release 11.0, V11.0.1'; exit; }\n\
                  echo \"ptxas fatal: Value 'sm_90' is not defined\"; exit 255\n";
    std::fs::write(&ptxas, script).unwrap();
    std::fs::set_permissions(&ptxas, std::fs::Permissions::from_mode(0o755)).unwrap();
    // The second build finds the first one's verdict.
    for _ in 0..2 {
        let built = builder(&folder).arch(Arch::SM_90).ptxas(&ptxas).faults(Policy::Warn).build();
        let built = built.unwrap_or_else(|error| panic!("{error}"));
        assert!(built.modules[0].cubin.is_none());
        assert!(built.faults[0].what.contains("'sm_90' is not defined"), "{:?}", built.faults);
        assert!(built.tool_chain.ends_with("ptxas 11.0.1"), "{}", built.tool_chain);
    }
    assert!(matches!(builder(&folder).ptxas(&ptxas).build(), Err(BuildError::Kernel { .. })));
}
