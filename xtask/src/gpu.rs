//! `cargo xtask gpu-suite` and `cargo xtask gpu-pack`: the tests that need an NVIDIA GPU, here or on a
//! machine without Rust.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::junit::{self, Outcome, Suite};
use crate::process::{self, Failure, answer, at, cargo, root, target_dir, which};
use crate::{progress, setup};

const FEATURES: &str = "cuda,vendor,simt";

/// The pack must fit through narrow doors.
const PACK_LIMIT: u64 = 40 << 20;

/// The architecture of a pack where `BATCHLAS_ARCHS` names none.
const PACK_ARCH: &str = "sm_90";

/// Programs that the pack leaves out: they test nothing on a GPU, and each would hold all kernels.
const NEEDS_NO_GPU: &[&str] = &["cpu_vs_numpy", "every_kernel", "routes", "runtime_simt"];

const RUN_SH: &str = include_str!("run.sh");

/// A compiled program.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    /// `test`, `bench` or `bin`.
    kind: String,
    name: String,
    path: PathBuf,
}

/// Runs the GPU tests on this machine.
pub fn suite() -> Result<(), Failure> {
    if !has_gpu() {
        return Err(Failure::new(
            "no NVIDIA GPU here: no /dev/nvidiactl, no /dev/dxg, and nvidia-smi -L lists none \
             (cargo xtask test needs none; cargo xtask gpu-pack makes a folder for a machine that has one)",
        ));
    }
    setup::ensure()?;
    let programs = build(&["--tests"], None)?;
    let folder = target_dir().join("gpu-suite");
    std::fs::create_dir_all(&folder).map_err(at(&folder))?;
    let mut suites = vec![];
    let mut log = String::new();
    for program in programs.iter().filter(|program| program.kind == "test") {
        println!("== {}", program.name);
        let start = Instant::now();
        let (output, succeeded) = run_test(&program.path)?;
        let _ = writeln!(log, "== {}\n{output}", program.name);
        suites.push(Suite::read(&program.name, start.elapsed().as_secs_f64(), &output, succeeded));
    }
    let (xml, text) = (folder.join("junit.xml"), folder.join("log.txt"));
    let summary = summary(&suites);
    std::fs::write(&xml, junit::xml(&suites)).map_err(at(&xml))?;
    std::fs::write(&text, format!("{log}{summary}")).map_err(at(&text))?;
    print!("{summary}");
    println!("{} and {}", xml.display(), text.display());
    let (passed, failed) = totals(&suites);
    match (passed, failed) {
        (0, 0) => Err(Failure::new("no GPU test ran")),
        (_, 0) => Ok(()),
        (_, failed) => Err(Failure::new(format!("{failed} GPU tests failed"))),
    }
}

fn has_gpu() -> bool {
    let device = ["/dev/nvidiactl", "/dev/dxg"].into_iter().any(|path| Path::new(path).exists());
    device || answer("nvidia-smi", &["-L"]).is_some_and(|list| list.contains("GPU"))
}

/// Builds the test programs of the library in release, and what else is asked for.
fn build(targets: &[&str], archs: Option<&str>) -> Result<Vec<Program>, Failure> {
    let mut command = cargo();
    command.envs(archs.map(|archs| ("BATCHLAS_ARCHS", archs)));
    command.args(["test", "--release", "--no-run", "--package", "batchlas", "--features", FEATURES]);
    command.args(["--message-format", "json-render-diagnostics"]).args(targets);
    command.stderr(std::process::Stdio::inherit());
    let output = progress::watching(|| command.output()).map_err(at(Path::new("cargo")))?;
    if !output.status.success() {
        return Err(Failure::new(format!("{} failed", process::shown(&command))));
    }
    let mut programs = programs(&String::from_utf8_lossy(&output.stdout));
    programs.sort_by(|a, b| (&a.kind, &a.name).cmp(&(&b.kind, &b.name)));
    Ok(programs)
}

/// Test and bench programs in cargo's messages; unit tests of the library are not among them.
fn programs(messages: &str) -> Vec<Program> {
    let read = |line: &str| {
        let path = field(line, "\"executable\":\"")?;
        let target = line.split_once("\"target\":{")?.1;
        let kind = field(target, "\"kind\":[\"")?;
        let name = field(target, "\"name\":\"")?;
        matches!(kind, "test" | "bench").then(|| Program {
            kind: kind.to_owned(),
            name: name.to_owned(),
            path: path.into(),
        })
    };
    messages.lines().filter_map(read).collect()
}

fn field<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    line.split_once(before)?.1.split('"').next()
}

/// Runs a test program in the workspace, shows what it prints, and keeps it.
fn run_test(program: &Path) -> Result<(String, bool), Failure> {
    let (reader, writer) = std::io::pipe().map_err(at(program))?;
    let mut command = Command::new(program);
    command.current_dir(root()).env("BATCHLAS_REQUIRE_GPU", "1");
    command.stdout(writer.try_clone().map_err(at(program))?).stderr(writer);
    let mut child = command.spawn().map_err(at(program))?;
    // It holds the pipe's other end, which must close when the child ends.
    drop(command);
    let mut output = String::new();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line.map_err(at(program))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        output.push_str(&line);
        output.push('\n');
    }
    let status = child.wait().map_err(at(program))?;
    Ok((output, status.success()))
}

