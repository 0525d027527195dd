//! Kernels from a folder in place of the embedded ones: the same program with kernels of other builder flags.
//!
//! `BATCHLAS_KERNEL_DIR` names a folder that `cargo xtask ptx` or `cargo xtask ab` wrote. It must hold every module
//! that the program embeds, with the same kernels and the same parameters: a launch passes what the embedded one
//! takes. It is read once, when the first GPU is opened.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::module::{EmbeddedModule, embedded};
use crate::error::{Error, Result};

/// The variable that names the folder.
pub use crate::routes::KERNEL_DIR;

const MANIFEST: &str = "manifest.txt";

/// The kernels in force.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernels {
    pub(super) modules: &'static [EmbeddedModule],
    pub(super) tool_chain: &'static str,
}

/// The embedded kernels, or those of the folder.
pub(super) fn in_force() -> Result<Kernels> {
    static READ: OnceLock<std::result::Result<Kernels, String>> = OnceLock::new();
    let read = READ.get_or_init(|| {
        let own = Kernels { modules: embedded::MODULES, tool_chain: embedded::TOOL_CHAIN };
        match std::env::var_os(KERNEL_DIR).filter(|dir| !dir.is_empty()) {
            None => Ok(own),
            Some(dir) => read_folder(Path::new(&dir), own.modules)
                .map_err(|problem| format!("{KERNEL_DIR}={}: {problem}", Path::new(&dir).display())),
        }
    });
    read.clone().map_err(Error::Argument)
}

/// Reads a folder that takes the place of `own`. What it holds lives as long as the process.
fn read_folder(dir: &Path, own: &[EmbeddedModule]) -> std::result::Result<Kernels, String> {
    let path = dir.join(MANIFEST);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        format!("{MANIFEST}: {error} (a folder of kernels is written by cargo xtask ptx FOLDER)")
    })?;
    let mut modules = vec![];
    let mut resources = vec![];
    let mut tool_chain = "unknown";
    for line in text.lines() {
        if let Some(names) = line.strip_prefix("tool_chain ") {
            tool_chain = names.to_owned().leak();
        } else if let Some(words) = line.strip_prefix("module ") {
            modules.push(read_module(dir, words)?);
        } else if let Some(words) = line.strip_prefix("resources ") {
            // They follow their module.
            let figures = modules.last().and_then(|module| read_resources(module, words));
            resources.push(figures.ok_or_else(|| format!("{MANIFEST}: cannot read `{line}`"))?);
        } else if !line.starts_with("source ") {
            return Err(format!("{MANIFEST}: cannot read `{line}`"));
        }
    }
    for module in &mut modules {
        let of = |entry: &str| {
            let found =
                resources.iter().find(|(arch, name, _)| (*arch, name.as_str()) == (module.arch, entry));
            found.map(|(_, _, figures)| *figures)
        };
        let all: Option<Vec<[u32; 5]>> = module.entries.iter().map(|entry| of(entry)).collect();
        module.resources = all.unwrap_or_default().leak();
    }
    for module in &modules {
        check_parameters(module, own)?;
    }
    let is_there = |wanted: &EmbeddedModule| {
        modules.iter().any(|m: &EmbeddedModule| (m.krate, m.name) == (wanted.krate, wanted.name))
    };
    if let Some(missing) = own.iter().find(|module| !is_there(module)) {
        return Err(format!(
            "no module {} of {}: it belongs to another program",
            missing.name, missing.krate
        ));
    }
    modules.sort_by_key(|module| (module.krate, module.name, module.arch));
    Ok(Kernels { modules: modules.leak(), tool_chain })
}

