//! `cargo xtask ab`: kernels built in two ways, or two commits, side by side.

use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::check::Policy;
use cuda_builder::ledger::{self, Ledger, changes};
use cuda_builder::{Arch, Flags, arch, embed, ptxas};
use gpu_suite::ab::{self, SIDES, Work};

use crate::process::{self, Failure, answer, at, cargo, root, target_dir};
use crate::{gpu, kernels, pack, progress, setup};

/// What is asked for.
#[derive(Debug, PartialEq)]
struct Request<'a> {
    /// The first side, with which the others are compared.
    against: Flags,
    builds: Vec<Flags>,
    commits: Vec<&'a str>,
    /// Arguments of the run.
    work: Vec<&'a str>,
    pack: bool,
}

impl<'a> Request<'a> {
    fn read(words: &[&'a str]) -> Result<Self, Failure> {
        let mut request =
            Request { against: Flags::default(), builds: vec![], commits: vec![], work: vec![], pack: false };
        let mut words = words.iter().copied();
        while let Some(name) = words.next() {
            if name == "--pack" {
                request.pack = true;
                continue;
            }
            let value = words.next().ok_or_else(|| Failure::new(format!("{name} needs a value")))?;
            match name {
                "--builder-flags" => request.builds.push(value.parse()?),
                "--against" => request.against = value.parse()?,
                "--commit" => request.commits.push(value),
                "--device" | "--bench" | "--accuracy" => request.work.extend([name, value]),
                _ => return Err(Failure::new(format!("unknown option {name}; see cargo xtask help"))),
            }
        }
        if request.builds.is_empty() && request.commits.is_empty() {
            return Err(Failure::new("nothing to compare with: --builder-flags FLAGS or --commit REV"));
        }
        if request.pack && !request.work.is_empty() {
            return Err(Failure::new(
                "a pack is told what to run on the GPU machine: gpu-ab/run.sh ab --bench ...",
            ));
        }
        Ok(request)
    }
}

/// Builds the sides, tells how their kernels differ, and runs or packs them.
pub fn run(words: &[&str]) -> Result<(), Failure> {
    let request = Request::read(words)?;
    let has_gpu = gpu::has_gpu();
    let work = Work::read(&request.work, if has_gpu { "cuda" } else { "simt" })?;
    setup::ensure()?;
    let staged = target_dir().join("ab/sides");
    let results = target_dir().join("ab/results");
    for folder in [&staged, &results] {
        pack::empty(folder)?;
    }
    let mut sides = Sides::new(&staged)?;
    let ledgers = sides.add_kernels(request.against)?;
    let mut told = String::new();
    for flags in &request.builds {
        let others = sides.add_kernels(*flags)?;
        told += &differences(&format!("{} -> {flags}", request.against), &ledgers, &others);
    }
    for commit in &request.commits {
        sides.add_commit(commit)?;
    }
    sides.write()?;
    print!("{told}");
    if request.pack {
        let folder = root().join("gpu-ab");
        pack::empty(&folder)?;
        let path = folder.join("ledger.txt");
        std::fs::write(&path, &told).map_err(at(&path))?;
        return pack::close(&staged, &folder, told.len() as u64, " ab");
    }
    if !work.device().starts_with("cuda") && !request.builds.is_empty() {
        println!(
            "{} runs the kernels' source: builder flags show in the figures above, and in nothing below",
            work.device()
        );
    }
    let path = results.join("ledger.txt");
    std::fs::write(&path, &told).map_err(at(&path))?;
    Ok(ab::run(&ab::sides_in(&staged)?, &work, &results)?)
}

/// How many kernels differ between two builds, and the first of them.
fn differences(head: &str, before: &[Ledger], after: &[Ledger]) -> String {
    let mut text = String::new();
    for (before, after) in before.iter().zip(after) {
        let changes = changes::between(before, after);
        let list = if changes.is_empty() {
            "none differs\n".to_owned()
        } else {
            crate::ledger::list("differ", &changes)
        };
        text += &format!("{}, {head}, of {} kernels: {list}", before.arch, before.rows.len());
    }
    text
}

/// The folder of the sides.
struct Sides<'a> {
    folder: &'a Path,
    archs: Vec<Arch>,
    lines: Vec<String>,
}

