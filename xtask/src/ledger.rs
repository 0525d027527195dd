//! `cargo xtask ledger`: what each kernel costs, in `device/ledger/<arch>.json`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cuda_builder::check::{self, Allowance, Policy};
use cuda_builder::ledger::changes::{self, Change};
use cuda_builder::ledger::{self, Ledger};
use cuda_builder::{Arch, BuiltKernels, ptxas};

use crate::kernels;
use crate::process::{Failure, at, root};

/// Lines of a list that are shown.
const SHOWN: usize = 20;

/// Writes the ledgers of the architectures that are built, and then complains of what must not ship.
pub fn write() -> Result<(), Failure> {
    let current = Current::measure()?;
    if !current.ledgers.iter().all(Ledger::is_complete) {
        return Err(Failure::new("a ledger needs ptxas and nvdisasm: cargo xtask setup fetches them"));
    }
    for ledger in &current.ledgers {
        let path = path(ledger.arch);
        if let Ok(before) = read(&path) {
            print!("{}", list("moved", &changes::between(&before, ledger)));
        }
        std::fs::create_dir_all(folder()).map_err(at(&folder()))?;
        std::fs::write(&path, ledger::format(ledger)).map_err(at(&path))?;
        println!("{}: {} kernels", path.display(), ledger.rows.len());
    }
    print!("{}", current.collectives());
    current.must_ship()
}

/// Compares the ledgers with the kernels, and complains of what must not ship. What could not be compared, for
/// want of a tool or because another tool chain recorded it, is the answer.
pub fn check() -> Result<Option<String>, Failure> {
    let current = Current::measure()?;
    print!("{}", current.collectives());
    // The command line embeds the recorded ones, and does not build without them.
    current.against(|arch| {
        let path = path(arch);
        if path.exists() { read(&path).map(Some) } else { Ok(None) }
    })
}

const RENEW: &str = "\n`cargo xtask ledger` writes the ledger anew; commit it with the change";

/// Whether figures mean the same: all of them (`None`), or those that both have; an error where none does.
fn comparable(recorded: &Ledger, current: &Ledger) -> Result<Option<String>, String> {
    let (was, is) = (&recorded.tool_chain, &current.tool_chain);
    if was == is {
        let remark = format!("{}: machine code not compared: no nvdisasm", current.arch);
        return Ok((!current.is_complete()).then_some(remark));
    }
    // Without an assembler the PTX is the same nevertheless.
    if was.strip_prefix(is.as_str()).is_some_and(|rest| rest.starts_with(", ptxas ")) {
        return Ok(Some(format!("{}: only PTX compared: no ptxas", current.arch)));
    }
    Err(format!("{}: not compared: recorded with {was}, not {is}", current.arch))
}

/// The kernels as they are.
struct Current {
    built: Vec<BuiltKernels>,
    ledgers: Vec<Ledger>,
}

impl Current {
    fn measure() -> Result<Self, Failure> {
        // Faults are told together with the others, below.
        let built = kernels::build_all(Policy::Warn)?;
        let nvdisasm = ptxas::find("nvdisasm", root())?;
        let ledgers = ledger::measure(&built, nvdisasm.as_deref())?;
        Ok(Self { built, ledgers })
    }

    /// [`check()`] against what is recorded for an architecture.
    fn against(
        &self,
        recorded: impl Fn(Arch) -> Result<Option<Ledger>, String>,
    ) -> Result<Option<String>, Failure> {
        let mut differing = vec![];
        let mut remarks = vec![];
        for ledger in &self.ledgers {
            let found = recorded(ledger.arch).map_err(|problem| Failure::new(format!("{problem}{RENEW}")))?;
            let Some(recorded) = found else {
                remarks.push(format!("{}: not compared: never recorded", ledger.arch));
                continue;
            };
            match comparable(&recorded, ledger) {
                Ok(remark) => {
                    remarks.extend(remark);
                    differing.extend(changes::between(&recorded, ledger));
                }
                Err(remark) => remarks.push(remark),
            }
        }
        let faults = self.must_ship();
        if !differing.is_empty() {
            let moved = list("not as recorded", &differing);
            let faults = faults.err().map(|faults| format!("\n{faults}")).unwrap_or_default();
            return Err(Failure::new(format!("{}{RENEW}{faults}", moved.trim_end())));
        }
        faults?;
        remarks.dedup();
        Ok((!remarks.is_empty()).then(|| remarks.join("; ")))
    }

