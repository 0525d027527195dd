//! `cargo xtask new-kernel NAME`: a kernel crate to begin with. It is the one of examples/normalize, which
//! the workspace's tests build and run, under another name.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::{Failure, at, root};

/// The kernel's name in the templates.
const TEMPLATE_NAME: &str = "normalize";

const MANIFEST: &str = include_str!("../../examples/normalize/Cargo.toml");

const FILES: [(&str, &str); 4] = [
    ("build.rs", include_str!("../../examples/normalize/build.rs")),
    ("src/lib.rs", include_str!("../../examples/normalize/src/lib.rs")),
    ("tests/kernel.rs", include_str!("../../examples/normalize/tests/kernel.rs")),
    ("benches/time.rs", include_str!("../../examples/normalize/benches/time.rs")),
];

/// What a crate outside the workspace needs besides, where the workspace's manifest is not read.
const STANDALONE: &str = "
# The executor is too slow unoptimised.
[profile.dev.package]
batchlas-simt.opt-level = 3
batchlas-cuda-std.opt-level = 3
corosensei.opt-level = 3

[workspace]
";

/// Words that no function can be called, or no crate, and names that the skeleton itself uses.
const RESERVED: &str = "\
    abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen \
    if impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true \
    try type typeof unsafe unsized use virtual where while yield \
    alloc core proc_macro std test \
    check compare config input kernel main on_a_gpu run thread warp";

/// Writes the crate and says what to do next.
pub fn run(name: &str, folder: Option<&Path>) -> Result<(), Failure> {
    check_name(name).map_err(|reason| Failure::new(format!("`{name}` names no kernel: {reason}")))?;
    let folder = folder.map_or_else(|| root().join("device/kernels").join(name), Path::to_path_buf);
    let folder = std::path::absolute(&folder).map_err(at(&folder))?;
    let files = write(name, &folder)?;
    println!("{}: {}", folder.display(), files.join(", "));
    println!("{}", next_steps(name, &folder));
    Ok(())
}

fn check_name(name: &str) -> Result<(), &'static str> {
    if !name.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Err("it begins with no lower-case letter");
    }
    if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') {
        return Err("it is not made of a-z, 0-9 and _");
    }
    if name.len() > 40 {
        return Err("it is longer than 40 characters");
    }
    if RESERVED.split_whitespace().any(|word| word == name) {
        return Err("it is a word of Rust, or of the skeleton");
    }
    Ok(())
}

/// Writes the files of a crate; their names.
fn write(name: &str, folder: &Path) -> Result<Vec<&'static str>, Failure> {
    if folder.exists() {
        return Err(Failure::new(format!("{} is there already", folder.display())));
    }
    let mut files = vec![("Cargo.toml", manifest(name, folder))];
    files.extend(FILES.iter().map(|(file, text)| (*file, text.replace(TEMPLATE_NAME, name))));
    if !is_member(folder) {
        files.push((".cargo/config.toml", settings()));
    }
    for (file, text) in &files {
        put(&folder.join(file), text)?;
    }
    if !is_member(folder) {
        // The workspace's versions, so that nothing new has to be fetched.
        let lock = folder.join("Cargo.lock");
        std::fs::copy(root().join("Cargo.lock"), &lock).map_err(at(&lock))?;
    }
    format(folder);
    Ok(files.into_iter().map(|(file, _)| file).collect())
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(at(parent))?;
    }
    std::fs::write(path, text).map_err(at(path))
}

/// Whether the workspace's manifest takes a crate in.
fn is_member(folder: &Path) -> bool {
    folder.parent() == Some(&root().join("device/kernels"))
}

fn manifest(name: &str, folder: &Path) -> String {
    let text = MANIFEST.replace(&package(TEMPLATE_NAME), &package(name));
    if is_member(folder) {
        return text.replace("path = \"../..", "path = \"../../..");
    }
    let mut text = text
        .replace("path = \"../..", &format!("path = \"{}", root().display()))
        .replace("[lints]\nworkspace = true\n", STANDALONE.trim_start());
    for (key, value) in [("edition", "2024"), ("rust-version", "1.89"), ("license", "MIT OR Apache-2.0")] {
        text = text.replace(&format!("{key}.workspace = true"), &format!("{key} = \"{value}\""));
    }
    text
}

/// What the workspace's .cargo/config.toml says to those within it.
fn settings() -> String {
    format!(
        "[env]\n# Builds with the feature `cuda` link without a CUDA toolkit.\nCUDA_LIBRARY_PATH = \"{}\"\n\
         # A kernel with spills or calls fails the build.\nBATCHLAS_KERNEL_FAULTS = \"deny\"\n",
        root().join("host/cuda/stub").display()
    )
}

