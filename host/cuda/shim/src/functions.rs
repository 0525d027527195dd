//! The driver functions, one row each: name and parameter types, as the driver's ABI has them.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ushort, c_void};

use cust::sys::*;

use crate::driver::Symbol;
use crate::status::{self, result};

/// Defines each function under its C name and forwards it to the driver.
macro_rules! forward {
    ($( $name:ident($($arg:ident: $type:ty),*); )*) => {
        $(
            /// Forwards to the driver's function of the same name.
            ///
            /// # Safety
            /// As the driver's documentation of that function has it.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            pub unsafe extern "C" fn $name($($arg: $type),*) -> CUresult {
                static SYMBOL: Symbol = Symbol::new(concat!(stringify!($name), "\0"));
                match SYMBOL.address() {
                    Err(missing) => missing,
                    Ok(address) => {
                        type Function = unsafe extern "C" fn($($type),*) -> c_int;
                        // SAFETY: the driver's function of this name has this signature.
                        let function = unsafe { std::mem::transmute::<*mut c_void, Function>(address) };
                        // SAFETY: the arguments are passed on as they came.
                        result(unsafe { function($($arg),*) })
                    }
                }
            }
        )*

        /// Every driver function that this crate defines.
        pub const FUNCTIONS: &[&str] = &[$(stringify!($name),)* "cuGetErrorName", "cuGetErrorString"];

        // A signature that differs from cust's declaration does not compile.
        const _: () = {
            $( let _: unsafe extern "C" fn($($type),*) -> CUresult = cust::sys::$name; )*
        };
    };
}