/// Reads `<crate> <module> <arch> <entry>,<entry>,...` and the files that it names.
fn read_module(dir: &Path, words: &str) -> std::result::Result<EmbeddedModule, String> {
    let unreadable = || format!("{MANIFEST}: cannot read `module {words}`");
    let words: Vec<&str> = words.split(' ').collect();
    let [krate, name, arch, entries] = words[..] else { return Err(unreadable()) };
    let number = arch.strip_prefix("sm_").and_then(|digits| digits.parse().ok()).ok_or_else(unreadable)?;
    let file = |suffix: &str| -> PathBuf { dir.join(krate).join(format!("{name}.{arch}.{suffix}")) };
    let ptx = std::fs::read_to_string(file("ptx")).map_err(|e| format!("{}: {e}", file("ptx").display()))?;
    let cubin = match std::fs::read(file("cubin")) {
        Ok(bytes) => Some(&*bytes.leak()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(format!("{}: {error}", file("cubin").display())),
    };
    let entries: Vec<&'static str> = entries.split(',').map(|entry| &*entry.to_owned().leak()).collect();
    Ok(EmbeddedModule {
        name: name.to_owned().leak(),
        krate: krate.to_owned().leak(),
        arch: number,
        ptx: ptx.leak().as_bytes(),
        cubin,
        entries: entries.leak(),
        resources: &[],
    })
}

/// Reads `<crate> <module> <arch> <entry> <registers> <stack> <spill stores> <spill loads> <shared>` of a module.
fn read_resources(module: &EmbeddedModule, words: &str) -> Option<(u32, String, [u32; 5])> {
    let words: Vec<&str> = words.split(' ').collect();
    let [krate, name, _, entry, numbers @ ..] = &words[..] else { return None };
    let numbers: Vec<u32> = numbers.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let figures = numbers.try_into().ok()?;
    ((*krate, *name) == (module.krate, module.name)).then(|| (module.arch, (*entry).to_owned(), figures))
}

/// The kernels of a module against those that the program embeds under the same name.
fn check_parameters(module: &EmbeddedModule, own: &[EmbeddedModule]) -> std::result::Result<(), String> {
    let same = |m: &&EmbeddedModule| (m.krate, m.name) == (module.krate, module.name);
    // One that the program has no use for does no harm.
    let Some(own) = own.iter().find(same) else { return Ok(()) };
    let text = |module: &EmbeddedModule| module.ptx().map_err(|error| error.to_string());
    let (own_text, text) = (text(own)?, text(module)?);
    let (expected, found) = (parameters(&own_text), parameters(&text));
    for entry in own.entries {
        let (expected, found) = (expected.get(entry), found.get(entry));
        if found.is_none() || found != expected {
            let list =
                |p: Option<&Vec<String>>| p.map_or("nothing".to_owned(), |p| format!("({})", p.join(", ")));
            return Err(format!(
                "kernel {entry} of {} for sm_{} takes {}, the program passes {}: it was made of other sources",
                module.name,
                module.arch,
                list(found),
                list(expected)
            ));
        }
    }
    Ok(())
}

/// The types of each kernel's parameters in PTX.
fn parameters(ptx: &str) -> BTreeMap<&str, Vec<String>> {
    let head = |text: &'_ str| -> Option<(usize, usize)> { Some((text.find('(')?, text.find(')')?)) };
    let one = |text| {
        let (open, close) = head(text)?;
        let types = text.get(open + 1..close)?.split(',').map(str::trim).filter(|text| !text.is_empty());
        Some((text[..open].trim(), types.map(parameter).collect::<Option<_>>()?))
    };
    ptx.split(".entry ").skip(1).filter_map(one).collect()
}

/// The type in `.param .u64 .ptr .align 1 NAME`.
fn parameter(text: &str) -> Option<String> {
    let mut words = text.strip_prefix(".param")?.split_whitespace();
    let first = words.next()?;
    if first != ".align" {
        return Some(first.to_owned());
    }
    // A structure: its alignment, and its size behind the name.
    let size = text.rfind('[').map_or("", |at| &text[at..]);
    Some(format!(".align {}{size}", words.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".version 8.0\n.visible .entry scale_f32(\n\t.param .u64 .ptr .align 1 scale_f32_param_0,\n\t.param .f32 scale_f32_param_1\n)\n.maxntid 32\n{\n\tret;\n}\n.visible .entry empty()\n{\n\tret;\n}\n";

    fn own() -> EmbeddedModule {
        EmbeddedModule {
            name: "scale_f32",
            krate: "kernels_x",
            arch: 80,
            ptx: PTX.as_bytes(),
            cubin: None,
            entries: &["scale_f32", "empty"],
            resources: &[],
        }
    }

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, manifest: &str, ptx: &str) -> Self {
            let folder =
                std::env::temp_dir().join(format!("batchlas-kernel-dir-{name}-{}", std::process::id()));
            std::fs::create_dir_all(folder.join("kernels_x")).unwrap();
            std::fs::write(folder.join(MANIFEST), manifest).unwrap();
            std::fs::write(folder.join("kernels_x/scale_f32.sm_90.ptx"), ptx).unwrap();
            std::fs::write(folder.join("kernels_x/scale_f32.sm_90.cubin"), [7_u8; 33]).unwrap();
            Self(folder)
        }

        fn read(&self) -> std::result::Result<Kernels, String> {
            read_folder(&self.0, &[own()])
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const LINES: &str = "tool_chain rustc 1.96.0, LLVM 22.1.8, contraction\nsource kernels_x 0 src/lib.rs\n\
                         module kernels_x scale_f32 sm_90 scale_f32,empty\nresources kernels_x scale_f32 sm_90 empty 8 0 0 0 0\n\
                         resources kernels_x scale_f32 sm_90 scale_f32 40 0 0 0 16\n";

    #[test]
    fn a_folder_takes_the_place_of_what_is_embedded() {
        let kernels = Folder::new("fine", LINES, PTX).read().unwrap();
        assert_eq!(kernels.tool_chain, "rustc 1.96.0, LLVM 22.1.8, contraction");
        let module = &kernels.modules[0];
        assert_eq!(
            (module.arch, module.entries, module.ptx),
            (90, &["scale_f32", "empty"][..], PTX.as_bytes())
        );
        assert_eq!(module.resources, [[40, 0, 0, 0, 16], [8, 0, 0, 0, 0]]);
        assert_eq!(module.cubin, Some(&[7_u8; 33][..]));
    }

    #[test]
    fn kernels_of_other_sources_are_refused() {
        let other =
            |name: &str, manifest: &str, ptx: &str| Folder::new(name, manifest, ptx).read().unwrap_err();
        let problem = other("params", LINES, &PTX.replace(".param .f32", ".param .f64"));
        assert!(problem.contains("takes (.u64, .f64), the program passes (.u64, .f32)"), "{problem}");
        let problem = other("lost", LINES, &PTX.replace("empty", "full"));
        assert!(problem.contains("kernel empty") && problem.contains("takes nothing"), "{problem}");
        let problem = other("none", "tool_chain x\n", PTX);
        assert!(problem.contains("no module scale_f32 of kernels_x"), "{problem}");
        let problem = other("line", "modul x\n", PTX);
        assert!(problem.contains("cannot read `modul x`"), "{problem}");
        let problem = other("figures", &LINES.replace("40 0 0 0 16", "40 0"), PTX);
        assert!(
            problem.contains("cannot read `resources kernels_x scale_f32 sm_90 scale_f32 40 0`"),
            "{problem}"
        );
        let problem = other("arch", "module kernels_x scale_f32 90 empty\n", PTX);
        assert!(problem.contains("cannot read `module kernels_x scale_f32 90 empty`"), "{problem}");
        let problem = other("file", "module kernels_x gone sm_90 empty\n", PTX);
        assert!(problem.contains("gone.sm_90.ptx"), "{problem}");
        let problem = read_folder(Path::new("/no/such/folder"), &[own()]).unwrap_err();
        assert!(problem.contains("cargo xtask ptx"), "{problem}");
    }

    #[test]
    fn parameters_of_entries() {
        let all = parameters(PTX);
        assert_eq!(all["scale_f32"], [".u64", ".f32"]);
        assert!(all["empty"].is_empty() && all.len() == 2);
        let structure = ".entry k(\n\t.param .align 8 .b8 k_param_0[16]\n)\n{}";
        assert_eq!(parameters(structure)["k"], [".align 8[16]"]);
        assert!(parameters(".entry k(.reg .u64 a)").is_empty() && parameters(".entry k )(").is_empty());
    }

    #[test]
    fn the_embedded_kernels_can_be_read() {
        for module in embedded::MODULES {
            check_parameters(module, embedded::MODULES).unwrap();
            let text = module.ptx().unwrap();
            let all = parameters(&text);
            assert!(module.entries.iter().all(|entry| all.contains_key(entry)), "{}", module.name);
        }
    }
}
