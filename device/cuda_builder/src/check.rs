//! What compiled PTX must satisfy before it ships.

use std::path::Path;

use crate::audit::{Resources, parse_ptx};
use crate::error::{BuildError, KernelFault, at};
use crate::markers::EntryDecl;

/// A fault that a kernel may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Local memory: a stack frame or spilled registers.
    LocalMemory,
    /// A function that was not inlined.
    Call,
    /// Loads and stores whose memory is found out at run time, and which cost more for it
    /// ([`crate::ledger::changes::faults`]).
    Generic,
    /// PTX that the assembler rejects: there is no cubin, and the driver compiles the PTX.
    Assembler,
}

/// What becomes of faults that no exception covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The build fails.
    Deny,
    /// The build warns: registers depend on the assembler's version, and who only uses a library can do
    /// nothing about its kernels.
    Warn,
}

impl Policy {
    /// `BATCHLAS_KERNEL_FAULTS`, `deny` or `warn`; `None` where it is not set or empty.
    pub fn from_env() -> Result<Option<Self>, BuildError> {
        match std::env::var("BATCHLAS_KERNEL_FAULTS").as_deref() {
            Ok("deny") => Ok(Some(Self::Deny)),
            Ok("warn") => Ok(Some(Self::Warn)),
            Ok("") | Err(std::env::VarError::NotPresent) => Ok(None),
            other => Err(BuildError::Environment {
                name: "BATCHLAS_KERNEL_FAULTS",
                problem: format!("{other:?} is neither deny nor warn"),
            }),
        }
    }
}

/// An exception from a check, with its reason.
#[derive(Debug, Clone)]
pub struct Allowance {
    /// The PTX entry, or the beginning of the names of several.
    pub entry: String,
    /// The fault that is accepted.
    pub fault: Fault,
    /// Why.
    pub reason: String,
}

/// File beside a kernel crate's manifest that holds its exceptions.
pub const ALLOWED_FILE: &str = "allowed-faults.txt";

/// Reads a crate's exceptions, one a line: the entry or the beginning of several, `local-memory`, `call` or
/// `generic-access`, and the reason. A line without a reason is an error.
pub fn read_allowed(krate: &Path) -> Result<Vec<Allowance>, BuildError> {
    let path = krate.join(ALLOWED_FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(at(&path)(error)),
    };
    let lines =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let read = |(index, line): (usize, &str)| {
        parse_allowed(line).ok_or_else(|| {
            let place = format!("{}, line {}", path.display(), index + 1);
            BuildError::Marker(format!(
                "{place}: not `ENTRY local-memory|call|generic-access REASON`: {line}"
            ))
        })
    };
    lines.map(read).collect()
}

fn parse_allowed(line: &str) -> Option<Allowance> {
    let mut words = line.split_whitespace();
    let entry = words.next()?.to_owned();
    let fault = match words.next()? {
        "local-memory" => Fault::LocalMemory,
        "call" => Fault::Call,
        "generic-access" => Fault::Generic,
        _ => return None,
    };
    let reason = words.collect::<Vec<_>>().join(" ");
    (!reason.is_empty()).then_some(Allowance { entry, fault, reason })
}

/// The entries' parameters against the host's signatures.
pub fn signatures(ptx: &str, entries: &[EntryDecl]) -> Result<(), BuildError> {
    let compiled = parse_ptx(ptx);
    for decl in entries {
        let Some(entry) = compiled.iter().find(|entry| entry.name == decl.name) else {
            return Err(BuildError::Marker(format!("entry {} is not in the PTX", decl.name)));
        };
        if let Some(host) = decl.signature.as_ref().filter(|host| **host != entry.params) {
            return Err(BuildError::Signature {
                entry: decl.name.clone(),
                host: host.clone(),
                ptx: entry.params.clone(),
            });
        }
    }
    Ok(())
}

/// Calls and local memory in PTX, and what is left undefined. Each fault comes with its entry.
pub fn ptx_faults(ptx: &str) -> Vec<(String, Fault, String)> {
    let mut faults = vec![];
    for entry in parse_ptx(ptx) {
        for callee in &entry.calls {
            faults.push((
                entry.name.clone(),
                Fault::Call,
                format!("calls `{callee}`, which was not inlined"),
            ));
        }
        if entry.local_bytes > 0 {
            let what = format!("{} bytes of local memory", entry.local_bytes);
            faults.push((entry.name.clone(), Fault::LocalMemory, what));
        }
    }
    faults
}

/// A stack frame that only the assembler made.
pub fn resource_fault(resources: &Resources) -> Option<String> {
    let Resources { stack_bytes, spill_store_bytes, spill_load_bytes, .. } = *resources;
    (stack_bytes > 0 || spill_store_bytes > 0 || spill_load_bytes > 0).then(|| {
        format!("{stack_bytes} bytes of stack frame, {spill_store_bytes} of spill stores, {spill_load_bytes} of spill loads")
    })
}

/// Leaves out what is allowed.
pub fn without_allowed(faults: Vec<(KernelFault, Fault)>, allowed: &[Allowance]) -> Vec<KernelFault> {
    let is_allowed =
        |entry: &str, fault: Fault| allowed.iter().any(|a| a.fault == fault && entry.starts_with(&a.entry));
    faults
        .into_iter()
        .filter(|(what, fault)| !is_allowed(&what.entry, *fault))
        .map(|(what, _)| what)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\t.local .b8 \td[8];\n\tcall.uni f, ();\n\tret;\n}\n";

    fn decl(types: &[&str]) -> EntryDecl {
        let signature = Some(types.iter().map(|t| (*t).to_owned()).collect());
        EntryDecl { name: "k".to_owned(), module: None, signature, bounds: None }
    }

    #[test]
    fn signature_must_match() {
        signatures(PTX, &[decl(&[".u64"])]).unwrap();
        let error = signatures(PTX, &[decl(&[".u64", ".u32"])]).unwrap_err().to_string();
        assert_eq!(error, "entry k: the host passes (.u64, .u32), the PTX takes (.u64)");
    }

    #[test]
    fn exceptions_need_a_reason() {
        let allowed = parse_allowed("big_c64_ local-memory  255 registers are all there are").unwrap();
        assert_eq!((allowed.entry.as_str(), allowed.fault), ("big_c64_", Fault::LocalMemory));
        assert_eq!(allowed.reason, "255 registers are all there are");
        for line in ["k", "k call", "k spills because"] {
            assert!(parse_allowed(line).is_none(), "{line}");
        }
    }

    #[test]
    fn faults_and_exceptions() {
        let found = ptx_faults(PTX);
        assert_eq!(found.len(), 2);
        let as_faults = |found: Vec<(String, Fault, String)>| {
            let with = |(entry, fault, what)| {
                (KernelFault { module: "m".into(), arch: "sm_80".into(), entry, what }, fault)
            };
            found.into_iter().map(with).collect::<Vec<_>>()
        };
        let allow = Allowance { entry: "k".into(), fault: Fault::Call, reason: "test".into() };
        let left = without_allowed(as_faults(found), &[allow]);
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].what, "8 bytes of local memory");
    }
}
