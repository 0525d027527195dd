//! Kernel modules: what the build embedded, and what the driver has loaded.

/// One kernel module for one architecture, as the build script embeds it.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedModule {
    /// Kernel and type, as in `syev_cta_f32`.
    pub name: &'static str,
    /// The kernel crate.
    pub krate: &'static str,
    /// The architecture: 90 is `sm_90`.
    pub arch: u32,
    /// PTX for it.
    pub ptx: &'static str,
    /// Machine code for it, where the build had an assembler.
    pub cubin: Option<&'static [u8]>,
    /// The kernels in it.
    pub entries: &'static [&'static str],
}
