//! Two builds side by side: rows of a bench and of accuracy from each, and what differs by `batchlas compare`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{Failure, at, compare};

/// The file that lists the sides of a folder: lines `NAME PROGRAM KERNELS`, paths relative to the folder, `-` for the
/// kernels that the program embeds.
pub const SIDES: &str = "sides.txt";

/// The program's variable for a folder of kernels.
const KERNEL_DIR: &str = "BATCHLAS_KERNEL_DIR";

/// Exit status of a run in which a family of ours gave a wrong result; its rows are written.
const WRONG: i32 = 3;

/// A program, and the kernels that it is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Names its files.
    pub name: String,
    /// `batchlas`.
    pub program: PathBuf,
    /// A folder of kernels in place of the embedded ones.
    pub kernels: Option<PathBuf>,
}

/// Reads the sides of a folder; the first is the one that the others are compared with.
pub fn sides_in(folder: &Path) -> Result<Vec<Side>, Failure> {
    let path = folder.join(SIDES);
    let text = std::fs::read_to_string(&path).map_err(at(&path))?;
    let side = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        [name, program, kernels] => Ok(Side {
            name: name.to_owned(),
            program: folder.join(program),
            kernels: (kernels != "-").then(|| folder.join(kernels)),
        }),
        _ => Err(Failure::new(format!("{}: cannot read `{line}`", path.display()))),
    };
    text.lines().map(side).collect()
}

/// Arguments of the two runs, after the operation's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    device: String,
    bench: Vec<String>,
    accuracy: Vec<String>,
}

/// On a GPU: two minutes for two sides, longer at first where the driver compiles PTX.
const GPU: [&str; 2] = [
    "syev --dtype f32,f64 --n 8,16,32 --jobz V --batch 16384 --routes native --rounds 15 --seconds 0.3",
    "syev --dtype f32,f64 --n 8,16,32 --routes native --items 16",
];

/// Elsewhere: seconds.
const HOST: [&str; 2] = [
    "syev --dtype f32,f64 --n 4,8 --jobz V --batch 8 --routes all",
    "syev --dtype f32,f64 --n 4 --routes all --items 1",
];

impl Work {
    /// What is run where nothing else is said.
    pub fn on(device: &str) -> Self {
        let [bench, accuracy] = if device.starts_with("cuda") { GPU } else { HOST };
        Self { device: device.to_owned(), bench: split(bench), accuracy: split(accuracy) }
    }

    /// Reads `--device D`, `--bench "OP ..."` and `--accuracy "OP ..."`; the last two take the place of what is run
    /// otherwise.
    pub fn read(words: &[&str], device: &str) -> Result<Self, Failure> {
        let value_of = |name: &str| words.chunks(2).find(|pair| pair[0] == name).map(|pair| pair.get(1));
        for pair in words.chunks(2) {
            match pair {
                ["--device" | "--bench" | "--accuracy", _] => {}
                [name, ..] => return Err(Failure::new(format!("cannot read `{name}`, or it has no value"))),
                [] => {}
            }
        }
        let mut work = Self::on(value_of("--device").flatten().unwrap_or(&device));
        if let Some(Some(bench)) = value_of("--bench") {
            work.bench = split(bench);
        }
        if let Some(Some(accuracy)) = value_of("--accuracy") {
            work.accuracy = split(accuracy);
        }
        Ok(work)
    }

    /// Where it is run.
    pub fn device(&self) -> &str {
        &self.device
    }
}

