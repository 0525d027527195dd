//! Findings: what the checker saw, with the source lines of both sides.

use std::fmt;

/// The class of a [`Finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FindingKind {
    /// The launch itself is impossible: no threads, too many threads, too much shared memory.
    InvalidLaunch,
    /// Lanes of a block wait at different barriers, or some have left the kernel.
    DivergentBarrier,
    /// A warp collective was reached by other lanes than its mask names.
    CollectiveMask,
    /// Lanes of one mask wait in different warp collectives.
    CollectiveKind,
    /// An argument of a collective is invalid: its own lane is not in the mask, the width is no power of
    /// two, a shuffle reads a lane that takes no part, a grid barrier in a launch that is not cooperative.
    InvalidArguments,
    /// Two lanes reach the same shared memory, one writes, and no synchronisation lies between.
    SharedRace,
    /// Two lanes reach the same global memory, one writes, and no synchronisation lies between.
    GlobalRace,
    /// An access past the end of a buffer or of the block's shared memory.
    OutOfBounds,
    /// An access whose address is no multiple of its alignment.
    Misaligned,
    /// A read of memory that nothing wrote.
    UninitializedRead,
    /// A write to a buffer that the launch declares read-only.
    ReadOnlyWrite,
    /// No thread makes progress.
    Deadlock,
    /// The kernel panicked.
    Panic,
    /// A `gpu_assert!` failed.
    Assertion,
    /// A lane used up its stack.
    StackOverflow,
}

/// One thread that takes part in a finding, and the source line where it was.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Side {
    /// What the thread did there, as in "Write access" or "ShuffleXor with mask 0x0000000f".
    pub what: String,
    /// Block index.
    pub block: u32,
    /// Thread index within the block.
    pub thread: u32,
    /// Source file, as the compiler names it; empty where the place is not known.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// One fault of a kernel. `Display` words it as compute-sanitizer does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The class.
    pub kind: FindingKind,
    /// Name of the kernel function.
    pub kernel: String,
    /// Name of the compiled entry: the instantiation.
    pub entry: String,
    /// What is wrong, without the places.
    pub message: String,
    /// The places: the offender first, then the thread that it collides with, if there is one.
    pub sides: Vec<Side>,
    /// How many more times the same fault was seen at the same lines.
    pub repeats: u64,
}

/// A launch that failed: its findings in a fixed order, at most [`MAX_FINDINGS`] of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchError {
    /// The distinct findings.
    pub findings: Vec<Finding>,
    /// Distinct findings beyond [`MAX_FINDINGS`] that are not listed.
    pub suppressed: usize,
}

/// Most distinct findings that a [`LaunchError`] lists.
pub const MAX_FINDINGS: usize = 16;

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.file.is_empty() {
            write!(f, "{}", self.what)?;
        } else {
            write!(f, "{} at {}:{}:{}", self.what, self.file, self.line, self.column)?;
        }
        write!(f, " by thread ({},0,0) in block ({},0,0)", self.thread, self.block)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        for (index, side) in self.sides.iter().enumerate() {
            write!(f, "\n    {}{side}", if index == 0 { "" } else { "and " })?;
        }
        write!(f, "\n    in kernel {} (entry {})", self.kernel, self.entry)?;
        if self.repeats > 0 {
            write!(f, "\n    [{} more like it at the same lines]", self.repeats)?;
        }
        Ok(())
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.findings.len() + self.suppressed;
        writeln!(f, "{total} finding{} of the SIMT checker", if total == 1 { "" } else { "s" })?;
        for finding in &self.findings {
            writeln!(f, "========= {finding}")?;
        }
        if self.suppressed > 0 {
            writeln!(f, "========= {} more findings are not listed", self.suppressed)?;
        }
        Ok(())
    }
}

impl std::error::Error for LaunchError {}
