//! Kernel modules: what the build embedded, and what the driver has loaded.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use cuda_std::launch::Entry;
use cust::sys::{self, CUfunction, CUfunction_attribute as Attribute, CUjit_option, CUmodule, CUresult};

use super::driver::{check, describe};
use super::kernel_dir;
use crate::device::Arch;
use crate::error::{Error, Result};

/// The driver's messages about a module are cut here.
const LOG_BYTES: usize = 8192;

/// One kernel module for one architecture, as the build script embeds it.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedModule {
    /// Kernel and type, as in `syev_cta_f32`.
    pub name: &'static str,
    /// The kernel crate.
    pub krate: &'static str,
    /// The architecture: 90 is `sm_90`.
    pub arch: u32,
    /// PTX for it, as it is or as a zlib stream: see [`ptx`](Self::ptx()).
    pub ptx: &'static [u8],
    /// Machine code for it, where the build had an assembler, as it is or as a zlib stream.
    pub cubin: Option<&'static [u8]>,
    /// The kernels in it.
    pub entries: &'static [&'static str],
    /// What the assembler said of each of them, in their order: registers and bytes of stack, spill stores and
    /// spill loads a thread, bytes of static shared memory a block. Empty where there was no assembler.
    pub resources: &'static [[u32; 5]],
}

impl EmbeddedModule {
    /// The PTX, unpacked.
    ///
    /// # Errors
    /// [`Error::Build`] where the bytes are no text, or a broken stream.
    pub fn ptx(&self) -> Result<Cow<'static, str>> {
        let broken = |reason: String| Error::Build { module: self.name.to_owned(), reason };
        match unpacked(self.ptx).map_err(|why| broken(format!("PTX: {why}")))? {
            Cow::Borrowed(bytes) => {
                std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|e| broken(e.to_string()))
            }
            Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|e| broken(e.to_string())),
        }
    }

    /// The machine code, unpacked, where there is any.
    ///
    /// # Errors
    /// [`Error::Build`] for a broken stream.
    pub fn cubin(&self) -> Result<Option<Cow<'static, [u8]>>> {
        let broken = |why| Error::Build { module: self.name.to_owned(), reason: format!("cubin: {why}") };
        self.cubin.map(unpacked).transpose().map_err(broken)
    }
}

/// The first byte of a zlib stream with the usual window; neither PTX nor an ELF file begins with it.
const ZLIB: u8 = 0x78;

fn unpacked(bytes: &'static [u8]) -> std::result::Result<Cow<'static, [u8]>, String> {
    if bytes.first() != Some(&ZLIB) {
        return Ok(Cow::Borrowed(bytes));
    }
    miniz_oxide::inflate::decompress_to_vec_zlib(bytes).map(Cow::Owned).map_err(|e| e.to_string())
}

pub(super) mod embedded {
    use super::EmbeddedModule;

    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

/// The modules of this library's kernels, one row a module and architecture: those that the program embeds, or
/// those of the folder in `BATCHLAS_KERNEL_DIR`.
///
/// # Errors
/// [`Error::Argument`] where that folder cannot be read or holds the kernels of another program.
pub fn modules() -> Result<&'static [EmbeddedModule]> {
    kernel_dir::in_force().map(|kernels| kernels.modules)
}

/// The compilers that made them; of the embedded ones where [`modules`] is an error.
pub fn tool_chain() -> &'static str {
    kernel_dir::in_force().map_or(embedded::TOOL_CHAIN, |kernels| kernels.tool_chain)
}

static REGISTERED: Mutex<Vec<&'static [EmbeddedModule]>> = Mutex::new(Vec::new());

/// Adds the modules of a kernel crate outside this library, as its build
/// script embedded them, to what every queue can launch.
pub fn register_modules(modules: &'static [EmbeddedModule]) {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner).push(modules);
}

/// What the driver is given for a module.
#[derive(Clone, Copy, Debug)]
struct Image<'a> {
    row: &'a EmbeddedModule,
    code: Code,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    Cubin,
    Ptx,
}

/// What to try for a module on an architecture, best first: machine code for
/// it, then the newest PTX not above it.
fn images(rows: &[EmbeddedModule], arch: Arch) -> Vec<Image<'_>> {
    let mut rows: Vec<_> = rows.iter().filter(|row| row.arch <= arch.0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.arch));
    let cubins = rows.iter().filter(|row| row.arch == arch.0 && row.cubin.is_some());
    let cubins = cubins.map(|row| Image { row, code: Code::Cubin });
    let newest = rows.first().map(|row| Image { row, code: Code::Ptx });
    cubins.chain(newest).collect()
}

/// The rows of one module, from this library and from registered crates.
fn rows_of(name: &str) -> Result<Vec<EmbeddedModule>> {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let all = std::iter::once(modules()?).chain(registered.iter().copied()).flatten();
    Ok(all.filter(|row| row.name == name).copied().collect())
}

