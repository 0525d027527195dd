//! Chores of the workspace, run as `cargo xtask COMMAND`.

mod ab;
mod demo;
mod dependents;
mod doctor;
mod gpu;
mod inspect;
mod kernels;
mod ledger;
mod new_kernel;
mod npy;
mod pack;
mod process;
mod progress;
mod setup;
mod stub;
mod suite;

use std::process::ExitCode;

use process::Failure;

const HELP: &str = "\
Chores of the BatchLAS workspace.

Usage: cargo xtask COMMAND

To get going:
  setup            installs what is missing to build GPU kernels; says what it does and what it cannot
  doctor           checks the same and changes nothing
  demo             sets up, builds, and computes the spectra of 162 molecules on the best device
  test             sets up, then formatting, lints, documentation, all tests, dependents

Kernels (docs/writing-kernels.md):
  new-kernel NAME [--path DIR]
                   writes a kernel crate, tested and timed, to device/kernels/NAME or to DIR
  inspect DIR [--ptx | --sass]
                   compiles a kernel crate: registers and spills, or its code
  ledger [--check] writes device/ledger/<arch>.json: registers, memory and instructions of every kernel
                   (needs ptxas and nvdisasm); compares instead, and fails on spills and the like
  ptx DIR          compiles the kernels into DIR, for machines without a device compiler (BATCHLAS_PTX_DIR)

GPU:
  gpu-suite        runs the GPU tests here, then a short bench; writes target/gpu-suite/{junit.xml,log.txt,
                   bench.jsonl}; compares the bench with first.jsonl there, which the first run writes
  gpu-pack         makes gpu-pack/: tests and benches for a GPU machine without Rust (run gpu-pack/run.sh)

Comparing builds (docs/measuring.md):
  ab --builder-flags FLAGS [--against FLAGS] [--commit REV] [--pack]
     [--device D] [--bench \"OP ...\"] [--accuracy \"OP ...\"]
                   builds the kernels in two ways or more (or another commit), runs bench and accuracy of
                   each, and compares them; FLAGS: default, no-cubin, contraction, O1, O2, unroll=N, with
                   commas between; --pack makes gpu-ab/ for a GPU machine without Rust (gpu-ab/run.sh ab)

Dependents:
  dependents       builds and runs crates outside the workspace that use the library (part of test)
  stub DIR         writes the empty libcuda.so that builds with feature `cuda` link without a CUDA toolkit;
                   then: export CUDA_LIBRARY_PATH=DIR
";

fn main() -> ExitCode {
    // rustc starts this program again as its linker, for `ptx`, `ledger` and `inspect`.
    if cuda_builder::act_as_linker() {
        return ExitCode::SUCCESS;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<(), Failure> {
    match words {
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        ["setup"] => setup::run(),
        ["doctor"] => doctor::run(),
        ["demo"] => demo::run(),
        ["test"] => suite::run(),
        ["new-kernel", name] => new_kernel::run(name, None),
        ["new-kernel", name, "--path", folder] => new_kernel::run(name, Some(folder.as_ref())),
        ["inspect", krate] => inspect::run(krate.as_ref(), inspect::What::Summary),
        ["inspect", krate, "--ptx"] => inspect::run(krate.as_ref(), inspect::What::Ptx),
        ["inspect", krate, "--sass"] => inspect::run(krate.as_ref(), inspect::What::Sass),
        ["ledger"] => ledger::write(),
        ["ledger", "--check"] => {
            println!("ledger: {}", ledger::check()?.unwrap_or_else(|| "as recorded".to_owned()));
            Ok(())
        }
        ["ab", rest @ ..] => ab::run(rest),
        ["ptx", folder] => kernels::export(folder.as_ref()),
        ["gpu-suite"] => gpu::suite(),
        ["gpu-pack"] => pack::run(),
        ["dependents"] => dependents::run(),
        ["stub", folder] => stub::write(folder.as_ref()),
        [command, ..] => Err(Failure::new(format!(
            "cannot read `{}`; see cargo xtask help",
            [&[*command], &words[1..]].concat().join(" ")
        ))),
    }
}
