//! The driver's library, opened at the first call.

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use cust::sys::CUresult;
use libloading::Library;

/// Where the driver's library may be: the loader's own search first, then
/// folders that some systems leave out of it (Debian and Ubuntu, Fedora, WSL, NixOS).
pub const CANDIDATES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else {
    &[
        "libcuda.so.1",
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
        "/usr/lib64/libcuda.so.1",
        "/usr/lib/wsl/lib/libcuda.so.1",
        "/run/opengl-driver/lib/libcuda.so.1",
    ]
};

struct Driver {
    library: Library,
    name: &'static str,
}

/// The driver, or what the loader said to the first candidate.
fn driver() -> &'static Result<Driver, String> {
    static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let mut first = None;
        for &name in CANDIDATES {
            // SAFETY: the driver's library may be loaded at any time; its initialisers have no
            // preconditions.
            match unsafe { Library::new(name) } {
                Ok(library) => return Ok(Driver { library, name }),
                Err(error) => {
                    first.get_or_insert_with(|| loader_message(name, &error));
                }
            }
        }
        Err(first.unwrap_or_default())
    })
}

/// libloading keeps the loader's own words in the error's source.
fn loader_message(name: &str, error: &libloading::Error) -> String {
    let detail = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    if detail.contains(name) { detail } else { format!("{name}: {detail}") }
}

/// Whether the driver's library can be opened here.
pub fn present() -> bool {
    driver().is_ok()
}

/// The name under which the driver's library was opened.
///
/// # Errors
/// The loader's message where there is none.
pub fn library() -> Result<&'static str, &'static str> {
    driver().as_ref().map(|driver| driver.name).map_err(String::as_str)
}

/// One function of the driver, looked up at its first call.
pub(crate) struct Symbol {
    /// With its terminating zero.
    name: &'static str,
    address: AtomicPtr<c_void>,
}

impl Symbol {
    pub(crate) const fn new(name: &'static str) -> Self {
        Symbol { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The function's address: `NO_DEVICE` without a driver, `NOT_FOUND` in a driver that lacks it.
    pub(crate) fn address(&self) -> Result<*mut c_void, CUresult> {
        let known = self.address.load(Ordering::Acquire);
        if !known.is_null() {
            return Ok(known);
        }
        let driver = driver().as_ref().map_err(|_| CUresult::CUDA_ERROR_NO_DEVICE)?;
        // SAFETY: only the address is taken here; the caller gives it its signature.
        let found = unsafe { driver.library.get::<*mut c_void>(self.name.as_bytes()) };
        let address = *found.map_err(|_| CUresult::CUDA_ERROR_NOT_FOUND)?;
        self.address.store(address, Ordering::Release);
        Ok(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_function_is_not_found_and_an_absent_driver_is_no_device() {
        let absent = Symbol::new("cuNoSuchFunction\0");
        let expected =
            if present() { CUresult::CUDA_ERROR_NOT_FOUND } else { CUresult::CUDA_ERROR_NO_DEVICE };
        assert_eq!(absent.address(), Err(expected));
        assert_eq!(present(), library().is_ok());
        if let Err(message) = library() {
            assert!(message.contains(CANDIDATES[0]), "{message}");
        }
    }
}
