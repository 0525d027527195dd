//! The command line of BatchLAS.

mod args;
mod commands;
mod failure;
mod figure;
mod input;
mod output;
mod plot;
mod progress;
mod table;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use args::{Cli, Command};
use failure::Failure;

/// Exit status of usage, input, output and device errors.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    if let Err(failure) = failure::check_threads() {
        return fail(&failure);
    }
    let done = match cli.command {
        Command::Eigh(args) => commands::eigh::run(&args),
        Command::EighTridiagonal(args) => commands::eigh_tridiagonal::run(&args),
        Command::Info(args) => commands::info::run(&args),
        Command::Kernels(args) => commands::kernels::run(&args),
        Command::Routes(args) => commands::routes::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Accuracy(args) => commands::accuracy::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Tune(args) => commands::tune::run(&args),
    };
    done.unwrap_or_else(|failure| fail(&failure))
}

fn fail(failure: &Failure) -> ExitCode {
    // Nobody is left to tell where stderr is closed.
    let _ = writeln!(io::stderr(), "batchlas: {}", harmless(&failure.to_string()));
    ExitCode::from(FAILED)
}

/// A message without what a terminal would obey: it quotes names, variables and files as they are.
fn harmless(text: &str) -> String {
    let shown = |c: char| if c.is_control() && c != '\n' { c.escape_default().to_string() } else { c.into() };
    text.chars().map(shown).collect()
}

/// clap's help and version on stdout, its errors as one line on stderr.
fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(FAILED)
        }
        _ => fail(&Failure::new(usage_line(&error.to_string()))),
    }
}

/// The sentence of clap's message, and its list or tip, without the usage block.
fn usage_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let told = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let mut line = String::new();
    for part in told {
        let between =
            if line.is_empty() || line.ends_with(':') || part.starts_with('[') { " " } else { "; " };
        line.push_str(between);
        line.push_str(part);
    }
    let line = line.trim_start();
    format!("{} (see --help)", line.strip_prefix("error: ").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_do_not_steer_the_terminal() {
        assert_eq!(harmless("route 'c\x1b[31mta\r'\nnext \u{e9}"), "route 'c\\u{1b}[31mta\\r'\nnext \u{e9}");
    }

    #[test]
    fn usage_errors_are_one_line() {
        let line = |args: &[&str]| {
            let error = Cli::try_parse_from([&["batchlas"], args].concat()).unwrap_err();
            usage_line(&error.to_string())
        };
        for (args, word) in [
            (&["eigh"][..], "<INPUT>"),
            (&["eigh", "a.npy", "--devise", "cpu"], "--device"),
            (&["eigh", "a.npy", "--device", "gpu"], "auto, cpu, simt, cuda, cuda:N"),
            (&["eigh", "a.npy", "--uplo", "left"], "lower, upper"),
            (&["eigh", "a.npy", "--check", "--values-only"], "--values-only"),
            (&["routes", "syev", "--dtype", "int", "--n", "1", "--batch", "1"], "f32, f64, c32, c64"),
            (&["routes", "syev", "--dtype", "f32", "--n", "-1", "--batch", "1"], "-1"),
            (&["solve"], "solve"),
            (&["eig"], "'eig'; tip: some similar subcommands exist: 'eigh-tridiagonal', 'eigh'"),
        ] {
            let line = line(args);
            assert!(line.contains(word), "{line}");
            assert!(!line.contains('\n') && !line.contains("Usage:"), "{line}");
        }
    }
}
