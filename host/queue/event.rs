//! Points in a queue's work, for timing and for order between queues.

use std::time::{Duration, Instant};

#[cfg(feature = "cuda")]
use super::Backend;
use super::Queue;
#[cfg(feature = "cuda")]
use crate::error::Error;
use crate::error::Result;

/// A point in the work of a queue.
#[derive(Debug)]
pub struct Event(Kind);

#[derive(Debug)]
enum Kind {
    /// The host's clock: the work before it has ended.
    Host(Instant),
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::CudaEvent),
}

impl Event {
    #[cfg(feature = "cuda")]
    pub(crate) fn cuda(event: crate::cuda::CudaEvent) -> Self {
        Event(Kind::Cuda(event))
    }

    /// The same point of a queue without a device's clock, for tests.
    #[cfg(test)]
    pub(crate) fn again(&self) -> Self {
        match &self.0 {
            Kind::Host(at) => Event(Kind::Host(*at)),
            #[cfg(feature = "cuda")]
            Kind::Cuda(_) => panic!("an event of the driver is one"),
        }
    }

    /// Waits until the work before the event has ended.
    ///
    /// # Errors
    /// A fault of that work.
    pub fn wait(&self) -> Result<()> {
        match &self.0 {
            Kind::Host(_) => Ok(()),
            #[cfg(feature = "cuda")]
            Kind::Cuda(event) => event.wait(),
        }
    }

    /// Whether the work before the event has ended.
    ///
    /// # Errors
    /// A fault of that work.
    pub fn is_done(&self) -> Result<bool> {
        match &self.0 {
            Kind::Host(_) => Ok(true),
            #[cfg(feature = "cuda")]
            Kind::Cuda(event) => event.is_done(),
        }
    }

    /// Time on the device from `start` to this event, for which it waits.
    ///
    /// # Errors
    /// [`crate::Error::Argument`] for events of two kinds of device; a fault of the work.
    pub fn since(&self, start: &Event) -> Result<Duration> {
        match (&self.0, &start.0) {
            (Kind::Host(end), Kind::Host(start)) => Ok(end.saturating_duration_since(*start)),
            #[cfg(feature = "cuda")]
            (Kind::Cuda(end), Kind::Cuda(start)) => end.since(start),
            #[cfg(feature = "cuda")]
            _ => Err(Error::argument("no time passes between events of different devices")),
        }
    }
}

impl Queue {
    /// Marks this point of the queue's work.
    ///
    /// # Errors
    /// A fault of the driver.
    pub fn record(&self) -> Result<Event> {
        match &self.backend {
            #[cfg(feature = "cuda")]
            Backend::Cuda(queue) => queue.record().map(Event::cuda),
            _ => Ok(Event(Kind::Host(Instant::now()))),
        }
    }

    /// Makes what this queue is given from here on wait for an event of another
    /// queue, without making the host wait.
    ///
    /// # Errors
    /// A fault of the driver; on a queue without a GPU, a fault of the event's work.
    pub fn wait_for(&self, event: &Event) -> Result<()> {
        match (&self.backend, &event.0) {
            #[cfg(feature = "cuda")]
            (Backend::Cuda(queue), Kind::Cuda(event)) => queue.wait_for(event),
            _ => event.wait(),
        }
    }
}
