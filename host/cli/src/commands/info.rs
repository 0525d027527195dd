//! `batchlas info`: devices, driver, tool chain, modules, tables, vendor libraries.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use batchlas::{Arch, DeviceInfo, Limits, cuda, routes, vendor};
use serde::Serialize;

use super::{json_line, print};
use crate::args::InfoArgs;
use crate::failure::Failure;
use crate::table::Table;

#[derive(Debug, Serialize)]
struct Info {
    version: &'static str,
    tool_chain: &'static str,
    /// The folder in place of the embedded kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_dir: Option<String>,
    driver: Driver,
    devices: Vec<Device>,
    modules: Vec<Module>,
    tables: Vec<TableInfo>,
    vendor: Vec<Vendor>,
}

/// The newest CUDA of the driver, or what was looked for.
#[derive(Debug, Serialize)]
struct Driver {
    cuda: Option<String>,
    problem: Option<String>,
}

#[derive(Debug, Serialize)]
struct Device {
    device: String,
    name: String,
    arch: Option<String>,
    multiprocessors: Option<u32>,
    shared_bytes_per_block: Option<usize>,
    memory_bytes: Option<u64>,
    threads: Option<usize>,
}

/// A kernel module, over all its architectures.
#[derive(Debug, Serialize)]
struct Module {
    name: &'static str,
    #[serde(rename = "crate")]
    krate: &'static str,
    kernels: usize,
    ptx: Vec<String>,
    cubin: Vec<String>,
}

#[derive(Debug, Serialize)]
struct TableInfo {
    op: &'static str,
    arch: String,
    source: String,
    rows: usize,
    provenance: BTreeMap<&'static str, String>,
    problem: Option<String>,
}

#[derive(Debug, Serialize)]
struct Vendor {
    name: &'static str,
    path: Option<String>,
    version: Option<String>,
    routines: Vec<String>,
    problem: Option<String>,
}

/// Runs the command.
pub fn run(args: &InfoArgs) -> Result<ExitCode, Failure> {
    let info = Info {
        version: env!("CARGO_PKG_VERSION"),
        tool_chain: cuda::tool_chain(),
        kernel_dir: std::env::var(routes::KERNEL_DIR).ok().filter(|dir| !dir.is_empty()),
        driver: driver(),
        devices: devices(),
        modules: modules(cuda::modules()?),
        tables: tables()?,
        vendor: vendor::libraries().into_iter().map(library).collect(),
    };
    print(&if args.json { json_line(&info)? } else { text(&info) })?;
    Ok(ExitCode::SUCCESS)
}

fn driver() -> Driver {
    match cuda::driver_version() {
        Ok(version) => {
            Driver { cuda: Some(format!("{}.{}", version / 1000, version % 1000 / 10)), problem: None }
        }
        Err(batchlas::Error::Unavailable { reason, .. }) => Driver { cuda: None, problem: Some(reason) },
        Err(error) => Driver { cuda: None, problem: Some(error.to_string()) },
    }
}

fn devices() -> Vec<Device> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let blank = Device {
        device: "cpu".to_string(),
        name: "host cores".to_string(),
        arch: None,
        multiprocessors: None,
        shared_bytes_per_block: None,
        memory_bytes: None,
        threads: Some(threads),
    };
    let simt =
        Device { threads: None, ..kernel_device("simt", "CPU executor of GPU kernels", &Limits::SIMT) };
    let gpus = cuda::gpus().unwrap_or_default();
    [blank, simt].into_iter().chain(gpus.iter().map(gpu)).collect()
}

fn gpu(info: &DeviceInfo) -> Device {
    let device = kernel_device(&info.device.to_string(), &info.name, &info.limits);
    Device { memory_bytes: Some(info.memory_bytes), ..device }
}

fn kernel_device(device: &str, name: &str, limits: &Limits) -> Device {
    Device {
        device: device.to_string(),
        name: name.to_string(),
        arch: Some(limits.arch.to_string()),
        multiprocessors: Some(limits.multiprocessors),
        shared_bytes_per_block: Some(limits.shared_bytes_per_block),
        memory_bytes: None,
        threads: None,
    }
}

fn modules(all: &[cuda::EmbeddedModule]) -> Vec<Module> {
    let mut merged: BTreeMap<(&str, &str), Module> = BTreeMap::new();
    for row in all {
        let module = merged.entry((row.krate, row.name)).or_insert_with(|| Module {
            name: row.name,
            krate: row.krate,
            kernels: row.entries.len(),
            ptx: Vec::new(),
            cubin: Vec::new(),
        });
        module.ptx.push(Arch(row.arch).to_string());
        module.cubin.extend(row.cubin.map(|_| Arch(row.arch).to_string()));
    }
    merged.into_values().collect()
}