fn split(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Runs every side's bench twice, there and back (A B B A), and its accuracy once. Leaves `NAME.bench.jsonl` and
/// `NAME.accuracy.jsonl` of each side, and in `ab.txt` what the comparisons say: each side's two benches, which are of
/// one build and tell the noise, and then each side against the first.
///
/// An error where a program fails. What is flagged is an answer, and no failure.
pub fn run(sides: &[Side], work: &Work, results: &Path) -> Result<(), Failure> {
    let [first, others @ ..] = sides else { return Err(Failure::new("there are no sides")) };
    std::fs::create_dir_all(results).map_err(at(results))?;
    let mut told = Told::default();
    let commands = [("bench", &work.bench), ("accuracy", &work.accuracy)];
    for (name, words) in commands {
        told.line(&format!("{name}: {} --device {}", words.join(" "), work.device));
    }
    let there: Vec<(&Side, u32)> = sides.iter().map(|side| (side, 1)).collect();
    let back = sides.iter().rev().map(|side| (side, 2));
    for (side, round) in there.into_iter().chain(back) {
        told.run(side, "bench", work, &results.join(format!("{}.bench-{round}.jsonl", side.name)))?;
    }
    for side in sides {
        told.run(side, "accuracy", work, &results.join(format!("{}.accuracy.jsonl", side.name)))?;
    }
    let program = &first.program;
    let mut summary = String::new();
    for side in sides {
        let rounds = [1, 2].map(|round| results.join(format!("{}.bench-{round}.jsonl", side.name)));
        let head = format!("{}: two benches of one build", side.name);
        told.compare(&head, compare::compare(program, &rounds[0], &rounds[1], results)?, &mut summary);
        join(&rounds, &results.join(format!("{}.bench.jsonl", side.name)))?;
    }
    for (side, name) in others.iter().flat_map(|side| commands.map(|(name, _)| (side, name))) {
        let file = |side: &Side| results.join(format!("{}.{name}.jsonl", side.name));
        let head = format!("{name}: A = {}, B = {}", first.name, side.name);
        told.compare(&head, compare::compare(program, &file(first), &file(side), results)?, &mut summary);
    }
    told.line("== summary");
    told.line(summary.trim_end());
    let path = results.join("ab.txt");
    std::fs::write(&path, told.0).map_err(at(&path))?;
    println!("{} and the rows beside it", path.display());
    Ok(())
}

/// Puts the rows of both rounds into one file: rows of one key are pooled.
fn join(rounds: &[PathBuf; 2], whole: &Path) -> Result<(), Failure> {
    let mut rows = String::new();
    for round in rounds {
        rows += &std::fs::read_to_string(round).map_err(at(round))?;
        std::fs::remove_file(round).map_err(at(round))?;
    }
    std::fs::write(whole, rows).map_err(at(whole))
}

/// What was printed, which a file keeps.
#[derive(Default)]
struct Told(String);

impl Told {
    fn line(&mut self, line: &str) {
        println!("{line}");
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn run(&mut self, side: &Side, what: &str, work: &Work, json: &Path) -> Result<(), Failure> {
        let words = if what == "bench" { &work.bench } else { &work.accuracy };
        let mut command = Command::new(&side.program);
        command.arg(what).args(words).args(["--device", &work.device]).arg("--json").arg(json);
        match &side.kernels {
            Some(kernels) => command.env(KERNEL_DIR, kernels),
            None => command.env_remove(KERNEL_DIR),
        };
        let start = Instant::now();
        let output = command.stdin(Stdio::null()).output().map_err(at(&side.program))?;
        let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        match output.status.code() {
            Some(0) => {}
            Some(WRONG) => self.line(&format!("{} {what}: {complaint}", side.name)),
            _ => return Err(Failure::new(format!("{} {what}: {complaint} ({})", side.name, output.status))),
        }
        println!("{} {what}: {:.1} s", side.name, start.elapsed().as_secs_f64());
        Ok(())
    }

    fn compare(&mut self, head: &str, compared: compare::Compared, summary: &mut String) {
        self.line(&format!("== {head}"));
        self.line(compared.text.trim_end());
        let (flagged, all) = (compared.flagged(), compared.pairs.len());
        let _ = writeln!(summary, "{head}: {flagged} of {all} pairs flagged");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_take_the_place_of_what_is_run() {
        let work = Work::read(&[], "cuda").unwrap();
        assert_eq!((work.device(), &work), ("cuda", &Work::on("cuda")));
        assert!(
            work.bench.contains(&"16384".to_owned()) && !Work::on("simt").bench.contains(&"16384".to_owned())
        );
        let work = Work::read(&["--bench", "steqr --n 4", "--device", "simt"], "cuda").unwrap();
        assert_eq!(
            (work.device(), work.bench.len(), &work.accuracy),
            ("simt", 3, &Work::on("simt").accuracy)
        );
        for words in [&["--bench"][..], &["--rounds", "3"], &["x"], &["--device", "cpu", "--accuracy"]] {
            assert!(Work::read(words, "cuda").is_err(), "{words:?}");
        }
    }
}
