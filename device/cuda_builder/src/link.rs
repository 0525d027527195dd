//! The linker of device code: bitcode objects and rlibs in, one textual IR module out.
//!
//! rustc's `llbc` linker flavour calls it with `--export-symbol NAME`, bitcode objects, rlibs, the output
//! path and the target cpu. Nothing is compiled here: [`crate::codegen`] does that in the build script,
//! where an error is not buried in rustc's report of a failed linker.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{BuildError, at};
use crate::{ir, markers, nested};

/// Set on the nested cargo: the folder of the LLVM tools. Its presence makes this program the linker.
pub(crate) const LLVM_BIN_VAR: &str = "CUDA_BUILDER_LLVM_BIN";

/// Dynamic shared memory: one external array, and its generic address. LLVM infers the address space
/// after inlining, which it cannot do for an address out of inline assembly.
const SHARED_MEMORY: &str = "\
target triple = \"nvptx64-nvidia-cuda\"
@__cuda_std_shared = external addrspace(3) global [0 x i8], align 16
define ptr @__cuda_std_dynamic_shared() alwaysinline {
  ret ptr addrspacecast (ptr addrspace(3) @__cuda_std_shared to ptr)
}
";

/// Does the work of rustc's linker or wrapper where this program was started as one, and says whether it
/// was. Call it first in a build script: `if cuda_builder::act_as_linker() { return; }`.
///
/// Ends the process with exit status 1 where linking fails.
pub fn act_as_linker() -> bool {
    let Some(llvm_bin) = std::env::var_os(LLVM_BIN_VAR) else { return false };
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if nested::act_as_wrapper(&args) {
        return true;
    }
    if args.is_empty() {
        return false;
    }
    let args: Vec<String> = args.into_iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if let Err(error) = LinkArgs::parse(args).and_then(|args| link(&args, Path::new(&llvm_bin))) {
        eprintln!("ptx linker: {error}");
        std::process::exit(1);
    }
    true
}

/// What rustc asks of the linker.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LinkArgs {
    /// Bitcode objects of the kernel crate itself.
    pub objects: Vec<PathBuf>,
    /// Archives of its dependencies.
    pub rlibs: Vec<PathBuf>,
    /// Exported names, those of dependencies included.
    pub exports: Vec<String>,
    /// Where the result goes.
    pub output: PathBuf,
}

impl LinkArgs {
    /// Reads a command line, or the response file that it names.
    pub fn parse(mut args: Vec<String>) -> Result<Self, BuildError> {
        if let [only] = &args[..]
            && let Some(path) = only.strip_prefix('@')
        {
            let text = std::fs::read_to_string(path).map_err(at(Path::new(path)))?;
            args = text.lines().map(unescape).collect();
        }
        let mut parsed = Self::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "-o" => parsed.output = args.next().unwrap_or_default().into(),
                "--export-symbol" => parsed.exports.extend(args.next()),
                "--target-cpu" | "--target" | "-L" => drop(args.next()),
                path if path.ends_with(".o") => parsed.objects.push(path.into()),
                path if path.ends_with(".rlib") => parsed.rlibs.push(path.into()),
                // -O3, --debug and the fingerprint that makes cargo relink.
                _ => {}
            }
        }
        if parsed.output.as_os_str().is_empty() || parsed.objects.is_empty() {
            return Err(BuildError::Marker("rustc named no output or no object".to_owned()));
        }
        Ok(parsed)
    }
}

