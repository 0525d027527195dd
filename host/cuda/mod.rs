//! The GPU: driver, context, stream, modules and launches. The only code that
//! touches cust.

mod context;
mod driver;
mod event;
mod kernel_dir;
mod launch;
mod memory;
mod module;
mod queue;
mod stream;

pub use driver::{driver_version, gpus};
pub(crate) use event::CudaEvent;
pub(crate) use memory::{DeviceMemory, PinnedMemory};
pub use module::{EmbeddedModule, LoadedKernel, modules, register_modules, tool_chain};
pub(crate) use queue::CudaQueue;
