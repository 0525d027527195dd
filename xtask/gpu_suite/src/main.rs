//! Unpacks the programs of a pack and runs them; makes the archive of a pack.

use std::path::Path;
use std::process::ExitCode;

use gpu_suite::run::{self, Places};
use gpu_suite::{Failure, ab, archive, programs_in};

const HELP: &str = "\
Runs tests and benches of BatchLAS on a GPU; run.sh of a pack calls it.

Usage: gpu-suite create ARCHIVE FOLDER      puts the files of FOLDER into ARCHIVE (.tar.xz)
       gpu-suite extract ARCHIVE FOLDER     unpacks it, unless FOLDER is there already
       gpu-suite all FOLDER RESULTS         runs the tests in FOLDER/test, then a short bench
       gpu-suite tests FOLDER RESULTS       the tests alone
       gpu-suite bench FOLDER RESULTS       every bench in FOLDER/bench, in full
       gpu-suite ab FOLDER RESULTS [--device D] [--bench \"OP ...\"] [--accuracy \"OP ...\"]
                                            the sides of FOLDER/sides.txt against each other
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match act(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn act(words: &[&str]) -> Result<(), Failure> {
    match *words {
        ["create", archive, folder] => {
            archive::create(archive.as_ref(), folder.as_ref())?;
            Ok(())
        }
        ["extract", archive, folder] => archive::extract(archive.as_ref(), folder.as_ref()),
        ["all", folder, results] => run::tests_then_bench(&programs_in(folder.as_ref())?, &places(results)?),
        ["tests", folder, results] => run::tests(&programs_in(folder.as_ref())?, &places(results)?),
        ["bench", folder, results] => run::benches(&programs_in(folder.as_ref())?, &places(results)?),
        ["ab", folder, results, ref rest @ ..] => {
            ab::run(&ab::sides_in(folder.as_ref())?, &ab::Work::read(rest, "cuda")?, results.as_ref())
        }
        [] | ["--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(Failure::new(format!("cannot read `{}`; see gpu-suite --help", words.join(" ")))),
    }
}

/// Programs run in the caller's folder.
fn places(results: &str) -> Result<Places, Failure> {
    let work =
        std::env::current_dir().map_err(|error| Failure::new(format!("the current folder: {error}")))?;
    Ok(Places { work, results: Path::new(results).to_path_buf() })
}
