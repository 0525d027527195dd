//! Progress of long work: on a terminal only, never in a pipe.

use std::io::{IsTerminal, Read};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Files from this size on show that they are being read.
const LONG_READ: u64 = 64 << 20;

/// A bar over `total` things (`unit` names them) on stderr; hidden where stderr is no terminal.
pub fn bar(total: usize, what: &'static str, unit: &str) -> ProgressBar {
    show(total as u64, what, &format!("{{pos}}/{{len}} {unit} ({{percent}}%), {{elapsed}}"))
}

/// A bar over `total` steps of unequal length, with what is being done (its message) and the time left.
pub fn steps(total: usize) -> ProgressBar {
    show(total as u64, "starting", "{pos}/{len}, {elapsed}, {eta} left")
}

/// A turning mark for work without steps, such as a large file being written.
pub fn spinner(what: &'static str) -> ProgressBar {
    show(0, what, "{spinner} {elapsed}")
}

/// A reader that shows how far it has come in a large file.
pub fn reading<'a>(reader: &'a mut dyn Read, bytes: u64) -> Box<dyn Read + 'a> {
    if bytes < LONG_READ {
        return Box::new(reader);
    }
    let bar = show(bytes, "reading", "{bytes}/{total_bytes} ({percent}%), {elapsed}");
    Box::new(bar.wrap_read(reader))
}

fn show(total: u64, what: &'static str, figures: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let shape = if total > 0 { "[{bar:40}] " } else { "" };
    if let Ok(style) = ProgressStyle::with_template(&format!("{{msg}} {shape}{figures}")) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar.with_finish(indicatif::ProgressFinish::AndClear)
}
