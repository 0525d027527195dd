//! The trace: what a call spends its time on, by the device's clock.
//!
//! With `BATCHLAS_TRACE=FILE` every call of an operation, and of [`crate::linalg`] around it, appends lines of JSON to
//! FILE: one for each of its spans, in the order in which they began, and a summary. A span is the call itself, an
//! operation within it, a kernel, a routine of the vendor, or a copy. Its time lies between two events of the queue:
//! the device's on a GPU, the host's clock on `cpu` and `simt`, where work ends before the next begins.
//!
//! | field | of | |
//! |---|---|---|
//! | `process`, `call` | every line | which call: the process's number, and calls counted within it |
//! | `kind` | every line | `call`, `operation`, `kernel`, `vendor`, `copy`; `summary` |
//! | `name` | every line | shape and family, the kernel's entry, the routine, the direction of the copy |
//! | `span`, `parent` | spans | their numbers within the call; the call itself is 0 |
//! | `start_us`, `us` | spans | from the call's begin, and how long |
//! | `grid`, `block`, `shared_bytes` | kernels | the launch |
//! | `bytes` | copies | |
//! | `device`, `us`, `idle_us` | summary | the whole, and what no kernel, routine or copy covers |
//! | `parts` | summary | by name, the longest first: `kind`, `name`, `count`, `us`, `share` of the whole |
//!
//! A traced call waits for its work, and the events between kernels cost some microseconds: it places time, and is
//! no measurement of it.

use std::cell::{Cell, RefCell};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::queue::{Event, Queue};

/// The variable that names the file.
pub const TRACE: &str = "BATCHLAS_TRACE";

/// What a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// The outermost one: a call of the library.
    Call,
    /// An operation within a call.
    Operation,
    /// A kernel.
    #[cfg(feature = "kernels")]
    Kernel,
    /// A routine of the vendor's libraries.
    #[cfg(feature = "vendor")]
    Vendor,
    /// A copy or a fill.
    Copy,
}

impl Kind {
    /// Whether others may lie within it.
    fn is_outer(self) -> bool {
        matches!(self, Kind::Call | Kind::Operation)
    }
}

/// A span's name and what its kind has beside it.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Label {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) grid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) block: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shared_bytes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<usize>,
}

impl Label {
    pub(crate) fn named(name: impl Into<String>) -> Self {
        Label { name: name.into(), ..Label::default() }
    }
}

struct Span {
    kind: Kind,
    label: Label,
    parent: usize,
    begin: Event,
    /// Set when the span has ended.
    end: Option<Event>,
}

/// A queue's trace of the call that runs.
#[derive(Default)]
pub(crate) struct Trace {
    /// Whether a call is being traced.
    on: Cell<bool>,
    spans: RefCell<Vec<Span>>,
    /// The innermost span that is open.
    open: Cell<usize>,
}

#[derive(Serialize)]
struct SpanLine<'a> {
    process: u32,
    call: u64,
    kind: Kind,
    #[serde(flatten)]
    label: &'a Label,
    span: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<usize>,
    start_us: f64,
    us: f64,
}

#[derive(Serialize)]
struct SummaryLine<'a> {
    process: u32,
    call: u64,
    kind: &'static str,
    name: &'a str,
    device: String,
    us: f64,
    idle_us: f64,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
struct Part<'a> {
    kind: Kind,
    name: &'a str,
    count: usize,
    us: f64,
    share: f64,
}

impl Queue {
    /// Runs a call of the library. Where `BATCHLAS_TRACE` is set and no call runs yet, its spans are written when
    /// it has ended well; within a call it is an operation of that one.
    ///
    /// # Errors
    /// Those of `work`; [`Error::Argument`] with the variable where the file cannot be written.
    pub(crate) fn traced_call<R>(
        &self,
        name: impl FnOnce() -> String,
        work: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let trace = self.trace();
        if trace.on.get() {
            return self.traced(Kind::Operation, || Label::named(name()), work);
        }
        let Some(file) = std::env::var_os(TRACE).filter(|file| !file.is_empty()) else { return work() };
        trace.on.set(true);
        trace.open.set(0);
        let result = self.traced(Kind::Call, || Label::named(name()), work);
        trace.on.set(false);
        let spans = trace.spans.take();
        let result = result?;
        let lines = lines(&spans, &self.device_name())?;
        let path = PathBuf::from(file);
        // One write a call, so that queues and processes that share the file do not mix theirs.
        let written = OpenOptions::new().create(true).append(true).open(&path);
        let written = written.and_then(|mut file| file.write_all(lines.as_bytes()));
        written.map_err(|e| Error::argument(format!("{TRACE}={}: {e}", path.display())))?;
        Ok(result)
    }