/// One kernel that the driver has loaded.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub(crate) raw: CUfunction,
    /// The largest block that its registers allow.
    pub(crate) max_threads: u32,
    /// Shared memory that the kernel declares itself.
    pub(crate) static_shared: u32,
    /// Dynamic shared memory that the driver grants so far; never lowered, so
    /// that a launch in flight keeps what it was granted.
    pub(crate) granted_shared: u32,
}

// SAFETY: the driver's functions may be used from any thread, once the context is current there.
unsafe impl Send for Function {}

/// Modules and kernels loaded in one context, kept for the life of the process.
#[derive(Default)]
pub(crate) struct ModuleCache {
    modules: HashMap<&'static str, Loaded>,
    functions: HashMap<&'static str, Function>,
}

#[derive(Clone, Copy)]
struct Loaded(CUmodule);

// SAFETY: as for `Function`.
unsafe impl Send for Loaded {}

impl ModuleCache {
    /// A kernel, its module loaded where this is its first use. The context is current.
    pub(crate) fn function(&mut self, entry: &'static Entry, arch: Arch) -> Result<&mut Function> {
        if !self.functions.contains_key(entry.name) {
            let module = self.module(entry.module, arch)?;
            self.functions.insert(entry.name, find_function(module, entry.module, entry.name)?);
        }
        Ok(self.functions.get_mut(entry.name).expect("inserted above"))
    }

    fn module(&mut self, name: &'static str, arch: Arch) -> Result<CUmodule> {
        if let Some(Loaded(module)) = self.modules.get(name) {
            return Ok(*module);
        }
        let module = load_module(name, &rows_of(name)?, arch)?;
        self.modules.insert(name, Loaded(module));
        Ok(module)
    }
}

fn load_module(name: &str, rows: &[EmbeddedModule], arch: Arch) -> Result<CUmodule> {
    let build = |reason| Error::Build { module: name.to_string(), reason };
    let mut refusals = Vec::new();
    for image in images(rows, arch) {
        match load_image(image) {
            Ok(module) => return Ok(module),
            Err(reason) => refusals.push(reason),
        }
    }
    if !refusals.is_empty() {
        return Err(build(refusals.join("; ")));
    }
    let mut archs: Vec<_> = rows.iter().map(|row| Arch(row.arch).to_string()).collect();
    archs.sort();
    archs.dedup();
    Err(build(match archs.as_slice() {
        [] => "this build embeds no such module".to_string(),
        archs => format!("built for {}, none of which runs on {arch} (set BATCHLAS_ARCHS)", archs.join(", ")),
    }))
}

fn load_image(image: Image<'_>) -> std::result::Result<CUmodule, String> {
    let (row, arch) = (image.row, Arch(image.row.arch));
    match image.code {
        Code::Cubin => {
            let bytes = aligned(&row.cubin().map_err(|e| e.to_string())?.unwrap_or_default());
            load_data(bytes.as_ptr().cast()).map_err(|why| format!("cubin for {arch}: {why}"))
        }
        Code::Ptx => {
            let text = CString::new(row.ptx().map_err(|e| e.to_string())?.into_owned())
                .map_err(|_| format!("PTX for {arch} holds a zero byte"))?;
            load_data(text.as_ptr().cast()).map_err(|why| format!("PTX for {arch}: {why}"))
        }
    }
}

/// A copy on a boundary of 16 bytes, as the driver wants machine code.
fn aligned(bytes: &[u8]) -> Vec<u128> {
    let mut words = vec![0_u128; bytes.len().div_ceil(16)];
    bytemuck::cast_slice_mut::<u128, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
    words
}

/// Gives an image to the driver: an ELF file, or text with a terminating zero.
fn load_data(image: *const c_void) -> std::result::Result<CUmodule, String> {
    let mut log = vec![0_u8; LOG_BYTES];
    let mut options =
        [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver takes these values in place of pointers to them.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(LOG_BYTES)];
    let mut module: CUmodule = ptr::null_mut();
    // SAFETY: the image is complete, the options match their values, and the log outlives the call.
    let status =
        unsafe { sys::cuModuleLoadDataEx(&mut module, image, 2, options.as_mut_ptr(), values.as_mut_ptr()) };
    if status == CUresult::CUDA_SUCCESS {
        return Ok(module);
    }
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    let log = String::from_utf8_lossy(&log[..end]);
    let log = log.trim();
    Err(if log.is_empty() { describe(status) } else { format!("{}\n{log}", describe(status)) })
}

