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
        text += &totals(before, after);
    }
    text
}

/// Sums over the kernels whose machine code is known on both sides; nothing where there is none.
fn totals(before: &Ledger, after: &Ledger) -> String {
    let both = before.rows.iter().filter_map(|row| Some((row, after.row(&row.entry)?)));
    let known =
        both.filter_map(|(x, y)| Some((x.resources?, y.resources?, x.sass.as_ref()?, y.sass.as_ref()?)));
    let (mut kernels, mut fewer, mut more, mut spilling, mut instructions) = (0, 0, 0, [0, 0], [0_u64, 0]);
    for (x, y, of_x, of_y) in known {
        kernels += 1;
        fewer += u32::from(y.registers < x.registers);
        more += u32::from(y.registers > x.registers);
        for (k, (resources, counts)) in [(x, of_x), (y, of_y)].into_iter().enumerate() {
            spilling[k] += u32::from(resources.stack_bytes + resources.spill_store_bytes > 0);
            instructions[k] += u64::from(counts.get("instructions"));
        }
    }
    if kernels == 0 {
        return String::new();
    }
    format!(
        "  machine code of {kernels} kernels: {} -> {} instructions; registers fewer in {fewer}, more in {more}; \
         {} -> {} kernels with a stack frame or spills\n",
        instructions[0], instructions[1], spilling[0], spilling[1]
    )
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
        // The commit's files may lie far from this tree's tools.
        command.envs(ptxas::find("ptxas", root())?.map(|path| ("BATCHLAS_PTXAS", path)));
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
    fn figures_of_two_builds_are_summed() {
        let of = |registers: u32, spills: u32, instructions: u32| {
            let text = format!(
                "{{\"arch\": \"sm_90\", \"tool_chain\": \"x\", \"kernels\": [{{\"kernel\": \"k\", \"module\": \"m\", \
                 \"registers\": {registers}, \"spill_stores\": {spills}, \"ptx\": {{}}, \
                 \"sass\": {{\"instructions\": {instructions}}}}}]}}"
            );
            ledger::parse(&text).unwrap()
        };
        let (before, after) = (of(40, 0, 100), of(42, 8, 90));
        let text = differences("default -> O2", std::slice::from_ref(&before), &[after]);
        assert!(text.starts_with(
            "sm_90, default -> O2, of 1 kernels: 1 kernels differ:\n  sm_90 k: registers 40 -> 42"
        ));
        let sums = "machine code of 1 kernels: 100 -> 90 instructions; registers fewer in 0, more in 1; 0 -> 1 kernels with";
        assert!(text.contains(sums), "{text}");
        let mut unassembled = before.clone();
        unassembled.rows[0].sass = None;
        assert_eq!(differences("x", &[before], &[unassembled]), "sm_90, x, of 1 kernels: none differs\n");
    }

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