fn totals(suites: &[Suite]) -> (usize, usize) {
    suites.iter().map(Suite::counts).fold((0, 0), |(p, f), (passed, failed, _)| (p + passed, f + failed))
}

fn summary(suites: &[Suite]) -> String {
    let mut text = String::from("== summary\n");
    for suite in suites {
        let (passed, failed, ignored) = suite.counts();
        let _ = writeln!(
            text,
            "{:<24} {passed:>5} passed {failed:>5} failed {ignored:>5} ignored {:>8.1} s",
            suite.name, suite.seconds
        );
        for case in suite.cases.iter().filter(|case| matches!(case.outcome, Outcome::Failed(_))) {
            let _ = writeln!(text, "  FAILED {}", case.name);
        }
    }
    let (passed, failed) = totals(suites);
    let _ = writeln!(text, "{passed} passed, {failed} failed");
    text
}

/// Makes the folder for a machine without Rust.
pub fn pack() -> Result<(), Failure> {
    setup::ensure()?;
    // A pack is for one machine, and kernels of two architectures would not fit.
    let archs = std::env::var("BATCHLAS_ARCHS").unwrap_or_else(|_| PACK_ARCH.to_owned());
    let mut programs = build(&["--tests", "--benches"], Some(&archs))?;
    programs.retain(|program| !NEEDS_NO_GPU.contains(&program.name.as_str()));
    let mut command = cargo();
    command.args(["build", "--release", "--package", "batchlas-cli"]).env("BATCHLAS_ARCHS", &archs);
    progress::watching(|| process::run(&mut command))?;
    programs.push(Program {
        kind: "bin".to_owned(),
        name: "batchlas".to_owned(),
        path: target_dir().join("release/batchlas"),
    });

    let folder = root().join("gpu-pack");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(at(&folder))?;
    }
    let mut size = 0;
    for program in &programs {
        let place = folder.join(&program.kind).join(&program.name);
        let packed = copy_packed(&program.path, &place)?;
        println!("{:>9} {}", kib(packed), place.display());
        size += packed;
    }
    size += copy_folder(&root().join("examples/data"), &folder.join("examples/data"))?;
    let script = folder.join("run.sh");
    std::fs::write(&script, RUN_SH).map_err(at(&script))?;
    make_executable(&script)?;
    println!("{:>9} {} in all; on the GPU machine: {0}/run.sh", kib(size), folder.display());
    if size > PACK_LIMIT {
        let advice = "BATCHLAS_ARCHS with one architecture leaves out the kernels of others";
        return Err(Failure::new(format!("{} is more than {}; {advice}", kib(size), kib(PACK_LIMIT))));
    }
    Ok(())
}

fn kib(bytes: u64) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}

/// Copies a program without symbols, compressed: each holds all kernels. `run.sh` unpacks it.
fn copy_packed(from: &Path, to: &Path) -> Result<u64, Failure> {
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent).map_err(at(parent))?;
    }
    std::fs::copy(from, to).map_err(at(from))?;
    let of_llvm = cuda_builder::discover::find().ok().map(|tools| tools.llvm_bin.join("llvm-strip"));
    let strip = which("strip").or(of_llvm.filter(|path| path.is_file()));
    if let Some(strip) = strip {
        process::run(Command::new(strip).arg(to))?;
    }
    process::run(Command::new("gzip").args(["-9", "--no-name", "--force"]).arg(to))?;
    let packed = to.with_extension("gz");
    Ok(std::fs::metadata(&packed).map_err(at(&packed))?.len())
}

fn copy_folder(from: &Path, to: &Path) -> Result<u64, Failure> {
    std::fs::create_dir_all(to).map_err(at(to))?;
    let mut size = 0;
    for entry in std::fs::read_dir(from).map_err(at(from))?.flatten() {
        size += std::fs::copy(entry.path(), to.join(entry.file_name())).map_err(at(&entry.path()))?;
    }
    Ok(size)
}

fn make_executable(path: &Path) -> Result<(), Failure> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).map_err(at(path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_in_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"kind":["test"],"crate_types":["bin"],"name":"gpu_runtime"},"executable":"/t/gpu_runtime-1"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"crate_types":["lib"],"name":"batchlas"},"executable":"/t/batchlas-2"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"faer"},"executable":null}"#,
        );
        let expected =
            Program { kind: "test".into(), name: "gpu_runtime".into(), path: "/t/gpu_runtime-1".into() };
        assert_eq!(programs(messages), [expected]);
    }

    #[test]
    fn a_summary_closes_with_the_totals() {
        let suite = Suite::read("gpu", 1.0, "test a ... ok\ntest b ... FAILED\n", false);
        let text = summary(&[suite]);
        assert!(text.contains("  FAILED b\n") && text.ends_with("1 passed, 1 failed\n"), "{text}");
    }

    #[test]
    fn a_tests_output_and_verdict_are_kept() {
        let (output, succeeded) = run_test(Path::new("/bin/true")).unwrap();
        assert_eq!((output.as_str(), succeeded), ("", true));
        assert!(!run_test(Path::new("/bin/false")).unwrap().1);
    }
}
