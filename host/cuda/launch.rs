//! Launches: a call's arguments become the driver's.

use std::ffi::c_void;

use cuda_std::launch::{Call, LaunchConfig, Param};
use cust::sys::{self, CUfunction_attribute as Attribute};

use super::driver::{check, describe};
use super::module::Function;
use super::stream::Stream;
use crate::device::Limits;
use crate::error::{Error, Result};

/// Gives a checked launch to the stream.
///
/// # Safety
/// As [`Queue::launch`](crate::Queue::launch).
pub(crate) unsafe fn launch(stream: &Stream, config: &LaunchConfig, call: &Call) -> Result<()> {
    let context = stream.context();
    context.make_current()?;
    let refuse = |reason| Error::Launch { kernel: call.entry.name.to_string(), reason };
    let limits = context.limits();
    let function = {
        let mut modules = context.modules();
        let function = modules.function(call.entry, limits.arch)?;
        check_function(function, config, &limits).map_err(refuse)?;
        grant_shared(function, config.shared_bytes)?;
        *function
    };
    if config.cooperative {
        if !context.has_cooperative {
            return Err(refuse("the device has no cooperative launch".to_string()));
        }
        check_resident(&function, config, &limits)?.map_or(Ok(()), |reason| Err(refuse(reason)))?;
    }
    let mut values = Values::of(&call.params);
    // SAFETY: the caller answers for the buffers; the values match the kernel's parameters, as the call
    // was made by the kernel's own `call` and the build compared its signature with the PTX.
    let status = unsafe { submit(stream, function, config, &mut values.pointers()) };
    if status != sys::CUresult::CUDA_SUCCESS {
        // A fault of an earlier kernel may show here, so it is named as such.
        stream.check_work("the launch", status).map_err(|error| match error {
            Error::Driver { .. } => refuse(format!("the driver refuses the launch: {}", describe(status))),
            fault => fault,
        })?;
    }
    stream.set_last_kernel(call.entry.name);
    Ok(())
}

unsafe fn submit(
    stream: &Stream,
    function: Function,
    config: &LaunchConfig,
    values: &mut [*mut c_void],
) -> sys::CUresult {
    let LaunchConfig { grid, block, shared_bytes, cooperative } = *config;
    let (raw, stream, values) = (function.raw, stream.raw(), values.as_mut_ptr());
    // SAFETY: as the caller promises; the driver copies the values before it returns.
    unsafe {
        if cooperative {
            sys::cuLaunchCooperativeKernel(raw, grid, 1, 1, block, 1, 1, shared_bytes, stream, values)
        } else {
            let extra = std::ptr::null_mut();
            sys::cuLaunchKernel(raw, grid, 1, 1, block, 1, 1, shared_bytes, stream, values, extra)
        }
    }
}

/// Limits that only the loaded kernel knows.
fn check_function(
    function: &Function,
    config: &LaunchConfig,
    limits: &Limits,
) -> std::result::Result<(), String> {
    if config.block > function.max_threads {
        return Err(format!(
            "a block of {} threads passes the {} that the kernel's registers allow",
            config.block, function.max_threads
        ));
    }
    let shared = config.shared_bytes as usize + function.static_shared as usize;
    if shared > limits.shared_bytes_per_block {
        return Err(format!(
            "{} bytes of dynamic and {} of static shared memory pass the {} of a block",
            config.shared_bytes, function.static_shared, limits.shared_bytes_per_block
        ));
    }
    Ok(())
}

/// Past 48 KiB a kernel has to be granted its dynamic shared memory.
fn grant_shared(function: &mut Function, bytes: u32) -> Result<()> {
    if bytes <= function.granted_shared {
        return Ok(());
    }
    let which = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: the function comes from the driver, and the size was checked against the device.
    check("cuFuncSetAttribute", unsafe { sys::cuFuncSetAttribute(function.raw, which, bytes as i32) })?;
    function.granted_shared = bytes;
    Ok(())
}

/// A cooperative launch must fit the device all at once: why it does not.
fn check_resident(function: &Function, config: &LaunchConfig, limits: &Limits) -> Result<Option<String>> {
    let (mut blocks, shared) = (0, config.shared_bytes as usize);
    // SAFETY: `blocks` is a place for an int, and the function comes from the driver.
    let status = unsafe {
        sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &mut blocks,
            function.raw,
            config.block as i32,
            shared,
        )
    };
    check("cuOccupancyMaxActiveBlocksPerMultiprocessor", status)?;
    let resident = u64::from(blocks.max(0) as u32) * u64::from(limits.multiprocessors);
    let too_many = u64::from(config.grid) > resident;
    Ok(too_many
        .then(|| format!("a cooperative launch of {} blocks, the device holds {resident}", config.grid)))
}

/// The bytes of each parameter; a view is two: address and length.
struct Values(Vec<u64>);

impl Values {
    fn of(params: &[Param]) -> Self {
        let mut values = Vec::with_capacity(2 * params.len());
        for param in params {
            match *param {
                // The driver reads as many bytes as the kernel declares, the low ones first.
                Param::U32(value) => values.push(u64::from(value)),
                Param::U64(value) => values.push(value),
                Param::F32(value) => values.push(u64::from(value.to_bits())),
                Param::F64(value) => values.push(value.to_bits()),
                Param::Buffer(ref buffer) => values.extend([buffer.addr, buffer.len as u64]),
            }
        }
        Values(values)
    }

    fn pointers(&mut self) -> Vec<*mut c_void> {
        self.0.iter_mut().map(|value| (value as *mut u64).cast()).collect()
    }
}

#[cfg(test)]
mod tests {
    use cuda_std::launch::BufferParam;

    use super::*;

    #[test]
    fn values_hold_each_parameter_in_their_low_bytes() {
        let x = BufferParam { name: "x", addr: 0x7f00_1234_5600, len: 77, elem_bytes: 8, writable: false };
        let params =
            [Param::Buffer(x), Param::U32(5), Param::F32(1.5), Param::F64(-2.0), Param::U64(u64::MAX)];
        let values = Values::of(&params).0;
        let expected =
            [0x7f00_1234_5600, 77, 5, u64::from(1.5_f32.to_bits()), (-2.0_f64).to_bits(), u64::MAX];
        assert_eq!(values, expected);
        assert_eq!(values[3].to_le_bytes()[..4], 1.5_f32.to_le_bytes());
    }
}