/// One line of a response file: rustc puts a backslash before spaces and backslashes.
fn unescape(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.trim_matches('"').chars();
    while let Some(c) = chars.next() {
        out.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    out
}

fn link(args: &LinkArgs, llvm_bin: &Path) -> Result<(), BuildError> {
    let scratch = PathBuf::from(format!("{}.link", args.output.display()));
    if scratch.exists() {
        std::fs::remove_dir_all(&scratch).map_err(at(&scratch))?;
    }
    std::fs::create_dir_all(&scratch).map_err(at(&scratch))?;

    let mut inputs = args.objects.clone();
    for (index, rlib) in args.rlibs.iter().enumerate() {
        inputs.extend(unpack(rlib, &scratch.join(index.to_string()), llvm_bin)?);
    }
    let shared = scratch.join("shared.ll");
    std::fs::write(&shared, SHARED_MEMORY).map_err(at(&shared))?;
    inputs.push(shared);

    let linked = scratch.join("linked.bc");
    run(Command::new(llvm_bin.join("llvm-link")).args(&inputs).arg("-o").arg(&linked))?;
    let exports = own_exports(args, llvm_bin)?;
    let (markers, symbols): (Vec<String>, Vec<String>) =
        exports.into_iter().partition(|name| markers::is_marker(name));

    // Everything that no kernel of this crate reaches goes now: core is large.
    let text = run(Command::new(llvm_bin.join("opt"))
        .arg("-S")
        .arg("-passes=internalize,globaldce")
        .arg(format!("-internalize-public-api-list={}", symbols.join(",")))
        .arg(&linked))?;
    let entries: Vec<String> =
        ir::kernels(&text).filter(|name| symbols.iter().any(|s| s == name)).map(str::to_owned).collect();
    let decls = markers::collect(&entries, &markers)?;

    let mut module = String::new();
    for decl in &decls {
        module.push_str(&decl.to_line());
        module.push('\n');
    }
    module.push_str(&ir::rewrite(&text, &decls));
    std::fs::write(&args.output, module).map_err(at(&args.output))?;
    std::fs::remove_dir_all(&scratch).map_err(at(&scratch))
}

/// Members of an rlib that are bitcode.
fn unpack(rlib: &Path, into: &Path, llvm_bin: &Path) -> Result<Vec<PathBuf>, BuildError> {
    std::fs::create_dir_all(into).map_err(at(into))?;
    run(Command::new(llvm_bin.join("llvm-ar")).current_dir(into).arg("x").arg(rlib))?;
    let mut members = vec![];
    for member in std::fs::read_dir(into).map_err(at(into))? {
        let path = member.map_err(at(into))?.path();
        if path.extension().is_some_and(|extension| extension == "o") {
            members.push(path);
        }
    }
    members.sort();
    Ok(members)
}

/// Exports that the crate's own objects define: a dependency's kernels are its own crate's to ship.
fn own_exports(args: &LinkArgs, llvm_bin: &Path) -> Result<Vec<String>, BuildError> {
    let list = run(Command::new(llvm_bin.join("llvm-nm"))
        .args(["--defined-only", "--extern-only", "--format=just-symbols"])
        .args(&args.objects))?;
    let own: HashSet<&str> = list.lines().collect();
    Ok(args.exports.iter().filter(|name| own.contains(name.as_str())).cloned().collect())
}

/// Runs a tool; its standard output, or an error with what it printed.
pub(crate) fn run(command: &mut Command) -> Result<String, BuildError> {
    let shown = shorten(command);
    let output = command
        .output()
        .map_err(|error| BuildError::Tool { command: shown.clone(), output: error.to_string() })?;
    if !output.status.success() {
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        return Err(BuildError::Tool { command: format!("{shown} ({})", output.status), output: text });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn shorten(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for arg in command.get_args() {
        text.push(' ');
        text.push_str(&arg.to_string_lossy());
    }
    match text.char_indices().nth(600) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn reads_the_command_line_of_rustc() {
        let parsed = LinkArgs::parse(args(
            "--export-symbol toy --export-symbol __cuda_std_sig__u32__toy a.cgu.o /x/libcore-1.rlib -L /x -L /y.o \
             --target nvptx64-nvidia-cuda --target-cpu sm_80 -o /out/k.ptx -O3 --debug --fingerprint=12",
        ))
        .unwrap();
        assert_eq!(parsed.objects, [PathBuf::from("a.cgu.o")]);
        assert_eq!(parsed.rlibs, [PathBuf::from("/x/libcore-1.rlib")]);
        assert_eq!(parsed.exports, ["toy", "__cuda_std_sig__u32__toy"]);
        assert_eq!(parsed.output, PathBuf::from("/out/k.ptx"));
    }

    #[test]
    fn reads_a_response_file() {
        let path = std::env::temp_dir().join(format!("cuda-builder-args-{}", std::process::id()));
        std::fs::write(&path, "--export-symbol\ntoy\n/a\\ b/c\\\\d.o\n-o\n/out.ptx\n").unwrap();
        let parsed = LinkArgs::parse(vec![format!("@{}", path.display())]).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(parsed.objects, [PathBuf::from("/a b/c\\d.o")]);
        assert_eq!(parsed.exports, ["toy"]);
    }

    #[test]
    fn no_output_is_an_error() {
        assert!(LinkArgs::parse(args("a.o")).is_err());
        assert!(LinkArgs::parse(args("-o out.ptx")).is_err());
    }
}