    /// An error that lists stack frames, spills, calls and generic accesses that no reason excuses.
    fn must_ship(&self) -> Result<(), Failure> {
        let mut faults: Vec<String> =
            self.built.iter().flat_map(|kernels| &kernels.faults).map(ToString::to_string).collect();
        for kernels in &self.built {
            let allowed = check::read_allowed(&kernels.folder)?;
            let modules: Vec<&str> = kernels.modules.iter().map(|module| module.name.as_str()).collect();
            faults.extend(self.ledgers.iter().flat_map(|ledger| machine_faults(ledger, &modules, &allowed)));
        }
        if faults.is_empty() {
            return Ok(());
        }
        let head = format!("kernels that must not ship (or excuse them in {}):", check::ALLOWED_FILE);
        Err(Failure::new(format!("{head}{}", lines(&faults))))
    }

    /// Kernels whose collectives ptxas multiplied or joined: of each module the one with the largest change.
    fn collectives(&self) -> String {
        let mut text = String::new();
        for ledger in &self.ledgers {
            let mut modules: BTreeMap<&str, Vec<(&str, Moved)>> = BTreeMap::new();
            for row in &ledger.rows {
                let moved = changes::collectives_moved(row);
                if !moved.is_empty() {
                    modules.entry(&row.module).or_default().push((&row.entry, moved));
                }
            }
            for (module, rows) in modules {
                let Some((entry, moved)) = rows.iter().max_by_key(|(_, moved)| weight(moved)) else {
                    continue;
                };
                let figures = moved.iter().map(|(name, ptx, sass)| format!("{name} {ptx} -> {sass}"));
                let figures = figures.collect::<Vec<_>>().join(", ");
                let _ = write!(text, "  {} {entry}: {figures}", ledger.arch);
                if rows.len() > 1 {
                    let _ = write!(text, " (and {} more of {module})", rows.len() - 1);
                }
                text.push('\n');
            }
        }
        if text.is_empty() {
            text
        } else {
            format!("collectives in PTX -> in machine code, where they differ:\n{text}")
        }
    }
}

type Moved = Vec<(&'static str, u32, u32)>;

fn weight(moved: &Moved) -> u32 {
    moved.iter().map(|(_, ptx, sass)| ptx.abs_diff(*sass)).sum()
}

fn machine_faults(ledger: &Ledger, modules: &[&str], allowed: &[Allowance]) -> Vec<String> {
    let mut found = vec![];
    for row in ledger.rows.iter().filter(|row| modules.contains(&row.module.as_str())) {
        for (fault, what) in changes::faults(row) {
            let excused = allowed.iter().any(|a| a.fault == fault && row.entry.starts_with(&a.entry));
            if !excused {
                found.push(format!("{} {} (module {}): {what}", ledger.arch, row.entry, row.module));
            }
        }
    }
    found
}

/// Changes under a head, the first of them.
pub fn list(head: &str, changes: &[Change]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let all: Vec<String> = changes.iter().map(ToString::to_string).collect();
    format!("{} kernels {head}:{}\n", all.len(), lines(&all))
}

fn lines(all: &[String]) -> String {
    let mut text: String = all.iter().take(SHOWN).map(|line| format!("\n  {line}")).collect();
    if all.len() > SHOWN {
        let _ = write!(text, "\n  and {} more", all.len() - SHOWN);
    }
    text
}

fn folder() -> PathBuf {
    root().join("device/ledger")
}

fn path(arch: Arch) -> PathBuf {
    folder().join(format!("{arch}.json"))
}

fn read(path: &Path) -> Result<Ledger, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    ledger::parse(&text).map_err(|problem| format!("{}: {problem}", path.display()))
}

#[cfg(test)]
mod tests {
    use cuda_builder::error::KernelFault;

    use super::*;

    fn ledger_of(tool_chain: &str, sass: &str) -> Ledger {
        let text = format!(
            "{{\"arch\": \"sm_90\", \"tool_chain\": \"{tool_chain}\", \"kernels\": [{{\"kernel\": \"k_f32\", \"module\": \"m\", \
             \"registers\": 40, \"ptx\": {{\"shuffle\": 5, \"generic\": 1}}, \"sass\": {{{sass}}}}}]}}"
        );
        ledger::parse(&text).unwrap()
    }

    const CHAIN: &str = "rustc 1.96.0, LLVM 22.1.8, ptxas 13.0.88";

    #[test]
    fn only_figures_of_one_tool_chain_are_compared() {
        let recorded = ledger_of(CHAIN, "\"shuffle\": 5");
        assert_eq!(comparable(&recorded, &recorded), Ok(None));
        let mut current = recorded.clone();
        current.rows[0].sass = None;
        assert!(comparable(&recorded, &current).unwrap().unwrap().contains("no nvdisasm"));
        let unassembled = ledger_of("rustc 1.96.0, LLVM 22.1.8", "");
        assert!(comparable(&recorded, &unassembled).unwrap().unwrap().contains("only PTX compared"));
        for other in ["rustc 1.97.0, LLVM 22.1.8, ptxas 13.0.88", "rustc 1.96.0, LLVM 22.1.8, ptxas 13.1"] {
            let remark = comparable(&recorded, &ledger_of(other, "")).unwrap_err();
            assert!(remark.contains("not compared"), "{remark}");
        }
    }

