//! Events: points of a stream that the device's clock marks.

use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use cust::sys::{self, CUevent, CUresult};

use super::driver::check;
use super::stream::Stream;
use crate::error::Result;

/// A recorded event.
pub(crate) struct CudaEvent {
    stream: Arc<Stream>,
    raw: CUevent,
}

// SAFETY: the driver's events may be used from any thread, once the context is current there.
unsafe impl Send for CudaEvent {}
// SAFETY: as above.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    /// An event at this point of the stream.
    pub(crate) fn record(stream: &Arc<Stream>) -> Result<Self> {
        stream.context().make_current()?;
        let mut raw: CUevent = ptr::null_mut();
        // SAFETY: `raw` is a place for an event.
        check("cuEventCreate", unsafe {
            sys::cuEventCreate(&mut raw, sys::CUevent_flags::CU_EVENT_DEFAULT as u32)
        })?;
        let event = CudaEvent { stream: stream.clone(), raw };
        // SAFETY: event and stream are alive and of one context.
        stream.check_work("cuEventRecord", unsafe { sys::cuEventRecord(raw, stream.raw()) })?;
        Ok(event)
    }

    pub(crate) fn wait(&self) -> Result<()> {
        self.stream.context().make_current()?;
        // SAFETY: the event lives as long as `self`.
        self.stream.check_work("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.raw) })
    }

    pub(crate) fn is_done(&self) -> Result<bool> {
        self.stream.context().make_current()?;
        // SAFETY: the event lives as long as `self`.
        match unsafe { sys::cuEventQuery(self.raw) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            status => self.stream.check_work("cuEventQuery", status).map(|()| true),
        }
    }

    /// Time from `start` to this event, waited for.
    pub(crate) fn since(&self, start: &CudaEvent) -> Result<Duration> {
        self.wait()?;
        let mut milliseconds = 0_f32;
        // SAFETY: `milliseconds` is a place for a float, and both events live.
        let status = unsafe { sys::cuEventElapsedTime(&mut milliseconds, start.raw, self.raw) };
        check("cuEventElapsedTime", status)?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) * 1e-3))
    }

    /// Makes what `stream` is given from here on wait for the event.
    pub(crate) fn hold_back(&self, stream: &Stream) -> Result<()> {
        stream.context().make_current()?;
        // SAFETY: event and stream are alive; the driver orders streams of different GPUs too.
        stream.check_work("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(stream.raw(), self.raw, 0) })
    }
}

impl std::fmt::Debug for CudaEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CudaEvent({:p})", self.raw)
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        if self.stream.context().make_current().is_ok() {
            // SAFETY: used for the last time; the driver keeps it until the stream has passed it.
            let _ = unsafe { sys::cuEventDestroy_v2(self.raw) };
        }
    }
}