/// Lines of other lengths may break elsewhere; a machine without rustfmt has them as they are.
fn format(folder: &Path) {
    let sources = FILES.map(|(file, _)| folder.join(file));
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", "2024", "--config-path"]).arg(root()).args(sources);
    let _ = rustfmt.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

fn package(name: &str) -> String {
    format!("kernels-{}", name.replace('_', "-"))
}

fn next_steps(name: &str, folder: &Path) -> String {
    let member = is_member(folder);
    let place = folder.strip_prefix(root()).ok().filter(|_| member).unwrap_or(folder).display();
    let package = if member { format!(" -p {}", package(name)) } else { String::new() };
    let inspect = format!("cargo xtask inspect {place}");
    let commands = [
        (format!("cargo test{package}"), "runs it on the CPU under the checker"),
        (
            if member { inspect } else { format!("(cd {} && {inspect})", root().display()) },
            "registers and spills",
        ),
        (format!("cargo test{package} --features cuda"), "compares a GPU with the CPU, where there is one"),
        (format!("cargo bench{package} --features cuda"), "its time there"),
    ];
    let mut text = "Next:\n".to_owned();
    if !member {
        text.push_str(&format!("  cd {place}\n"));
    }
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, what) in commands {
        text.push_str(&format!("  {command:width$}  {what}\n"));
    }
    if member {
        text.push_str(
            "To ship it in the library: build.rs and Cargo.toml of the workspace embed and name it, and\n\
             tests/support/kernels.rs launches each instantiation.\n",
        );
    }
    text.push_str("docs/writing-kernels.md explains each step.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    use crate::process::{cargo, target_dir};

    struct Scratch(PathBuf);
    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
    fn scratch(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("batchlas-new-kernel-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    #[test]
    fn names_are_those_of_functions() {
        for name in ["axpy", "syev_cta2", "k"] {
            check_name(name).unwrap();
        }
        for name in
            ["", "Axpy", "2d", "_x", "a-b", "a.b", "../a", "größe", "fn", "core", "run", &"a".repeat(41)]
        {
            assert!(check_name(name).is_err(), "{name}");
        }
        let refusal = run("my-kernel", None).unwrap_err().to_string();
        assert!(refusal.contains("`my-kernel`") && refusal.contains("a-z"), "{refusal}");
    }

    #[test]
    fn folders_that_exist_stay_as_they_are() {
        let folder = scratch("taken");
        let refusal = run("axpy", Some(&folder.0)).unwrap_err().to_string();
        assert!(refusal.contains("is there already"), "{refusal}");
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
        assert!(run("small_syev", None).is_err());
    }

    #[test]
    fn a_member_takes_what_the_workspace_says() {
        let text = manifest("axpy_rows", &root().join("device/kernels/axpy_rows"));
        assert!(text.contains("name = \"kernels-axpy-rows\"") && text.contains("edition.workspace = true"));
        assert!(text.contains("path = \"../../../device/cuda_std\"") && text.contains("path = \"../../..\""));
        let steps = next_steps("axpy", &root().join("device/kernels/axpy"));
        assert!(steps.contains("cargo test -p kernels-axpy"), "{steps}");
        assert!(steps.contains("cargo xtask inspect device/kernels/axpy"), "{steps}");
    }

    #[test]
    fn the_documentation_shows_the_example() {
        let docs = std::fs::read_to_string(root().join("docs/writing-kernels.md")).unwrap();
        let blocks: Vec<&str> =
            docs.split("```rust\n").skip(1).map(|rest| &rest[..rest.find("```").unwrap()]).collect();
        assert!(!blocks.is_empty());
        for block in blocks {
            assert!(
                FILES.iter().any(|(_, text)| text.contains(block)),
                "in no file of the example:\n{block}"
            );
        }
    }

    /// The skeleton's own tests pass, in a folder that knows nothing of the workspace.
    #[test]
    fn a_new_kernel_runs_under_the_executor() {
        let parent = scratch("built");
        let folder = parent.0.join("clip");
        run("clip", Some(&folder)).unwrap();
        let text = std::fs::read_to_string(folder.join("src/lib.rs")).unwrap();
        assert!(text.contains("pub unsafe fn clip<") && !text.contains(TEMPLATE_NAME), "{text}");
        let mut command = cargo();
        command.args(["test", "--offline", "--test", "kernel"]).current_dir(&folder);
        command.env("CARGO_TARGET_DIR", target_dir());
        let output = command.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(printed.contains("every_instantiation_passes_the_checker ... ok"), "{printed}");
    }
}
