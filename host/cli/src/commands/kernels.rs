//! `batchlas kernels`: what each embedded kernel costs.

mod figures;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use batchlas::Arch;
use batchlas::cuda::{EmbeddedModule, modules};
use serde::Serialize;

use self::figures::{Kernel, Source};
use super::{json_line, print};
use crate::args::KernelsArgs;
use crate::failure::Failure;
use crate::table::Table;

/// The line of `--json`.
#[derive(Debug, Serialize)]
struct Report {
    arch: String,
    /// Where registers, stack, spills and shared memory come from.
    resources_from: String,
    /// Whether instructions are machine code's (`sass`) or PTX's.
    mix_of: &'static str,
    tool_chain: &'static str,
    kernels: Vec<Kernel>,
}

/// Runs the command.
pub fn run(args: &KernelsArgs) -> Result<ExitCode, Failure> {
    let arch: cuda_builder::Arch = args.arch.to_string().parse().map_err(build_failure)?;
    let chosen = named(newest(modules()?, args.arch)?, args.name.as_deref())?;
    let source = Source::choose(&chosen, arch)?;
    if args.json {
        let kernels = source.kernels(&chosen, &mut |_| Ok(true))?;
        let Source { resources_from, mix_of, .. } = source;
        let tool_chain = batchlas::cuda::tool_chain();
        print(&json_line(&Report { arch: arch.to_string(), resources_from, mix_of, tool_chain, kernels })?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows = Rows::new(&chosen);
    let mut going_on = print(&rows.head(arch, &source.resources_from))?;
    // Rows as they come: thousands of kernels take a while, and a reader in a pipe sees no progress bar.
    let kernels = source.kernels(&chosen, &mut |kernels| {
        going_on = going_on && print(&kernels.iter().map(|k| rows.row(k)).collect::<String>())?;
        Ok(going_on)
    })?;
    print(&mix(source.mix_of, &kernels))?;
    Ok(ExitCode::SUCCESS)
}

fn build_failure(error: cuda_builder::BuildError) -> Failure {
    Failure::new(error.to_string())
}

/// Of each module the newest PTX not above the architecture.
fn newest(all: &'static [EmbeddedModule], arch: Arch) -> Result<Vec<&'static EmbeddedModule>, Failure> {
    let mut best: BTreeMap<(&str, &str), &EmbeddedModule> = BTreeMap::new();
    for module in all.iter().filter(|module| module.arch <= arch.0) {
        let slot = best.entry((module.krate, module.name)).or_insert(module);
        if slot.arch < module.arch {
            *slot = module;
        }
    }
    if !best.is_empty() {
        return Ok(best.into_values().collect());
    }
    Err(Failure::new(match all.iter().map(|module| module.arch).min() {
        Some(oldest) => format!("no embedded kernel runs on {arch}: the oldest PTX is for sm_{oldest}"),
        None => "this build embeds no kernels".to_string(),
    }))
}

/// Those whose name contains a word.
fn named(
    modules: Vec<&'static EmbeddedModule>,
    word: Option<&str>,
) -> Result<Vec<&'static EmbeddedModule>, Failure> {
    let Some(word) = word else { return Ok(modules) };
    let chosen: Vec<_> = modules.iter().copied().filter(|module| module.name.contains(word)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = modules.iter().map(|module| module.name).collect();
        return Err(Failure::new(format!(
            "no module's name contains '{word}': there are {}",
            names.join(", ")
        )));
    }
    Ok(chosen)
}

/// The table of resources, printed row by row: its widths are those of the names and of the header.
struct Rows {
    count: usize,
    name: usize,
}

impl Rows {
    const HEADER: [&str; 6] = ["registers", "stack", "spill stores", "spill loads", "shared", "instructions"];

    fn new(modules: &[&'static EmbeddedModule]) -> Self {
        let names = modules.iter().flat_map(|module| module.entries);
        let name = names.clone().map(|name| name.len()).max().unwrap_or(0).max("kernel".len());
        Rows { count: names.count(), name }
    }

    fn head(&self, arch: cuda_builder::Arch, from: &str) -> String {
        let kernels = if self.count == 1 { "kernel" } else { "kernels" };
        let header = self.line("kernel", &Self::HEADER.map(str::to_string));
        format!("{} {kernels} for {arch}, figures from {from}\n\n{header}", self.count)
    }

    fn row(&self, k: &Kernel) -> String {
        let memory = [k.registers, k.stack_bytes, k.spill_store_bytes, k.spill_load_bytes, k.shared_bytes];
        let [a, b, c, d, e] = memory.map(cell);
        self.line(&k.kernel, &[a, b, c, d, e, cell(Some(k.instructions))])
    }

    fn line(&self, name: &str, cells: &[String; 6]) -> String {
        let mut line = format!("{name:<width$}", width = self.name);
        for (cell, header) in cells.iter().zip(Self::HEADER) {
            let _ = write!(line, "  {cell:>width$}", width = header.len());
        }
        line + "\n"
    }
}

fn cell(figure: Option<u32>) -> String {
    figure.map_or("-".to_string(), |x| x.to_string())
}

/// The table of instructions by kind, below that of resources.
fn mix(mix_of: &str, kernels: &[Kernel]) -> String {
    let mut kinds: Vec<&str> = kernels.iter().flat_map(|k| k.mix.keys().copied()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut mix = Table::new(&[&["kernel"], &kinds[..]].concat(), 1);
    for k in kernels {
        let counts = kinds.iter().map(|kind| cell(k.mix.get(kind).copied()));
        mix.row(std::iter::once(k.kernel.clone()).chain(counts).collect());
    }
    let code = if mix_of == "sass" { "machine code" } else { "PTX" };
    format!(
        "\nregisters a thread; stack, spills in bytes a thread; static shared memory in bytes a block\n\n\
         static instruction mix of the {code}\n\n{}",
        mix.render()
    )
}

#[cfg(test)]
mod tests {
    use cuda_builder::audit::{self, Resources};

    use super::*;

    const fn module(name: &'static str, arch: u32) -> EmbeddedModule {
        EmbeddedModule { name, krate: "k", arch, ptx: b"", cubin: None, entries: &[], resources: &[] }
    }

    #[test]
    fn the_newest_ptx_not_above_the_architecture() {
        static ALL: [EmbeddedModule; 3] = [module("a", 80), module("a", 90), module("b", 80)];
        let archs = |arch| newest(&ALL, Arch(arch)).unwrap().iter().map(|m| m.arch).collect::<Vec<_>>();
        assert_eq!(archs(89), [80, 80]);
        assert_eq!(archs(90), [90, 80]);
        assert_eq!(archs(100), [90, 80]);
        assert!(newest(&ALL, Arch(75)).unwrap_err().to_string().contains("sm_80"));
        assert!(newest(&[], Arch(90)).is_err());
        let all = || newest(&ALL, Arch(90)).unwrap();
        assert_eq!(named(all(), Some("b")).unwrap().len(), 1);
        assert_eq!(named(all(), None).unwrap().len(), 2);
        assert!(named(all(), Some("c")).unwrap_err().to_string().contains("there are a, b"));
    }

    #[test]
    fn a_row_a_kernel_in_both_tables() {
        static MODULE: EmbeddedModule = EmbeddedModule { entries: &["m_f32_8"], ..module("m_f32", 80) };
        let entry = &audit::parse_ptx(".visible .entry m_f32_8()\n{\n\tbar.sync 0;\n\tret;\n}\n")[0];
        let resources = Resources { registers: 40, shared_bytes: 16, ..Resources::default() };
        let kernel = figures::kernel(&MODULE, "m_f32_8".to_string(), Some(&resources), &entry.mix);
        let rows = Rows::new(&[&MODULE]);
        let text = rows.head(cuda_builder::Arch::SM_90, "ptxas 13") + &rows.row(&kernel);
        assert_eq!(
            text,
            "1 kernel for sm_90, figures from ptxas 13\n\n\
             kernel   registers  stack  spill stores  spill loads  shared  instructions\n\
             m_f32_8         40      0             0            0      16             2\n"
        );
        let text = mix("ptx", &[kernel]);
        assert!(text.contains("mix of the PTX"), "{text}");
        assert!(text.ends_with("kernel   barrier  other\nm_f32_8        1      1\n"), "{text}");
    }
}
