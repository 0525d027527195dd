//! Kernel calls as inert data (host only).
//!
//! `#[kernel]` puts a module beside each kernel: its `call` packs arguments into a [`Call`]. Nothing runs until a
//! queue submits the call with a [`LaunchConfig`]; that step is the unsafe one.

use crate::global::{Global, GlobalMut};
use core::fmt;
use std::sync::Arc;

/// Shape of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchConfig {
    /// Blocks.
    pub grid: u32,
    /// Threads a block.
    pub block: u32,
    /// Bytes of dynamic shared memory a block.
    pub shared_bytes: u32,
    /// All blocks co-resident, so that they can wait for each other; the driver refuses it otherwise.
    pub cooperative: bool,
}

impl LaunchConfig {
    /// A launch of `grid` blocks of `block` threads without shared memory.
    pub const fn new(grid: u32, block: u32) -> Self {
        LaunchConfig { grid, block, shared_bytes: 0, cooperative: false }
    }

    /// The launch of blocks of `block` threads that covers `elements` threads.
    pub const fn for_num_elems(elements: u32, block: u32) -> Self {
        LaunchConfig::new(elements.div_ceil(block), block)
    }

    /// The same launch with `bytes` of dynamic shared memory a block.
    pub const fn with_shared(mut self, bytes: u32) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// The same launch, cooperative.
    pub const fn cooperative(mut self) -> Self {
        self.cooperative = true;
        self
    }
}

/// What is known of a kernel at compile time.
#[derive(Debug)]
pub struct KernelInfo {
    /// Name of the function.
    pub name: &'static str,
    /// Crate that holds it.
    pub krate: &'static str,
    /// Source file.
    pub file: &'static str,
    /// Line of its attribute.
    pub line: u32,
    /// Instantiations, each a PTX entry.
    pub entries: &'static [Entry],
    /// Parameters in order.
    pub params: &'static [ParamInfo],
}

/// One PTX entry.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// Symbol.
    pub name: &'static str,
    /// Module that holds it: one a kernel and scalar type.
    pub module: &'static str,
    /// Largest block and smallest number of blocks a multiprocessor, as compiled in.
    pub bounds: Option<(u32, u32)>,
}

/// One parameter of a kernel.
#[derive(Debug)]
pub struct ParamInfo {
    /// Name in the signature.
    pub name: &'static str,
    /// What is passed.
    pub kind: ParamKind,
}

/// Kinds of kernel parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
    /// A [`Global`] view: two PTX parameters, address and length.
    Global,
    /// A [`GlobalMut`] view: two PTX parameters, address and length.
    GlobalMut,
    /// A scalar, by value.
    Scalar,
}

/// One argument of a call.
#[derive(Clone, Debug)]
pub enum Param {
    /// A 32-bit integer.
    U32(u32),
    /// A 64-bit integer.
    U64(u64),
    /// A single-precision number.
    F32(f32),
    /// A double-precision number.
    F64(f64),
    /// A view of device memory.
    Buffer(BufferParam),
}

/// A view of device memory as an argument.
#[derive(Clone, Debug)]
pub struct BufferParam {
    /// Name of the parameter.
    pub name: &'static str,
    /// Address on the device.
    pub addr: u64,
    /// Elements.
    pub len: usize,
    /// Bytes an element.
    pub elem_bytes: usize,
    /// Whether the kernel may write.
    pub writable: bool,
}

/// Types that can be kernel parameters.
pub trait KernelParam: Copy {
    /// The argument for the parameter `name`.
    fn param(self, name: &'static str) -> Param;
}

macro_rules! scalar_param {
    ($($t:ty, $variant:ident as $wire:ty;)*) => { $(
        impl KernelParam for $t {
            fn param(self, _name: &'static str) -> Param {
                Param::$variant(self as $wire)
            }
        }
    )* };
}
scalar_param! {
    u32, U32 as u32;
    i32, U32 as u32;
    u64, U64 as u64;
    i64, U64 as u64;
    usize, U64 as u64;
    f32, F32 as f32;
    f64, F64 as f64;
}

impl<T: Copy> KernelParam for Global<T> {
    fn param(self, name: &'static str) -> Param {
        let addr = self.as_ptr() as u64;
        Param::Buffer(BufferParam {
            name,
            addr,
            len: self.len(),
            elem_bytes: size_of::<T>(),
            writable: false,
        })
    }
}

impl<T: Copy> KernelParam for GlobalMut<T> {
    fn param(self, name: &'static str) -> Param {
        let addr = self.as_ptr() as u64;
        Param::Buffer(BufferParam { name, addr, len: self.len(), elem_bytes: size_of::<T>(), writable: true })
    }
}

/// One kernel call as inert data: nothing runs until a queue submits it.
#[derive(Clone)]
pub struct Call {
    /// The kernel.
    pub kernel: &'static KernelInfo,
    /// The instantiation.
    pub entry: &'static Entry,
    /// Arguments in order.
    pub params: Vec<Param>,
    /// Runs one lane; only the executor may call it.
    pub lane: Arc<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("entry", &self.entry.name)
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

/// A kernel has no instantiation for the given type and constant arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoEntry {
    /// The kernel.
    pub kernel: &'static str,
    /// What was asked for.
    pub instantiation: String,
}

impl fmt::Display for NoEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {} is not exported for {}", self.kernel, self.instantiation)
    }
}
impl std::error::Error for NoEntry {}

/// What `#[kernel]`'s `call` functions share.
#[doc(hidden)]
pub fn new_call(
    kernel: &'static KernelInfo,
    entry: Option<usize>,
    instantiation: impl FnOnce() -> String,
    params: Vec<Param>,
    lane: Arc<dyn Fn() + Send + Sync>,
) -> Result<Call, NoEntry> {
    match entry {
        Some(i) => Ok(Call { kernel, entry: &kernel.entries[i], params, lane }),
        None => Err(NoEntry { kernel: kernel.name, instantiation: instantiation() }),
    }
}
