//! The GPU: driver, context, stream, modules and launches. The only code that
//! touches cust.

mod module;

pub use module::EmbeddedModule;