fn tables() -> Result<Vec<TableInfo>, Failure> {
    let mut all = Vec::new();
    for operation in batchlas::ops::OPERATIONS {
        for arch in routes::architectures(operation)? {
            let mut info = TableInfo {
                op: operation.name,
                arch: arch.to_string(),
                source: String::new(),
                rows: 0,
                provenance: BTreeMap::new(),
                problem: None,
            };
            match routes::table(operation, arch) {
                Ok(found) => {
                    let table = found.table;
                    info.source = table.source().to_string();
                    info.rows = table.rows().len();
                    let field = |name: &'static str| (name, table.provenance(name).to_string());
                    info.provenance = routes::PROVENANCE.into_iter().map(field).collect();
                }
                Err(error) => info.problem = Some(error.to_string()),
            }
            all.push(info);
        }
    }
    Ok(all)
}

fn library(library: vendor::Library) -> Vendor {
    let blank = Vendor { name: library.name, path: None, version: None, routines: Vec::new(), problem: None };
    match library.found {
        Ok(found) => Vendor {
            path: Some(found.path),
            version: Some(version_text(found.version)),
            routines: found.routines.iter().map(ToString::to_string).collect(),
            ..blank
        },
        Err(problem) => Vendor { problem: Some(problem), ..blank },
    }
}

/// 11705 is 11.7.5.
fn version_text(version: u32) -> String {
    format!("{}.{}.{}", version / 1000, version % 1000 / 100, version % 100)
}

fn text(info: &Info) -> String {
    let mut text = format!("batchlas    {}\ntool chain  {}\n", info.version, info.tool_chain);
    if let Some(dir) = &info.kernel_dir {
        let _ = writeln!(text, "kernels     of {dir} ({})", routes::KERNEL_DIR);
    }
    let _ = match (&info.driver.cuda, &info.driver.problem) {
        (Some(cuda), _) => writeln!(text, "driver      CUDA {cuda}"),
        (None, problem) => writeln!(text, "driver      {}", problem.as_deref().unwrap_or("unknown")),
    };
    let _ = writeln!(text, "\ndevices\n{}", indent(&device_table(&info.devices)));
    let _ = writeln!(text, "kernel modules\n{}", indent(&module_table(&info.modules)));
    let _ = writeln!(text, "route tables");
    for table in &info.tables {
        table_lines(&mut text, table);
    }
    let _ = writeln!(text, "\nvendor libraries");
    for vendor in &info.vendor {
        let _ = match (&vendor.path, &vendor.version) {
            (Some(path), Some(version)) => {
                let routines = match &vendor.routines[..] {
                    [] => "no routine used".to_owned(),
                    all => format!("routines {}", all.join(", ")),
                };
                writeln!(text, "  {} {version}, {path}, {routines}", vendor.name)
            }
            _ => writeln!(text, "  {}: {}", vendor.name, vendor_problem(vendor, &info.driver)),
        };
    }
    text
}

/// Why a library is not open; a missing driver is told in full above.
fn vendor_problem<'a>(vendor: &'a Vendor, driver: &Driver) -> &'a str {
    let problem = vendor.problem.as_deref().unwrap_or("not found");
    match &driver.problem {
        Some(cause) if problem.contains(cause.as_str()) => "not looked for, since there is no driver",
        _ => problem,
    }
}

fn device_table(devices: &[Device]) -> String {
    let mut table = Table::new(&["device", "name", "arch", "processors", "shared a block", "memory"], 3);
    for device in devices {
        let count = match (device.threads, device.multiprocessors) {
            (Some(threads), _) => format!("{threads} threads"),
            (None, Some(count)) => format!("{count} SMs"),
            _ => String::new(),
        };
        let kib = device.shared_bytes_per_block.map(|bytes| format!("{} KiB", bytes / 1024));
        let gib = device.memory_bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)));
        let dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_string());
        let name = device.name.clone();
        table.row(vec![device.device.clone(), name, dash(device.arch.clone()), count, dash(kib), dash(gib)]);
    }
    table.render()
}

fn module_table(modules: &[Module]) -> String {
    let mut table = Table::new(&["module", "crate", "kernels", "PTX", "machine code"], 5);
    for module in modules {
        let list = |archs: &[String]| if archs.is_empty() { "-".to_string() } else { archs.join(" ") };
        table.row(vec![
            module.name.to_string(),
            module.krate.to_string(),
            module.kernels.to_string(),
            list(&module.ptx),
            list(&module.cubin),
        ]);
    }
    table.render()
}

fn table_lines(text: &mut String, table: &TableInfo) {
    let name = format!("{}.{}", table.op, table.arch);
    if let Some(problem) = &table.problem {
        let _ = writeln!(text, "  {name}: {problem}");
        return;
    }
    let field = |name: &str| table.provenance.get(name).map_or("", String::as_str);
    let (status, date) = (field("status"), field("date"));
    let _ = writeln!(text, "  {name}: {status} {date}, {} rows, {}", table.rows, table.source);
    let _ = writeln!(
        text,
        "    device {}; driver {}; tool chain {}; commit {}",
        field("device"),
        field("driver"),
        field("tool chain"),
        field("commit")
    );
    let _ = writeln!(text, "    {}", field("note"));
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
