//! The driver: its start, its errors, the GPUs that it reports.

use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::OnceLock;

use cust::sys::{self, CUdevice_attribute as Attribute, CUresult};

use crate::device::{Arch, Device, DeviceInfo, Limits};
use crate::error::{Error, Result};

/// Turns a driver's status into an error that names the call.
pub(crate) fn check(call: &str, status: CUresult) -> Result<()> {
    if status == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    Err(Error::Driver { call: call.to_string(), reason: describe(status) })
}

/// The driver's name and description of a status.
pub(crate) fn describe(status: CUresult) -> String {
    type Describe = unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult;
    let text = |describe: Describe| {
        let mut text: *const c_char = ptr::null();
        // SAFETY: `text` is a place for a pointer.
        let answer = unsafe { describe(status, &mut text) };
        let found = answer == CUresult::CUDA_SUCCESS && !text.is_null();
        // SAFETY: the driver's texts are static strings.
        found.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
    };
    match (text(sys::cuGetErrorName), text(sys::cuGetErrorString)) {
        (Some(name), Some(meaning)) if name != meaning => format!("{name} ({meaning})"),
        (Some(name), _) => name.into_owned(),
        _ => format!("driver status {}", status as i32),
    }
}

/// An error of cust as ours, with the driver's function.
pub(super) fn failed(call: &'static str) -> impl FnOnce(cust::error::CudaError) -> Error {
    move |error| Error::Driver { call: call.to_string(), reason: format!("{error:?} {error}") }
}

/// Starts the driver, once in a process.
pub(crate) fn start() -> Result<()> {
    static STARTED: OnceLock<std::result::Result<(), String>> = OnceLock::new();
    let started = STARTED.get_or_init(|| {
        if let Err(loader) = batchlas_driver_shim::library() {
            let looked_for = batchlas_driver_shim::CANDIDATES.join(", ");
            return Err(format!("no NVIDIA driver: looked for {looked_for} (the loader says: {loader})"));
        }
        match cust::init(cust::CudaFlags::empty()) {
            Ok(()) => Ok(()),
            Err(error) => {
                Err(format!("the NVIDIA driver finds no GPU to use: cuInit says {error:?} {error}"))
            }
        }
    });
    started.clone().map_err(|reason| Error::Unavailable { device: "cuda".to_string(), reason })
}

/// The newest CUDA that the driver knows, 12040 for 12.4.
///
/// # Errors
/// [`Error::Unavailable`] that says what was looked for.
pub fn driver_version() -> Result<u32> {
    start()?;
    let mut version = 0;
    // SAFETY: `version` is a place for an int.
    check("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&mut version) })?;
    Ok(version as u32)
}

/// The GPUs that the driver reports; at least one.
///
/// # Errors
/// [`Error::Unavailable`] that says what was looked for.
pub fn gpus() -> Result<Vec<DeviceInfo>> {
    (0..count()?).map(|ordinal| info(ordinal, handle(ordinal)?)).collect()
}

fn count() -> Result<u32> {
    start()?;
    let count = cust::device::Device::num_devices().map_err(failed("cuDeviceGetCount"))?;
    if count == 0 {
        let reason = "the NVIDIA driver reports no GPU (see CUDA_VISIBLE_DEVICES)".to_string();
        return Err(Error::Unavailable { device: "cuda".to_string(), reason });
    }
    Ok(count)
}

/// The driver's handle of a GPU.
pub(crate) fn device(ordinal: u32) -> Result<cust::device::Device> {
    let count = count()?;
    if ordinal >= count {
        return Err(Error::Unavailable {
            device: Device::Cuda(ordinal).to_string(),
            reason: format!("the NVIDIA driver reports {count} GPU(s): cuda:0 to cuda:{}", count - 1),
        });
    }
    handle(ordinal)
}

fn handle(ordinal: u32) -> Result<cust::device::Device> {
    cust::device::Device::get_device(ordinal).map_err(failed("cuDeviceGet"))
}

/// Name, limits and memory of a GPU.
pub(crate) fn info(ordinal: u32, device: cust::device::Device) -> Result<DeviceInfo> {
    let name = device.name().map_err(failed("cuDeviceGetName"))?;
    let memory_bytes = device.total_memory().map_err(failed("cuDeviceTotalMem"))? as u64;
    Ok(DeviceInfo { device: Device::Cuda(ordinal), name, limits: limits(device)?, memory_bytes })
}

fn limits(device: cust::device::Device) -> Result<Limits> {
    let get = |which| attribute(device, which).map(|value| value.max(0) as u32);
    let major = get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(Limits {
        arch: Arch(major * 10 + minor),
        multiprocessors: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        shared_bytes_per_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?
            as usize,
        warp_size: get(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
        max_threads_per_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
    })
}

/// One attribute of a GPU; cust's own list ends before some of those used here.
pub(crate) fn attribute(device: cust::device::Device, which: Attribute) -> Result<i32> {
    let mut value = 0;
    // SAFETY: `value` is a place for an int, and the device comes from the driver.
    check("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&mut value, which, device.as_raw()) })?;
    Ok(value)
}
