//! `cargo xtask test`: everything that must hold before a change lands.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::process::{self, Failure, cargo};
use crate::{dependents, ledger, progress, setup};

/// Runs the command: each step, even after one failed, and a summary.
pub fn run() -> Result<(), Failure> {
    let mut steps = Steps::default();
    if !steps.run("setup", || setup::ensure().map(|_| None)) {
        return steps.finish();
    }
    steps.run("formatting", || cargo_step(&["fmt", "--all", "--check"], &[]));
    steps.run("lints", || {
        let args = ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
        cargo_step(&args, &[])
    });
    steps.run("documentation", || {
        cargo_step(&["doc", "--workspace", "--no-deps", "--all-features"], &[("RUSTDOCFLAGS", "-D warnings")])
    });
    steps.run("tests", || cargo_step(&["test", "--workspace", "--all-features", "--no-fail-fast"], &[]));
    steps.run("ledger of kernels", ledger::check);
    steps.run("dependents", || dependents::run().map(|()| None));
    steps.finish()
}

fn cargo_step(args: &[&str], env: &[(&str, &str)]) -> Checked {
    let mut command = cargo();
    command.args(args).envs(env.iter().copied());
    progress::watching(|| process::run(&mut command)).map(|()| None)
}

/// What a step left unchecked, where it passed.
type Checked = Result<Option<String>, Failure>;

#[derive(Default)]
struct Steps {
    done: Vec<(&'static str, Duration, Checked)>,
}

impl Steps {
    fn run(&mut self, name: &'static str, step: impl FnOnce() -> Checked) -> bool {
        println!("== {name}");
        let start = Instant::now();
        let result = step();
        if let Err(failure) = &result {
            println!("{failure}");
        }
        let fine = result.is_ok();
        self.done.push((name, start.elapsed(), result));
        fine
    }

    fn finish(self) -> Result<(), Failure> {
        println!("== summary");
        for (name, took, result) in &self.done {
            let (verdict, remark) = match result {
                Ok(None) => ("passed", String::new()),
                Ok(Some(unchecked)) => ("passed", format!(" (IN PART: {unchecked})")),
                Err(_) => ("FAILED", String::new()),
            };
            println!("{verdict}  {:>6.1} s  {name}{remark}", took.as_secs_f64());
        }
        println!("target folder {:.1} GiB", folder_bytes(&process::target_dir()) as f64 / f64::from(1 << 30));
        let failed = self.done.iter().filter(|(_, _, result)| result.is_err()).count();
        println!("{} passed, {failed} failed", self.done.len() - failed);
        if failed == 0 {
            Ok(())
        } else {
            Err(Failure::new(format!("{failed} of {} steps failed", self.done.len())))
        }
    }
}

/// The bytes of all files below a folder; what cannot be read counts nothing.
fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => folder_bytes(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_counts_what_lies_in_its_folders() {
        let folder = std::env::temp_dir().join(format!("batchlas-suite-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("a/b")).unwrap();
        std::fs::write(folder.join("c"), [0; 3]).unwrap();
        std::fs::write(folder.join("a/b/d"), [0; 40]).unwrap();
        assert_eq!(folder_bytes(&folder), 43);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(folder_bytes(&folder), 0);
    }

    #[test]
    fn one_failed_step_fails_the_whole() {
        let mut steps = Steps::default();
        assert!(steps.run("a", || Ok(None)));
        assert!(!steps.run("b", || Err(Failure::new("no"))));
        assert!(steps.run("c", || Ok(Some("no tool".to_owned()))));
        assert_eq!(steps.finish().unwrap_err().to_string(), "1 of 3 steps failed");
    }
}