    /// Runs a part of a call, between two events where the call is traced.
    pub(crate) fn traced<R>(
        &self,
        kind: Kind,
        label: impl FnOnce() -> Label,
        work: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let trace = self.trace();
        if !trace.on.get() {
            return work();
        }
        let (span, parent) = (trace.spans.borrow().len(), trace.open.get());
        let begin = self.record()?;
        trace.spans.borrow_mut().push(Span { kind, label: label(), parent, begin, end: None });
        if kind.is_outer() {
            trace.open.set(span);
        }
        let result = work();
        trace.open.set(parent);
        if result.is_ok() {
            let end = self.record()?;
            trace.spans.borrow_mut()[span].end = Some(end);
        }
        result
    }
}

/// Waits for the events and writes every span and the summary.
fn lines(spans: &[Span], device: &str) -> Result<String> {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let (process, call) = (std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed));
    let Some(first) = spans.first() else { return Ok(String::new()) };
    let mut timed: Vec<(f64, f64)> = Vec::with_capacity(spans.len());
    for span in spans {
        let us = |to: &Event, from: &Event| to.since(from).map(|time| time.as_secs_f64() * 1e6);
        let end = span.end.as_ref().unwrap_or(&span.begin);
        timed.push((us(&span.begin, &first.begin)?, us(end, &span.begin)?));
    }
    let mut text = String::new();
    for (span, (Span { kind, label, parent, .. }, (start_us, us))) in spans.iter().zip(&timed).enumerate() {
        let parent = (span > 0).then_some(*parent);
        let (start_us, us) = (rounded(*start_us), rounded(*us));
        push(&mut text, &SpanLine { process, call, kind: *kind, label, span, parent, start_us, us });
    }
    let total = timed[0].1;
    let leaves = spans.iter().zip(&timed).filter(|(span, _)| !span.kind.is_outer());
    let covered: f64 = leaves.clone().map(|(_, (_, us))| us).sum();
    let mut parts: Vec<Part<'_>> = vec![];
    for (Span { kind, label, .. }, (_, us)) in leaves {
        match parts.iter_mut().find(|part| (part.kind, part.name) == (*kind, label.name.as_str())) {
            Some(part) => (part.count, part.us) = (part.count + 1, part.us + us),
            None => parts.push(Part { kind: *kind, name: &label.name, count: 1, us: *us, share: 0.0 }),
        }
    }
    parts.sort_by(|x, y| y.us.total_cmp(&x.us));
    for part in &mut parts {
        part.share = if total > 0.0 { (part.us / total * 1e4).round() / 1e4 } else { 0.0 };
        part.us = rounded(part.us);
    }
    let (us, idle_us) = (rounded(total), rounded((total - covered).max(0.0)));
    let (name, device) = (first.label.name.as_str(), device.to_owned());
    push(&mut text, &SummaryLine { process, call, kind: "summary", name, device, us, idle_us, parts });
    Ok(text)
}

/// To nanoseconds: the clocks resolve no more.
fn rounded(us: f64) -> f64 {
    (us * 1e3).round() / 1e3
}

fn push(text: &mut String, line: &impl Serialize) {
    text.push_str(&serde_json::to_string(line).expect("strings and numbers"));
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(queue: &Queue) -> Event {
        queue.record().unwrap()
    }

    #[test]
    fn spans_nest_and_the_summary_adds_up() {
        let queue = Queue::cpu();
        let start = event(&queue);
        std::thread::sleep(std::time::Duration::from_millis(2));
        let middle = event(&queue);
        std::thread::sleep(std::time::Duration::from_millis(2));
        let end = event(&queue);
        let span = |kind, name: &str, parent, begin: &Event, end: &Event| Span {
            kind,
            label: Label { bytes: (kind == Kind::Copy).then_some(8), ..Label::named(name) },
            parent,
            begin: begin.again(),
            end: Some(end.again()),
        };
        let spans = [
            span(Kind::Call, "eigh", 0, &start, &end),
            span(Kind::Copy, "to the device", 0, &start, &middle),
            span(Kind::Copy, "to the device", 0, &start, &middle),
        ];
        let text = lines(&spans, "cpu").unwrap();
        let rows: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(rows.len(), 4);
        assert!(rows[0].get("parent").is_none() && rows[0]["kind"] == "call");
        assert_eq!((rows[1]["parent"].as_u64(), rows[1]["bytes"].as_u64()), (Some(0), Some(8)));
        let summary = &rows[3];
        assert_eq!((&summary["kind"], &summary["name"]), (&"summary".into(), &"eigh".into()));
        assert_eq!(summary["parts"][0]["count"], 2);
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        assert!(
            number(&summary["us"]) >= 4000.0 && number(&summary["parts"][0]["us"]) >= 4000.0,
            "{summary}"
        );
        assert_eq!(lines(&[], "cpu").unwrap(), "");
    }

    #[test]
    fn without_the_variable_nothing_is_kept() {
        let queue = Queue::cpu();
        let label = || -> Label { panic!("no label is made") };
        queue.traced(Kind::Copy, label, || Ok(())).unwrap();
        assert!(queue.trace().spans.borrow().is_empty());
    }
}