    #[test]
    fn generic_accesses_need_a_reason() {
        let ledger = ledger_of(CHAIN, "\"generic\": 2");
        let faults = machine_faults(&ledger, &["m"], &[]);
        assert_eq!(faults, ["sm_90 k_f32 (module m): generic accesses in the machine code: 2"]);
        assert!(machine_faults(&ledger, &["other"], &[]).is_empty());
        let allow = |fault| Allowance { entry: "k_".to_owned(), fault, reason: "test".to_owned() };
        assert!(machine_faults(&ledger, &["m"], &[allow(check::Fault::Generic)]).is_empty());
        assert_eq!(machine_faults(&ledger, &["m"], &[allow(check::Fault::Call)]).len(), 1);
    }

    #[test]
    fn a_planted_spill_must_not_ship() {
        let fault = KernelFault {
            module: "m".to_owned(),
            arch: "sm_90".to_owned(),
            entry: "k_f32".to_owned(),
            what: "16 bytes of stack frame, 12 of spill stores, 12 of spill loads".to_owned(),
        };
        // Nothing excuses in this folder.
        let folder = root().join("xtask");
        let built = |faults| BuiltKernels {
            krate: "kernels_m".to_owned(),
            modules: vec![],
            tool_chain: CHAIN.to_owned(),
            folder: folder.clone(),
            sources: vec![],
            watched: vec![],
            faults,
        };
        let of = |faults| Current { built: vec![built(faults)], ledgers: vec![ledger_of(CHAIN, "")] };
        of(vec![]).must_ship().unwrap();
        let error = of(vec![fault]).must_ship().unwrap_err().to_string();
        assert!(error.contains("must not ship") && error.contains("12 of spill stores"), "{error}");
    }

    #[test]
    fn a_planted_spill_breaks_the_check_of_the_committed_ledger() {
        for file in std::fs::read_dir(folder()).unwrap() {
            let recorded = read(&file.unwrap().path()).unwrap();
            let against = |ledger: &Ledger| {
                let current = Current { built: vec![], ledgers: vec![ledger.clone()] };
                current.against(|_| Ok(Some(recorded.clone())))
            };
            assert_eq!(against(&recorded).unwrap(), None);
            let mut planted = recorded.clone();
            let row = planted.rows.last_mut().unwrap();
            row.resources.as_mut().unwrap().spill_store_bytes += 8;
            let error = against(&planted).unwrap_err().to_string();
            let entry = &recorded.rows.last().unwrap().entry;
            let head = format!("1 kernels not as recorded:\n  {} {entry}: spill_stores ", recorded.arch);
            assert!(error.starts_with(&head) && error.ends_with(RENEW), "{error}");
            let never = Current { built: vec![], ledgers: vec![recorded.clone()] }.against(|_| Ok(None));
            assert!(never.unwrap().unwrap().contains("never recorded"));
        }
    }

    #[test]
    fn collectives_are_told_by_module() {
        let current = Current { built: vec![], ledgers: vec![ledger_of(CHAIN, "\"shuffle\": 7")] };
        let text = current.collectives();
        assert!(text.ends_with("\n  sm_90 k_f32: shuffle 5 -> 7\n"), "{text}");
        let same = Current { built: vec![], ledgers: vec![ledger_of(CHAIN, "\"shuffle\": 5")] };
        assert_eq!(same.collectives(), "");
    }

    #[test]
    fn long_lists_are_cut() {
        let change =
            |n: usize| Change { arch: Arch::SM_90, entry: format!("k{n}"), what: vec!["new".to_owned()] };
        let text = list("moved", &(0..SHOWN + 2).map(change).collect::<Vec<_>>());
        assert!(
            text.starts_with("22 kernels moved:\n  sm_90 k0: new\n") && text.ends_with("\n  and 2 more\n"),
            "{text}"
        );
        assert_eq!(list("moved", &[]), "");
    }

    #[test]
    fn what_is_committed_can_be_read_and_is_embedded() {
        let source =
            std::fs::read_to_string(root().join("host/cli/src/commands/kernels/figures.rs")).unwrap();
        let files: Vec<PathBuf> =
            std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!files.is_empty());
        for file in files {
            let ledger = read(&file).unwrap_or_else(|problem| panic!("{problem}"));
            assert_eq!(file, path(ledger.arch));
            assert!(ledger.is_complete() && !ledger.rows.is_empty(), "{}", file.display());
            let name = file.file_name().unwrap().to_string_lossy();
            assert!(source.contains(&format!("device/ledger/{name}\"")), "batchlas does not embed {name}");
        }
    }
}
