//! What can go wrong between a kernel crate and its PTX.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a kernel crate did not become PTX.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// No usable device compiler; one line for each place that was looked at.
    NoDeviceCompiler(Vec<String>),
    /// An environment variable holds something that makes no sense.
    Environment {
        /// The variable.
        name: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// An unknown GPU architecture.
    Arch(String),
    /// An unknown word of [`crate::Flags`].
    Flag(String),
    /// A file could not be read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// rustc, cargo or our linker rejected the kernel crate.
    Compile {
        /// The kernel crate's folder.
        krate: PathBuf,
        /// Their messages.
        messages: String,
    },
    /// A tool of the tool chain failed.
    Tool {
        /// The command line.
        command: String,
        /// What it printed.
        output: String,
    },
    /// The markers that travel with a kernel crate contradict its entries.
    Marker(String),
    /// An entry's parameters in PTX are not those of its host signature.
    Signature {
        /// The PTX entry.
        entry: String,
        /// The host's parameter types.
        host: Vec<String>,
        /// The PTX parameter types.
        ptx: Vec<String>,
    },
    /// A kernel would be slow: local memory, a call that was not inlined, or generic code.
    Kernel {
        /// Each reason.
        faults: Vec<KernelFault>,
        /// Folder of the PTX and the assembler's reports.
        folder: PathBuf,
    },
    /// The folder in `BATCHLAS_PTX_DIR` does not fit these sources.
    Prebuilt {
        /// The folder.
        dir: PathBuf,
        /// What does not fit.
        problem: String,
    },
}

/// One reason why a compiled kernel does not ship.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFault {
    /// PTX module.
    pub module: String,
    /// GPU architecture, as `sm_90`.
    pub arch: String,
    /// PTX entry, or the module's name where the fault belongs to no entry.
    pub entry: String,
    /// What was found.
    pub what: String,
}

impl fmt::Display for KernelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { module, arch, entry, what } = self;
        write!(f, "{arch} {entry} (module {module}): {what}")
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDeviceCompiler(tried) => {
                writeln!(f, "no compiler for GPU kernels was found")?;
                writeln!(
                    f,
                    "(needed: rustc {} or newer with its sources, and the LLVM tools of its LLVM version)",
                    crate::discover::FLOOR
                )?;
                for line in tried {
                    writeln!(f, "  - {line}")?;
                }
                writeln!(f, "remedies, one of:")?;
                writeln!(
                    f,
                    "  1. cargo xtask setup            (in the BatchLAS workspace: installs what is missing)"
                )?;
                writeln!(
                    f,
                    "  2. BATCHLAS_PTX_DIR=<folder>    (PTX built elsewhere, by `cargo xtask ptx <folder>`)"
                )?;
                write!(
                    f,
                    "  3. CPU only: build the library without its feature `cuda` (the command line always has it)"
                )
            }
            Self::Environment { name, problem } => write!(f, "{name}: {problem}"),
            Self::Arch(text) => {
                write!(f, "unknown GPU architecture `{text}`; known: {}", crate::arch::known())
            }
            Self::Flag(word) => write!(
                f,
                "unknown builder flag `{word}`; words with commas between: default, no-cubin, contraction, O1, O2, O3, \
                 unroll=N"
            ),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Compile { krate, messages } => {
                write!(
                    f,
                    "the kernel crate {} does not compile for the GPU:\n{}",
                    krate.display(),
                    messages.trim_end()
                )
            }
            Self::Tool { command, output } => write!(f, "{command}\n{}", output.trim_end()),
            Self::Marker(problem) => f.write_str(problem),
            Self::Signature { entry, host, ptx } => write!(
                f,
                "entry {entry}: the host passes ({}), the PTX takes ({})",
                host.join(", "),
                ptx.join(", ")
            ),
            Self::Kernel { faults, folder } => {
                write!(
                    f,
                    "kernels that must not ship (or allow them in {}, with a reason):",
                    crate::check::ALLOWED_FILE
                )?;
                for fault in faults {
                    write!(f, "\n  {fault}")?;
                }
                write!(f, "\n  (PTX and assembler reports: {})", folder.display())
            }
            Self::Prebuilt { dir, problem } => write!(f, "BATCHLAS_PTX_DIR={}: {problem}", dir.display()),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Names the file of an input or output error.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.to_path_buf();
    move |source| BuildError::Io { path, source }
}
