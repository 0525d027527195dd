//! Panics of kernels: caught, with message and place, and not printed.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use crate::lane;

/// Message and place of a panic; the place is unknown where somebody has replaced our panic hook.
pub(crate) struct PanicReport {
    pub(crate) message: String,
    pub(crate) place: Option<(String, u32, u32)>,
}

thread_local! {
    static LAST: RefCell<Option<PanicReport>> = const { RefCell::new(None) };
}

/// Installs a panic hook that keeps what lanes panic with and passes every other panic on.
pub(crate) fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| if lane::in_lane() { keep(info) } else { previous(info) }));
    });
}

fn keep(info: &PanicHookInfo<'_>) {
    let place = info.location().map(|at| (at.file().to_owned(), at.line(), at.column()));
    LAST.replace(Some(PanicReport { message: message(info.payload()), place }));
}

fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}

/// Runs a lane's body; says whether it panicked.
pub(crate) fn catch(body: &(dyn Fn() + Sync)) -> bool {
    // What a lane leaves half done is device memory, and the launch fails.
    let Err(payload) = panic::catch_unwind(AssertUnwindSafe(body)) else { return false };
    LAST.with_borrow_mut(|last| {
        last.get_or_insert_with(|| PanicReport { message: message(&*payload), place: None });
    });
    true
}

/// The report of the panic that was caught last on this thread.
pub(crate) fn take() -> PanicReport {
    LAST.take().unwrap_or_else(|| PanicReport { message: "no message".to_owned(), place: None })
}
