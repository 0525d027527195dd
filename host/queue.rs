//! Queues: an ordered stream of work on one device, with its kernels and workspace.

mod event;
mod transfer;
mod workspace;

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use event::Event;
pub use workspace::{Workspace, workspace_bytes};

use crate::device::{Device, Limits};
use crate::error::{Error, Result};
use crate::memory::host::HostMemory;
use crate::memory::{DeviceBuffer, DeviceElement, Memory, MemoryUse, Meter, byte_count};
use crate::trace::Trace;
#[cfg(feature = "kernels")]
use crate::trace::{Kind, Label};

/// An ordered stream of work on one device, the kernel modules that it has
/// loaded and its workspace.
///
/// On a GPU, launches and copies between device buffers return at once and run
/// in order; [`synchronize`](Self::synchronize), downloads and
/// [`Event::wait`] wait. On `cpu` and `simt` each call ends before it returns.
/// A queue can be sent to another thread, and used by one thread at a time.
pub struct Queue {
    id: u64,
    device: Device,
    meter: Arc<Meter>,
    // The arena's memory and the vendor's handles go before the backend's stream.
    arena: RefCell<Option<DeviceBuffer<u8>>>,
    #[cfg(feature = "vendor")]
    vendor: std::cell::OnceCell<crate::vendor::Handle>,
    #[cfg(feature = "vendor")]
    blas: std::cell::OnceCell<crate::vendor::BlasHandle>,
    trace: Trace,
    backend: Backend,
}

pub(crate) enum Backend {
    Cpu,
    #[cfg(feature = "simt")]
    Simt(crate::simt_device::SimtQueue),
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::CudaQueue),
}

/// Memory of a device in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Not in use by any process.
    pub free: u64,
    /// All of it.
    pub total: u64,
}

impl Queue {
    /// A queue on a device.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the device is not here or this build cannot
    /// drive it; [`Error::Argument`] for a malformed `BATCHLAS_SIMT_SEED`.
    pub fn new(device: Device) -> Result<Self> {
        let backend = match device {
            Device::Cpu => Backend::Cpu,
            #[cfg(feature = "simt")]
            Device::Simt => Backend::Simt(crate::simt_device::SimtQueue::from_env()?),
            #[cfg(not(feature = "simt"))]
            Device::Simt => return Err(not_built(device, "simt")),
            #[cfg(feature = "cuda")]
            Device::Cuda(ordinal) => Backend::Cuda(crate::cuda::CudaQueue::new(ordinal)?),
            #[cfg(not(feature = "cuda"))]
            Device::Cuda(_) => return Err(not_built(device, "cuda")),
        };
        Ok(Self::with_backend(device, backend))
    }

    /// A queue on the CPU.
    pub fn cpu() -> Self {
        Self::with_backend(Device::Cpu, Backend::Cpu)
    }

    /// A queue on the executor whose lane order this seed permutes.
    #[cfg(feature = "simt")]
    pub fn simt(seed: u64) -> Self {
        Self::with_backend(Device::Simt, Backend::Simt(crate::simt_device::SimtQueue::new(seed)))
    }

    fn with_backend(device: Device, backend: Backend) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Queue {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            device,
            meter: Arc::default(),
            arena: RefCell::new(None),
            trace: Trace::default(),
            #[cfg(feature = "vendor")]
            vendor: std::cell::OnceCell::new(),
            #[cfg(feature = "vendor")]
            blas: std::cell::OnceCell::new(),
            backend,
        }
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The device's name for reports: the maker's for a GPU, else `cpu` or `simt`.
    pub fn device_name(&self) -> String {
        match &self.backend {
            #[cfg(feature = "cuda")]
            Backend::Cuda(queue) => queue.info().name.clone(),
            _ => self.device.to_string(),
        }
    }

    /// The `CUstream` of a queue on a GPU, for libraries that share it: the
    /// device's primary context is current afterwards on this thread.
    ///
    /// # Errors
    /// A fault of the driver.
    #[cfg(feature = "cuda")]
    pub fn raw_stream(&self) -> Result<Option<*mut std::ffi::c_void>> {
        self.as_cuda().map(|queue| queue.make_current().map(|()| queue.raw_stream())).transpose()
    }

    /// The limits of the device that runs kernels; `None` on the CPU.
    pub fn limits(&self) -> Option<Limits> {
        match &self.backend {
            Backend::Cpu => None,
            #[cfg(feature = "simt")]
            Backend::Simt(_) => Some(Limits::SIMT),
            #[cfg(feature = "cuda")]
            Backend::Cuda(queue) => Some(queue.limits()),
        }
    }

    /// Memory of the GPU; `None` where the device's memory is the host's.
    ///
    /// # Errors
    /// A fault of the driver.
    pub fn memory_info(&self) -> Result<Option<MemoryInfo>> {
        match &self.backend {
            #[cfg(feature = "cuda")]
            Backend::Cuda(queue) => queue.memory_info().map(Some),
            _ => Ok(None),
        }
    }

    /// What the queue's own buffers and its workspace hold; not what the driver and the vendor's library take beside.
    pub fn memory_use(&self) -> MemoryUse {
        self.meter.usage()
    }

    /// Lets the peak of [`memory_use`](Self::memory_use) begin again at what is held now.
    pub fn reset_memory_peak(&self) {
        self.meter.reset_peak();
    }

