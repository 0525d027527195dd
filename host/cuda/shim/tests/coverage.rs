//! The shim covers cust: no program of ours needs libcuda to start.

#[cfg(target_os = "linux")]
mod elf;

use std::collections::BTreeSet;

use batchlas_driver_shim::FUNCTIONS;

/// Uses a good part of cust, so that this test's own binary links what a user's would.
fn through_cust() -> Result<cust::context::Context, cust::error::CudaError> {
    use cust::memory::CopyDestination;
    let context = cust::quick_init()?;
    let stream = cust::stream::Stream::new(cust::stream::StreamFlags::DEFAULT, None)?;
    let mut on_device = cust::memory::DeviceBox::new(&7_u32)?;
    on_device.copy_from(&8)?;
    let event = cust::event::Event::new(cust::event::EventFlags::DEFAULT)?;
    event.record(&stream)?;
    stream.synchronize()?;
    Ok(context)
}

#[test]
fn cust_answers_without_a_driver() {
    let answer = through_cust();
    if !batchlas_driver_shim::present() {
        let error = answer.expect_err("no driver, no context");
        assert_eq!(error, cust::error::CudaError::NoDevice);
        // cust's Display panics where the driver gives no text.
        assert!(error.to_string().contains("no NVIDIA driver"), "{error}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn this_binary_needs_no_libcuda() {
    let this = std::env::current_exe().unwrap();
    let needed = elf::needed(&std::fs::read(&this).unwrap()).unwrap();
    assert!(needed.iter().any(|name| name.starts_with("libc.so")), "the parser found {needed:?}");
    assert!(!needed.iter().any(|name| name.contains("cuda")), "{needed:?}");
}

#[test]
fn every_driver_function_in_custs_sources_is_defined() {
    let declared = names_after(&sources("cust_raw"), "pub fn ");
    assert!(declared.len() > 300, "cust_raw declares {} functions", declared.len());
    let used: BTreeSet<String> = words(&sources("cust")).filter(|word| declared.contains(word)).collect();
    assert!(used.len() > 90 && used.contains("cuLaunchKernel"), "cust calls {} functions", used.len());
    let missing: Vec<_> = used.iter().filter(|name| !FUNCTIONS.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "the shim lacks {missing:?}");
}

/// All Rust sources of a dependency in one text, by the list that the compiler left beside this test.
fn sources(name: &str) -> String {
    let this = std::env::current_exe().unwrap();
    let beside = std::fs::read_dir(this.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let prefix = format!("{name}-");
    let mut lists = beside.filter(|path| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        file.starts_with(&prefix) && file.ends_with(".d")
    });
    let list = lists.next().unwrap_or_else(|| panic!("no {name}-*.d beside {}", this.display()));
    let list = std::fs::read_to_string(list).unwrap();
    // One line `source:` a file.
    let files = list.lines().filter_map(|line| line.strip_suffix(".rs:"));
    files.map(|file| std::fs::read_to_string(format!("{file}.rs")).unwrap()).collect()
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    parts.filter(|word| word.starts_with("cu")).map(str::to_string)
}

fn names_after(text: &str, keyword: &str) -> BTreeSet<String> {
    text.split(keyword).skip(1).filter_map(|rest| words(rest.get(..80).unwrap_or(rest)).next()).collect()
}
