//! Checks of a launch before any device sees it.

use cuda_std::launch::{Call, LaunchConfig, NoEntry, Param, ParamKind};

use crate::device::Limits;
use crate::error::{Error, Result};

/// The most blocks of a launch, in CUDA's x dimension.
const MAX_GRID: u32 = i32::MAX as u32;

impl From<NoEntry> for Error {
    fn from(missing: NoEntry) -> Self {
        Error::Launch { kernel: missing.kernel.to_string(), reason: missing.to_string() }
    }
}

/// Checks shape, shared memory and arguments against the kernel and the device.
pub(crate) fn check(config: &LaunchConfig, call: &Call, limits: &Limits) -> Result<()> {
    let refusal = check_shape(config, call, limits).or_else(|| check_params(call));
    match refusal {
        None => Ok(()),
        Some(reason) => Err(Error::Launch { kernel: call.entry.name.to_string(), reason }),
    }
}

fn check_shape(config: &LaunchConfig, call: &Call, limits: &Limits) -> Option<String> {
    let LaunchConfig { grid, block, shared_bytes, .. } = *config;
    if grid == 0 || block == 0 {
        return Some(format!("a launch of {grid} blocks of {block} threads is empty"));
    }
    if grid > MAX_GRID {
        return Some(format!("{grid} blocks pass the {MAX_GRID} of one launch"));
    }
    let (most, source) = match call.entry.bounds {
        Some((bound, _)) if bound <= limits.max_threads_per_block => (bound, "the kernel's launch bounds"),
        _ => (limits.max_threads_per_block, "the device"),
    };
    if block > most {
        return Some(format!("a block of {block} threads passes the {most} of {source}"));
    }
    if shared_bytes as usize > limits.shared_bytes_per_block {
        return Some(format!(
            "{shared_bytes} bytes of shared memory a block pass the {} of {}",
            limits.shared_bytes_per_block, limits.arch
        ));
    }
    None
}

fn check_params(call: &Call) -> Option<String> {
    let declared = call.kernel.params;
    if declared.len() != call.params.len() {
        return Some(format!("{} arguments for {} parameters", call.params.len(), declared.len()));
    }
    for (info, param) in declared.iter().zip(&call.params) {
        let fits = match (info.kind, param) {
            (ParamKind::Global, Param::Buffer(buffer)) => !buffer.writable,
            (ParamKind::GlobalMut, Param::Buffer(buffer)) => buffer.writable,
            (ParamKind::Scalar, Param::Buffer(_)) => false,
            (ParamKind::Scalar, _) => true,
            (ParamKind::Global | ParamKind::GlobalMut, _) => false,
        };
        if !fits {
            return Some(format!(
                "parameter `{}` is a {:?}, the argument is {param:?}",
                info.name, info.kind
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cuda_std::launch::{BufferParam, Entry, KernelInfo, ParamInfo};

    use super::*;

    static KERNEL: KernelInfo = KernelInfo {
        name: "scale",
        krate: "tests",
        file: file!(),
        line: 1,
        entries: &[Entry { name: "scale_f32", module: "scale_f32", bounds: Some((128, 2)) }],
        params: &[
            ParamInfo { name: "x", kind: ParamKind::GlobalMut },
            ParamInfo { name: "n", kind: ParamKind::Scalar },
        ],
    };

    fn call(params: Vec<Param>) -> Call {
        Call { kernel: &KERNEL, entry: &KERNEL.entries[0], params, lane: Arc::new(|| ()) }
    }

    fn good_params() -> Vec<Param> {
        let x = BufferParam { name: "x", addr: 256, len: 8, elem_bytes: 4, writable: true };
        vec![Param::Buffer(x), Param::U32(8)]
    }

    fn refusal(config: LaunchConfig, params: Vec<Param>) -> String {
        check(&config, &call(params), &Limits::SIMT).unwrap_err().to_string()
    }

    #[test]
    fn shapes_within_the_limits_pass() {
        let config = LaunchConfig::new(1, 128).with_shared(227 * 1024);
        check(&config, &call(good_params()), &Limits::SIMT).unwrap();
    }

    #[test]
    fn shapes_past_the_limits_name_the_limit() {
        let text = refusal(LaunchConfig::new(1, 129), good_params());
        assert!(
            text.contains("scale_f32") && text.contains("launch bounds") && text.contains("128"),
            "{text}"
        );
        assert!(refusal(LaunchConfig::new(0, 32), good_params()).contains("empty"));
        assert!(refusal(LaunchConfig::new(u32::MAX, 32), good_params()).contains("2147483647"));
        let text = refusal(LaunchConfig::new(1, 32).with_shared(227 * 1024 + 1), good_params());
        assert!(text.contains("232449") && text.contains("sm_90"), "{text}");
    }

    #[test]
    fn arguments_that_do_not_fit_the_signature_are_named() {
        let text = refusal(LaunchConfig::new(1, 32), vec![Param::U32(8)]);
        assert!(text.contains("1 arguments for 2 parameters"), "{text}");
        let text = refusal(LaunchConfig::new(1, 32), vec![Param::U32(8), Param::U32(8)]);
        assert!(text.contains("`x`"), "{text}");
        let mut read_only = good_params();
        if let Param::Buffer(buffer) = &mut read_only[0] {
            buffer.writable = false;
        }
        assert!(refusal(LaunchConfig::new(1, 32), read_only).contains("GlobalMut"));
    }
}