    /// Memory for `len` elements, its content not set.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with the bytes asked for.
    pub fn alloc<T: DeviceElement>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let bytes = byte_count::<T>(len)?;
        let what = || format!("{len} elements of {}", T::NAME);
        let memory = match &self.backend {
            Backend::Cpu => HostMemory::new(bytes).map(Memory::Host),
            #[cfg(feature = "simt")]
            Backend::Simt(_) => HostMemory::shadowed(bytes, &what()).map(Memory::Host),
            #[cfg(feature = "cuda")]
            Backend::Cuda(queue) => queue.alloc(bytes)?.map(Memory::Cuda),
        };
        let memory = memory.ok_or_else(|| Error::OutOfMemory {
            device: self.device.to_string(),
            bytes: bytes as u64,
            what: what(),
        })?;
        Ok(DeviceBuffer::new(memory, self.device, self.id, len, &self.meter))
    }

    /// Waits until everything given to the queue has ended.
    ///
    /// # Errors
    /// A fault of that work.
    pub fn synchronize(&self) -> Result<()> {
        match &self.backend {
            #[cfg(feature = "cuda")]
            Backend::Cuda(queue) => queue.synchronize(),
            _ => Ok(()),
        }
    }

    /// Launches a kernel. On a GPU it returns at once; the executor runs it to its end.
    ///
    /// Checked before: grid and block against the device and the kernel's
    /// launch bounds, shared memory against the device, the parameters against
    /// the kernel's signature.
    ///
    /// # Errors
    /// [`Error::Launch`] for a refused launch, [`Error::Build`] where the
    /// driver does not take the module, [`Error::Findings`] from the executor.
    ///
    /// # Safety
    /// Every buffer in `call` belongs to this queue and lives until the kernel
    /// has ended, and the kernel stays within them for these parameters. A
    /// cooperative kernel is launched as such.
    #[cfg(feature = "kernels")]
    pub unsafe fn launch(
        &self,
        config: cuda_std::launch::LaunchConfig,
        call: &cuda_std::launch::Call,
    ) -> Result<()> {
        let Some(limits) = self.limits() else {
            return Err(Error::Launch {
                kernel: call.entry.name.to_string(),
                reason: "the device cpu runs no kernels".to_string(),
            });
        };
        crate::launch::check(&config, call, &limits)?;
        let label = || Label {
            grid: Some(config.grid),
            block: Some(config.block),
            shared_bytes: Some(config.shared_bytes),
            ..Label::named(call.entry.name)
        };
        self.traced(Kind::Kernel, label, || match &self.backend {
            Backend::Cpu => unreachable!("the CPU has no limits"),
            #[cfg(feature = "simt")]
            Backend::Simt(queue) => queue.launch(&config, call),
            #[cfg(feature = "cuda")]
            // SAFETY: the caller answers for buffers and kernel.
            Backend::Cuda(queue) => unsafe { queue.launch(&config, call) },
        })
    }

    /// Loads every kernel of this library and tells what the driver made of it;
    /// nothing where there is no GPU. A launch loads its own kernel at its first use.
    ///
    /// # Errors
    /// [`Error::Build`] where the driver does not take a module.
    #[cfg(feature = "cuda")]
    pub fn load_kernels(&self) -> Result<Vec<crate::cuda::LoadedKernel>> {
        self.as_cuda().map_or(Ok(Vec::new()), |queue| queue.load_all())
    }

    /// What the executor counted, one record a launch since the last call of
    /// this, at most the last 4096.
    #[cfg(feature = "simt")]
    pub fn take_launches(&self) -> Vec<crate::simt_device::LaunchRecord> {
        match &self.backend {
            Backend::Simt(queue) => queue.take_launches(),
            _ => Vec::new(),
        }
    }

    /// The trace of the call that runs.
    pub(crate) fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Refuses a buffer of another queue.
    pub(crate) fn check_owns<T: DeviceElement>(&self, buffer: &DeviceBuffer<T>) -> Result<()> {
        buffer.check_queue(self.id, self.device)
    }

    /// The vendor's handle on this queue's stream, made at its first use.
    #[cfg(feature = "vendor")]
    pub(crate) fn vendor_handle(
        &self,
        make: impl FnOnce() -> Result<crate::vendor::Handle>,
    ) -> Result<&crate::vendor::Handle> {
        made_once(&self.vendor, make)
    }

    /// The handle of the vendor's products on this queue's stream, made at its first use.
    #[cfg(feature = "vendor")]
    pub(crate) fn blas_handle(
        &self,
        make: impl FnOnce() -> Result<crate::vendor::BlasHandle>,
    ) -> Result<&crate::vendor::BlasHandle> {
        made_once(&self.blas, make)
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn as_cuda(&self) -> Option<&crate::cuda::CudaQueue> {
        match &self.backend {
            Backend::Cuda(queue) => Some(queue),
            _ => None,
        }
    }
}

#[cfg(feature = "vendor")]
fn made_once<T>(cell: &std::cell::OnceCell<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if cell.get().is_none() {
        // `set` fails only where it is set, which it is not.
        let _ = cell.set(make()?);
    }
    Ok(cell.get().expect("set above"))
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({})", self.device)
    }
}

#[cfg(not(all(feature = "simt", feature = "cuda")))]
pub(crate) fn not_built(device: Device, feature: &str) -> Error {
    Error::Unavailable {
        device: device.to_string(),
        reason: format!("this build of batchlas lacks the feature `{feature}`"),
    }
}
