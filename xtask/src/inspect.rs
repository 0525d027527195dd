//! `cargo xtask inspect CRATE`: what the kernels of one crate become.

use std::io::Write as _;
use std::path::Path;

use cuda_builder::check::Policy;
use cuda_builder::{BuiltKernels, BuiltModule, CudaBuilder, audit, ptxas};

use crate::process::{Failure, at, root, target_dir};
use crate::progress;

/// What to show.
#[derive(Clone, Copy)]
pub enum What {
    /// A line an entry, and where the files are.
    Summary,
    /// The PTX of the newest architecture.
    Ptx,
    /// The machine code of the newest architecture.
    Sass,
}

/// Builds a kernel crate and shows it. A fault of a kernel is shown, not refused.
pub fn run(krate: &Path, what: What) -> Result<(), Failure> {
    let krate = std::path::absolute(krate).map_err(at(krate))?;
    let builder = CudaBuilder::new(&krate).target_dir(target_dir()).faults(Policy::Warn);
    let built = progress::watching(|| builder.build())?;
    let newest = built.modules.iter().map(|module| module.arch).max();
    let modules = built.modules.iter().filter(|module| Some(module.arch) == newest);
    match what {
        What::Summary => summary(&built),
        What::Ptx => show(&modules.map(|module| read(&module.ptx)).collect::<Result<String, _>>()?),
        What::Sass => show(&modules.map(sass).collect::<Result<String, _>>()?),
    }
}

fn summary(built: &BuiltKernels) -> Result<(), Failure> {
    println!("{}: {}\n", built.krate, built.tool_chain);
    let mut rows =
        vec![["kernel", "arch", "registers", "stack", "spills", "instructions"].map(str::to_owned)];
    for module in &built.modules {
        for entry in audit::parse_ptx(&read(&module.ptx)?) {
            let figure = |of: fn(&audit::Resources) -> u32| {
                module.resources.get(&entry.name).map_or("-".to_owned(), |used| of(used).to_string())
            };
            rows.push([
                entry.name.clone(),
                module.arch.to_string(),
                figure(|used| used.registers),
                figure(|used| used.stack_bytes),
                figure(|used| used.spill_store_bytes + used.spill_load_bytes),
                entry.mix.total.to_string(),
            ]);
        }
    }
    print!("{}", table(&rows));
    println!(
        "\nregisters a thread; stack and spills in bytes a thread (-: no ptxas); instructions of the PTX"
    );
    for fault in &built.faults {
        println!("fault: {fault}");
    }
    if let Some(folder) = built.modules.first().and_then(|module| module.ptx.parent()) {
        println!("PTX and cubins: {}; --ptx and --sass print them", folder.display());
    }
    Ok(())
}

/// Rows with their columns aligned, the first to the left.
fn table(rows: &[[String; 6]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let line = |row: &[String; 6]| {
        let first = format!("{:<1$}", row[0], width(0));
        let rest = (1..row.len()).map(|column| format!("  {:>1$}", row[column], width(column)));
        format!("{first}{}\n", rest.collect::<String>())
    };
    rows.iter().map(line).collect()
}

fn sass(module: &BuiltModule) -> Result<String, Failure> {
    let missing = || Failure::new("no nvdisasm or ptxas: cargo xtask setup fetches them");
    let tool = ptxas::find("nvdisasm", root())?.ok_or_else(missing)?;
    let cubin = module.cubin.as_ref().ok_or_else(missing)?;
    Ok(ptxas::disassemble(&tool, cubin)?)
}

/// Prints what may be long; a reader such as `head` need not want all of it.
fn show(text: &str) -> Result<(), Failure> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let row = |name: &str, figure: &str| {
            let mut row = [const { String::new() }; 6];
            (row[0], row[2]) = (name.to_owned(), figure.to_owned());
            row
        };
        let text = table(&[row("k", "registers"), row("kernel_f32", "40")]);
        let ends: Vec<usize> = ["registers", "40"].map(|x| text.find(x).unwrap() + x.len()).into();
        assert_eq!(ends[0], ends[1] - text.find('\n').unwrap() - 1);
    }
}