forward! {
    // Start, devices, primary contexts.
    cuDeviceGet(a: *mut CUdevice, b: c_int);
    cuDeviceGetAttribute(a: *mut c_int, b: CUdevice_attribute, c: CUdevice);
    cuDeviceGetCount(a: *mut c_int);
    cuDeviceGetName(a: *mut c_char, b: c_int, c: CUdevice);
    cuDevicePrimaryCtxRelease_v2(a: CUdevice);
    cuDevicePrimaryCtxReset_v2(a: CUdevice);
    cuDevicePrimaryCtxRetain(a: *mut CUcontext, b: CUdevice);
    cuDevicePrimaryCtxSetFlags_v2(a: CUdevice, b: c_uint);
    cuDeviceTotalMem_v2(a: *mut usize, b: CUdevice);
    cuDriverGetVersion(a: *mut c_int);
    cuInit(a: c_uint);
    // Contexts.
    cuCtxCreate_v2(a: *mut CUcontext, b: c_uint, c: CUdevice);
    cuCtxDestroy_v2(a: CUcontext);
    cuCtxGetApiVersion(a: CUcontext, b: *mut c_uint);
    cuCtxGetCacheConfig(a: *mut CUfunc_cache);
    cuCtxGetCurrent(a: *mut CUcontext);
    cuCtxGetDevice(a: *mut CUdevice);
    cuCtxGetFlags(a: *mut c_uint);
    cuCtxGetLimit(a: *mut usize, b: CUlimit);
    cuCtxGetSharedMemConfig(a: *mut CUsharedconfig);
    cuCtxGetStreamPriorityRange(a: *mut c_int, b: *mut c_int);
    cuCtxPopCurrent_v2(a: *mut CUcontext);
    cuCtxPushCurrent_v2(a: CUcontext);
    cuCtxSetCacheConfig(a: CUfunc_cache);
    cuCtxSetCurrent(a: CUcontext);
    cuCtxSetLimit(a: CUlimit, b: usize);
    cuCtxSetSharedMemConfig(a: CUsharedconfig);
    cuCtxSynchronize();
    // Modules, functions, the linker.
    cuFuncGetAttribute(a: *mut c_int, b: CUfunction_attribute, c: CUfunction);
    cuFuncSetAttribute(a: CUfunction, b: CUfunction_attribute, c: c_int);
    cuFuncSetCacheConfig(a: CUfunction, b: CUfunc_cache);
    cuFuncSetSharedMemConfig(a: CUfunction, b: CUsharedconfig);
    cuLinkAddData_v2(
        a: CUlinkState, b: CUjitInputType, c: *mut c_void, d: usize, e: *const c_char, f: c_uint,
        g: *mut CUjit_option, h: *mut *mut c_void
    );
    cuLinkComplete(a: CUlinkState, b: *mut *mut c_void, c: *mut usize);
    cuLinkCreate_v2(a: c_uint, b: *mut CUjit_option, c: *mut *mut c_void, d: *mut CUlinkState);
    cuLinkDestroy(a: CUlinkState);
    cuModuleGetFunction(a: *mut CUfunction, b: CUmodule, c: *const c_char);
    cuModuleGetGlobal_v2(a: *mut CUdeviceptr, b: *mut usize, c: CUmodule, d: *const c_char);
    cuModuleLoad(a: *mut CUmodule, b: *const c_char);
    cuModuleLoadData(a: *mut CUmodule, b: *const c_void);
    cuModuleLoadDataEx(
        a: *mut CUmodule, b: *const c_void, c: c_uint, d: *mut CUjit_option, e: *mut *mut c_void
    );
    cuModuleUnload(a: CUmodule);
    cuOccupancyAvailableDynamicSMemPerBlock(a: *mut usize, b: CUfunction, c: c_int, d: c_int);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(a: *mut c_int, b: CUfunction, c: c_int, d: usize);
    cuOccupancyMaxPotentialBlockSize(
        a: *mut c_int, b: *mut c_int, c: CUfunction, d: CUoccupancyB2DSize, e: usize, f: c_int
    );
    // Launches, streams, events.
    cuEventCreate(a: *mut CUevent, b: c_uint);
    cuEventDestroy_v2(a: CUevent);
    cuEventElapsedTime(a: *mut f32, b: CUevent, c: CUevent);
    cuEventQuery(a: CUevent);
    cuEventRecord(a: CUevent, b: CUstream);
    cuEventSynchronize(a: CUevent);
    cuLaunchCooperativeKernel(
        a: CUfunction, b: c_uint, c: c_uint, d: c_uint, e: c_uint, f: c_uint, g: c_uint, h: c_uint,
        i: CUstream, j: *mut *mut c_void
    );
    cuLaunchHostFunc(a: CUstream, b: CUhostFn, c: *mut c_void);
    cuLaunchKernel(
        a: CUfunction, b: c_uint, c: c_uint, d: c_uint, e: c_uint, f: c_uint, g: c_uint, h: c_uint,
        i: CUstream, j: *mut *mut c_void, k: *mut *mut c_void
    );
    cuStreamCreateWithPriority(a: *mut CUstream, b: c_uint, c: c_int);
    cuStreamDestroy_v2(a: CUstream);
    cuStreamGetFlags(a: CUstream, b: *mut c_uint);
    cuStreamGetPriority(a: CUstream, b: *mut c_int);
    cuStreamSynchronize(a: CUstream);
    cuStreamWaitEvent(a: CUstream, b: CUevent, c: c_uint);
    // Memory and copies.
    cuMemAdvise(a: CUdeviceptr, b: usize, c: CUmem_advise, d: CUdevice);
    cuMemAllocAsync(a: *mut CUdeviceptr, b: usize, c: CUstream);
    cuMemAllocFromPoolAsync(a: *mut CUdeviceptr, b: usize, c: CUmemoryPool, d: CUstream);
    cuMemAllocHost_v2(a: *mut *mut c_void, b: usize);
    cuMemAllocManaged(a: *mut CUdeviceptr, b: usize, c: c_uint);
    cuMemAlloc_v2(a: *mut CUdeviceptr, b: usize);
    cuMemFreeAsync(a: CUdeviceptr, b: CUstream);
    cuMemFreeHost(a: *mut c_void);
    cuMemFree_v2(a: CUdeviceptr);
    cuMemGetInfo_v2(a: *mut usize, b: *mut usize);
    cuMemHostAlloc(a: *mut *mut c_void, b: usize, c: c_uint);
    cuMemPoolCreate(a: *mut CUmemoryPool, b: *const CUmemPoolProps);
    cuMemPoolGetAttribute(a: CUmemoryPool, b: CUmemPool_attribute, c: *mut c_void);
    cuMemPoolDestroy(a: CUmemoryPool);
    cuMemPoolSetAttribute(a: CUmemoryPool, b: CUmemPool_attribute, c: *mut c_void);
    cuMemPoolTrimTo(a: CUmemoryPool, b: usize);
    cuMemPrefetchAsync(a: CUdeviceptr, b: usize, c: CUdevice, d: CUstream);
    cuMemcpy2D_v2(a: *const CUDA_MEMCPY2D);
    cuMemcpyAtoH_v2(a: *mut c_void, b: CUarray, c: usize, d: usize);
    cuMemcpyDtoDAsync_v2(a: CUdeviceptr, b: CUdeviceptr, c: usize, d: CUstream);
    cuMemcpyDtoD_v2(a: CUdeviceptr, b: CUdeviceptr, c: usize);
    cuMemcpyDtoHAsync_v2(a: *mut c_void, b: CUdeviceptr, c: usize, d: CUstream);
    cuMemcpyDtoH_v2(a: *mut c_void, b: CUdeviceptr, c: usize);
    cuMemcpyHtoA_v2(a: CUarray, b: usize, c: *const c_void, d: usize);
    cuMemcpyHtoDAsync_v2(a: CUdeviceptr, b: *const c_void, c: usize, d: CUstream);
    cuMemcpyHtoD_v2(a: CUdeviceptr, b: *const c_void, c: usize);
    cuMemsetD16Async(a: CUdeviceptr, b: c_ushort, c: usize, d: CUstream);
    cuMemsetD16_v2(a: CUdeviceptr, b: c_ushort, c: usize);
    cuMemsetD32Async(a: CUdeviceptr, b: c_uint, c: usize, d: CUstream);
    cuMemsetD32_v2(a: CUdeviceptr, b: c_uint, c: usize);
    cuMemsetD8Async(a: CUdeviceptr, b: c_uchar, c: usize, d: CUstream);
    cuMemsetD8_v2(a: CUdeviceptr, b: c_uchar, c: usize);
    // Arrays, textures, surfaces.
    cuArray3DCreate_v2(a: *mut CUarray, b: *const CUDA_ARRAY3D_DESCRIPTOR);
    cuArray3DGetDescriptor_v2(a: *mut CUDA_ARRAY3D_DESCRIPTOR, b: CUarray);
    cuArrayDestroy(a: CUarray);
    cuSurfObjectCreate(a: *mut CUsurfObject, b: *const CUDA_RESOURCE_DESC);
    cuSurfObjectDestroy(a: CUsurfObject);
    cuSurfObjectGetResourceDesc(a: *mut CUDA_RESOURCE_DESC, b: CUsurfObject);
    cuTexObjectCreate(
        a: *mut CUtexObject, b: *const CUDA_RESOURCE_DESC, c: *const CUDA_TEXTURE_DESC,
        d: *const CUDA_RESOURCE_VIEW_DESC
    );
    cuTexObjectDestroy(a: CUtexObject);
    cuTexObjectGetResourceDesc(a: *mut CUDA_RESOURCE_DESC, b: CUtexObject);
    cuTexObjectGetResourceViewDesc(a: *mut CUDA_RESOURCE_VIEW_DESC, b: CUtexObject);
    // Graphs and memory of other interfaces.
    cuDestroyExternalMemory(a: CUexternalMemory);
    cuExternalMemoryGetMappedBuffer(
        a: *mut CUdeviceptr, b: CUexternalMemory, c: *const CUDA_EXTERNAL_MEMORY_BUFFER_DESC
    );
    cuGraphAddKernelNode(
        a: *mut CUgraphNode, b: CUgraph, c: *const CUgraphNode, d: usize,
        e: *const CUDA_KERNEL_NODE_PARAMS
    );
    cuGraphCreate(a: *mut CUgraph, b: c_uint);
    cuGraphDebugDotPrint(a: CUgraph, b: *const c_char, c: c_uint);
    cuGraphDestroy(a: CUgraph);
    cuGraphGetEdges(a: CUgraph, b: *mut CUgraphNode, c: *mut CUgraphNode, d: *mut usize);
    cuGraphGetNodes(a: CUgraph, b: *mut CUgraphNode, c: *mut usize);
    cuGraphKernelNodeGetParams(a: CUgraphNode, b: *mut CUDA_KERNEL_NODE_PARAMS);
    cuGraphNodeGetType(a: CUgraphNode, b: *mut CUgraphNodeType);
    cuImportExternalMemory(a: *mut CUexternalMemory, b: *const CUDA_EXTERNAL_MEMORY_HANDLE_DESC);
}