impl<'a> Sides<'a> {
    /// With this tree's program.
    fn new(folder: &'a Path) -> Result<Self, Failure> {
        let archs = pack::archs();
        let program = pack::build_bin(&["--package", "batchlas-cli"], "batchlas", &archs)?;
        pack::copy_stripped(&program.path, &folder.join("bin/batchlas"))?;
        Ok(Self { folder, archs: arch::parse_list(&archs)?, lines: vec![] })
    }

    /// This tree's program with kernels built in some way; their ledgers.
    fn add_kernels(&mut self, flags: Flags) -> Result<Vec<Ledger>, Failure> {
        let name = flags.to_string().replace(',', "+").replace('=', "-");
        if self.lines.iter().any(|line| line.starts_with(&format!("{name} "))) {
            return Err(Failure::new(format!("{flags} twice: two sides of one name")));
        }
        // What must not ship may be measured.
        let built = kernels::build_with(Policy::Warn, flags, &self.archs)?;
        if flags == Flags::default() {
            self.lines.push(format!("{name} bin/batchlas -"));
        } else {
            let place = format!("kernels/{name}");
            embed::export(&self.folder.join(&place), &built)?;
            self.lines.push(format!("{name} bin/batchlas {place}"));
        }
        Ok(ledger::measure(&built, ptxas::find("nvdisasm", root())?.as_deref())?)
    }

    /// The program of another commit, with what it embeds.
    fn add_commit(&mut self, commit: &str) -> Result<(), Failure> {
        let git = |args: &[&str]| answer("git", &[&["-C", &root().to_string_lossy()], args].concat());
        let unknown = || Failure::new(format!("git knows no commit {commit}"));
        let name = git(&["rev-parse", "--verify", "--short=10", &format!("{commit}^{{commit}}")])
            .ok_or_else(unknown)?;
        let source = target_dir().join("ab/source");
        let target = target_dir().join("ab/target");
        checkout(&name, &source)?;
        let mut command = cargo();
        command.current_dir(&source).args([
            "build",
            "--release",
            "--package",
            "batchlas-cli",
            "--bin",
            "batchlas",
        ]);
        command.env("CARGO_TARGET_DIR", &target).env("BATCHLAS_ARCHS", pack::archs());
        println!("{name}: building its program");
        let built = progress::watching(|| process::run(&mut command));
        process::run(
            Command::new("git").arg("-C").arg(root()).args(["worktree", "remove", "--force"]).arg(&source),
        )?;
        built?;
        let program: PathBuf = format!("bin/batchlas-{name}").into();
        pack::copy_stripped(&target.join("release/batchlas"), &self.folder.join(&program))?;
        self.lines.push(format!("{name} {} -", program.display()));
        Ok(())
    }

    fn write(&self) -> Result<(), Failure> {
        let path = self.folder.join(SIDES);
        std::fs::write(&path, self.lines.join("\n") + "\n").map_err(at(&path))
    }
}

/// A commit's files in a folder, which a run that was stopped may have left.
fn checkout(commit: &str, folder: &Path) -> Result<(), Failure> {
    let git = || {
        let mut command = Command::new("git");
        command.arg("-C").arg(root()).arg("worktree");
        command
    };
    if folder.exists() {
        process::run(git().args(["remove", "--force"]).arg(folder))?;
    }
    process::run(git().args(["add", "--quiet", "--detach"]).arg(folder).arg(commit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_command() {
        let words = ["--builder-flags", "no-cubin", "--pack", "--builder-flags", "contraction,O2"];
        let request = Request::read(&words).unwrap();
        assert_eq!(
            request.builds.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["no-cubin", "contraction,O2"]
        );
        assert!(request.pack && request.against == Flags::default());
        let words = ["--commit", "HEAD~1", "--device", "simt", "--bench", "syev --n 4", "--against", "O2"];
        let request = Request::read(&words).unwrap();
        assert_eq!((request.commits, request.work.len()), (vec!["HEAD~1"], 4));
        for (words, part) in [
            (&[][..], "nothing to compare"),
            (&["--builder-flags"], "needs a value"),
            (&["--builder-flags", "fast"], "unknown builder flag `fast`"),
            (&["--flags", "O2"], "unknown option --flags"),
            (&["--builder-flags", "O2", "--pack", "--device", "cuda"], "run.sh ab"),
        ] {
            let error = Request::read(words).unwrap_err().to_string();
            assert!(error.contains(part), "{words:?}: {error}");
        }
    }
}
