//! `cargo xtask doctor`: checks what building and running need, and changes nothing.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use cuda_builder::discover::{self, ToolChain};
use cuda_builder::{Arch, arch, ptxas};

use crate::process::{Failure, answer, root, which};

/// How a check ended.
enum Verdict {
    Fine(String),
    /// Works without it.
    Note(String),
    Bad(String),
}

/// Runs the command; fails where the library with its kernels cannot be built.
pub fn run() -> Result<(), Failure> {
    let tools = discover::find();
    let archs = arch::from_env();
    let mut checks = vec![("rustc, cargo", host_compiler()), ("C linker", c_linker())];
    checks.push(match &tools {
        Ok(tools) => ("device compiler", Verdict::Fine(format!("{tools} ({})", tools.rustc.display()))),
        Err(_) if std::env::var_os("BATCHLAS_PTX_DIR").is_some() => (
            "device compiler",
            Verdict::Note("none; BATCHLAS_PTX_DIR names kernels built elsewhere".to_owned()),
        ),
        Err(error) => ("device compiler", Verdict::Bad(error.to_string())),
    });
    checks.push(match &archs {
        Ok(archs) => {
            ("architectures", Verdict::Fine(archs.iter().map(Arch::to_string).collect::<Vec<_>>().join(", ")))
        }
        Err(error) => ("architectures", Verdict::Bad(error.to_string())),
    });
    checks.extend(["ptxas", "nvdisasm"].map(|tool| (tool, nvidia_tool(tool))));
    let (driver, cuda) = driver();
    checks.push(("NVIDIA driver", driver));
    if let (Ok(tools), Ok(archs), Some(cuda)) = (&tools, &archs, cuda) {
        checks.push(("PTX version", ptx_version(tools, archs, cuda)));
    }

    let mut bad = 0;
    for (name, verdict) in checks {
        let (mark, text) = match verdict {
            Verdict::Fine(text) => ("ok  ", text),
            Verdict::Note(text) => ("note", text),
            Verdict::Bad(text) => {
                bad += 1;
                ("BAD ", text)
            }
        };
        println!("{mark} {name:<16} {}", text.replace('\n', "\n                      "));
    }
    if bad == 0 {
        Ok(())
    } else {
        Err(Failure::new(format!("{bad} problems; cargo xtask setup mends the device compiler")))
    }
}

fn host_compiler() -> Verdict {
    match answer("rustc", &["-V"]) {
        Some(version) => Verdict::Fine(version),
        None => Verdict::Bad("no rustc on PATH".to_owned()),
    }
}

fn c_linker() -> Verdict {
    match which("cc") {
        Some(path) => Verdict::Fine(path.display().to_string()),
        None => Verdict::Bad("no cc on PATH: Rust links with it (Debian package gcc)".to_owned()),
    }
}

fn nvidia_tool(tool: &str) -> Verdict {
    match ptxas::find(tool, root()) {
        Ok(Some(path)) => {
            let version = ptxas::version(&path).unwrap_or_else(|_| "does not run".to_owned());
            Verdict::Fine(format!("{version} ({})", path.display()))
        }
        Ok(None) => Verdict::Note(
            "not found: no cubins, no figures of registers; cargo xtask setup fetches it".to_owned(),
        ),
        Err(error) => Verdict::Bad(error.to_string()),
    }
}

/// The driver, and the CUDA version that it speaks.
fn driver() -> (Verdict, Option<(u32, u32)>) {
    let query = ["--query-gpu=name,driver_version", "--format=csv,noheader"];
    let Some(devices) = answer("nvidia-smi", &query).filter(|text| !text.is_empty()) else {
        let library = [
            "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
            "/usr/lib64/libcuda.so.1",
            "/usr/lib/wsl/lib/libcuda.so.1",
        ];
        let found = library.into_iter().find(|path| Path::new(path).exists());
        let text = found
            .map_or("none here: the CPU families and the executor of kernels run".to_owned(), |path| {
                format!("{path} exists, and nvidia-smi reports no device")
            });
        return (Verdict::Note(text), None);
    };
    let banner = answer("nvidia-smi", &[]).unwrap_or_default();
    (Verdict::Fine(devices), cuda_version(&banner))
}

fn cuda_version(banner: &str) -> Option<(u32, u32)> {
    let text = banner.split("CUDA Version:").nth(1)?;
    pair(text.split_whitespace().next()?)
}

fn pair(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The newest PTX that a driver of some CUDA version takes.
fn ptx_of_cuda((major, minor): (u32, u32)) -> (u32, u32) {
    match (major, minor) {
        // 12.6 brought no PTX of its own, so the numbers are off by one from there.
        (12, 6..) => (8, minor - 1),
        (11 | 12, _) => (major - 4, minor),
        // 13.0 starts anew.
        (13.., _) => (major - 4, minor),
        _ => (0, 0),
    }
}

fn ptx_version(tools: &ToolChain, archs: &[Arch], cuda: (u32, u32)) -> Verdict {
    let driver = ptx_of_cuda(cuda);
    let needs: Option<Vec<(Arch, (u32, u32))>> =
        archs.iter().map(|&arch| Some((arch, emitted(tools, arch)?))).collect();
    let Some(needs) = needs else { return Verdict::Bad("llc does not run".to_owned()) };
    let list: Vec<String> = needs.iter().map(|(arch, (a, b))| format!("{arch} {a}.{b}")).collect();
    let text = format!("the driver takes up to {}.{}; kernels are {}", driver.0, driver.1, list.join(", "));
    if needs.iter().any(|(_, needed)| *needed <= driver) { Verdict::Fine(text) } else { Verdict::Bad(text) }
}

/// PTX version that our llc writes for an architecture.
fn emitted(tools: &ToolChain, arch: Arch) -> Option<(u32, u32)> {
    let mut llc = Command::new(tools.llvm_bin.join("llc"));
    llc.args(["-mtriple=nvptx64-nvidia-cuda", &format!("-mcpu={arch}"), "-o", "-"]);
    let mut child = llc.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    child.stdin.take()?.write_all(b"\n").ok()?;
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    pair(text.lines().find_map(|line| line.strip_prefix(".version "))?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_versions_of_drivers() {
        let known = [
            ((11, 0), (7, 0)),
            ((11, 8), (7, 8)),
            ((12, 0), (8, 0)),
            ((12, 5), (8, 5)),
            ((12, 6), (8, 5)),
            ((12, 8), (8, 7)),
            ((12, 9), (8, 8)),
            ((13, 0), (9, 0)),
        ];
        for (cuda, ptx) in known {
            assert_eq!(ptx_of_cuda(cuda), ptx, "CUDA {cuda:?}");
        }
    }

    #[test]
    fn banner_of_nvidia_smi() {
        let banner = "| NVIDIA-SMI 580.159.03   Driver Version: 580.159.03   CUDA Version: 13.0     |";
        assert_eq!(cuda_version(banner), Some((13, 0)));
        assert_eq!(cuda_version("no such thing"), None);
    }
}
