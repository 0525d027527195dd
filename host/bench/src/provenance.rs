//! Where and from what a row comes.

use std::time::{SystemTime, UNIX_EPOCH};

use batchlas::{Queue, measure};
use serde::{Deserialize, Serialize};

/// Where and from what a row comes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The maker's name for a GPU, else `cpu` or `simt`.
    pub device: String,
    /// Threads of the host that the CPU families may use.
    #[serde(default)]
    pub threads: usize,
    /// The newest CUDA of the driver.
    #[serde(default)]
    pub driver: Option<String>,
    /// What compiled the kernels.
    #[serde(default)]
    pub tool_chain: Option<String>,
    /// The version of this software.
    #[serde(default)]
    pub version: String,
    /// The commit that it was built from, with `+` where the tree had changes; empty where it is not known.
    #[serde(default)]
    pub commit: String,
    /// The day and the minute, in UTC.
    #[serde(default)]
    pub date: String,
}

impl Provenance {
    /// What holds for rows measured on this queue from now on.
    pub fn of(queue: &Queue) -> Self {
        Provenance {
            device: queue.device_name(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            driver: measure::driver(),
            tool_chain: measure::tool_chain().map(str::to_owned),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: env!("BUILD_COMMIT").to_owned(),
            date: now(),
        }
    }
}

/// `2026-11-30T06:05Z`
fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    date(seconds)
}

fn date(seconds: u64) -> String {
    let (mut days, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}T{:02}:{:02}Z", month + 1, days + 1, minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00Z"),
            (951_782_399, "2000-02-28T23:59Z"),
            (951_782_400, "2000-02-29T00:00Z"),
            (1_796_018_741, "2026-11-30T06:05Z"),
            (4_107_542_400, "2100-03-01T00:00Z"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }
}