fn find_function(module: CUmodule, module_name: &str, entry: &str) -> Result<Function> {
    let name = CString::new(entry).map_err(|_| Error::argument("a kernel's name holds a zero byte"))?;
    let mut raw: CUfunction = ptr::null_mut();
    // SAFETY: the module is loaded, and the name ends with a zero.
    let status = unsafe { sys::cuModuleGetFunction(&mut raw, module, name.as_ptr()) };
    if status == CUresult::CUDA_ERROR_NOT_FOUND {
        let reason = format!("has no kernel {entry}");
        return Err(Error::Build { module: module_name.to_string(), reason });
    }
    check("cuModuleGetFunction", status)?;
    Ok(Function {
        raw,
        max_threads: attribute(raw, Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        static_shared: attribute(raw, Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
        granted_shared: attribute(raw, Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?,
    })
}

fn attribute(function: CUfunction, which: Attribute) -> Result<u32> {
    let mut value = 0;
    // SAFETY: `value` is a place for an int, and the function comes from the driver.
    check("cuFuncGetAttribute", unsafe { sys::cuFuncGetAttribute(&mut value, which, function) })?;
    Ok(value.max(0) as u32)
}

/// A kernel as the driver has loaded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedKernel {
    /// The kernel's entry.
    pub entry: &'static str,
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of local memory a thread: spills and arrays.
    pub local_bytes: u32,
    /// Bytes of static shared memory a block.
    pub static_shared_bytes: u32,
    /// The largest block that its registers allow.
    pub max_threads: u32,
}

impl ModuleCache {
    /// Loads every embedded module and tells what the driver made of it. The context is current.
    pub(crate) fn load_all(&mut self, arch: Arch) -> Result<Vec<LoadedKernel>> {
        let all = modules()?;
        let names: std::collections::BTreeSet<_> = all.iter().map(|row| row.name).collect();
        let mut kernels = Vec::new();
        for name in names {
            let module = self.module(name, arch)?;
            let row = all.iter().find(|row| row.name == name).expect("the name comes from there");
            for entry in row.entries {
                kernels.push(loaded_kernel(module, name, entry)?);
            }
        }
        Ok(kernels)
    }
}

fn loaded_kernel(module: CUmodule, name: &'static str, entry: &'static str) -> Result<LoadedKernel> {
    let function = find_function(module, name, entry)?;
    Ok(LoadedKernel {
        entry,
        registers: attribute(function.raw, Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
        local_bytes: attribute(function.raw, Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        static_shared_bytes: function.static_shared,
        max_threads: function.max_threads,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(arch: u32, cubin: Option<&'static [u8]>) -> EmbeddedModule {
        EmbeddedModule {
            name: "scale_f32",
            krate: "tests",
            arch,
            ptx: b"// PTX",
            cubin,
            entries: &["scale_f32"],
            resources: &[],
        }
    }

    fn tried(rows: &[EmbeddedModule], arch: u32) -> Vec<(u32, bool)> {
        let images = images(rows, Arch(arch));
        images.iter().map(|image| (image.row.arch, image.code == Code::Cubin)).collect()
    }

    #[test]
    fn the_matching_cubin_comes_first_and_the_newest_ptx_next() {
        let rows = [row(80, Some(b"80")), row(90, Some(b"90")), row(120, Some(b"120"))];
        assert_eq!(tried(&rows, 90), [(90, true), (90, false)]);
        assert_eq!(tried(&rows, 80), [(80, true), (80, false)]);
        assert_eq!(tried(&rows, 89), [(80, false)]);
        assert_eq!(tried(&rows, 100), [(90, false)]);
        assert_eq!(tried(&rows, 75), []);
        assert_eq!(tried(&[row(80, None), row(90, None)], 90), [(90, false)]);
    }

    #[test]
    fn code_is_unpacked_where_it_is_packed() {
        let packed: &'static [u8] = miniz_oxide::deflate::compress_to_vec_zlib(b"// PTX", 6).leak();
        let plain = row(80, Some(b"\x7fELF"));
        let row = EmbeddedModule { ptx: packed, cubin: Some(packed), ..plain };
        assert_eq!((&*row.ptx().unwrap(), &*plain.ptx().unwrap()), ("// PTX", "// PTX"));
        assert_eq!(&*row.cubin().unwrap().unwrap(), b"// PTX");
        assert_eq!(&*plain.cubin().unwrap().unwrap(), b"\x7fELF");
        let broken = EmbeddedModule { ptx: &packed[..4], ..plain };
        assert!(broken.ptx().unwrap_err().to_string().contains("scale_f32"));
    }

    #[test]
    fn a_module_for_newer_architectures_says_which() {
        let error =
            load_module("scale_f32", &[row(90, None), row(80, None)], Arch(75)).unwrap_err().to_string();
        assert!(
            error.contains("scale_f32") && error.contains("sm_80, sm_90") && error.contains("sm_75"),
            "{error}"
        );
        let error = load_module("absent", &rows_of("absent").unwrap(), Arch(90)).unwrap_err().to_string();
        assert!(error.contains("embeds no such module"), "{error}");
    }

    #[test]
    fn every_module_is_embedded_once_an_architecture() {
        let mut seen = std::collections::BTreeSet::new();
        for module in modules().unwrap() {
            assert!(seen.insert((module.name, module.arch)), "{} for sm_{} twice", module.name, module.arch);
            assert!(
                !module.entries.is_empty() && module.ptx().unwrap().contains(".version"),
                "{}",
                module.name
            );
        }
    }
}
