//! The fixture crate compiled to PTX: regressions, checks and incremental builds.

mod common;

use std::path::Path;

use common::{builder, fixture};
use cuda_builder::audit::{PtxEntry, parse_ptx};
use cuda_builder::{Arch, BuiltKernels};

fn built() -> BuiltKernels {
    builder(fixture("kernels")).build().unwrap_or_else(|error| panic!("{error}"))
}

fn text(built: &BuiltKernels, module: &str, arch: Arch) -> String {
    let found = built.modules.iter().find(|m| m.name == module && m.arch == arch);
    std::fs::read_to_string(&found.unwrap_or_else(|| panic!("no {module} for {arch}")).ptx).unwrap()
}

fn entry(ptx: &str, name: &str) -> PtxEntry {
    parse_ptx(ptx)
        .into_iter()
        .find(|entry| entry.name == name)
        .unwrap_or_else(|| panic!("no {name} in\n{ptx}"))
}

/// Lines of an entry's body.
fn body<'a>(ptx: &'a str, name: &str) -> Vec<&'a str> {
    let from = ptx.find(&format!(".entry {name}(")).unwrap();
    let code = &ptx[from..];
    code[..code.find("\n}").unwrap()].lines().map(str::trim).collect()
}

#[test]
fn a_barrier_is_not_duplicated_by_jump_threading() {
    let built = built();
    for arch in [Arch::SM_80, Arch::SM_90] {
        assert_eq!(entry(&text(&built, "fixture_kernels", arch), "jump").mix.count("barrier"), 1);
    }
}

#[test]
fn a_matrix_product_does_not_sink_into_a_branch() {
    let built = built();
    for arch in [Arch::SM_80, Arch::SM_90] {
        let ptx = text(&built, "fixture_kernels", arch);
        for name in ["sink_asm", "sink_intrinsic"] {
            let body = body(&ptx, name);
            let product = body.iter().position(|line| line.contains("mma.sync")).unwrap();
            let branch = body.iter().position(|line| line.contains("bra"));
            assert!(branch.is_none_or(|branch| product < branch), "{name}:\n{}", body.join("\n"));
            assert!(!body[product].starts_with('@'), "{name} is guarded");
            assert_eq!(entry(&ptx, name).mix.count("matrix"), 1);
        }
    }
}

#[test]
fn a_matrix_product_does_not_go_into_both_arms() {
    let built = built();
    for arch in [Arch::SM_80, Arch::SM_90] {
        let ptx = text(&built, "fixture_kernels", arch);
        for name in ["dup_asm", "dup_intrinsic"] {
            let entry = entry(&ptx, name);
            assert_eq!(entry.mix.count("matrix"), 1, "{name}");
        }
    }
}

#[test]
fn a_kernel_can_have_code_for_one_architecture() {
    let built = built();
    for (arch, own, other) in [(Arch::SM_80, "80001", "90001"), (Arch::SM_90, "90001", "80001")] {
        let ptx = text(&built, "fixture_kernels", arch);
        let body = body(&ptx, "by_arch").join("\n");
        assert!(body.contains(own) && !body.contains(other), "{arch}: {body}");
    }
}

#[test]
fn shared_memory_bounds_and_modules() {
    let built = built();
    let ptx = text(&built, "reverse_f32", Arch::SM_90);
    let entry = entry(&ptx, "reverse_f32");
    assert_eq!(parse_ptx(&ptx).len(), 1);
    assert_eq!(entry.params, [".u64", ".u64", ".u32"]);
    assert!(ptx.contains(".maxntid 128") && ptx.contains(".minnctapersm 2"), "{ptx}");
    assert!(
        ptx.contains(".target sm_90") && text(&built, "reverse_f32", Arch::SM_80).contains(".target sm_80")
    );
    assert_eq!((entry.mix.count("shared store"), entry.mix.count("shared load")), (1, 1), "{ptx}");
    assert_eq!(entry.mix.count("generic memory"), 0, "{ptx}");
    assert!(!text(&built, "fixture_kernels", Arch::SM_90).contains(".entry reverse_f32"));
}

#[test]
fn kernels_of_a_dependency_stay_with_it() {
    for module in built().modules {
        assert!(!std::fs::read_to_string(&module.ptx).unwrap().contains("of_the_dependency"));
    }
}

#[test]
fn products_and_sums_are_not_contracted() {
    let ptx = text(&built(), "fixture_kernels", Arch::SM_80);
    let body = body(&ptx, "two_roundings").join("\n");
    assert!(body.contains("mul.rn.f64") && body.contains("add.rn.f64") && !body.contains("fma"), "{body}");
}

#[test]
fn register_arrays_stay_in_registers() {
    let built = built();
    assert_eq!(entry(&text(&built, "fixture_kernels", Arch::SM_80), "registers").local_bytes, 0);
    for module in &built.modules {
        assert_eq!(module.cubin.is_some(), !module.resources.is_empty());
        for (name, used) in &module.resources {
            assert_eq!((used.stack_bytes, used.spill_store_bytes), (0, 0), "{name}");
            assert!(used.registers > 0);
        }
    }
}

#[test]
fn a_second_build_compiles_nothing() {
    let first = built();
    let stamp = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
    let before: Vec<_> = first.modules.iter().map(|module| stamp(&module.ptx)).collect();
    let second = built();
    let after: Vec<_> = second.modules.iter().map(|module| stamp(&module.ptx)).collect();
    assert_eq!(before, after);
    assert!(first.sources.iter().any(|path| path.ends_with("kernels/src/lib.rs")));
    assert!(first.sources.iter().any(|path| path.ends_with("helper/src/lib.rs")));
}

#[test]
fn an_edit_recompiles_its_own_module() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("edited");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = "[package]\nname = \"edited\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    let kernel = |name: &str, value: &str| {
        format!(
            "#[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn {name}(a: *mut u32) {{ unsafe {{ *a = {value}; \
             core::arch::asm!(\"membar.gl;\") }} }}\n\
             #[allow(non_upper_case_globals)] #[unsafe(no_mangle)] \
             pub static __cuda_std_module__{name}__{name}: u8 = 0;\n"
        )
    };
    let build = |head: &str, second: &str| {
        let panic = "#[panic_handler] fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }\n";
        let text = format!(
            "{head}#![cfg(target_os = \"cuda\")]\n{panic}{}{}",
            kernel("first", "1"),
            kernel("second", second)
        );
        std::fs::write(folder.join("src/lib.rs"), text).unwrap();
        let built = builder(&folder).arch(Arch::SM_90).build().unwrap_or_else(|error| panic!("{error}"));
        let stamp = |module: &str| {
            let found = built.modules.iter().find(|m| m.name == module).unwrap();
            std::fs::metadata(&found.ptx).unwrap().modified().unwrap()
        };
        (stamp("first"), stamp("second"))
    };
    build("", "0");
    let before = build("", "2");
    assert_eq!(build("// A line more.\n", "2"), before, "lines are no code");
    let after = build("// A line more.\n", "3");
    assert_eq!(after.0, before.0);
    assert_ne!(after.1, before.1);
}
