//! Shows what a build script writes about itself while cargo is silent.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cuda_builder::progress::FILE;

use crate::process::target_dir;

/// Runs some work and meanwhile prints new lines of the builder's progress file.
pub fn watching<R>(work: impl FnOnce() -> R) -> R {
    let path = target_dir().join("ptx").join(FILE);
    let done = AtomicBool::new(false);
    // Lines of earlier builds are no news.
    let start = std::fs::metadata(&path).map_or(0, |meta| meta.len());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut from = start;
            let mut rest = String::new();
            loop {
                let last = done.load(Ordering::Acquire);
                // A file that became shorter was begun anew.
                if std::fs::metadata(&path).is_ok_and(|meta| meta.len() < from) {
                    from = 0;
                }
                if let Ok(mut file) = File::open(&path)
                    && file.seek(SeekFrom::Start(from)).is_ok()
                {
                    from += file.read_to_string(&mut rest).unwrap_or(0) as u64;
                    while let Some((line, tail)) = rest.split_once('\n') {
                        eprintln!("    Kernels {line}");
                        rest = tail.to_owned();
                    }
                }
                if last {
                    break;
                }
                std::thread::park_timeout(Duration::from_millis(300));
            }
        });
        let result = work();
        done.store(true, Ordering::Release);
        result
    })
}
