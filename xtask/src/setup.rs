//! `cargo xtask setup`: brings what is missing, says what it does, and can be run again.

use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::{discover, ptxas};

use crate::process::{self, Failure, answer, root, shown, target_dir, which};

/// NVIDIA's assembler and disassembler, as PyPI has them. The assembler is pinned: registers, spills and
/// machine code of the ledger are its.
const WHEELS: [&str; 2] = ["nvidia-cuda-nvcc==13.0.88", "nvidia-cuda-nvdisasm>=13,<14"];

const RUST_PACKAGES: [&str; 2] = ["rustc-web", "rust-web-src"];

/// Brings what is missing; whether something was.
pub fn ensure() -> Result<bool, Failure> {
    let compiler = device_compiler()?;
    let assembler = nvidia_tools();
    if compiler || assembler {
        // Build scripts watch this file: its absence makes them look at the tools again.
        let _ = std::fs::remove_file(target_dir().join("ptx/tool-chain"));
    }
    Ok(compiler || assembler)
}

/// `cargo xtask setup`.
pub fn run() -> Result<(), Failure> {
    let changed = ensure()?;
    println!("setup: {}", if changed { "done" } else { "nothing was missing" });
    Ok(())
}

/// Whether something was installed.
fn device_compiler() -> Result<bool, Failure> {
    if let Some(folder) = std::env::var_os("BATCHLAS_PTX_DIR") {
        println!("setup: device compiler: not needed, kernels come from {}", Path::new(&folder).display());
        return Ok(false);
    }
    let missing = match discover::find() {
        Ok(tools) => {
            println!("setup: device compiler: {tools} ({})", tools.rustc.display());
            return Ok(false);
        }
        Err(error) => error,
    };
    println!("setup: no device compiler yet");
    let mut attempts = vec![];
    for way in [by_rustup as fn() -> Result<(), String>, by_apt] {
        match way() {
            Ok(()) => match discover::find() {
                Ok(tools) => {
                    println!("setup: device compiler: {tools} ({})", tools.rustc.display());
                    return Ok(true);
                }
                Err(error) => attempts.push(format!("installed, and yet: {error}")),
            },
            Err(problem) => {
                println!("setup: {problem}");
                attempts.push(problem);
            }
        }
    }
    let ways = attempts.join("\n  - ");
    Err(Failure::new(format!("{missing}\nsetup tried:\n  - {ways}")))
}

/// rustup's components, where its toolchain is new enough.
fn by_rustup() -> Result<(), String> {
    if which("rustup").is_none() {
        return Err("rustup: not installed".to_owned());
    }
    let version = answer("rustc", &["-vV"]).unwrap_or_default();
    let release = version.lines().find_map(|line| line.strip_prefix("release: ")).unwrap_or("unknown");
    if !new_enough(release) {
        return Err(format!(
            "rustup: the active rustc {release} is older than {} (rustup update would help)",
            discover::FLOOR
        ));
    }
    announce(Command::new("rustup").args(["component", "add", "rust-src", "llvm-tools"]))
}

fn new_enough(release: &str) -> bool {
    let parts = |text: &str| -> Option<(u32, u32)> {
        let mut numbers = text.split('.');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    };
    parts(release) >= parts(discover::FLOOR)
}

/// Debian's packages: rustc with its sources, then the LLVM that it is built on.
fn by_apt() -> Result<(), String> {
    if which("apt-get").is_none() {
        return Err("Debian packages: no apt-get here".to_owned());
    }
    announce(&mut apt(&["update"])?)?;
    install(&RUST_PACKAGES)?;
    let version = answer("/usr/bin/rustc", &["-vV"]).unwrap_or_default();
    let release = version.lines().find_map(|line| line.strip_prefix("release: ")).unwrap_or("unknown");
    if !new_enough(release) {
        return Err(format!("Debian packages: rustc-web is {release}, older than {}", discover::FLOOR));
    }
    let llvm = version.lines().find_map(|line| line.strip_prefix("LLVM version: "));
    let major = llvm.and_then(|version| version.split('.').next()).unwrap_or("22");
    install(&[&format!("llvm-{major}")])
}

fn install(packages: &[&str]) -> Result<(), String> {
    let mut args = vec!["install", "-y", "--no-install-recommends"];
    args.extend(packages);
    announce(&mut apt(&args)?)
}

/// apt-get as root: directly, or by sudo where that asks for no password.
fn apt(args: &[&str]) -> Result<Command, String> {
    let mut command = if answer("id", &["-u"]).as_deref() == Some("0") {
        Command::new("apt-get")
    } else if which("sudo").is_some() {
        let mut sudo = Command::new("sudo");
        sudo.args(["--", "apt-get"]);
        sudo
    } else {
        return Err(format!("Debian packages: neither root nor sudo; as root: apt-get {}", args.join(" ")));
    };
    command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
    Ok(command)
}

fn announce(command: &mut Command) -> Result<(), String> {
    println!("setup: {}", shown(command));
    process::run(command).map_err(|failure| failure.to_string())
}

/// Folder of NVIDIA's tools; git ignores it.
pub fn tools_folder() -> PathBuf {
    root().join(ptxas::TOOLS_FOLDER)
}

/// NVIDIA's assembler and disassembler. Without them everything works but cubins (the driver compiles
/// the PTX at first use instead) and figures of registers (the ledger has them). So: no failure.
fn nvidia_tools() -> bool {
    let missing = ["ptxas", "nvdisasm"].iter().any(|tool| !matches!(ptxas::find(tool, root()), Ok(Some(_))));
    if !missing {
        println!("setup: ptxas, nvdisasm: found");
        return false;
    }
    let python = ["python3", "python"]
        .into_iter()
        .find(|python| answer(python, &["-m", "pip", "--version"]).is_some());
    let Some(python) = python else {
        println!(
            "setup: note: no ptxas, and no Python with pip to fetch it: kernels are embedded as PTX only"
        );
        return false;
    };
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--upgrade"]);
    pip.args([
        "--timeout",
        "20",
        "--retries",
        "1",
        "--only-binary=:all:",
        "--root-user-action=ignore",
        "--target",
    ]);
    pip.arg(tools_folder()).args(WHEELS);
    match announce(&mut pip) {
        Ok(()) => {
            let found = matches!(ptxas::find("ptxas", root()), Ok(Some(_)));
            println!(
                "setup: {}",
                if found { "ptxas: installed" } else { "note: the packages hold no ptxas" }
            );
            found
        }
        Err(problem) => {
            println!("setup: note: {problem}; kernels are embedded as PTX only");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(new_enough("1.96.0") && new_enough("1.100.0-nightly") && new_enough("2.0.0"));
        assert!(!new_enough("1.95.9") && !new_enough("1.9.0") && !new_enough("unknown"));
    }

    #[test]
    fn git_ignores_the_tools_folder() {
        let ignored = std::fs::read_to_string(root().join(".gitignore")).unwrap();
        assert!(ignored.lines().any(|line| line == format!("/{}", ptxas::TOOLS_FOLDER)));
    }
}
