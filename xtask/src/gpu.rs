//! `cargo xtask gpu-suite`: builds the programs that need an NVIDIA GPU, and runs them here.

use std::path::Path;

use gpu_suite::run::{self, Places};
use gpu_suite::{Kind, Program};

use crate::process::{self, Failure, answer, at, cargo, root, target_dir};
use crate::{pack, progress, setup};

/// Packages whose tests and benches use a GPU.
const PACKAGES: [&str; 2] = ["batchlas", "kernels-normalize"];

const FEATURES: &str = "batchlas/cuda,batchlas/vendor,batchlas/simt,kernels-normalize/cuda";

/// Programs that test nothing on a GPU.
const NEEDS_NO_GPU: &[&str] = &["cpu_vs_numpy", "every_kernel", "routes", "runtime_simt"];

/// Runs the GPU tests and then the short bench on this machine.
pub fn suite() -> Result<(), Failure> {
    if !has_gpu() {
        return Err(Failure::new(
            "no NVIDIA GPU here: no /dev/nvidiactl, no /dev/dxg, and nvidia-smi -L lists none \
             (cargo xtask test needs none; cargo xtask gpu-pack makes a folder for a machine that has one)",
        ));
    }
    setup::ensure()?;
    let places = Places { work: root().to_path_buf(), results: target_dir().join("gpu-suite") };
    let mut programs = build(None)?;
    let archs = std::env::var("BATCHLAS_ARCHS").unwrap_or_default();
    programs.push(pack::build_bin(&["--package", "batchlas-cli"], "batchlas", &archs)?);
    Ok(run::tests_then_bench(&programs, &places)?)
}

/// Whether there is a GPU here, as far as files and the driver tell.
pub fn has_gpu() -> bool {
    run::has_device_file() || answer("nvidia-smi", &["-L"]).is_some_and(|list| list.contains("GPU"))
}

/// Builds the test and bench programs in release.
pub fn build(archs: Option<&str>) -> Result<Vec<Program>, Failure> {
    let mut command = cargo();
    command.envs(archs.map(|archs| ("BATCHLAS_ARCHS", archs)));
    command.args(["test", "--release", "--no-run", "--tests", "--benches", "--features", FEATURES]);
    command.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    command.args(["--message-format", "json-render-diagnostics"]);
    command.stderr(std::process::Stdio::inherit());
    let output = progress::watching(|| command.output()).map_err(at(Path::new("cargo")))?;
    if !output.status.success() {
        return Err(Failure::new(format!("{} failed", process::shown(&command))));
    }
    let mut programs = programs(&String::from_utf8_lossy(&output.stdout));
    programs.retain(|program| !NEEDS_NO_GPU.contains(&program.name.as_str()));
    programs.sort();
    Ok(programs)
}

/// Test and bench programs in cargo's messages; unit tests of a library are not among them.
fn programs(messages: &str) -> Vec<Program> {
    let read = |line: &str| {
        let path = field(line, "\"executable\":\"")?;
        let package = package(field(line, "\"package_id\":\"")?);
        let target = line.split_once("\"target\":{")?.1;
        let kind = Kind::of_word(field(target, "\"kind\":[\"")?)?;
        let name = field(target, "\"name\":\"")?;
        let name = match package {
            "batchlas" => name.to_owned(),
            other => format!("{other}-{name}"),
        };
        (kind != Kind::Bin).then(|| Program { kind, name, path: path.into() })
    };
    messages.lines().filter_map(read).collect()
}

fn field<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    line.split_once(before)?.1.split('"').next()
}

/// The name in `path+file:///w/x#name@0.1.0`; it may be left out where the folder has it: `.../name#0.1.0`.
fn package(id: &str) -> &str {
    let (folder, rest) = id.rsplit_once('#').unwrap_or(("", id));
    match rest.split_once('@') {
        Some((name, _)) => name,
        None => folder.rsplit('/').next().unwrap_or(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_in_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/main#batchlas@0.1.0","target":{"kind":["test"],"crate_types":["bin"],"name":"gpu_runtime"},"executable":"/t/gpu_runtime-1"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/main#batchlas@0.1.0","target":{"kind":["lib"],"crate_types":["lib"],"name":"batchlas"},"executable":"/t/batchlas-2"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/main/e#kernels-normalize@0.1.0","target":{"kind":["bench"],"name":"time"},"executable":"/t/time-3"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","package_id":"x","target":{"kind":["lib"],"name":"faer"},"executable":null}"#,
        );
        let program = |kind, name: &str, path: &str| Program { kind, name: name.into(), path: path.into() };
        let expected = [
            program(Kind::Test, "gpu_runtime", "/t/gpu_runtime-1"),
            program(Kind::Bench, "kernels-normalize-time", "/t/time-3"),
        ];
        assert_eq!(programs(messages), expected);
    }

    #[test]
    fn packages_in_cargos_ids() {
        assert_eq!(package("path+file:///w/main#batchlas@0.1.0"), "batchlas");
        assert_eq!(package("path+file:///w/batchlas#0.1.0"), "batchlas");
    }

    #[test]
    fn programs_without_a_gpu_exist() {
        for name in NEEDS_NO_GPU {
            let is_there = ["tests", "benches"]
                .iter()
                .any(|folder| root().join(folder).join(format!("{name}.rs")).is_file());
            assert!(is_there, "{name} is no test and no bench");
        }
    }
}