/// The driver's name of a status; `CUDA_ERROR_NO_DEVICE` and the like without a driver.
///
/// # Safety
/// `text` points to a place for a pointer.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn cuGetErrorName(error: CUresult, text: *mut *const c_char) -> CUresult {
    static SYMBOL: Symbol = Symbol::new("cuGetErrorName\0");
    // SAFETY: as the caller promises.
    unsafe { describe(&SYMBOL, error, text) }
}

/// The driver's description of a status; a text of ours without a driver.
///
/// # Safety
/// `text` points to a place for a pointer.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn cuGetErrorString(error: CUresult, text: *mut *const c_char) -> CUresult {
    static SYMBOL: Symbol = Symbol::new("cuGetErrorString\0");
    // SAFETY: as the caller promises.
    unsafe { describe(&SYMBOL, error, text) }
}

/// Texts are answered without a driver too: cust's `Display` panics where it gets none.
unsafe fn describe(symbol: &Symbol, error: CUresult, text: *mut *const c_char) -> CUresult {
    if let Ok(address) = symbol.address() {
        type Function = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
        // SAFETY: both functions that use this have this signature in the driver.
        let function = unsafe { std::mem::transmute::<*mut c_void, Function>(address) };
        // SAFETY: the arguments are passed on as they came.
        return result(unsafe { function(error as c_int, text) });
    }
    // SAFETY: the caller gives a place for a pointer.
    unsafe { text.write(status::text_without_driver(error).as_ptr()) };
    CUresult::CUDA_SUCCESS
}
