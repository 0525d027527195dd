//! Primary contexts: one a GPU, shared by all queues of the process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cust::sys::{self, CUdevice_attribute as Attribute};

use super::driver;
use super::module::ModuleCache;
use super::stream::Stream;
use crate::device::{DeviceInfo, Limits};
use crate::error::{Error, Result};

/// A GPU's primary context, what is known of the GPU and the modules loaded there.
pub(crate) struct Context {
    raw: cust::context::Context,
    pub(super) device: cust::device::Device,
    pub(super) info: DeviceInfo,
    pub(super) has_pools: bool,
    pub(super) has_cooperative: bool,
    modules: Mutex<ModuleCache>,
    streams: Mutex<Vec<Weak<Stream>>>,
}

impl Context {
    /// The context of a GPU, made at its first use and kept: making one again costs a fifth of a second.
    pub(crate) fn of(ordinal: u32) -> Result<Arc<Context>> {
        static CONTEXTS: Mutex<BTreeMap<u32, Arc<Context>>> = Mutex::new(BTreeMap::new());
        let mut contexts = lock(&CONTEXTS);
        if let Some(context) = contexts.get(&ordinal) {
            return Ok(context.clone());
        }
        let context = Arc::new(Context::new(ordinal)?);
        contexts.insert(ordinal, context.clone());
        Ok(context)
    }

    fn new(ordinal: u32) -> Result<Self> {
        // A folder that cannot be used must not show at the first launch, deep in a run.
        super::modules()?;
        let device = driver::device(ordinal)?;
        let info = driver::info(ordinal, device)?;
        let raw = cust::context::Context::new(device).map_err(|error| Error::Unavailable {
            device: info.device.to_string(),
            reason: format!("{} gives no context: {error:?} {error}", info.name),
        })?;
        let has = |which| driver::attribute(device, which).map(|value| value != 0);
        Ok(Context {
            raw,
            device,
            has_pools: has(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED).unwrap_or(false),
            has_cooperative: has(Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)?,
            info,
            modules: Mutex::new(ModuleCache::default()),
            streams: Mutex::new(Vec::new()),
        })
    }

    pub(crate) fn limits(&self) -> Limits {
        self.info.limits
    }

    /// Makes the context current on this thread: before each group of driver calls,
    /// since a queue may have moved to another thread.
    pub(crate) fn make_current(&self) -> Result<()> {
        // SAFETY: the context is retained for the life of the process.
        driver::check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.raw.as_raw()) })
    }

    pub(crate) fn modules(&self) -> MutexGuard<'_, ModuleCache> {
        lock(&self.modules)
    }

    pub(super) fn add_stream(&self, stream: &Arc<Stream>) {
        let mut streams = lock(&self.streams);
        streams.retain(|known| known.strong_count() > 0);
        streams.push(Arc::downgrade(stream));
    }

    /// Gives memory that the queues' pools keep for reuse back to the GPU.
    pub(super) fn trim_pools(&self) {
        let streams: Vec<_> = lock(&self.streams).iter().filter_map(Weak::upgrade).collect();
        for stream in streams {
            stream.trim_pool();
        }
    }
}

/// A panic elsewhere leaves these maps whole, so a poisoned lock is used on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
